// What stored text must not have become: elements and attributes that run, load, send or obey. Returns what it found.
(root) => {
  const ACTIVE = "iframe frame frameset object embed applet base style marquee video audio source math portal template plaintext xmp listing noembed bgsound font blink mglyph animate set foreignobject use image map area form[action^='//']";
  const ADDRESSES = ["href", "src", "action", "formaction", "xlink:href", "data", "poster", "background", "ping", "srcset", "manifest"];
  const OBEYED = /^(data-)?(hx|sse|ws)-/;
  const found = [];
  const own = (value) => {
    try {
      return new URL(value, location.origin).origin === location.origin && !/^\s*[a-z-]+\s*:/i.test(value.replace(location.origin, ""));
    } catch {
      return false;
    }
  };
  const text = (element) => element.outerHTML.slice(0, 120);
  for (const element of root.querySelectorAll("*")) {
    const name = element.localName;
    if (element.matches(ACTIVE) || element instanceof HTMLUnknownElement || name.includes("-") || name.includes(":")) found.push(text(element));
    if (name === "script" && !/^\/static\/[\w.-]+$/.test(element.getAttribute("src") || "")) found.push(text(element));
    if (name === "link" && !/^\/static\//.test(element.getAttribute("href"))) found.push(text(element));
    if (name === "img" && !/^\/static\//.test(element.getAttribute("src"))) found.push(text(element));
    if (/^hit/.test(element.id)) found.push(text(element));
    if (name === "meta" && element.httpEquiv) found.push(text(element));
    for (const { name: attribute, value } of element.attributes) {
      // The library that draws the graph sets styles of its own.
      const styled = attribute === "style" && !element.closest(".graph-stage");
      const runs = attribute.startsWith("on") || styled || attribute === "srcdoc" || attribute === "popover";
      const leads = ADDRESSES.includes(attribute) && !own(value);
      // The panel's own may lead to an address of the panel that repeats what was asked for.
      const within = /^hx-(get|post)$/.test(attribute) && /^\/[a-z]/.test(value);
      const obeyed = OBEYED.test(attribute) && !within && /hit\(|hit-|elsewhere|hx-on|js:|7\*7/.test(attribute + value);
      const odd = !/^[a-z][a-z-]*$/.test(attribute) || /elsewhere|hit/.test(attribute);
      if (runs || leads || obeyed || (odd && !(element instanceof SVGElement))) found.push(`${attribute}: ${text(element)}`);
    }
  }
  for (const id of ["notices", "keys", "main", "q", "htmx"]) if (root.querySelectorAll(`#${id}`).length > 1) found.push(`#${id} twice`);
  if (root.querySelectorAll("[name=htmx-config]").length > 1) found.push("htmx-config twice");
  const comments = document.createNodeIterator(root, NodeFilter.SHOW_COMMENT);
  for (let each = comments.nextNode(); each; each = comments.nextNode()) found.push(`comment: ${each.data.slice(0, 80)}`);
  return found;
};
