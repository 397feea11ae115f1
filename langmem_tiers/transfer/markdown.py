"""A space to read, as one Markdown text: who the user is, what is known, people and things, summaries, open tasks.

What is stored is shown as plain text: nothing in it becomes markup, a link or HTML. Equal memories give equal texts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge.identity import Identity
from langmem_tiers.knowledge.profile import Profile
from langmem_tiers.knowledge_graph.transaction import reading
from langmem_tiers.knowledge_graph.wording import period_words, relation_words, standing
from langmem_tiers.records import Entry, Episode, Relation
from langmem_tiers.storage import entries, episodes, relations, rooms
from langmem_tiers.storage import tasks as task_rows

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

_MARKUP = re.compile(r"([\\`*_\[\]<>&|~#!$^])")
_AT_START = re.compile(r"^(\d+)([.)])|^([-+=:])")
_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_AT_ONCE = 500


def plain(text: str) -> str:
    r"""A text on one line in which Markdown and HTML find nothing to act on, and a terminal nothing to obey.

    Example:
        >>> plain("<b>*Hi*</b>")
        '\\<b\\>\\*Hi\\*\\</b\\>'
    """
    line = " ".join(text.split())
    line = _SHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", _MARKUP.sub(r"\\\1", line))
    line = _AT_START.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[3]}", line)
    return re.sub(r"(?i)\b(https?|ftp|mailto|javascript|data|file|vbscript)(:)", r"\1\\\2", line)


def markdown(context: SpaceContext) -> tuple[str, Mapping[str, int]]:
    """The text, and how many of each kind are in it."""
    counts: dict[str, int] = {}
    lines = [f"# Memory of {plain(context.name)}", "", f"As of {context.now:%Y-%m-%d %H:%M} UTC."]
    lines += [*_identity(context), *_profile(context)]
    lines += [*_knowledge(context, counts), *_graph(context, counts)]
    lines += [*_tasks(context, counts), *_episodes(context, counts), *_timeline(context, counts)]
    return "\n".join(lines) + "\n", counts


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section, if there is anything in it."""
    held = [*lines]
    if held:
        yield from ("", f"## {title}", "", *held)


def _identity(context: SpaceContext) -> Iterator[str]:
    text = Identity(context).read().text
    # A quotation, so that its own headings are none of this text.
    yield from _section("Who the user is", (f"> {plain(line)}".rstrip() for line in text.splitlines()))


def _profile(context: SpaceContext) -> Iterator[str]:
    yield from _section("Profile", (f"- {plain(line.text)}" for line in Profile(context).read()))


def _knowledge(context: SpaceContext, counts: dict[str, int]) -> Iterator[str]:
    by_category: dict[str, list[str]] = defaultdict(list)
    for entry in _entries(context):
        if entry.status == "active":
            by_category[entry.category].append(_entry(entry))
    counts["entries"] = sum(map(len, by_category.values()))
    lines: list[str] = []
    for category in sorted(by_category):
        lines += [f"### {plain(category)}", "", *by_category[category], ""]
    yield from _section("Knowledge", lines[:-1])


def _entries(context: SpaceContext) -> Iterator[Entry]:
    with context.open() as store, store.reading() as connection:
        for first in range(1, entries.newest(connection, store.key) + 1, _AT_ONCE):
            found = entries.by_numbers(connection, store.key, range(first, first + _AT_ONCE))
            yield from (found[number] for number in sorted(found))


def _entry(entry: Entry) -> str:
    about = [f"{entry.updated_at:%Y-%m-%d}", f"by {entry.origin}", *(["pinned"] if entry.pinned else [])]
    if entry.expires_at is not None:
        about.append(f"until {entry.expires_at:%Y-%m-%d}")
    about += [f"from {each.pointer} of {each.said_at:%Y-%m-%d}" for each in entry.evidence[:3]]
    more = len(entry.evidence) - 3
    about += [f"and {more} more"] if more > 0 else []
    return f"- {plain(entry.content)} ({', '.join(about)}; `{entry.id}`)"


def _graph(context: SpaceContext, counts: dict[str, int]) -> Iterator[str]:
    by_subject: dict[str, list[str]] = defaultdict(list)
    for each in _relations(context):
        told = _relation(each, context.now)
        if told:
            by_subject[each.subject.name].append(told)
    counts["relations"] = sum(map(len, by_subject.values()))
    lines: list[str] = []
    for name in sorted(by_subject):
        lines += [f"### {plain(name)}", "", *sorted(by_subject[name]), ""]
    yield from _section("People and things", lines[:-1])


def _relations(context: SpaceContext) -> list[Relation]:
    with reading(context) as graph:
        stated = [row for row in relations.every(*graph.at) if row.kind == "stated"]
        return relations.relations_of(*graph.at, stated)


def _relation(relation: Relation, now: datetime) -> str:
    holds = standing(relation, now)
    if holds == "never":
        return ""
    when = period_words(relation.period, planned=holds == "coming")
    return f"- {plain(relation_words(relation))}{f' ({when})' if when else ''}"


def _tasks(context: SpaceContext, counts: dict[str, int]) -> Iterator[str]:
    with context.open() as store, store.reading() as connection:
        held = sorted(task_rows.find(connection, store.key, status="open"), key=lambda each: each.id)
    counts["tasks"] = len(held)
    told = (
        f"- **{plain(each.title)}**{f' of {plain(each.project)}' if each.project else ''}, since "
        f"{each.created_at:%Y-%m-%d}{f': {plain(each.state)}' if each.state else ''} (`{plain(each.id)}`)"
        for each in held
    )
    yield from _section("Open tasks", told)


def _episodes(context: SpaceContext, counts: dict[str, int]) -> Iterator[str]:
    with context.open() as store, store.reading() as connection:
        ids = [one for one, _ in episodes.keys(connection, store.key)]
        found = episodes.by_ids(connection, store.key, ids).values()
    held = sorted(found, key=lambda each: (each.began_at, each.number))
    counts["episodes"] = len(held)
    lines = [line for each in held for line in _episode(each)]
    yield from _section("Summaries of conversations", lines[:-1])


def _episode(each: Episode) -> Iterator[str]:
    yield from (f"### {each.began_at:%Y-%m-%d}: {plain(each.title or each.session)}", "", plain(each.summary), "")
    if each.topics:
        yield from (f"Topics: {plain(', '.join(each.topics))}", "")


def _timeline(context: SpaceContext, counts: dict[str, int]) -> Iterator[str]:
    with context.open() as store, store.reading() as connection:
        held = sorted(rooms.every(connection, store.key), key=lambda each: (each.opened_at, each.number))
    counts["sessions"] = len(held)
    told = (
        f"- {from_millis(each.opened_at):%Y-%m-%d %H:%M}: {plain(each.session)}, {each.drawers} messages"
        f"{f', {plain(each.project)}' if each.project else ''}"
        for each in held
    )
    yield from _section("Timeline", told)
