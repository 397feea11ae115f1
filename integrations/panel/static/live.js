// Shows what is new without a reload: asks every few seconds while the page can be seen, and never disturbs its reader.
// A page needs nothing but elements with an id and data-live="change receipt activity dream"; see live.py.
(() => {
  "use strict";
  const EVERY = 2000;
  const LONGEST = 30000; // between two questions to a panel that does not answer
  const bar = document.getElementById("live");
  const followed = () => [...document.querySelectorAll("[data-live][id]")];
  if (!bar || followed().length === 0) return;

  const said = bar.querySelector("[data-live-said]");
  const showing = bar.querySelector("[data-live-show]");
  const pausing = bar.querySelector("[data-live-pause]");
  let seen = JSON.parse(document.body.dataset.seen || "{}");
  let panel = null;
  let wait = EVERY;
  let timer = null;
  let paused = false;
  let stopped = false;
  let shown = "";

  // Set only when it differs: a status that is set again is read out again.
  function say(words) {
    if (words === shown) return;
    shown = words;
    said.textContent = words;
  }

  function later() {
    clearTimeout(timer);
    if (!paused && !stopped && !document.hidden) timer = setTimeout(ask, wait);
  }

  function stop(words) {
    stopped = true;
    say(words);
    showing.hidden = true;
    pausing.hidden = true;
  }

  async function ask() {
    let answer;
    try {
      answer = await fetch("/live", { headers: { Accept: "application/json" } });
    } catch {
      wait = Math.min(LONGEST, wait * 2);
      say("The panel does not answer; trying again.");
      return later();
    }
    wait = EVERY;
    if (answer.status === 401) return stop("The panel was restarted. Open the new link that it printed.");
    if (!answer.ok) {
      wait = LONGEST;
      say("What is new cannot be read now; trying again.");
      return later();
    }
    const now = await answer.json();
    if (panel !== null && now.panel !== panel) return stop("The panel was restarted. Load this page again.");
    panel = now.panel;
    const grown = Object.keys(now).filter((name) => name in seen && now[name] !== seen[name]);
    const concerned = followed().filter((each) => each.dataset.live.split(" ").some((name) => grown.includes(name)));
    if (concerned.length === 0) {
      if (shown.startsWith("The panel does not") || shown.startsWith("What is new cannot")) say("Live again.");
    } else if (await refresh(concerned, false)) {
      seen = now;
    }
    for (const name of grown) if (concerned.length === 0) seen[name] = now[name];
    later();
  }

  // An element as the server sent it: without what this script and its reader have done to it.
  function sent(element) {
    const copy = element.cloneNode(true);
    for (const each of [copy, ...copy.querySelectorAll(".fresh, details[open]")]) {
      each.classList.remove("fresh");
      if (each.className === "") each.removeAttribute("class");
      if (each.matches("details")) each.removeAttribute("open");
    }
    return copy.outerHTML;
  }

  // Whether somebody is doing something in there that an update would spoil.
  function isBusy(element) {
    if (element.contains(document.activeElement) && document.activeElement !== element) return true;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && element.contains(selection.anchorNode)) return true;
    return element.querySelector("details[open], dialog[open], .htmx-request") !== null;
  }

  async function freshPage() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }

  // Puts in what is new; returns whether all of it could be, or has been offered to the reader.
  async function refresh(concerned, asked) {
    let page;
    try {
      page = await freshPage();
    } catch {
      page = null;
    }
    if (page === null) return false;
    let added = 0;
    let held = 0;
    let words = null;
    for (const old of concerned) {
      const fresh = page.getElementById(old.id);
      if (!fresh || sent(fresh) === sent(old)) continue;
      words = words || old.dataset.liveWords || null;
      if (fresh.querySelector("[data-live-item]") && old.querySelector("[data-live-item]")) {
        const done = merge(old, fresh, asked);
        added += done.added;
        held += done.held;
      } else if (asked || !isBusy(old)) {
        put(fresh, old);
        added += 1;
      } else {
        held += 1;
      }
    }
    showing.hidden = held === 0;
    if (held > 0) say("There is something new.");
    else if (added > 0) say(words && added > 1 ? `${added} ${words}.` : "Something new was added.");
    return true;
  }

  function put(fresh, old) {
    const made = document.importNode(fresh, true);
    old.replaceWith(made);
    made.classList.add("fresh");
    if (window.htmx) window.htmx.process(made);
  }

  // New items go to the top of a list; what was loaded further down stays.
  function merge(old, fresh, asked) {
    const items = [...old.querySelectorAll("[data-live-item][id]")];
    const first = items[0];
    const known = new Map(items.map((each) => [each.id, each]));
    const top = first.getBoundingClientRect().top;
    let added = 0;
    let held = 0;
    for (const item of fresh.querySelectorAll("[data-live-item][id]")) {
      const before = known.get(item.id);
      if (before && sent(before) === sent(item)) continue;
      if (before && !asked && isBusy(before)) {
        held += 1;
      } else if (before) {
        put(item, before);
      } else {
        const made = document.importNode(item, true);
        made.classList.add("fresh");
        first.before(made);
        if (window.htmx) window.htmx.process(made);
        added += 1;
      }
    }
    // What is being read stays where it is.
    if (first.isConnected && window.scrollY > 0) window.scrollBy(0, first.getBoundingClientRect().top - top);
    return { added, held };
  }

  showing.addEventListener("click", async () => {
    await refresh(followed(), true);
    say("Shown.");
  });
  pausing.addEventListener("click", () => {
    paused = !paused;
    pausing.setAttribute("aria-pressed", String(paused));
    pausing.textContent = paused ? "Go on" : "Pause";
    say(paused ? "Paused." : "Live.");
    if (paused) clearTimeout(timer);
    else ask();
  });
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden && !paused && !stopped) ask();
  });

  bar.hidden = false;
  say("Live.");
  later();
})();
