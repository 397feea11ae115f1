"""Pictures as SVG, and as a standalone page with a searchable, sortable table of the relations.

Text stays text, so it is searchable and every script the viewer has a font for is shown. A page loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape

from langmem_tiers.knowledge_graph.pictures.canvas import (
    DARK,
    LIGHT,
    Box,
    DrawnLine,
    Group,
    Picture,
    Point,
    Words,
    arrow_head,
    printable,
)
from langmem_tiers.knowledge_graph.wording import date_words, predicate_words, standing
from langmem_tiers.records import Relation

# Wide fonts first, since pictures are laid out for them.
FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Noto Sans', system-ui, sans-serif"
_DASHES = {"dashed": "6 4", "dotted": "1.5 4"}


def svg(picture: Picture) -> str:
    """A standalone file in the light colour scheme."""
    style = f"text{{font-family:{FONTS}}}"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{"".join(_document(picture, style, LIGHT))}\n'


def _document(picture: Picture, style: str, colour: Mapping[str, str]) -> Iterator[str]:
    wide, high = _number(picture.width), _number(picture.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'role="group" aria-label="{_safe(picture.title)}">'
    )
    yield f"<title>{_safe(picture.title)}</title><desc>{_safe(picture.description)}</desc>"
    if style:
        yield f"<style>{style}</style>"
    for group in picture.groups:
        yield from _group(group, colour)
    yield "</svg>"


def _group(group: Group, colour: Mapping[str, str]) -> Iterator[str]:
    named = f' class="named" data-name="{_safe(group.name)}"' if group.name else ""
    yield f"\n<g{named}>"
    if group.title:
        yield f"<title>{_safe(group.title)}</title>"
    for shape in group.shapes:
        if isinstance(shape, Box):
            yield _box(shape, colour)
        else:
            yield _line(shape, colour) if isinstance(shape, DrawnLine) else _words(shape, colour)
    yield "</g>"


def _box(box: Box, colour: Mapping[str, str]) -> str:
    fill = "none" if box.fill is None else colour[box.fill]
    line = "" if box.line is None else f' stroke="{colour[box.line]}" stroke-width="1.4"'
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    opacity = f' fill-opacity="{box.opacity:g}"' if box.opacity < 1 else ""
    rounded = f' rx="{_number(box.radius)}"' if box.radius else ""
    return (
        f'<rect x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'
        f'{rounded} fill="{fill}"{opacity}{line}{dashes}/>'
    )


def _line(line: DrawnLine, colour: Mapping[str, str]) -> str:
    ink = colour[line.colour]
    dashes = f' stroke-dasharray="{_DASHES[line.dashes]}"' if line.dashes else ""
    drawn = (
        f'<path d="M{_path(line.points)}" fill="none" stroke="{ink}" stroke-width="{line.width:g}" '
        f'stroke-linecap="round"{dashes}/>'
    )
    return drawn + (f'<path d="M{_path(arrow_head(line))}Z" fill="{ink}"/>' if line.arrow else "")


def _path(points: Sequence[Point]) -> str:
    return "L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _words(words: Words, colour: Mapping[str, str]) -> str:
    bold = ' font-weight="bold"' if words.bold else ""
    italic = ' font-style="italic"' if words.italic else ""
    anchor = f' text-anchor="{words.anchor}"' if words.anchor != "start" else ""
    return (
        f'<text x="{_number(words.x)}" y="{_number(words.y)}" font-size="{words.size:g}" '
        f'fill="{colour[words.colour]}"{anchor}{bold}{italic}>{_safe(words.text)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _safe(text: str) -> str:
    return escape(printable(text))


# The page.

_STANDING = {"holds": "holds", "ended": "ended", "coming": "still to come", "never": "not believed"}
_COLUMNS = ("Who or what", "Relation", "To", "Holds from", "Until", "State", "Believed since", "Rests on", "Id")


def page(picture: Picture, relations: Sequence[Relation], *, at: datetime) -> Iterator[str]:
    """The page in parts. All names in it are escaped."""
    light, dark = ("".join(f"--{name}:{colour};" for name, colour in each.items()) for each in (LIGHT, DARK))
    style = f"{_STYLE}:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield (
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src {_hash(_SCRIPT)}; '
        f'style-src {_hash(style)}">\n'
    )
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="color-scheme" content="light dark">\n'
    yield f"<title>{_safe(picture.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    yield f'<h1 class="heard">{_safe(picture.title)}</h1>\n'
    yield '<p><button type="button" id="size" aria-pressed="false">Actual size</button></p>\n'
    drawn = "".join(_document(picture, "", {name: f"var(--{name})" for name in LIGHT}))
    yield f'<figure id="picture" class="fit" tabindex="0" aria-label="Picture of the graph">{drawn}</figure>\n'
    yield '<h2 id="relations">Relations</h2>\n'
    yield '<p><label for="search">Search </label><input id="search" type="search" autocomplete="off"> '
    yield f'<output id="count" for="search" aria-live="polite">{len(relations)} relations</output></p>\n'
    yield '<div class="wide" tabindex="0" role="region" aria-labelledby="relations"><table>\n<thead><tr>'
    yield from (f'<th scope="col"><button type="button">{each}</button></th>' for each in _COLUMNS)
    yield "</tr></thead>\n<tbody>\n"
    yield from (_row(each, at) for each in relations)
    yield f"</tbody>\n</table></div>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def _row(relation: Relation, at: datetime) -> str:
    told = standing(relation, at)
    state = _STANDING[told] + (f": {relation.reason}" if told == "never" else "")
    if relation.kind == "mentioned":
        state += ", only spoken of together"
    cells = (
        _cell(relation.subject.name),
        _cell(predicate_words(relation), title=relation.said),
        _cell(relation.target),
        _cell(*_date(relation.period.start, relation.period.start_unit)),
        _cell(*_date(relation.period.end, relation.period.end_unit)),
        _cell(state),
        _cell(f"{relation.recorded_at:%Y-%m-%d %H:%M}", key=relation.recorded_at.isoformat()),
        _cell(", ".join(each.pointer for each in relation.evidence if each.pointer)),
        _cell(relation.id),
    )
    return f'<tr class="{told}">{"".join(cells)}</tr>\n'


def _date(moment: datetime | None, unit: str) -> tuple[str, str]:
    """A date as shown, and as sorted."""
    return ("", "") if moment is None else (date_words(moment, unit), moment.isoformat())  # type: ignore[arg-type]


def _cell(text: str, key: str = "", *, title: str = "") -> str:
    sorted_by = f' data-key="{_safe(key)}"' if key else ""
    also = f' title="{_safe(title)}"' if title and title != text else ""
    return f"<td{sorted_by}{also}>{_safe(text)}</td>"


def _hash(text: str) -> str:
    """The hash for the content security policy: the browser runs no other script or style on the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_STYLE = (
    "body{margin:1.5rem auto;max-width:1400px;padding:0 1rem;background:var(--paper);color:var(--ink);"
    f"font:15px/1.45 system-ui,sans-serif}}svg text{{font-family:{FONTS}}}"
    ".heard{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
    "h2{font-size:1.15rem}p{margin:.4rem 0;color:var(--quiet)}"
    "figure{margin:.6rem 0;overflow:auto;border:1px solid var(--rule);border-radius:6px;max-height:85vh}"
    "figure.fit{max-height:none}figure.fit svg{width:100%;height:auto;max-width:100%}svg{display:block;margin:auto}"
    "button,input{font:inherit;color:inherit;background:var(--band);border:1px solid var(--rule);"
    "border-radius:5px;padding:.25rem .6rem}input{min-width:16rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}"
    "th{text-align:left;padding:0;position:sticky;top:0;background:var(--band)}"
    "th button{border:0;background:none;width:100%;text-align:left;font-weight:600;padding:.45rem .6rem;cursor:pointer;"
    "white-space:nowrap}"
    "th[aria-sort=ascending] button::after{content:' \\25B2'}th[aria-sort=descending] button::after{content:' \\25BC'}"
    "td{padding:.35rem .6rem;border-top:1px solid var(--rule);vertical-align:top;overflow-wrap:anywhere;min-width:4rem}"
    "td:nth-child(n+4):nth-child(-n+5),td:nth-child(n+7){white-space:nowrap}"
    "tr.ended td,tr.never td{color:var(--quiet)}.named{cursor:pointer}"
    ":focus-visible{outline:3px solid var(--kind-0-line);outline-offset:2px}"
)
_SCRIPT = """
(() => {
  const search = document.getElementById("search"), count = document.getElementById("count");
  const body = document.querySelector("tbody"), heads = [...document.querySelectorAll("th")];
  const show = () => {
    const words = search.value.toLocaleLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLocaleLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    count.textContent = shown === body.rows.length ? `${shown} relations` : `${shown} of ${body.rows.length} relations`;
  };
  search.addEventListener("input", show);
  heads.forEach((head, place) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[place].dataset.key ?? row.cells[place].textContent;
    const rows = [...body.rows].sort((a, b) => key(a).localeCompare(key(b), undefined, {numeric: true}));
    body.append(...(down ? rows.reverse() : rows));
  }));
  for (const group of document.querySelectorAll("g.named")) {
    const look = () => { search.value = group.dataset.name; show(); search.focus(); };
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", `Search for ${group.dataset.name}`);
    group.addEventListener("click", look);
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); look(); }
    });
  }
  const size = document.getElementById("size"), picture = document.getElementById("picture");
  size.addEventListener("click", () => {
    const fit = picture.classList.toggle("fit");
    size.setAttribute("aria-pressed", String(!fit));
  });
})();
"""
