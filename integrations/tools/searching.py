"""Tools that search, list and explain."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from langmem_tiers.errors import InvalidPointer
from langmem_tiers.graphs.messages import is_synthetic
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import GetArguments, HistoryArguments, NoArguments, SearchArguments
from langmem_tiers.integrations.tools.base import Answer, Call, MemoryTool
from langmem_tiers.integrations.tools.saving import unknown, versions
from langmem_tiers.knowledge.types import CategoryCount
from langmem_tiers.language.periods import first_moment, last_moment
from langmem_tiers.layers import Layer, LayerFound
from langmem_tiers.pointers import find_pointers
from langmem_tiers.recall.message_search import search_messages
from langmem_tiers.recall.rendering import excerpt
from langmem_tiers.recall.request import parse
from langmem_tiers.records import Entry, EntryEvidence, Episode
from langmem_tiers.space import Space
from langmem_tiers.types import Candidate, Drawer, KnownCandidate, Receipt

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
        shown = [base.entry_line(entry, _SHOWN, terms) for entry in entries]
        text = base.fenced(f"{len(entries)} found, {order}{more}", shown)
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
    text = base.fenced(f"{len(found)} found in {layer}, {'best' if given.query else 'newest'} first", shown)
    return Answer(text, {"ids": [each.id for each in found if each.id]})


def _layer_line(found: LayerFound) -> str:
    label = f"[{found.id}] " if found.id else ""
    return base.item(base.cut(found.text, _SHOWN), label, f" — {base.day(found.at)}" if found.at else "")


class ListMemoryCategories(MemoryTool):
    """Lists the categories of the knowledge."""

    name: str = "list_memory_categories"
    description: str = "List the categories of long-term memory, with how many memories each holds."
    args_schema: type[BaseModel] = NoArguments

    def _answer(self, call: Call, given: NoArguments) -> Answer:
        listed = list(_branches(call.space.knowledge.categories()))
        if not listed:
            return Answer("There are no memories yet, so no categories.", {"categories": {}})
        shown = [base.item(f"{each.path} ({each.total})") for each in listed[:_MOST_CATEGORIES]]
        if len(listed) > _MOST_CATEGORIES:
            shown.append(f"[…] {len(listed) - _MOST_CATEGORIES} more")
        text = base.fenced(f"{len(listed)} categories, each with how many are in it and below", shown)
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
            text = base.fenced(f"Memory [{entry.id}]", list(_entry(entry)))
            return Answer(text, {"id": entry.id, "versions": versions([entry])})
        episode = call.space.archive.get(given.id_or_pointer)
        if episode is not None:
            return Answer(base.fenced(f"Summary [{episode.id}]", list(_episode(episode))), {"id": episode.id})
        raise unknown(given.id_or_pointer)


def _branches(categories: Sequence[CategoryCount]) -> Iterator[CategoryCount]:
    for each in categories:
        yield each
        yield from _branches(each.children)


def _entry(entry: Entry) -> Iterator[str]:
    yield base.item(base.cut(entry.content, _WHOLE))
    yield base.item(f"category {entry.category}" + (f", tags {', '.join(entry.tags)}" if entry.tags else ""))
    yield base.item(f"saved {base.day(entry.created_at)}, changed {base.day(entry.updated_at)}")
    if entry.expires_at is not None:
        yield base.item(f"expected to hold until {base.day(entry.expires_at)}")
    if entry.flags:
        yield base.item(f"reads like an {', '.join(entry.flags)}")
    if not entry.active:
        instead = f"; [{entry.successor}] holds instead" if entry.successor else ""
        yield base.item(f"no longer holds: {entry.reason}{instead}")
    for each in entry.evidence[:_MOST]:
        yield _rests_on(each)


def _episode(episode: Episode) -> Iterator[str]:
    yield base.item(base.cut(episode.summary, _WHOLE))
    yield base.item(f"of {f'task {episode.task}' if episode.task else f'session {episode.session}'}")
    yield base.item(base.days(episode.began_at, episode.ended_at))
    if episode.topics:
        yield base.item(f"topics: {', '.join(episode.topics)}")


def _rests_on(each: EntryEvidence) -> str:
    return base.item(f"rests on {each.pointer}" + (f": “{base.cut(each.quote, _SHOWN)}”" if each.quote else ""))


def _drawer(call: Call, pointer: str) -> Answer:
    """A message in full, and the entries that rest on it."""
    drawer = call.space.drawer(pointer)
    if drawer is None:
        raise InvalidPointer(f"There is no message {pointer}.", way_out="Call search_history to find its pointer.")
    resting = [entry for entry in call.space.knowledge.resting_on(drawer.number) if entry.active][:_MOST]
    shown = [base.drawer_line(drawer, base.cut(drawer.content, _WHOLE)), *_circumstances(call, drawer)]
    shown += [base.entry_line(entry, _SHOWN) for entry in resting]
    header = "Verbatim" if not resting else "Verbatim, and the memories that rest on it"
    artifact = {"pointer": drawer.pointer, "drawer": drawer.number, "versions": versions(resting)}
    return Answer(base.fenced(header, shown), artifact)


def _circumstances(call: Call, drawer: Drawer) -> Iterator[str]:
    yield base.item(f"said {drawer.said_at:%Y-%m-%d %H:%M} UTC in session {drawer.session}, filed under {drawer.wing}")
    if drawer.superseded_by is not None:
        after = call.space.drawer(drawer.superseded_by)
        yield base.item("edited later" + (f": see {after.pointer}" if after else ""))


_MOST_MESSAGES = 8
_MOST_EPISODES = 3
_MESSAGE_SHOWN = 400
# Looked at before `since` is applied.
_MESSAGES_LOOKED_AT = 60


class SearchHistory(MemoryTool):
    """Searches the archive of sessions and tasks, and the drawers of all conversations."""

    name: str = "search_history"
    description: str = "Search earlier conversations: summaries, and what was said word for word, with § pointers."
    args_schema: type[BaseModel] = HistoryArguments

    def _answer(self, call: Call, given: HistoryArguments) -> Answer:
        now = call.space.memory.clock()
        since, until = first_moment(given.since, now), last_moment(given.until, now)
        said = [each for each in _said(call, given.query, until) if since is None or each.said_at >= since][
            :_MOST_MESSAGES
        ]
        told = _told_message(call, given.query, since, until)
        if not said and not told:
            text = "Nothing was said about this, as far as is known. Try other words or dates."
            return Answer(text, {"pointers": [], "episodes": []})
        terms = parse(given.query, 0).terms
        shown = [_episode_line(each) for each in told]
        shown += [base.drawer_line(each, excerpt(each.content, terms, _MESSAGE_SHOWN)) for each in said]
        header = f"{len(told)} summaries and {len(said)} messages, best first; get_memory shows one in full"
        artifact = {"pointers": [each.pointer for each in said], "episodes": [each.id for each in told]}
        return Answer(base.fenced(header, shown), artifact)


def _told_message(call: Call, query: str, since: datetime | None, until: datetime | None) -> list[Episode]:
    """The summaries that fit best; that they were shown is counted."""
    archive = call.space.archive
    found = [each.episode for each in archive.search(query, limit=_MOST_EPISODES, since=since, until=until)]
    if found:
        archive.count_recalled([each.id for each in found])
    return found


def _episode_line(episode: Episode) -> str:
    about = f"task {episode.task}" if episode.task else f"session {episode.session}"
    return base.item(f"{about}: {episode.abstract}", f"[{episode.id}] {base.days(episode.began_at, episode.ended_at)} ")


def _said(call: Call, query: str, until: datetime | None) -> list[Drawer]:
    """The drawers that fit best, without the messages that the model has before it; no trace of it is kept."""
    before_it = [str(message.id) for message in call.messages]
    found = search_messages(call.space.context, query, limit=_MESSAGES_LOOKED_AT, until=until, window=before_it)
    return [item.drawer for item in found]


# Messages explained: that of this turn, and the one before, which the user may ask about.
_MOST_RECALLS = 2
# Receipts looked through: in a busy space, others come in between.
_RECALLS_LOOKED_AT = 50
_QUERY_SHOWN = 200
_WHY_NOTHING = {
    "nothing_found": "nothing that is stored comes close to it",
    "nothing_new": "what fits was before you already",
    "trivial": "it says too little to look anything up for",
    "disabled": "recall is turned off",
}
_CHANNELS = {
    "keyword": "words in common",
    "vector": "like in meaning",
    "fallback": "among the user's latest words, as nothing fitted",
    "rerank": "picked by the reranker",
}


class ExplainRecall(MemoryTool):
    """Says which memories were put before the model, and why."""

    name: str = "explain_recall"
    description: str = "Say which memories were recalled for this turn and the one before, and why, with scores."
    args_schema: type[BaseModel] = NoArguments

    def _answer(self, call: Call, given: NoArguments) -> Answer:
        found = _receipts(call)
        if not found:
            return Answer("Nothing was recalled in this conversation so far.", {"receipts": []})
        shown = [line for receipt in found for line in _told_recall(call, receipt)]
        return Answer(base.fenced("What was recalled, newest first", shown), {"receipts": [r.number for r in found]})


def _receipts(call: Call) -> list[Receipt]:
    """One for each of the last human messages; without messages, those of the conversation; without one, the last."""
    kept = call.space.receipts(limit=_RECALLS_LOOKED_AT)
    session = call.scope.session
    if session is not None:
        kept = tuple(receipt for receipt in kept if receipt.session == session)
    asked = [str(m.id) for m in call.messages if isinstance(m, HumanMessage) and not is_synthetic(m)]
    if asked:
        kept = tuple(receipt for receipt in kept if receipt.message_id in asked[-_MOST_RECALLS:])
    newest: dict[object, Receipt] = {}
    for receipt in kept:  # a message that was edited has one for each wording: the last one counts
        newest.setdefault(receipt.message_id or receipt.number, receipt)
    return list(newest.values())[:_MOST_RECALLS]


def _told_recall(call: Call, receipt: Receipt) -> Iterator[str]:
    said = base.cut(receipt.query, _QUERY_SHOWN)
    shown = [each for each in receipt.candidates if each.verdict == "shown"]
    known = [each for each in receipt.known if each.verdict == "shown"]
    looked_at = len(receipt.candidates) + len(receipt.known)
    if not shown and not known:
        why = _WHY_NOTHING.get(receipt.verdict, "nothing fitted well enough")
        yield base.item(f"For “{said}” nothing was recalled: {why}. {looked_at} were looked at.")
        return
    yield base.item(f"For “{said}”, {len(shown) + len(known)} of {looked_at} that were looked at:")
    yield from (_known(call, each) for each in known)
    yield from (_recalled_drawer(call, each) for each in shown)
    yield from (base.item(f"note: {note}") for note in receipt.notes)


def _recalled_drawer(call: Call, candidate: Candidate) -> str:
    drawer = Space(call.space.memory, candidate.space).drawer(candidate.drawer)
    why = _why(candidate.scores, candidate.score)
    if drawer is None:
        return base.item(f"[{candidate.pointer}] (deleted since), {why}")
    return base.drawer_line(drawer, f"{base.cut(drawer.content, _QUERY_SHOWN)}\n{why}")


def _known(call: Call, candidate: KnownCandidate) -> str:
    """An entry with its text, anything else by its name."""
    space = Space(call.space.memory, candidate.space)
    entry = space.knowledge.get(candidate.ref) if candidate.kind == "entry" else None
    text = base.cut(entry.content, _QUERY_SHOWN) if entry is not None else ""
    return base.item(
        f"{text}\n{_why(candidate.scores, candidate.score)}".strip(), f"[{candidate.kind} {candidate.ref}] "
    )


def _why(scores: Mapping[str, float], score: float) -> str:
    parts = [f"{_CHANNELS.get(name, name)} {value:.2f}" for name, value in scores.items() if value]
    return f"because: {', '.join(parts) or 'other signals'}; score {score:.2f}"
