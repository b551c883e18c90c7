// prof flamegraph: zoom by click, search, as wide as the window. The layout is write_frame's.
(function () {
'use strict';
var svg = document.documentElement, frames = [], whole, zoomed, pattern = null;
if (svg.nodeName !== 'svg') svg = document.querySelector('svg');
var dark = window.matchMedia('(prefers-color-scheme: dark)');
function theme() { if (svg === document.documentElement)
  svg.setAttribute('data-theme', dark.matches ? 'dark' : 'light'); }
dark.onchange = theme;
theme();
function id(name) { return svg.getElementById(name); }
Array.prototype.forEach.call(svg.querySelectorAll('.f'), function (g) {
  var at = g.getAttribute('data-at').split(' ').map(Number);
  frames.push({g: g, start: at[0], end: at[0] + at[1], depth: at[2],
    rect: g.querySelector('rect'), text: g.querySelector('text'),
    title: g.querySelector('title').textContent, name: g.getAttribute('data-name')});
});
if (!frames.length) return;
whole = zoomed = frames[0];
function layout() {
  var width = Math.max(svg.parentNode === document ? window.innerWidth :
    svg.getBoundingClientRect().width, 300), room = width - 20;
  svg.setAttribute('width', width);
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + svg.getAttribute('height'));
  id('back').setAttribute('width', width);
  id('search').setAttribute('x', width - 10);
  id('found').setAttribute('x', width - 10);
  var scale = room / Math.max(zoomed.end - zoomed.start, 1e-9);
  frames.forEach(function (f) {
    var from = Math.max(f.start, zoomed.start), to = Math.min(f.end, zoomed.end);
    var w = (to - from) * scale, x = 10 + (from - zoomed.start) * scale;
    var show = w >= .3 && (f.depth >= zoomed.depth ? true :
      f.start <= zoomed.start && f.end >= zoomed.end);
    f.g.style.display = show ? '' : 'none';
    if (!show) return;
    f.g.classList.toggle('past', f.depth < zoomed.depth);
    f.rect.setAttribute('x', x);
    f.rect.setAttribute('width', w);
    f.text.setAttribute('x', x + 3);
    var fit = Math.floor((w - 6) / 7.3);
    f.text.textContent = fit < 3 ? '' : f.name.length <= fit ? f.name :
      f.name.slice(0, fit - 1) + '\u2026';
  });
  id('reset').style.display = zoomed === whole ? 'none' : '';
}
function zoom(f) { zoomed = f; layout(); }
function find(text) {
  pattern = null;
  if (text) {
    try { pattern = new RegExp(text, 'i'); }
    catch (e) { pattern = new RegExp(text.replace(/[^\w]/g, '\\$&'), 'i'); }
  }
  var hits = [], sum = 0, behind = -1;
  frames.forEach(function (f) {
    var hit = pattern !== null && f !== whole && pattern.test(f.name);
    f.g.classList.toggle('hit', hit);
    if (hit) hits.push(f);
  });
  hits.sort(function (a, b) { return a.start - b.start || b.end - a.end; });
  hits.forEach(function (f) {
    if (f.start < behind) return;
    sum += f.end - f.start;
    behind = f.end;
  });
  id('found').textContent = pattern === null ? '' : hits.length + ' found, ' +
    (100 * sum / Math.max(whole.end - whole.start, 1e-9)).toFixed(2) + ' %';
}
function ask() { var text = prompt('Search (regular expression)', '');
  if (text !== null) find(text); }
frames.forEach(function (f) {
  f.g.addEventListener('click', function () { zoom(f); });
  f.g.addEventListener('mouseover', function () {
    id('under').textContent = f.title.replace(/\n/g, '  '); });
});
id('search').addEventListener('click', ask);
id('reset').addEventListener('click', function () { zoom(whole); });
window.addEventListener('keydown', function (e) {
  if (e.key === '/' || (e.key === 'f' && (e.ctrlKey || e.metaKey))) {
    e.preventDefault();
    ask();
  } else if (e.key === 'Escape') {
    find('');
    zoom(whole);
  }
});
window.addEventListener('resize', layout);
window.flamegraph = {find: find, zoom: function (i) { zoom(frames[i]); }};
layout();
})();
