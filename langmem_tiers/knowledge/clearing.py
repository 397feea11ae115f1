"""Clearing: what was made of messages by itself stops saying what is deleted.

Summaries of sessions, what dreams made of these, the lines of flushes, the reports of dreams, and golden questions are
cleared. What somebody wrote on purpose to be kept stays as it was written: notes, the identity, the archived text of a
task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from langmem_tiers.documents import making
from langmem_tiers.documents.types import Document
from langmem_tiers.episodes.findable import findable
from langmem_tiers.episodes.types import Episode
from langmem_tiers.knowledge.forgetting import Unsaid, meaning
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.passages import passages, without
from langmem_tiers.knowledge_graph.ledger import Ledger as GraphLedger
from langmem_tiers.knowledge_graph.unsaying import unsay
from langmem_tiers.palace.words import words
from langmem_tiers.settings import Settings
from langmem_tiers.storage import documents, dreams, episodes, golden, receipts
from langmem_tiers.writing.extractive.gist import abstract

_HEAD = 2  # letters
_DAY = re.compile(r"memory/\d{4}-\d\d-\d\d\.md")
_DREAMT = re.compile(r"_system/dreaming/.*\.md")
_LINE = re.compile(r"- \d{4}-\d\d-\d\d: (?P<told>.*) \[§[^\]\n]+\]\s*")


def clear(ledger: Ledger, said: Unsaid, settings: Settings) -> None:
    """Take what is deleted out of the graph, episodes of sessions, notes of the days, dreams and golden questions."""
    unsay(GraphLedger(ledger.connection, ledger.space, ledger.now, settings), said.passages)
    for episode in episodes.of_sessions(ledger.connection, ledger.space):
        _clear_episode(ledger, episode, said, settings)
    for path in filter(_DAY.fullmatch, documents.paths(ledger.connection, ledger.space)):
        _clear_note(ledger, path, said, settings)
    for path in filter(_DREAMT.fullmatch, documents.paths(ledger.connection, ledger.space)):
        _clear_synthesis(ledger, path, said, settings)
    left = _left(said)
    dreams.unsay(ledger.connection, ledger.space, left)
    golden.unsay(ledger.connection, ledger.space, left)


def _left(said: Unsaid) -> Callable[[str], str]:
    """What is left of a text; for many texts, most of which do not even hold the words."""
    wanted = [_heads(each.telling) for each in said.meanings]
    passages_of = [_heads(meaning(each).telling) for held in said.passages.values() for each in held]

    @cache
    def left(text: str) -> str:
        here = _heads(words(text))
        may = any(each <= here for each in wanted) or any(len(each & here) > 1 for each in passages_of)
        return without(text, said.holds) if may else text

    return left


def _heads(found: Iterable[str]) -> frozenset[str]:
    """The beginnings of words, which their stems have as well."""
    return frozenset(word[:_HEAD] for word in found)


def _clear_episode(ledger: Ledger, episode: Episode, said: Unsaid, settings: Settings) -> None:
    summary, gist = without(episode.summary, said.holds), without(episode.abstract, said.holds)
    if (summary, gist) == (episode.summary, episode.abstract):
        return
    receipts.forget(ledger.connection, ledger.space, [episode.id], kind="episode")
    dreams.forget(ledger.connection, ledger.space, [episode.id])
    if not summary.strip():
        episodes.remove(ledger.connection, ledger.space, [episode], ledger.now)
        return
    gist = gist or abstract("\n".join(passages(summary)), settings.episodes.abstract_characters)
    left = replace(episode, summary=summary, abstract=gist or summary[: settings.episodes.abstract_characters])
    left = replace(left, topics=tuple(topic for topic in episode.topics if _stays(topic, summary, said)))
    texts = findable(left.summary, left.abstract, left.topics, left.task, settings.text.chunk_characters)
    episodes.rewrite(ledger.connection, ledger.space, left, texts, ledger.now)


def _stays(topic: str, summary: str, said: Unsaid) -> bool:
    """Whether a topic is none of what is deleted, or the summary speaks of it all the same."""
    telling = meaning(topic).telling
    gone = frozenset[str]().union(*(each.telling for each in said.meanings))
    return not telling & gone or telling <= meaning(summary).telling


def _clear_note(ledger: Ledger, path: str, said: Unsaid, settings: Settings) -> None:
    held = documents.read(ledger.connection, ledger.space, path)
    if held is None or held.encoding != "utf-8":
        return
    lines = held.content.splitlines(keepends=True)
    left = [line for line in lines if not ((known := _LINE.fullmatch(line)) and said.holds(known["told"]))]
    _rewrite(ledger, held, "".join(left), settings)


def _clear_synthesis(ledger: Ledger, path: str, said: Unsaid, settings: Settings) -> None:
    held = documents.read(ledger.connection, ledger.space, path)
    if held is not None and held.encoding == "utf-8":
        _rewrite(ledger, held, without(held.content, said.holds), settings)


def _rewrite(ledger: Ledger, held: Document, left: str, settings: Settings) -> None:
    if left == held.content:
        return
    receipts.forget(ledger.connection, ledger.space, [held.path], kind="document")
    dreams.forget(ledger.connection, ledger.space, [held.path])
    if not left.strip():
        documents.drop(ledger.connection, ledger.space, held.path, ledger.now)
        return
    documents.put(ledger.connection, ledger.space, making.of_text(held.path, left, held.origin, settings), ledger.now)
