"""The tools that look: entries by words and filters, categories, and one thing in full."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from langmem_tiers.episodes.types import Episode
from langmem_tiers.errors import InvalidPointer
from langmem_tiers.integrations.tools import lines
from langmem_tiers.integrations.tools.arguments import GetArguments, NoArguments, SearchArguments
from langmem_tiers.integrations.tools.base import Answer, MemoryTool
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.integrations.tools.saving import unknown, versions
from langmem_tiers.knowledge.types import CategoryCount, Entry, EntryEvidence
from langmem_tiers.palace.days import first_moment, last_moment
from langmem_tiers.palace.pointers import find_pointers
from langmem_tiers.recall.layers import Layer, LayerFound
from langmem_tiers.recall.query import parse
from langmem_tiers.types import Drawer

_MOST = 10
_MOST_CATEGORIES = 100
_SHOWN = 300
_WHOLE = 4000


class SearchMemory(MemoryTool):
    """Searches the knowledge."""

    name: str = "search_memory"
    description: str = "Search long-term memory for facts and preferences. Without a query: the newest."
    args_schema: type[BaseModel] = SearchArguments

    def _answer(self, call: Call, given: SearchArguments) -> Answer:
        now = call.space.memory.clock()
        if given.layer != "L1":
            return _of_layer(call, given)
        found = call.space.knowledge.search(
            given.query,
            category=given.category,
            tags=given.tags or (),
            since=first_moment(given.since, now),
            until=last_moment(given.until, now),
            limit=_MOST + 1,
        )
        entries = [each.entry for each in found[:_MOST]]
        if not entries:
            return Answer("No memory fits. Try other words, or fewer filters.", {"ids": []})
        order = "best first" if given.query else "newest first"
        more = ", and there are more" if len(found) > _MOST else ""
        terms = parse(given.query or "", 0).terms
        shown = [lines.entry_line(entry, _SHOWN, terms) for entry in entries]
        text = lines.fenced(f"{len(entries)} found, {order}{more}", shown)
        return Answer(text, {"ids": [entry.id for entry in entries], "versions": versions(entries)})


def _of_layer(call: Call, given: SearchArguments) -> Answer:
    """What the profile or the summaries of earlier conversations say; these have no categories and tags."""
    now = call.space.memory.clock()
    since, until = first_moment(given.since, now), last_moment(given.until, now)
    layer: Layer = given.layer
    found = call.space.search(given.query, layer=layer, since=since, until=until, limit=_MOST)
    if not found:
        return Answer(f"Nothing in {layer} fits. Try other words, or fewer filters.", {"ids": []})
    shown = [_layer_line(each) for each in found]
    text = lines.fenced(f"{len(found)} found in {layer}, {'best' if given.query else 'newest'} first", shown)
    return Answer(text, {"ids": [each.id for each in found if each.id]})


def _layer_line(found: LayerFound) -> str:
    label = f"[{found.id}] " if found.id else ""
    return lines.item(lines.cut(found.text, _SHOWN), label, f" — {lines.day(found.at)}" if found.at else "")


class ListMemoryCategories(MemoryTool):
    """Lists the categories of the knowledge."""

    name: str = "list_memory_categories"
    description: str = "List the categories of long-term memory, with how many memories each holds."
    args_schema: type[BaseModel] = NoArguments

    def _answer(self, call: Call, given: NoArguments) -> Answer:
        listed = list(_branches(call.space.knowledge.categories()))
        if not listed:
            return Answer("There are no memories yet, so no categories.", {"categories": {}})
        shown = [lines.item(f"{each.path} ({each.total})") for each in listed[:_MOST_CATEGORIES]]
        if len(listed) > _MOST_CATEGORIES:
            shown.append(f"[…] {len(listed) - _MOST_CATEGORIES} more")
        text = lines.fenced(f"{len(listed)} categories, each with how many are in it and below", shown)
        return Answer(text, {"categories": {each.path: each.total for each in listed}})


class GetMemory(MemoryTool):
    """Shows an entry with what it rests on, the summary of a session, or a message verbatim."""

    name: str = "get_memory"
    description: str = "Read one memory or summary in full by its id, or the exact words behind a § pointer."
    args_schema: type[BaseModel] = GetArguments

    def _answer(self, call: Call, given: GetArguments) -> Answer:
        pointers = find_pointers(given.id_or_pointer)
        if pointers:
            return _drawer(call, str(pointers[0]))
        entry = call.space.knowledge.get(given.id_or_pointer)
        if entry is not None:
            text = lines.fenced(f"Memory [{entry.id}]", list(_entry(entry)))
            return Answer(text, {"id": entry.id, "versions": versions([entry])})
        episode = call.space.archive.get(given.id_or_pointer)
        if episode is not None:
            return Answer(lines.fenced(f"Summary [{episode.id}]", list(_episode(episode))), {"id": episode.id})
        raise unknown(given.id_or_pointer)


def _branches(categories: Sequence[CategoryCount]) -> Iterator[CategoryCount]:
    for each in categories:
        yield each
        yield from _branches(each.children)


def _entry(entry: Entry) -> Iterator[str]:
    yield lines.item(lines.cut(entry.content, _WHOLE))
    yield lines.item(f"category {entry.category}" + (f", tags {', '.join(entry.tags)}" if entry.tags else ""))
    yield lines.item(f"saved {lines.day(entry.created_at)}, changed {lines.day(entry.updated_at)}")
    if entry.expires_at is not None:
        yield lines.item(f"expected to hold until {lines.day(entry.expires_at)}")
    if entry.flags:
        yield lines.item(f"reads like an {', '.join(entry.flags)}")
    if not entry.active:
        instead = f"; [{entry.successor}] holds instead" if entry.successor else ""
        yield lines.item(f"no longer holds: {entry.reason}{instead}")
    for each in entry.evidence[:_MOST]:
        yield _rests_on(each)


def _episode(episode: Episode) -> Iterator[str]:
    yield lines.item(lines.cut(episode.summary, _WHOLE))
    yield lines.item(f"of {f'task {episode.task}' if episode.task else f'session {episode.session}'}")
    yield lines.item(lines.days(episode.began_at, episode.ended_at))
    if episode.topics:
        yield lines.item(f"topics: {', '.join(episode.topics)}")


def _rests_on(each: EntryEvidence) -> str:
    return lines.item(f"rests on {each.pointer}" + (f": “{lines.cut(each.quote, _SHOWN)}”" if each.quote else ""))


def _drawer(call: Call, pointer: str) -> Answer:
    """A message in full, and the entries that rest on it."""
    drawer = call.space.drawer(pointer)
    if drawer is None:
        raise InvalidPointer(f"There is no message {pointer}.", way_out="Call search_history to find its pointer.")
    resting = [entry for entry in call.space.knowledge.resting_on(drawer.number) if entry.active][:_MOST]
    shown = [lines.drawer_line(drawer, lines.cut(drawer.content, _WHOLE)), *_circumstances(call, drawer)]
    shown += [lines.entry_line(entry, _SHOWN) for entry in resting]
    header = "Verbatim" if not resting else "Verbatim, and the memories that rest on it"
    artifact = {"pointer": drawer.pointer, "drawer": drawer.number, "versions": versions(resting)}
    return Answer(lines.fenced(header, shown), artifact)


def _circumstances(call: Call, drawer: Drawer) -> Iterator[str]:
    yield lines.item(f"said {drawer.said_at:%Y-%m-%d %H:%M} UTC in session {drawer.session}, filed under {drawer.wing}")
    if drawer.superseded_by is not None:
        after = call.space.drawer(drawer.superseded_by)
        yield lines.item("edited later" + (f": see {after.pointer}" if after else ""))
