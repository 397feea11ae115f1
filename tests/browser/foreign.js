// Every way in which a page gets at an address of somebody else. Returns what it could read, and what opened.
async (panel) => {
  const got = [];
  const form = "text=Owned&version=1";
  const kind = { "Content-Type": "application/x-www-form-urlencoded" };
  const read = async (name, promise) => {
    try { const answer = await promise; got.push(`${name}: ${answer.type} ${answer.status} ${await answer.text()}`); }
    catch { /* refused, as it should be */ }
  };
  const paths = ["/", "/identity", "/memories", "/graph/data", "/palace/drawers/1", "/live", "/enter", "/static/panel.js"];
  for (const path of paths) {
    for (const mode of ["cors", "no-cors"]) {
      await read(`fetch ${mode} ${path}`, fetch(panel + path, { mode, credentials: "include" }));
    }
  }
  for (const [path, body] of [["/identity", form], ["/memories", "content=Owned"], ["/forget", "query=Mara&confirm=x"], ["/theme", "theme=dark"]]) {
    await read(`post ${path}`, fetch(panel + path, { method: "POST", mode: "no-cors", credentials: "include", headers: kind, body }));
    await read(`posted with token ${path}`, fetch(panel + path, { method: "POST", credentials: "include", headers: { ...kind, "X-Form-Token": "x", "HX-Request": "true" }, body }));
    navigator.sendBeacon(panel + path, new Blob([body], { type: "application/x-www-form-urlencoded" }));
  }
  await read("put", fetch(panel + "/identity", { method: "PUT", credentials: "include", body: form }));
  const settled = (make, good, bad = "error") => new Promise((done) => {
    const each = make();
    each.addEventListener(good, () => done(true));
    each.addEventListener(bad, () => done(false));
    setTimeout(() => done(false), 1500);
  });
  const load = (tag, set) => () => document.body.appendChild(Object.assign(document.createElement(tag), set));
  const tries = {
    websocket: [() => new WebSocket(panel.replace("http", "ws") + "/live"), "open"],
    events: [() => new EventSource(panel + "/live", { withCredentials: true }), "open"],
    image: [load("img", { src: panel + "/static/icon.svg" }), "load"],
    page_as_image: [load("img", { src: panel + "/identity" }), "load"],
    script: [load("script", { src: panel + "/static/panel.js" }), "load"],
    data_as_script: [load("script", { src: panel + "/graph/data" }), "load"],
    style: [load("link", { rel: "stylesheet", href: panel + "/static/panel.css" }), "load"],
    video: [load("video", { src: panel + "/identity" }), "loadeddata"],
  };
  for (const [name, [make, good]] of Object.entries(tries)) if (await settled(make, good)) got.push(name);
  for (const tag of ["iframe", "object", "embed"]) {
    const frame = load(tag, { [tag === "object" ? "data" : "src"]: panel + "/identity" })();
    await new Promise((done) => setTimeout(done, 400));
    try { if (frame.contentDocument?.body?.innerText.includes("Mara")) got.push(tag); } catch { /* of another origin */ }
  }
  for (const path of ["/identity", "/memories", "/forget"]) {
    const target = document.body.appendChild(document.createElement("iframe"));
    target.name = `t${path.slice(1)}`;
    const sent = document.createElement("form");
    Object.assign(sent, { method: "post", action: panel + path, target: target.name });
    for (const [name, value] of Object.entries({ text: "Owned", version: "1", content: "Owned", query: "Mara", confirm: "x" })) {
      sent.append(Object.assign(document.createElement("input"), { name, value }));
    }
    document.body.append(sent);
    sent.submit();
    await new Promise((done) => setTimeout(done, 300));
  }
  const opened = open(panel + "/identity");
  await new Promise((done) => setTimeout(done, 600));
  try { if (opened && opened.document.body.innerText.includes("Mara")) got.push("window"); } catch { /* of another origin */ }
  return got;
};
