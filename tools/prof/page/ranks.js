// ---- What the devices of each rank did, and their collectives: as prof ranks has them ----

const MOST_COLLECTIVES = 50;
const PARTS = [["compute_us", "compute", "Compute"],
  ["exposed_communication_us", "communication", "Exposed communication"],
  ["exposed_memory_us", "copy", "Exposed copies"], ["idle_us", "waiting", "Idle"]];

function fillSheet(id, heads, rows) {
  $(id).querySelector("thead tr").replaceChildren(...heads.map(head => element("th", head)));
  $(id).querySelector("tbody").replaceChildren(...rows.map(cells => {
    const tr = element("tr");
    tr.append(...cells.map(cell => {
      const td = element("td");
      td.append(cell);
      return td;
    }));
    return tr;
  }));
}
function shareBar(rank) {
  const bar = element("span", undefined, "share");
  for (const [key, name, text] of PARTS) {
    const part = element("i"), share = 100 * rank[key] / (rank.span_us || 1);
    part.style.width = share + "%";
    part.style.background = "var(--" + name + ")";
    part.title = text + " " + share.toFixed(1) + " %";
    bar.append(part);
  }
  return bar;
}
function ranksLegend() {
  $("ranks_legend").replaceChildren(...PARTS.map(([, name, text]) => {
    const item = element("span"), dot = element("i", "", "dot");
    dot.style.background = "var(--" + name + ")";
    item.append(dot, document.createTextNode(text));
    return item;
  }));
}
// As data.ranks has them, of what begins in the range; of collectives a part of one rank is enough.
function ranksNow() {
  if (!range) return data.ranks;
  const collectives = [], rows = data.ranks.ranks.map((rank, n) => {
    const list = [...deviceWorks()].filter(([process]) =>
      told.processes[process][0] == data.rank_files[n]).flatMap(([, works]) => works)
      .filter(inRange).sort((a, b) => slices.start[a] - slices.start[b]);
    const [span, ...ns] = timesOf(list).map(n => n / 1e3);
    return {rank: rank.rank, file: rank.file, span_us: span, compute_us: ns[0],
      exposed_communication_us: ns[1], exposed_memory_us: ns[2], idle_us: span - ns[3], late_us: 0,
      wait_us: 0};
  });
  data.collective_parts.forEach((parts, n) => {
    const one = data.ranks.collectives[n];
    if (!parts.some(([file, ns]) => within(file, ns))) return;
    collectives.push(one);
    if (!one.consistent) return;
    rows.find(({rank}) => rank == one.last_rank).late_us += one.skew_us;
    for (const [file, , waited] of parts) rows[data.rank_files.indexOf(file)].wait_us += waited / 1e3;
  });
  return {ranks: rows, collectives, stragglers: stragglersOf(rows, collectives)};
}
// As prof ranks tells them: who holds four fifths of a skew that is 1 % of the time or more.
function stragglersOf(rows, collectives) {
  const skew = collectives.reduce((sum, c) => sum + (c.consistent ? c.skew_us : 0), 0), list = [];
  let held = 0;
  if (skew <= 0 || skew * 100 < Math.max(...rows.map(row => row.span_us))) return list;
  for (const row of [...rows].sort((a, b) => b.late_us - a.late_us || a.rank - b.rank)) {
    if (held * 5 >= skew * 4) break;
    held += row.late_us;
    list.push(row.rank);
  }
  return list.sort((a, b) => a - b);
}
function fillRanks() {
  if (!data.ranks) return;
  const {ranks, collectives, stragglers} = ranksNow(), several = ranks.length > 1;
  const part = (us, rank) =>
    time(us) + (rank.span_us ? " (" + (100 * us / rank.span_us).toFixed(1) + " %)" : "");
  fillSheet("ranks", ["Rank", "Shares", "Span", ...PARTS.map(([, , text]) => text),
    ...several ? ["Late", "Waited"] : [], "File"],
  ranks.map(rank => [String(rank.rank), shareBar(rank), time(rank.span_us),
    ...PARTS.map(([key]) => part(rank[key], rank)),
    ...several ? [time(rank.late_us), time(rank.wait_us)] : [], plain(rank.file)]));
  ranksLegend();
  $("ranks_section").hidden = !several && !data.ranks.collectives.length;
  $("ranks_head").textContent = several ? "Ranks" : "Collectives";
  $("ranks_parts").hidden = $("stragglers").hidden = !several;
  $("stragglers").textContent = stragglers.length
    ? "Stragglers, for whom the others waited: rank " + stragglers.join(", ")
    : "No rank made the others wait for long.";
  fillCollectives(collectives, several);
}
function fillCollectives(collectives, several) {
  const list = collectives.slice().sort((a, b) => (b.skew_us || 0) - (a.skew_us || 0) ||
    b.duration_us - a.duration_us).slice(0, MOST_COLLECTIVES);
  const rate = n => n === null ? "" : n.toPrecision(4), left = collectives.length - list.length;
  $("collectives").hidden = !list.length;
  fillSheet("collectives", ["Collective", "Group", "Seq", "Ranks", "Bytes", "Duration",
    "Bus GB/s", ...several ? ["Skew", "Last rank"] : []], list.map(c => [plain(c.name), plain(c.process_group || ""),
    c.seq === null ? "#" + c.index : String(c.seq), count(c.ranks.length),
    c.bytes === null ? "" : bytes(c.bytes), time(c.duration_us), rate(c.busbw_gb_s),
    ...several ? [c.skew_us === null ? "" : time(c.skew_us) +
      (c.consistent === false ? ", clocks apart" : ""),
    c.last_rank === null ? "" : String(c.last_rank)] : []]));
  $("ranks_note").textContent = (several ? "Communication is exposed where nothing computes at " +
    "the same time, copies where neither does; prof ranks --help tells how they are told apart." : "") +
    (left > 0 ? " " + count(left) + " more collectives, " +
      (several ? "with less skew" : "shorter ones") + ": prof ranks." : "");
}
