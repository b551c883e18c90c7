// ---- What devices did: [file, name, ns from first to last, compute, exposed communication, exposed
// copies, all busy, compute with communication at the same time], by the rules of prof gaps ----

function devices() {
  const parts = [["compute", COMPUTE], ["exposed communication", COMMUNICATION],
    ["exposed copies", COPY]];
  $("devices_section").hidden = !data.devices.length;
  $("devices").replaceChildren(...data.devices.map(([file, name, span, ...ns]) => {
    const row = element("tr"), bar = element("div", undefined, "parts"), whole = Math.max(1, span);
    const cells = [fileText(file) + plain(name), time(span / 1e3),
      ...ns.slice(0, 3).map(n => (100 * n / whole).toFixed(1) + " %"),
      (100 * (span - ns[3]) / whole).toFixed(1) + " %"];
    parts.forEach(([text, kind], k) => {
      const part = element("i");
      part.style.width = 100 * ns[k] / whole + "%";
      part.style.background = "var(--" + CLASSES[kind] + ")";
      part.title = text + ": " + cells[k + 2];
      bar.append(part);
    });
    row.append(...cells.map(text => element("td", text)));
    row.firstChild.append(bar);
    return row;
  }));
}
