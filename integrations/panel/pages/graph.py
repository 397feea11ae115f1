"""Graph: who and what is known as a picture to move through, with the same as lists beside it.

What is done with one entity is in `entities.py`, with one relation in `relations.py`; both belong to this page.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import JSONResponse, Response

from langmem_tiers.clock import to_millis
from langmem_tiers.integrations.panel.page import Page, View, get
from langmem_tiers.integrations.panel.pages import entities, relations
from langmem_tiers.integrations.panel.rendering import visible
from langmem_tiers.knowledge_graph import network
from langmem_tiers.knowledge_graph.naming import is_self
from langmem_tiers.knowledge_graph.network import Network, NetworkLink
from langmem_tiers.language.periods import span
from langmem_tiers.records import BUILT_IN_TYPES

# How many entities the picture begins with, how many more a click adds, and how many it has at most.
_FIRST, _MORE, _MOST = 60, 60, 180
_AROUND = 40
# Rows of the list of relations that are sent without being asked for.
_ROWS = 200
_DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What the picture is to show: how many entities, around which one, with what, and as of when.

    It holds what holds at some time from `first` until before `behind`; with `ever`, at any time.
    """

    most: int
    around: str
    mentioned: bool
    values: bool
    ever: bool
    as_of: str
    first: datetime
    behind: datetime

    @classmethod
    def of(cls, view: View) -> Wanted:
        """What stands behind the question mark of the address.

        Raises:
            InvalidInput, InvalidPeriod: a number or a date is none.
        """
        now, as_of = view.space.memory.clock(), view.query.word("as_of")
        first, behind = span(as_of, now=now) if as_of else (now, now + timedelta(milliseconds=1))
        return cls(
            most=max(1, min(view.query.number("show") or _FIRST, _MOST)),
            around=view.query.word("around"),
            mentioned=view.query.flag("mentioned"),
            values=view.query.flag("values"),
            ever=view.query.flag("ever"),
            as_of=as_of,
            first=first,
            behind=behind,
        )

    def network(self, view: View) -> Network:
        """The part of the graph that is wanted, at all times."""
        also = {"mentioned": self.mentioned, "values": self.values}
        if self.around:
            return network.around(view.space.context, self.around, most=min(self.most, _AROUND), **also)
        return network.best_connected(view.space.context, most=self.most, **also)

    def holding(self, links: tuple[NetworkLink, ...]) -> list[NetworkLink]:
        """The relations that hold at the time wanted."""
        first, behind = to_millis(self.first), to_millis(self.behind)
        return [each for each in links if self.ever or each.holds(first, behind)]


def show(view: View) -> Response:
    """The picture, and as lists what is in it."""
    wanted = Wanted.of(view)
    part = wanted.network(view)
    held = wanted.holding(part.links)
    names = {node.id: node for node in part.nodes}
    return view.show(
        "graph.html",
        wanted=wanted,
        part=part,
        names=names,
        links=held[:_ROWS],
        left_out=len(held) - len(held[:_ROWS]),
        types=_types(part),
        slider=_slider(view, part, wanted),
        more=min(wanted.most + _MORE, _MOST),
        pairs=len(view.space.graph.likely_pairs(limit=100)),
    )


def data(view: View) -> Response:
    """The same for the picture, with the spans in which each relation holds."""
    wanted = Wanted.of(view)
    return JSONResponse(_data(wanted.network(view)))


def _data(part: Network) -> dict[str, Any]:
    places = network.places(part)
    nodes = [
        {
            "id": each.id,
            "name": visible(each.name),
            "type": visible(each.type),
            "kind": kind_of(each.type),
            "relations": each.relations,
            "user": is_self(each.name),
            "x": places[each.id].x,
            "y": places[each.id].y,
            "size": places[each.id].size,
        }
        for each in part.nodes
    ]
    links = [
        {
            "id": each.id,
            "source": each.source,
            "target": each.target,
            "words": visible(each.words),
            "when": each.when,
            "later": "; ".join(each.said_later),
            "spans": each.spans,
            "mentioned": each.mentioned,
        }
        for each in part.links
    ]
    return {"nodes": nodes, "links": links, "total": part.total}


def kind_of(type: str) -> str:
    """The type of an entity as pictures draw it: types of the caller's own look alike."""
    return type if type in {*BUILT_IN_TYPES, network.VALUE} else "own"


def _types(part: Network) -> list[str]:
    """The kinds of what is in the picture, in the order of the legend."""
    there = {kind_of(node.type) for node in part.nodes}
    return [kind for kind in (*BUILT_IN_TYPES, "own", network.VALUE) if kind in there]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slider:
    """The days that the time slider runs over; `day` is where it stands, counted from `first` as 0."""

    first: datetime
    days: int
    day: int
    today: int


def _slider(view: View, part: Network, wanted: Wanted) -> Slider | None:
    """None where nothing has a date."""
    if part.first is None or part.last is None:
        return None
    now = view.space.memory.clock()
    first = _midnight(min(part.first, now)) - _DAY
    days = (_midnight(max(part.last, now)) - first).days
    day = (_midnight(wanted.behind - timedelta(milliseconds=1)) - first).days
    return Slider(first=first, days=days, day=max(0, min(day, days)), today=(_midnight(now) - first).days)


def _midnight(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)


PAGE = Page(
    title="Graph",
    path="/graph",
    key="r",
    actions=(get("/graph", show), get("/graph/data", data), *entities.ACTIONS, *relations.ACTIONS),
    scripts=("cytoscape.min.js", "graph.js"),
)
