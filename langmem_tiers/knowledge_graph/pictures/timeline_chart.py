"""The timeline of an entity as a picture: a bar for each relation, grouped by predicate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from langmem_tiers.knowledge_graph.pictures.canvas import (
    Box,
    DrawnLine,
    Group,
    Key,
    Picture,
    Shape,
    Words,
    colours,
    fitting,
    framed,
    legend_of_types,
    width,
)
from langmem_tiers.knowledge_graph.types import Timeline
from langmem_tiers.knowledge_graph.wording import Standing, predicate_words, relation_words, standing, standing_words
from langmem_tiers.records import Entity, Relation

_NAMES, _CHART, _ROOM = 230.0, 720.0, 150.0
_ROW, _BAR, _TOP = 26.0, 16.0, 30.0
_SIZE = 12.0
_FADES, _FADE = 30, 3.0
_HEAD = 9.0
_UNKNOWN = "no date known"
# The opacity of a relation's bar.
_FULL = {"holds": 0.9, "ended": 0.45, "coming": 0.2}
# Possible intervals between axis marks, in years.
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
_MOST_MARKS = 12
_YEAR = 365.25 * 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class _Axis:
    """Maps moments to pixels."""

    first: datetime
    last: datetime

    def at(self, moment: datetime) -> float:
        whole = (self.last - self.first).total_seconds()
        return _NAMES + _CHART * (moment - self.first).total_seconds() / whole


def bars(timeline: Timeline, *, title: str, at: datetime, captions: Sequence[str] = ()) -> Picture:
    """When each relation of an entity holds, with `at` marked."""
    periods = [one.period for one in timeline.relations]
    known = [at, *(each for one in periods for each in (one.start, one.end) if each is not None)]
    slack = max((max(known) - min(known)).total_seconds(), 0.5 * _YEAR) * 0.06
    axis = _Axis(first=_moved(min(known), -slack), last=_moved(max(known), slack))
    rows = list(_rows(timeline))
    height = _TOP + len(rows) * _ROW + 6
    kinds = colours(_types(timeline))
    groups = [_grid(axis, height, at)]
    for place, row in enumerate(rows):
        top = _TOP + place * _ROW
        if isinstance(row, str):
            groups.append(_heading(row, top))
        else:
            groups.append(_row(row, timeline.entity, axis, top, kinds, at))
    extent = (_NAMES + _CHART + _ROOM, height)
    return framed(groups, extent, title=title, keys=list(_keys(timeline)), captions=captions)


def _moved(moment: datetime, seconds: float) -> datetime:
    low, high = datetime(1, 1, 1, tzinfo=UTC).timestamp(), datetime(9999, 12, 31, tzinfo=UTC).timestamp()
    return datetime.fromtimestamp(min(max(moment.timestamp() + seconds, low), high), UTC)


def _rows(timeline: Timeline) -> Iterator[str | Relation]:
    """Headings with their relations, in the order in which the groups began."""
    groups: dict[str, list[Relation]] = {}
    for each in timeline.relations:
        heading = predicate_words(each)
        if each.kind == "mentioned":
            heading = "only spoken of together"
        elif each.subject.id != timeline.entity.id:
            heading = f"… {heading} {timeline.entity.name}"
        groups.setdefault(heading, []).append(each)
    for heading, relations in groups.items():
        yield heading
        yield from relations


def _other(relation: Relation, entity: Entity) -> Entity | None:
    return relation.object if relation.subject.id == entity.id else relation.subject


def _grid(axis: _Axis, height: float, at: datetime) -> Group:
    now = axis.at(at)
    label = Words(x=now, y=10, text=f"{at:%Y-%m-%d}", size=11, colour="now", anchor="middle", bold=True)
    marks = [shape for moment, text in _marks(axis) for shape in _mark(axis, moment, text, height, now, label)]
    line = DrawnLine(points=((now, 14), (now, height)), colour="now", width=1.4)
    return Group(shapes=(*marks, line, label))


def _mark(axis: _Axis, moment: datetime, text: str, height: float, now: float, label: Words) -> Iterator[Shape]:
    x = axis.at(moment)
    yield DrawnLine(points=((x, 16), (x, height)), colour="rule", width=1)
    if abs(x - now) > (width(label.text, 11) + width(text, 11)) / 2 + 6:
        yield Words(x=x, y=10, text=text, size=11, colour="quiet", anchor="middle")


def _marks(axis: _Axis) -> Iterator[tuple[datetime, str]]:
    """The months or years to mark, with their label."""
    years = (axis.last - axis.first).total_seconds() / _YEAR
    if years < 2:
        step = 1 if years < 0.9 else 3
    else:
        step = 12 * next((each for each in _STEPS if years / each <= _MOST_MARKS), _STEPS[-1])
    for count in range(-(-axis.first.year * 12 // step) * step, axis.last.year * 12 + 12, step):
        moment = datetime(count // 12, count % 12 + 1, 1, tzinfo=UTC)
        if axis.first <= moment <= axis.last:
            yield moment, f"{moment.year:04}" if step >= 12 else f"{moment.year:04}-{moment.month:02}"


def _heading(text: str, top: float) -> Group:
    line = DrawnLine(points=((0, top + 4), (_NAMES + _CHART + _ROOM, top + 4)), colour="rule", width=1)
    words = fitting(text, _SIZE, _NAMES + _CHART)
    return Group(shapes=(line, Words(x=0, y=top + _ROW - 7, text=words, size=_SIZE, bold=True)))


def _row(relation: Relation, entity: Entity, axis: _Axis, top: float, kinds: dict[str, str], at: datetime) -> Group:
    other = _other(relation, entity)
    name = str(relation.value) if other is None else other.name
    colour = "value" if other is None else kinds[other.type]
    told = standing(relation, at)
    base, ink = top + _ROW - 9, "ink" if told == "holds" else "quiet"
    label = Words(x=14, y=base, text=fitting(name, _SIZE, _NAMES - 26), size=_SIZE, colour=ink)
    when = standing_words(relation, at) or _UNKNOWN
    drawn: tuple[Shape, ...] = (Words(x=_NAMES + 6, y=base, text=when, size=11, colour="quiet", italic=True),)
    if told != "never":
        drawn = tuple(_bar(relation, axis, top + (_ROW - _BAR) / 2, colour, told, when))
    return Group(shapes=(label, *drawn), title=f"{relation_words(relation)} ({when})", name=name)


def _bar(relation: Relation, axis: _Axis, top: float, colour: str, told: Standing, when: str) -> Iterator[Shape]:
    start, end = relation.period.start, relation.period.end
    left = axis.at(start) if start else _NAMES
    right = axis.at(end) if end else _NAMES + _CHART
    right = max(right, left + 3)
    line = f"{colour}-line"
    solid = left
    if start is None:
        # It fades in.
        solid = min(left + _FADES * _FADE, (left + right) / 2)
        part = (solid - left) / _FADES
        for each in range(_FADES):
            shade = 0.85 * (each + 0.5) / _FADES
            yield Box(x=left + each * part, y=top, width=part, height=_BAR, fill=line, opacity=shade)
    body = right - (_HEAD if end is None else 0)
    yield Box(
        x=solid,
        y=top,
        width=max(body - solid, 2),
        height=_BAR,
        fill=line,
        opacity=_FULL[told],
        line=line if told == "coming" else None,
        dashed=True,
    )
    if end is None:
        middle = top + _BAR / 2
        yield DrawnLine(points=((body, middle), (right + 4, middle)), colour=line, width=0, arrow=True, head=_HEAD + 5)
    text = fitting(when, 11, _NAMES + _CHART + _ROOM - (right + 9))
    yield Words(x=right + 9, y=top + _BAR - 4, text=text, size=11, colour="quiet")


def _types(timeline: Timeline) -> set[str]:
    others = (_other(each, timeline.entity) for each in timeline.relations)
    return {other.type for other in others if other is not None}


def _keys(timeline: Timeline) -> Iterator[Key]:
    for kind, colour in legend_of_types(_types(timeline)):
        yield Key(text=kind, fill=f"{colour}-line", line=f"{colour}-line")
    if any(relation.object is None for relation in timeline.relations):
        yield Key(text="value", fill="value-line", line="value-line")
