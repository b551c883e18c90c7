"use strict";
// What all parts of the page use: texts of figures, elements, canvases.

const $ = id => document.getElementById(id);
const root = document.documentElement;
const data = JSON.parse($("data").textContent);

function time(us) {
  const size = Math.abs(us);
  const [scale, unit] = size >= 1e6 ? [1e6, " s"] : size >= 1e3 ? [1e3, " ms"] : [1, " \u00b5s"];
  const n = us / scale;
  return n.toFixed(Math.abs(n) >= 100 ? 1 : Math.abs(n) >= 10 ? 2 : 3) + unit;
}
// To the nanosecond: when something begins.
function exact(ns) {
  return Math.abs(ns) >= 1e6 ? (ns / 1e6).toFixed(6) + " ms" : (ns / 1e3).toFixed(3) + " \u00b5s";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; Math.abs(n) >= 1024 && i < 4; i++) n /= 1024;
  return (i ? n.toFixed(2) : n) + " " + units[i];
}
function count(n) { return n.toLocaleString("en"); }
// A colour of style.css, as the theme has it; main.js forgets them when that changes.
const colors = new Map();
function color(name) {
  if (!colors.has(name))
    colors.set(name, getComputedStyle(root).getPropertyValue("--" + name).trim());
  return colors.get(name);
}
function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}
// A name as it can be shown in one line: no control characters, no marks that turn the text around.
function plain(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ")
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}
function tip(event, text) {
  const t = $("tip");
  t.style.display = text ? "block" : "none";
  if (!text) return;
  t.textContent = text;
  const box = t.getBoundingClientRect();
  t.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 4)) + "px";
  t.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - box.height - 4)) + "px";
}
// A canvas in device pixels, drawn in CSS pixels.
function prepare(canvas, height) {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  return [g, width];
}
function ticks(from, to, most) {
  const rough = (to - from) / most, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough) || power;
  const list = [];
  for (let t = Math.ceil(from / step) * step; t <= to && list.length < 100; t += step) list.push(t);
  return list;
}
