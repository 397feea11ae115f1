"""Tools that search, list and explain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from langchain_core.messages import HumanMessage
from pydantic import Field

from langmem_tiers.errors import InvalidPointer
from langmem_tiers.graphs.messages import is_synthetic
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import LAYER, Id, Name, Tags, Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.saving import unknown
from langmem_tiers.integrations.tools.versions import versions
from langmem_tiers.knowledge.fallbacks import still_read
from langmem_tiers.knowledge.results import CategoryCount, EpisodeFound
from langmem_tiers.language.periods import first_moment, last_moment
from langmem_tiers.language.quotations import marked, quoted_in
from langmem_tiers.layers import LayerFound
from langmem_tiers.pointers import find_pointers
from langmem_tiers.recall.message_search import search_messages
from langmem_tiers.recall.rendering import excerpt, render_ended
from langmem_tiers.recall.request import parse
from langmem_tiers.records import Entry, Episode
from langmem_tiers.space import Space
from langmem_tiers.types import Candidate, Drawer, KnownCandidate, Receipt
from langmem_tiers.wording import counted

_MOST = 10
_MOST_CATEGORIES = 100
_SHOWN = 300
_WHOLE = 4000


def search_memory(
    call: Call,
    query: Annotated[Words, Field(description="What to look for.")] = None,
    category: Annotated[Words, Field(description="This category and those below.")] = None,
    tags: Annotated[Tags, Field(description="Only memories that have all of these.")] = None,
    since: Annotated[Words, Field(description="First day: YYYY-MM-DD.")] = None,
    until: Annotated[Words, Field(description="Last day: YYYY-MM-DD.")] = None,
    project: Annotated[Name, Field(description="Only of this project.")] = None,
    task: Annotated[Name, Field(description="Only of this task (id).")] = None,
    layer: Annotated[
        Literal["L0", "L1", "L2"], LAYER, Field(description="L0: profile. L1: memories. L2: summaries.")
    ] = "L1",
) -> ToolAnswer:
    """Search long-term memory for facts and preferences. Without a query: the newest."""
    now = call.space.memory.clock()
    filters: dict[str, Any] = {"since": first_moment(since, now), "until": last_moment(until, now)}
    filters |= {"project": project, "task": task}
    order = "best first" if query else "newest first"
    if layer != "L1":  # the profile and the summaries have no categories and tags
        told = call.space.search(query, layer=layer, **filters, limit=_MOST)
        if not told:
            return ToolAnswer(f"Nothing in {layer} fits. Try other words, or fewer filters.", {"ids": []})
        text = base.fenced(f"{len(told)} found in {layer}, {order}", [_layer_line(call, each) for each in told])
        return ToolAnswer(text, {"ids": [call.reference(each.id, each.space) for each in told if each.id]})
    found = call.space.knowledge.search(query, category=category, tags=tags or (), **filters, limit=_MOST + 1)
    shown = found[:_MOST]
    if not shown:
        return ToolAnswer("No memory fits. Try other words, or fewer filters.", {"ids": []})
    more = ", and there are more" if len(found) > _MOST else ""
    terms = parse(query or "", 0).terms
    refs = [call.reference(each.entry.id, each.space) for each in shown]
    lines = [
        base.entry_line(each.entry, _SHOWN, terms, each.ended, ref=ref) for each, ref in zip(shown, refs, strict=True)
    ]
    text = base.fenced(f"{len(shown)} found, {order}{more}", lines)
    own = [each.entry for each in shown if each.space == call.space.name]
    return ToolAnswer(text, {"ids": refs, "versions": versions(own)})


def _layer_line(call: Call, found: LayerFound) -> str:
    label = f"[{call.reference(found.id, found.space)}] " if found.id else ""
    end = (f" — {base.day(found.at)}" if found.at else "") + render_ended(found.ended)
    return base.item(base.cut(found.text, _SHOWN), label, end)


def list_memory_categories(call: Call) -> ToolAnswer:
    """List the categories of long-term memory, with how many memories each holds."""
    listed = list(_branches(call.space.knowledge.categories()))
    if not listed:
        return ToolAnswer("There are no memories yet, so no categories.", {"categories": {}})
    shown = [base.item(f"{each.path} ({each.total})") for each in listed[:_MOST_CATEGORIES]]
    if len(listed) > _MOST_CATEGORIES:
        shown.append(f"[…] {len(listed) - _MOST_CATEGORIES} more")
    text = base.fenced(f"{len(listed)} categories, each with how many are in it and below", shown)
    return ToolAnswer(text, {"categories": {each.path: each.total for each in listed}})


def get_memory(
    call: Call,
    id_or_pointer: Annotated[
        Id, Field(description="An id as shown in [brackets], or a pointer such as §W-001/R-02/D-003.")
    ],
) -> ToolAnswer:
    """Read one memory or summary in full by its id, or the exact words behind a § pointer."""
    name, sources = call.space.resolve_reference(id_or_pointer)
    if find_pointers(name):
        return _drawer(call, sources[0], name)
    for source in sources:
        entry = source.knowledge.get(name)
        if entry is not None:
            return _whole_entry(call, source, entry)
        episode = source.archive.get(name)
        if episode is not None:
            return _whole_episode(call, source, episode)
    raise unknown(id_or_pointer)


def _whole_entry(call: Call, source: Space, entry: Entry) -> ToolAnswer:
    ref = call.reference(entry.id, source.name)
    text = base.fenced(f"Memory [{ref}]", list(_entry(call, source, entry)))
    return ToolAnswer(text, {"id": ref, "versions": versions([entry] if source.name == call.space.name else [])})


def _whole_episode(call: Call, source: Space, episode: Episode) -> ToolAnswer:
    ref, ended = call.reference(episode.id, source.name), source.archive.ended([episode])[episode.id]
    text = base.fenced(f"Summary [{ref}]", [*_episode(episode), *map(base.item, ended)])
    return ToolAnswer(text, {"id": ref})


def _branches(categories: Sequence[CategoryCount]) -> Iterator[CategoryCount]:
    for each in categories:
        yield each
        yield from _branches(each.children)


def _entry(call: Call, source: Space, entry: Entry) -> Iterator[str]:
    yield base.item(base.cut(entry.content, _WHOLE))
    yield from map(base.item, source.knowledge.ended([entry])[entry.id])
    yield base.item(f"category {entry.category}" + (f", tags {', '.join(entry.tags)}" if entry.tags else ""))
    yield base.item(f"saved {base.day(entry.created_at)}, changed {base.day(entry.updated_at)}")
    if entry.expires_at is not None:
        yield base.item(f"expected to hold until {base.day(entry.expires_at)}")
    if entry.flags:
        yield base.item(f"reads like an {', '.join(entry.flags)}")
    if not entry.active:
        instead = f"; replaced by [{call.reference(entry.successor, source.name)}]" if entry.successor else ""
        yield base.item(f"no longer active: {entry.reason}{instead}")
    for each in entry.evidence[:_MOST]:
        quoted = f": “{base.cut(each.quote, _SHOWN)}”" if each.quote else ""
        yield base.item(f"rests on {call.reference(each.pointer, source.name)}{quoted}")


def _episode(episode: Episode) -> Iterator[str]:
    yield base.item(base.cut(episode.summary, _WHOLE))
    yield base.item(f"of {_about(episode)}")
    yield base.item(base.days(episode.began_at, episode.ended_at))
    if episode.topics:
        yield base.item(f"topics: {', '.join(episode.topics)}")


def _about(episode: Episode) -> str:
    return f"task {episode.task}" if episode.of_task else f"session {episode.session}"


def _drawer(call: Call, source: Space, pointer: str) -> ToolAnswer:
    """A message in full, and the entries that rest on it."""
    drawer = source.drawer(pointer)
    if drawer is None:
        raise InvalidPointer(f"There is no message {pointer}.", way_out="Call search_history to find its pointer.")
    resting = [entry for entry in source.knowledge.resting_on(drawer.number) if entry.active][:_MOST]
    when = f"said {drawer.said_at:%Y-%m-%d %H:%M} UTC in session {drawer.session}, filed under {drawer.wing}"
    ended = source.ended([drawer])[drawer.number]
    here = replace(drawer, pointer=call.reference(drawer.pointer, source.name))
    shown = [
        base.drawer_line(here, base.cut(marked(drawer.content, quoted_in(drawer)), _WHOLE), ended),
        base.item(when),
    ]
    if drawer.superseded_by is not None:
        after = source.drawer(drawer.superseded_by)
        seen = f": see {call.reference(after.pointer, source.name)}" if after else ""
        shown.append(base.item(f"edited later{seen}"))
    over = source.knowledge.ended(resting)
    refs = {entry.id: call.reference(entry.id, source.name) for entry in resting}
    shown += [base.entry_line(entry, _SHOWN, ended=over[entry.id], ref=refs[entry.id]) for entry in resting]
    header = "Verbatim" if not resting else "Verbatim, and the memories that rest on it"
    own = source.name == call.space.name
    artifact = {"pointer": here.pointer, "drawer": drawer.number, "versions": versions(resting if own else [])}
    return ToolAnswer(base.fenced(header, shown), artifact)


_MOST_MESSAGES = 8
_MOST_EPISODES = 3
_MESSAGE_SHOWN = 400
# Summaries of some days, where nothing is searched for.
_MOST_OF_DAYS = 20
# Looked at before `since` is applied.
_MESSAGES_LOOKED_AT = 60


def search_history(
    call: Call,
    query: Annotated[Words, Field(description="What was said or done, in a few words.")] = None,
    since: Annotated[Words, Field(description="Not said before this day: YYYY-MM-DD.")] = None,
    until: Annotated[Words, Field(description="Not said after this day: YYYY-MM-DD.")] = None,
    project: Annotated[Name, Field(description="Only of this project.")] = None,
    task: Annotated[Name, Field(description="Only of this task (id).")] = None,
) -> ToolAnswer:
    """Search earlier conversations: summaries, and what was said word for word, with § pointers.

    Without a query: the summaries of these days, newest first.
    """
    now, archive = call.space.memory.clock(), call.space.archive
    first, last = first_moment(since, now), last_moment(until, now)
    about: dict[str, Any] = {"project": project, "task": task}
    if query is None:
        return _told_of(call, archive.search("", limit=_MOST_OF_DAYS + 1, since=first, until=last, **about))
    # Without the messages that the model has before it; no trace is kept of having looked at them.
    before_it = [str(message.id) for message in call.messages]
    found = search_messages(call.space.context, query, limit=_MESSAGES_LOOKED_AT, until=last, window=before_it, **about)
    said = [each for each in found if first is None or each.drawer.said_at >= first][:_MOST_MESSAGES]
    summaries = archive.search(query, limit=_MOST_EPISODES, since=first, until=last, **about)
    _count_shown(call, summaries)
    if not said and not summaries:
        text = "Nothing was said about this, as far as is known. Try other words or dates."
        return ToolAnswer(text, {"pointers": [], "episodes": []})
    terms = parse(query, 0).terms
    refs = [call.reference(each.episode.id, each.space) for each in summaries]
    shown = [_summary_line(each, ref) for each, ref in zip(summaries, refs, strict=True)]
    shown += [base.drawer_line(each.drawer, _message_shown(each.drawer, terms), each.ended) for each in said]
    header = f"{len(summaries)} summaries and {len(said)} messages, best first; get_memory shows one in full"
    artifact = {"pointers": [each.drawer.pointer for each in said], "episodes": refs}
    return ToolAnswer(base.fenced(header, shown), artifact)


def _message_shown(drawer: Drawer, terms: Sequence[str]) -> str:
    return excerpt(drawer.content, terms, _MESSAGE_SHOWN, quoted=quoted_in(drawer))


def _told_of(call: Call, found: Sequence[EpisodeFound]) -> ToolAnswer:
    """The summaries of a time, without a query."""
    if not found:
        text = "There is no summary of these days: conversations get theirs when they are over. Search with a query."
        return ToolAnswer(text, {"pointers": [], "episodes": []})
    shown = found[:_MOST_OF_DAYS]
    refs = [call.reference(each.episode.id, each.space) for each in shown]
    _count_shown(call, shown)
    more = ", and there are more: give fewer days" if len(found) > len(shown) else ""
    header = f"{counted(len(shown), 'summary', 'summaries')}, newest first{more}; get_memory shows one in full"
    lines = [_summary_line(each, ref) for each, ref in zip(shown, refs, strict=True)]
    return ToolAnswer(base.fenced(header, lines), {"pointers": [], "episodes": refs})


def _count_shown(call: Call, summaries: Sequence[EpisodeFound]) -> None:
    """Count the space's own summaries as shown to a model; fallbacks are only read."""
    own = [each.episode.id for each in summaries if each.space == call.space.name]
    if own and call.space.context.role() == "leader":
        call.space.archive.count_recalled(own)


