// The picture of the graph: what it draws is in the lists of the page, too, and these follow the time slider.
(() => {
  "use strict";
  const DAY = 86400000;
  const ROWS = 200;
  const SHAPES = {
    person: "ellipse", organisation: "round-rectangle", place: "diamond", project: "hexagon", item: "rectangle",
    event: "triangle", topic: "rhomboid", other: "ellipse", own: "pentagon", value: "round-rectangle",
  };
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  // Colours are those of the style sheet: it knows what light and dark are.
  function colours(stage) {
    const probe = document.createElement("span");
    stage.append(probe);
    const found = {};
    for (const name of [...Object.keys(SHAPES), "ink", "soft", "line", "leaf", "accent", "gold"]) {
      probe.className = `probe-${name}`;
      found[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return found;
  }

  function style(stage) {
    const of = colours(stage);
    return [
      { selector: "node", style: {
        label: "data(name)", shape: (node) => SHAPES[node.data("kind")], "background-color": (node) => of[node.data("kind")],
        width: "data(size)", height: "data(size)", color: of.ink, "font-size": 12, "font-family": "system-ui, sans-serif",
        "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "ellipsis", "text-max-width": 130,
        "text-outline-color": of.leaf, "text-outline-width": 2.5, "min-zoomed-font-size": 6, "text-opacity": 0, "overlay-opacity": 0,
      } },
      { selector: "node.named, node.told", style: { "text-opacity": 1 } },
      { selector: "node[kind = 'value']", style: { "background-opacity": 0, "border-width": 1, "border-color": of.soft, color: of.soft, "font-size": 11 } },
      { selector: "node[?user]", style: { "border-width": 4, "border-color": of.gold, "font-weight": "bold" } },
      { selector: "edge", style: {
        width: 1.6, "line-color": of.soft, "target-arrow-color": of.soft, "target-arrow-shape": "triangle", "arrow-scale": 0.9,
        "curve-style": "bezier", "control-point-step-size": 44, label: "data(label)", "font-size": 10, color: of.soft,
        "font-family": "system-ui, sans-serif", "text-wrap": "wrap", "text-max-width": 130,
        "text-background-color": of.leaf, "text-background-opacity": 0.9, "text-background-padding": 2,
        "text-opacity": 0, "overlay-opacity": 0,
      } },
      { selector: "edge[?mentioned]", style: { "line-style": "dotted", "target-arrow-shape": "none" } },
      { selector: ".past", style: { opacity: 0.28, "line-style": "dashed" } },
      { selector: "edge.told", style: { "text-opacity": 1 } },
      { selector: "edge.past", style: { "text-opacity": 0 } },
      { selector: "node.alone", style: { opacity: 0.35 } },
      { selector: ".gone", style: { display: "none" } },
      { selector: ".faint", style: { opacity: 0.12, "text-opacity": 0.2 } },
      { selector: "edge.near", style: { width: 2.4, "line-color": of.accent, "target-arrow-color": of.accent, color: of.ink, "text-opacity": 1 } },
      { selector: "node.near", style: { "min-zoomed-font-size": 0, "text-opacity": 1 } },
      { selector: "node:selected", style: { "border-width": 4, "border-color": of.accent, "min-zoomed-font-size": 0, "text-opacity": 1 } },
    ];
  }

  const node = ({ x, y, ...each }) => ({ group: "nodes", position: { x, y }, data: each });
  // When it holds, and what was said later against it.
  const standing = (edge) => [edge.data("when"), edge.data("later")].filter(Boolean).join("; ");
  const edge = (each) => ({ group: "edges", data: { ...each, label: each.when ? `${each.words}\n${each.when}` : each.words } });
  const holds = (spans, first, behind) => spans.some(([start, end]) => (start === null || start < behind) && (end === null || first < end));

  async function fetched(url) {
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`The panel answered with ${answer.status}.`);
    return answer.json();
  }

  function problem(text) {
    const told = document.createElement("p");
    told.className = "notice problem";
    told.textContent = text;
    document.getElementById("notices").replaceChildren(told);
  }

  function made(tag, text, fields = {}) {
    const element = Object.assign(document.createElement(tag), fields);
    element.append(text);
    return element;
  }

  const entityLink = (data) => (data.kind === "value" ? document.createTextNode(data.name) : made("a", data.name, { href: `/graph/entities/${data.id}` }));

  class Graph {
    constructor(frame, part) {
      this.frame = frame;
      this.page = frame.classList.contains("small-graph") ? null : document;
      this.time = this.page && document.querySelector("[data-graph-time]");
      this.card = this.page && document.querySelector("[data-graph-card]");
      this.stage = frame.querySelector(".graph-stage");
      this.cy = cytoscape({
        container: this.stage, elements: [...part.nodes.map(node), ...part.links.map(edge)], style: style(this.stage),
        layout: { name: "preset" }, minZoom: 0.08, maxZoom: 3, boxSelectionEnabled: false,
      });
      this.arrange();
      this.listen();
      if (this.page) this.startTime();
      else this.past(Date.now(), Date.now() + 1);
    }

    // A picture that is wider than high lies on its side where there is more height, and has fewer names.
    arrange() {
      const narrow = this.stage.clientWidth < 600;
      if (narrow && this.stage.clientHeight > this.stage.clientWidth) {
        this.cy.nodes().positions((each) => ({ x: 1.15 * each.position("y"), y: each.position("x") }));
      }
      this.cy.nodes().slice(0, narrow ? 14 : 60).addClass("named");
      this.cy.fit(undefined, 24);
      if (this.cy.zoom() > 1.4) {
        this.cy.zoom(1.4);
        this.cy.center();
      }
      this.resize();
    }

    // Names keep their size on the screen while the picture gets smaller, down to where they would cover it.
    resize() {
      const near = this.cy.zoom() > (this.page ? 0.9 : 0.7);
      const scale = 1 / Math.min(1, Math.max(this.cy.zoom(), this.stage.clientWidth < 600 ? 0.42 : 0.6));
      if (near === this.near && Math.abs(scale - (this.scale ?? 0)) < 0.04) return;
      [this.near, this.scale] = [near, scale];
      this.cy.batch(() => {
        this.cy.nodes().toggleClass("told", near);
        this.cy.edges().toggleClass("told", near && this.cy.edges().length <= 24);
        this.cy.nodes().style({ "font-size": 12 * scale, "text-max-width": 130 * scale, "text-outline-width": 2.5 * scale });
        this.cy.edges().style({ "font-size": 10 * scale, "text-max-width": 130 * scale });
      });
    }

    listen() {
      this.cy.on("tap", "node", (event) => this.chosen(event.target));
      this.cy.on("tap", "edge", (event) => this.chosenEdge(event.target));
      this.cy.on("tap", (event) => event.target === this.cy && this.cleared());
      this.cy.on("dbltap", "node", (event) => this.expand(event.target));
      this.frame.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => this.zoom(Number(button.dataset.zoom))));
      this.frame.querySelector("[data-fit]").addEventListener("click", () => this.move({ fit: { padding: 30 } }));
      this.cy.on("zoom", () => this.resize());
      const restyle = () => this.cy.style(style(this.stage));
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
    }

    zoom(factor) {
      const middle = { x: this.cy.width() / 2, y: this.cy.height() / 2 };
      this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: middle });
    }

    move(to) {
      this.cy.animate({ ...to, duration: still.matches ? 0 : 300 });
    }

    // Choosing

    cleared() {
      this.cy.elements().removeClass("faint near");
      this.cy.$(":selected").unselect();
      if (this.card) this.card.hidden = true;
      this.marked(null);
    }

    chosen(one) {
      if (!this.page) {
        if (one.data("kind") !== "value") location.assign(`/graph/entities/${one.id()}`);
        return;
      }
      const near = one.closedNeighborhood().not(".gone");
      this.cy.elements().removeClass("faint near").difference(near).addClass("faint");
      near.addClass("near");
      this.marked(one.id());
      if (!this.card) return;
      const open = made("a", "Open", { href: `/graph/entities/${one.id()}`, className: "button" });
      const more = made("button", "Show what is around", { type: "button", onclick: () => this.expand(one) });
      const buttons = made("div", "", { className: "buttons" });
      if (one.data("kind") !== "value") buttons.append(open, more);
      const list = document.createElement("ul");
      for (const each of one.connectedEdges()) list.append(this.sentence(each));
      this.tell(made("h2", one.data("name")), made("p", one.data("type"), { className: "soft small" }), buttons, list);
    }

    tell(...parts) {
      const close = made("button", "×", { type: "button", className: "close", onclick: () => this.cleared() });
      close.setAttribute("aria-label", "Close");
      this.card.replaceChildren(...parts, close);
      this.card.hidden = false;
    }

    chosenEdge(one) {
      if (!this.page) {
        location.assign(`/graph/relations/${one.id()}`);
        return;
      }
      this.cy.elements().removeClass("faint near").difference(one.union(one.connectedNodes())).addClass("faint");
      one.union(one.connectedNodes()).addClass("near");
      if (!this.card) return;
      const list = document.createElement("ul");
      list.append(this.sentence(one));
      this.tell(made("h2", "Relation"), list);
    }

    sentence(edge) {
      const item = document.createElement("li");
      item.className = edge.hasClass("past") ? "past" : "";
      const when = standing(edge) ? ` (${standing(edge)})` : "";
      item.append(entityLink(edge.source().data()), ` ${edge.data("words")} `, entityLink(edge.target().data()), `${when} `);
      item.append(made("a", "why", { href: `/graph/relations/${edge.id()}` }));
      return item;
    }

    marked(id) {
      if (!this.page) return;
      for (const each of document.querySelectorAll("[data-graph-entities] [data-entity]")) each.toggleAttribute("data-marked", each.dataset.entity === id);
    }

    focus(id) {
      const one = this.cy.getElementById(id);
      if (one.empty()) return false;
      this.cy.$(":selected").unselect();
      one.select();
      this.chosen(one);
      this.move({ center: { eles: one }, zoom: Math.max(this.cy.zoom(), 0.9) });
      return true;
    }

    // Growing

    async expand(one) {
      if (one.data("kind") === "value" || one.scratch("expanded")) return;
      try {
        const mentioned = new URLSearchParams(this.frame.dataset.graph.split("?")[1]).has("mentioned") ? "&mentioned=1" : "";
        const part = await fetched(`/graph/data?show=30&around=${encodeURIComponent(one.id())}${mentioned}`);
        one.scratch("expanded", true);
        this.add(one, part);
      } catch (error) {
        problem(`What is around ${one.data("name")} cannot be shown. ${error.message}`);
      }
    }

    add(centre, part) {
      const news = part.nodes.filter((each) => this.cy.getElementById(each.id).empty());
      const place = centre.position();
      const radius = 130 + 5 * news.length;
      const away = Math.atan2(place.y, place.x);
      news.forEach((each, index) => {
        const angle = away + (2 * Math.PI * index) / Math.max(news.length, 1);
        this.cy.add({ ...node(each), position: { x: place.x + radius * Math.cos(angle), y: place.y + radius * Math.sin(angle) } });
      });
      this.cy.add(part.links.filter((each) => this.cy.getElementById(each.id).empty()).map(edge));
      for (const each of news) this.listEntity(each);
      this.atTime();
      this.chosen(centre);
      this.move({ fit: { eles: centre.closedNeighborhood(), padding: 50 } });
    }

    listEntity(data) {
      const list = this.page && document.querySelector("[data-graph-entities]");
      if (!list || data.kind === "value") return;
      const item = made("li", made("span", "", { className: `mark mark-${data.kind}` }), { tabIndex: -1 });
      item.dataset.item = "";
      item.dataset.entity = data.id;
      item.append(entityLink(data), made("span", ` ${data.relations}`, { className: "soft small number" }));
      this.addFinder(item);
      list.append(item);
    }

    addFinder(item) {
      const button = made("button", "◎", { type: "button", title: "Find in the picture" });
      const name = item.querySelector("a").textContent;
      button.setAttribute("aria-label", `Find ${name} in the picture`);
      button.addEventListener("click", () => {
        this.focus(item.dataset.entity);
        this.frame.scrollIntoView({ block: "center", behavior: still.matches ? "auto" : "smooth" });
      });
      item.append(button);
    }

    // Time

    startTime() {
      document.querySelectorAll("[data-graph-entities] [data-entity]").forEach((each) => this.addFinder(each));
      document.querySelector("[data-graph-search]")?.addEventListener("submit", (event) => {
        const wanted = event.target.elements.q.value.trim().toLowerCase();
        const found = this.cy.nodes().filter((each) => each.data("name").toLowerCase() === wanted);
        if (wanted && found.nonempty() && this.focus(found.first().id())) event.preventDefault();
      });
      if (!this.time) return;
      this.time.hidden = false;
      this.first = Date.parse(this.time.dataset.first);
      this.slider = this.time.querySelector("[data-slider]");
      this.ever = document.querySelector("[data-graph-ever]");
      this.slider.addEventListener("input", () => {
        this.ever.checked = false;
        this.atTime();
      });
      this.ever.addEventListener("change", () => this.atTime());
      this.time.querySelector("[data-now]").addEventListener("click", () => this.day(Number(this.time.dataset.today)));
      this.time.querySelector("[data-play]").addEventListener("click", () => this.play());
      this.atTime();
    }

    day(number) {
      this.ever.checked = false;
      this.slider.value = number;
      this.atTime();
    }

    play() {
      const button = this.time.querySelector("[data-play]");
      if (this.playing) {
        clearInterval(this.playing);
        this.playing = null;
        button.textContent = "▶";
        return;
      }
      const last = Number(this.slider.max);
      if (Number(this.slider.value) >= Number(this.time.dataset.today)) this.day(0);
      const by = Math.max(1, Math.round(last / 120));
      button.textContent = "❚❚";
      this.playing = setInterval(() => {
        const next = Number(this.slider.value) + by;
        this.day(Math.min(next, last));
        if (next >= last) this.play();
      }, 120);
    }

    atTime() {
      if (!this.time) return;
      const ever = this.ever.checked;
      const day = this.first + Number(this.slider.value) * DAY;
      const words = new Date(day).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
      const isNow = this.slider.value === this.time.dataset.today;
      const shown = ever ? "all times" : isNow ? "now" : words;
      this.time.querySelector("[data-day]").textContent = ever ? "all times" : isNow ? `${words}, now` : words;
      this.slider.setAttribute("aria-valuetext", shown);
      document.querySelector("[data-graph-when]").textContent = ever ? "at all times" : isNow ? "now" : `on ${words}`;
      const asOf = document.querySelector("[data-as-of]");
      if (asOf) asOf.value = isNow || ever ? "" : new Date(day).toISOString().slice(0, 10);
      this.past(ever ? -Infinity : day, ever ? Infinity : day + DAY);
      this.list();
    }

    // What does not hold then is pale, and so is who is related to nobody then.
    past(first, behind) {
      this.cy.batch(() => {
        const past = this.cy.edges().filter((each) => !holds(each.data("spans"), first, behind));
        this.cy.edges().removeClass("past").intersection(past).addClass("past");
        const held = this.cy.edges().difference(past);
        this.cy.nodes().removeClass("alone").difference(held.connectedNodes()).addClass("alone");
      });
    }

    list() {
      const held = this.cy.edges().not(".past");
      const rows = held.slice(0, ROWS).map((each) => this.row(each));
      if (rows.length === 0) rows.push(made("tr", Object.assign(made("td", "None of them holds then."), { colSpan: 5, className: "soft" })));
      document.querySelector("[data-graph-relations]").replaceChildren(...rows);
      const left = held.length - Math.min(held.length, ROWS);
      document.querySelector("[data-graph-left-out]").textContent = left ? `and ${left} more: the page of an entity has all of its own.` : "";
    }

    row(edge) {
      const row = document.createElement("tr");
      row.dataset.item = "";
      row.tabIndex = -1;
      const why = made("a", "Why", { href: `/graph/relations/${edge.id()}` });
      const [source, target] = [edge.source().data(), edge.target().data()];
      why.setAttribute("aria-label", `Why, and change: ${source.name} ${edge.data("words")} ${target.name}`);
      const cells = [entityLink(source), edge.data("words"), entityLink(target), standing(edge), why];
      row.append(...cells.map((each) => made("td", each)));
      row.children[3].className = "soft";
      return row;
    }
  }

  async function start(frame) {
    frame.hidden = false;
    frame.classList.add("drawing");
    try {
      const part = await fetched(frame.dataset.graph);
      frame.classList.remove("drawing");
      if (part.nodes.length) new Graph(frame, part);
      else frame.hidden = true;
    } catch (error) {
      frame.hidden = true;
      problem(`The picture cannot be shown. ${error.message} The lists have the same.`);
    }
  }

  document.querySelectorAll("[data-graph]").forEach(start);
})();
