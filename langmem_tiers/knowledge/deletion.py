"""Deletes an entry for good, and removes it from everything derived from messages.

That covers session summaries, dreams based on them, lines of flushes, dream reports, and golden questions. What
someone wrote deliberately stays as written: notes, the identity, and the working state or the summary of a task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge import decide, document_text, lifecycle, tombstones
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.episode_writer import searched_texts
from langmem_tiers.knowledge.results import Deleted
from langmem_tiers.knowledge.tombstones import Unsaid, meaning
from langmem_tiers.knowledge_graph.deletion import retract_evidence
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language.sentences import passages, without
from langmem_tiers.language.summaries import abstract
from langmem_tiers.language.words import occurs, words
from langmem_tiers.records import Authority, Entry, Episode
from langmem_tiers.settings import Settings
from langmem_tiers.storage import documents, dreams, entries, episodes, feedback, purging, receipts, revisions

# Inactive for one of these reasons, an entry is another wording of its successor.
_OTHER_WORDINGS = ("merged", "consolidated", "updated", "enriched")
# Where the activity of an enrichment names the entries with its facts.
_MADE = ("kept", "merged", "known")
_HEAD = 2  # letters
_DAY = re.compile(r"memory/\d{4}-\d\d-\d\d\.md")
_LINE = re.compile(r"- \d{4}-\d\d-\d\d: (?P<told>.*) \[§[^\[\]\n]+\]\s*")


def delete(writer: EntryWriter, entry_id: str, *, by: Authority, settings: Settings, by_tool: bool = False) -> Deleted:
    """Delete an entry, its other wordings, and repetitions in derived memories, leaving tombstones.

    Raises:
        AuthorityTooLow: the memory may not delete what a user or agent stated, nor a tool's result what was said.
    """
    at = from_millis(writer.now)
    entry = writer.read(entry_id)
    if entry is None:
        return Deleted(id=entry_id, existed=False, at=at)
    if by is Authority.SYSTEM or by_tool:
        decide.require(entry, by, by_tool=by_tool)
    gone = with_other_wordings(writer, entry)
    ids = [each.id for each in gone]
    said = tombstones.unsaid(writer, gone)
    stones = tombstones.bury(writer, gone, said)
    _clear(writer, said, settings)
    receipts.forget(writer.connection, writer.space, ids)
    dreams.forget(writer.connection, writer.space, ids)
    for each in (each for one in ids for each in entries.succeeded_by(writer.connection, writer.space, one)):
        if each.id not in ids:
            writer.change(each, successor=None)
    evidence, vectors = writer.remove(gone)
    purging.request(writer.connection, writer.space, at=writer.now)
    with_it = tuple(each for each in ids if each != entry.id)
    counts = {"evidence": evidence, "vectors": vectors, "tombstones": stones}
    return Deleted(id=entry.id, existed=True, at=at, with_it=with_it, **counts)


def with_other_wordings(writer: EntryWriter, entry: Entry) -> list[Entry]:
    """An entry with its earlier and merged wordings, and the entries it was split from."""
    found, formers = {entry.id: entry}, dict[str, Entry]()
    waiting = [entry]
    while waiting:
        behind = entries.succeeded_by(writer.connection, writer.space, waiting.pop().id)
        news = [each for each in behind if each.reason in _OTHER_WORDINGS and each.id not in found]
        found |= {each.id: each for each in news}
        waiting += news
    # The entries that one of these was enriched from still hold its words.
    for enrichment in lifecycle.enrichments(writer):
        made = {str(each) for name in _MADE for each in enrichment.body.get(name, ())}
        former = writer.read(enrichment.body.get("former")) if made & found.keys() else None
        if former is not None and former.reason == "enriched":
            formers[former.id] = former
    return list((found | formers).values())


def _clear(writer: EntryWriter, said: Unsaid, settings: Settings) -> None:
    """Remove deleted content from the graph, episodes, daily notes, dreams and golden questions."""
    with GraphTransaction(writer.connection, writer.space, writer.now, settings) as graph:
        retract_evidence(graph, said.passages)
    for drawer, found in said.passages.items():
        revisions.forget(writer.connection, writer.space, drawer, partial(_is_of, found), at=writer.now)
    for episode in episodes.of_messages(writer.connection, writer.space):
        _clear_episode(writer, episode, said, settings)
    for path in documents.paths(writer.connection, writer.space):
        if _DAY.fullmatch(path) or path.startswith(document_text.DREAMT):
            _clear_document(writer, path, said, settings)
    left = _left(said)
    dreams.unsay(writer.connection, writer.space, left)
    feedback.unsay(writer.connection, writer.space, left)


def _is_of(passages: Iterable[str], quote: str) -> bool:
    """Whether a quote is part of one of these passages, or holds one."""
    return any(occurs(quote, each) or occurs(each, quote) for each in passages)


def _left(said: Unsaid) -> Callable[[str], str]:
    """A function that removes deleted content from a text; fast for texts without any of the words."""
    wanted = [_heads(each.telling) for each in said.meanings]
    passages_of = [_heads(meaning(each).telling) for held in said.passages.values() for each in held]

    @cache
    def left(text: str) -> str:
        here = _heads(words(text))
        may = any(each <= here for each in wanted) or any(len(each & here) > 1 for each in passages_of)
        return without(text, said.holds) if may else text

    return left


def _heads(found: Iterable[str]) -> frozenset[str]:
    """The first letters of words, which their stems share."""
    return frozenset(word[:_HEAD] for word in found)


def _clear_episode(writer: EntryWriter, episode: Episode, said: Unsaid, settings: Settings) -> None:
    summary, gist = without(episode.summary, said.holds), without(episode.abstract, said.holds)
    topics = tuple(topic for topic in episode.topics if _stays(topic, summary, said))
    same = (summary, gist) == (episode.summary, episode.abstract) and (summary != "" or topics == episode.topics)
    if same:  # topics alone matter where there is no summary
        return
    receipts.forget(writer.connection, writer.space, [episode.id], kind="episode")
    dreams.forget(writer.connection, writer.space, [episode.id])
    if not summary.strip() and (episode.summary or not topics):
        episodes.remove(writer.connection, writer.space, [episode], writer.now)
        return
    gist = gist or abstract("\n".join(passages(summary)), settings.episodes.abstract_characters)
    gist = gist or summary[: settings.episodes.abstract_characters]
    left = replace(episode, summary=summary, abstract=gist, topics=topics)
    texts = searched_texts(left.summary, left.abstract, left.topics, _title(left), settings.text.chunk_characters)
    episodes.rewrite(writer.connection, writer.space, left, texts, writer.now)


def _title(episode: Episode) -> str:
    """The title that an episode is searched by, empty for that of a session."""
    return (episode.title or "") if episode.of_task else ""


def _stays(topic: str, summary: str, said: Unsaid) -> bool:
    """Whether a topic may stay: it is not about the deleted content, or the remaining summary still mentions it."""
    telling = meaning(topic).telling
    gone = frozenset[str]().union(*(each.telling for each in said.meanings))
    return not telling & gone or telling <= meaning(summary).telling


def _clear_document(writer: EntryWriter, path: str, said: Unsaid, settings: Settings) -> None:
    """Remove deleted content from a dream's document, or the lines of a daily note that the memory flushed there."""
    held = documents.read(writer.connection, writer.space, path)
    if held is None or held.encoding != "utf-8":
        return
    left = without(held.content, said.holds)
    if _DAY.fullmatch(path):
        lines = held.content.splitlines(keepends=True)
        left = "".join(line for line in lines if not ((known := _LINE.fullmatch(line)) and said.holds(known["told"])))
    if left == held.content:
        return
    receipts.forget(writer.connection, writer.space, [path], kind="document")
    dreams.forget(writer.connection, writer.space, [path])
    if not left.strip():
        documents.drop(writer.connection, writer.space, path, writer.now)
        return
    new = document_text.of_text(path, left, held.origin, settings)
    documents.put(writer.connection, writer.space, new, writer.now)
