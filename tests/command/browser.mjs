// Headless Chromium, driven by the DevTools protocol over a pipe: nothing but node is needed.
//   const browser = await start(chromium, folder);  const page = await browser.open(file);
//   await page.run("document.title");  page.errors;  await browser.close();
import {spawn} from "node:child_process";

export async function start(program, folder, ...flags) {
  const child = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--allow-file-access-from-files", "--remote-debugging-pipe",
    "--user-data-dir=" + folder, ...flags],
  {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
  const [, , , input, out] = child.stdio;
  const waiting = new Map(), listeners = [];
  let number = 0, rest = "";
  const end = new Promise(done => child.on("exit", done));
  child.on("error", error => { for (const [, fail] of waiting.values()) fail(error); });
  end.then(() => { for (const [, fail] of waiting.values()) fail(new Error("Chromium ended")); });
  out.setEncoding("utf8");
  out.on("data", text => {
    const parts = (rest + text).split("\0");
    rest = parts.pop();
    for (const message of parts.map(part => JSON.parse(part))) {
      if (!message.id) { for (const listen of listeners) listen(message); continue; }
      const [done, fail] = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) fail(new Error(message.error.message));
      else done(message.result);
    }
  });
  const call = (method, params = {}, sessionId = undefined) => new Promise((done, fail) => {
    waiting.set(++number, [done, fail]);
    input.write(JSON.stringify({id: number, method, params, sessionId}) + "\0");
  });
  return {
    open: (file, size) => openPage(call, listeners, file, size),
    close: async () => {
      call("Browser.close").catch(() => {});
      await end;
    }
  };
}

async function openPage(call, listeners, file, {width = 1280, height = 900, dark = false, scale = 1} = {}) {
  const {targetId} = await call("Target.createTarget", {url: "about:blank"});
  const {sessionId} = await call("Target.attachToTarget", {targetId, flatten: true});
  const ask = (method, params) => call(method, params, sessionId);
  const page = {errors: []};
  listeners.push(({method, params, sessionId: from}) => {
    if (from != sessionId) return;
    if (method == "Runtime.exceptionThrown")
      page.errors.push(params.exceptionDetails.exception?.description ||
        params.exceptionDetails.text);
    if (method == "Runtime.consoleAPICalled" && params.type == "error")
      page.errors.push("console: " + params.args.map(a => a.value).join(" "));
    if (method == "Log.entryAdded" && params.entry.level == "error")
      page.errors.push("log: " + params.entry.text);
  });
  await Promise.all([ask("Page.enable"), ask("Runtime.enable"), ask("Log.enable"),
    ask("Emulation.setDeviceMetricsOverride",
      {width, height, deviceScaleFactor: scale, mobile: width < 600}),
    ask("Emulation.setEmulatedMedia",
      {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]})]);
  page.run = async expression => {
    const {result, exceptionDetails} = await ask("Runtime.evaluate",
      {expression, awaitPromise: true, returnByValue: true, userGesture: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ||
      exceptionDetails.text);
    return result.value;
  };
  page.until = async (expression, seconds = 60) => {
    for (const last = Date.now() + 1000 * seconds; Date.now() < last;) {
      if (await page.run(expression)) return;
      await new Promise(done => setTimeout(done, 30));
    }
    throw new Error("never: " + expression);
  };
  page.mouse = (type, x, y, more = {}) => ask("Input.dispatchMouseEvent",
    {type, x, y, button: "left", clickCount: 1, ...more});
  page.click = async (x, y, more) => {
    await page.mouse("mousePressed", x, y, more);
    await page.mouse("mouseReleased", x, y, more);
  };
  page.drag = async (x0, y0, x1, y1, more = {}) => {
    await page.mouse("mousePressed", x0, y0, more);
    for (let i = 1; i <= 4; i++)
      await page.mouse("mouseMoved", x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4,
        {...more, buttons: 1});
    await page.mouse("mouseReleased", x1, y1, more);
  };
  page.wheel = (x, y, deltaY) => page.mouse("mouseWheel", x, y, {deltaX: 0, deltaY, button: "none"});
  // Fingers: [[x, y], ...], each with its own way; the last place of all is where they are lifted.
  page.fingers = async (...places) => {
    const points = list => list.map(([x, y], id) => ({x, y, id}));
    const touch = (type, list) => ask("Input.dispatchTouchEvent", {type, touchPoints: points(list)});
    await ask("Emulation.setTouchEmulationEnabled", {enabled: true, maxTouchPoints: 5});
    await touch("touchStart", places[0].slice(0, 1));
    await touch("touchStart", places[0]);
    for (const list of places.slice(1)) await touch("touchMove", list);
    await touch("touchEnd", []);
  };
  page.resize = (width, height) => ask("Emulation.setDeviceMetricsOverride",
    {width, height, deviceScaleFactor: 1, mobile: false});
  page.media = media => ask("Emulation.setEmulatedMedia", {media,
    features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
  // What a screen reader is told: [role, name] of each element.
  page.told = async () => (await ask("Accessibility.getFullAXTree")).nodes.filter(n => !n.ignored)
    .map(n => [n.role?.value, n.name?.value || ""]);
  page.print = async () => Buffer.from((await ask("Page.printToPDF", {})).data, "base64");
  page.key = async (key, modifiers = 0) => {
    const text = key.length == 1 ? key : key == "Enter" ? "\r" : undefined;
    await ask("Input.dispatchKeyEvent", {type: "keyDown", key, text, modifiers,
      windowsVirtualKeyCode: {Enter: 13, Tab: 9}[key]});
    await ask("Input.dispatchKeyEvent", {type: "keyUp", key, modifiers});
  };
  page.picture = async (whole = false, clip = undefined) => Buffer.from((await ask(
    "Page.captureScreenshot", {format: "png", captureBeyondViewport: whole, clip})).data, "base64");
  page.close = () => call("Target.closeTarget", {targetId});
  await ask("Page.navigate", {url: "file://" + file});
  await page.until("document.readyState == 'complete'");
  return page;
}
