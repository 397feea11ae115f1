// Keys and the menu of the panel. Everything works without this file, too, by links and buttons.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
  let waitingForPage = false;

  function focusSearch() {
    const field = document.querySelector("main input[type=search]");
    if (field) {
      field.focus();
      field.select();
    } else if (document.querySelector('nav a[href="/search"]')) {
      location.assign("/search");
    }
  }

  // The marked element of a list, and the one so many places further.
  function step(by) {
    const items = [...document.querySelectorAll("main [data-item]")].filter((each) => each.offsetParent !== null);
    if (items.length === 0) return;
    const at = items.findIndex((each) => each === document.activeElement || each.contains(document.activeElement));
    const next = items[Math.max(0, Math.min(items.length - 1, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function open(item) {
    const inner = item.matches("a, summary, button") ? item : item.querySelector("a, summary, button");
    if (inner) inner.click();
  }

  const keys = {
    "/": focusSearch,
    j: () => step(1),
    k: () => step(-1),
    "?": () => document.getElementById("keys").showModal(),
    g: () => {
      waitingForPage = true;
      setTimeout(() => (waitingForPage = false), 1500);
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (waitingForPage) {
      waitingForPage = false;
      const link = [...document.querySelectorAll("nav a[data-key]")].find((each) => each.dataset.key === event.key);
      if (link) {
        event.preventDefault();
        link.click();
        return;
      }
    }
    if (event.key === "Enter" && event.target.matches("[data-item]:not(a, summary, button)")) {
      event.preventDefault();
      open(event.target);
    } else if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys]")) keys["?"]();
    const menu = event.target.closest("[data-menu]");
    if (menu) {
      const isOpen = menu.getAttribute("aria-expanded") === "true";
      menu.setAttribute("aria-expanded", String(!isOpen));
    }
  });

  // A page may have a box that ticks all others of its form.
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-all]")) return;
    for (const box of document.querySelectorAll(`input[name="${event.target.dataset.all}"]`)) {
      box.checked = event.target.checked;
    }
  });

  function tell(words) {
    const notices = document.getElementById("notices");
    const told = document.createElement("p");
    told.className = "notice problem";
    told.textContent = words;
    notices.replaceChildren(told);
    notices.scrollIntoView({ block: "nearest" });
  }

  // A server that is gone says nothing, so it is said here.
  document.addEventListener("htmx:sendError", () => {
    tell("The panel does not answer. Is it still running in the terminal? What you typed is still here.");
  });

  // After a restart a page that is open stays as it is, so that nothing typed is lost.
  document.addEventListener("htmx:responseError", (event) => {
    const answer = event.detail.xhr;
    if (answer.status === 401) {
      tell("The panel was restarted, or does not know this browser any more. What you typed is still here: open the new link from the terminal in another tab, then do it again.");
    } else if (answer.status === 403 && answer.getResponseHeader("x-form-token")) {
      const token = answer.getResponseHeader("x-form-token");
      document.body.setAttribute("hx-headers", JSON.stringify({ "X-Form-Token": token }));
      for (const field of document.querySelectorAll("input[name=form_token]")) field.value = token;
      tell("This page was from before the panel was restarted. Nothing was changed yet; do it again, it works now.");
    }
  });
})();