def _summary_line(found: EpisodeFound, ref: str) -> str:
    episode = found.episode
    label = f"[{ref}] {base.days(episode.began_at, episode.ended_at)} "
    return base.item(f"{_about(episode)}: {episode.abstract}", label, render_ended(found.ended))


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
    "rerank": "picked by the reranker",
}


def explain_recall(call: Call) -> ToolAnswer:
    """Say which memories were recalled for this turn and the one before, and why, with scores."""
    found = _receipts(call)
    if not found:
        return ToolAnswer("Nothing was recalled in this conversation so far.", {"receipts": []})
    shown = [line for receipt in found for line in _told_recall(call, receipt)]
    return ToolAnswer(base.fenced("What was recalled, newest first", shown), {"receipts": [r.number for r in found]})


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
    source = _still_read(call, candidate.space)
    drawer = None if source is None else source.drawer(candidate.drawer)
    why = _why(candidate.scores, candidate.score)
    if drawer is None:
        gone = "deleted since" if source else "no longer read from here"
        return base.item(f"[{candidate.pointer}] ({gone}), {why}")
    here = replace(drawer, pointer=candidate.pointer)
    return base.drawer_line(here, f"{base.cut(drawer.content, _QUERY_SHOWN)}\n{why}")


def _still_read(call: Call, space: str) -> Space | None:
    """A space that a recall read, if it is still read."""
    source = still_read(call.space.context, space)
    return None if source is None else Space(call.space.memory, source)


def _known(call: Call, candidate: KnownCandidate) -> str:
    """An entry with its text, anything else by its name."""
    source = _still_read(call, candidate.space)
    entry = source.knowledge.get(candidate.ref) if source is not None and candidate.kind == "entry" else None
    text = base.cut(entry.content, _QUERY_SHOWN) if entry is not None else ""
    return base.item(
        f"{text}\n{_why(candidate.scores, candidate.score)}".strip(),
        f"[{candidate.kind} {call.reference(candidate.ref, candidate.space)}] ",
    )


def _why(scores: Mapping[str, float], score: float) -> str:
    parts = [f"{_CHANNELS.get(name, name)} {value:.2f}" for name, value in scores.items() if value]
    return f"because: {', '.join(parts) or 'other signals'}; score {score:.2f}"
