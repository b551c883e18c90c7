// A picture of a page of prof report, in headless Chromium.
//   node pictures.mjs CHROMIUM FOLDER NAME PAGE PICTURE      NAME says what it shows (VIEWS)
import {writeFileSync} from "node:fs";
import {start} from "../../tests/command/browser.mjs";

const [program, folder, name, file, picture] = process.argv.slice(2);
const WIDTH = 1000, EDGE = 10;           // of the page; around its sections
const SCALE = 1.5;                       // for screens of many pixels

// For each, what the page is told to show, and the top and the bottom of the picture.
const VIEWS = {
  // The timeline and the calls of two batches of the epoch of median length.
  train: `(() => {
    const epochs = callsOf("epoch", 0).sort((a, b) => slices.dur[a] - slices.dur[b]);
    const [first, second] = childrenOf(epochs[epochs.length >> 1])
      .filter(i => names[slices.name[i]] == "train batch");
    view.measured = [slices.start[first], endOf(second)];
    setRange("measured");
    KEYS.Escape();
    limit = 4;
    fillTable();
    document.querySelector(".keys").hidden = true;
    return [$("timeline_section"), $("rows").lastChild];
  })()`,
  images: `[$("flame_section"), $("flame_note")]`,
  // The first two steps of the control loop, and the interrupts that begin them.
  control: `(() => {
    const [first, second] = callsOf("control", 0).sort((a, b) => slices.start[a] - slices.start[b]);
    const margin = 20000;
    view.from = slices.start[first] - margin;
    view.to = endOf(second) + margin;
    draw();
    return [$("timeline_section"), $("lanes")];
  })()`
};

const browser = await start(program, folder);
try {
  const page = await browser.open(file, {width: WIDTH, height: 3000, scale: SCALE});
  await page.until("root.dataset.ready == 'yes'");
  const [top, bottom] = await page.run(`(([from, to]) => {
    document.querySelector("main").style.paddingBottom = "100px";
    return [from.getBoundingClientRect().top, to.getBoundingClientRect().bottom];
  })(${VIEWS[name]})`);
  await page.run("new Promise(done => requestAnimationFrame(() => " +
    "requestAnimationFrame(() => done(1))))");
  writeFileSync(picture, await page.picture(false,
    {x: EDGE, y: top - EDGE, width: WIDTH - 2 * EDGE, height: bottom - top + 2 * EDGE, scale: 1}));
} finally {
  await browser.close();
}
