// ---- Memory ----

function memory() {
  $("memory_section").hidden = !data.memory.length;
  if (!data.memory.length) return;
  const canvas = $("memory"), high = 180;
  const [g, width] = prepare(canvas, high + 24);
  const highest = m => Math.max(...m.points.map(p => Math.max(p[1], p[2])));
  const most = Math.max(1, ...data.memory.map(highest));
  const y = v => high - v / most * (high - 14);
  g.strokeStyle = color("line");
  g.fillStyle = color("soft");
  for (const part of [0, 0.5, 1]) {
    g.beginPath();
    g.moveTo(0, y(most * part));
    g.lineTo(width, y(most * part));
    g.stroke();
    g.fillText(bytes(most * part), 2, y(most * part) - (part ? 7 : 9));
  }
  const line = (m, column, stroke, dash) => {
    g.strokeStyle = stroke;
    g.lineWidth = 1.6;
    g.setLineDash(dash);
    g.beginPath();
    m.points.forEach((p, i) => {
      const x = p[0] / data.span * width;
      if (i) g.lineTo(x, y(m.points[i - 1][column]));
      g[i ? "lineTo" : "moveTo"](x, y(p[column]));
    });
    g.lineTo(width, y(m.points[m.points.length - 1][column]));   // nothing changes any more
    g.stroke();
    g.setLineDash([]);
  };
  $("memory_legend").replaceChildren(...data.memory.map(m => {
    line(m, 1, color(m.device ? "gpu" : "memory"), []);
    if (m.device) line(m, 2, color("gpu"), [4, 4]);
    const item = element("span");
    const text = m.name + ": most allocated " + bytes(Math.max(...m.points.map(p => p[1]))) +
      (m.device ? ", dashed: reserved" : "");
    item.append(element("i", "", m.device ? "dot gpu" : "dot memory"),
      document.createTextNode(text));
    return item;
  }));
  axis(g, width, high + 12);
  canvas.onmousemove = e => {
    const t = e.offsetX / canvas.clientWidth * data.span;
    tip(e, time(t) + data.memory.map(m => {
      const p = m.points.filter(q => q[0] <= t).pop();
      return p ? "\n" + m.name + ": " + bytes(p[1]) : "";
    }).join(""));
  };
}

function axis(g, width, y) {
  g.fillStyle = color("soft");
  for (const t of ticks(0, data.span, Math.max(2, Math.floor(width / 130)))) {
    const text = mark(t), x = t / data.span * width;
    g.fillText(text, Math.min(x, width - g.measureText(text).width), y);
  }
}
