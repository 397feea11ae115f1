// Lets the times run that working memory has left. The page says them in words without this, too.
(() => {
  "use strict";
  const began = performance.now();
  const UNITS = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]];

  function words(seconds) {
    for (const [size, unit, below, smaller] of UNITS) {
      if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ${Math.floor((seconds % size) / below)}${smaller}`;
    }
    return `${seconds}s`;
  }

  function tick() {
    const passed = (performance.now() - began) / 1000;
    for (const each of document.querySelectorAll("[data-left]")) {
      const given = Number(each.dataset.left);
      const left = Math.max(0, Math.round(given - passed));
      each.textContent = left > 0 ? words(left) : "expired";
      const meter = each.parentElement.querySelector("meter");
      meter.dataset.whole ??= String(given / Math.max(meter.value, 0.001));
      meter.value = left / Number(meter.dataset.whole);
      each.closest("[data-expires]").toggleAttribute("data-expired", left <= 0);
    }
  }

  tick();
  setInterval(tick, 1000);
})();
