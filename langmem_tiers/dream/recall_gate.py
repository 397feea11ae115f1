"""The gate: asks golden questions before and after a dream's changes, to check that recall gets no worse.

A question that recall answers before and not after is broken: proposals that touch its answer are left out of the
dream, and if that does not help, nothing of the dream is applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.context import SpaceContext
from langmem_tiers.dream import apply, golden
from langmem_tiers.dream.golden import GoldenQuestion
from langmem_tiers.dream.types import (
    AntiPattern,
    CloseWindows,
    Decision,
    GoldenResult,
    InferredPreference,
    Material,
    MergeEntities,
    MergeEntries,
    Proposal,
    RefineEntry,
    Rejected,
    RetireEntry,
    Synthesis,
    WithdrawRelation,
)
from langmem_tiers.knowledge.neighbours import embed_with
from langmem_tiers.language.words import words
from langmem_tiers.recall.pipeline import Recall
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.recall.sources import Source
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, embedding_cache, notes
from langmem_tiers.store import SpaceStore

if TYPE_CHECKING:
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.types import Recalled

# How often proposals are left out before the whole dream is rejected.
_ROUNDS = 3

# What a dream adds: it may push something else out of a block.
_ADDING = (AntiPattern, InferredPreference, Synthesis)

Ref = tuple[str, str]
"""What an answer rests on: its kind and id, as recall names them."""


class Gated(NamedTuple):
    """What may be applied, how recall did on each question, and which questions broke on the way.

    `passed` is false if nothing accepted is left.
    """

    decision: Decision
    results: tuple[GoldenResult, ...] = ()
    broken: tuple[str, ...] = ()
    passed: bool = True


class _Answered(NamedTuple):
    """A question that recall answers, and what its answer rests on."""

    question: GoldenQuestion
    rests_on: frozenset[Ref]


class _Tried(NamedTuple):
    """A trial run: the broken questions, and each question's result."""

    broken: list[_Answered]
    results: tuple[GoldenResult, ...]


def check(context: SpaceContext, store: SpaceStore, material: Material, decision: Decision) -> tuple[GoldenResult, ...]:
    """Whether recall answers the golden questions now, and whether it would after a decision.

    Raises:
        StorageError: the trial failed.
    """
    return _Gate(context, store, material, decision).tried(decision).results


def passing(context: SpaceContext, store: SpaceStore, material: Material, decision: Decision) -> Gated:
    """The part of a decision that makes recall no worse; the rest is rejected, with the question as the reason.

    Raises:
        StorageError: the trial failed.
    """
    if not decision.accepted:
        return Gated(decision)
    gate = _Gate(context, store, material, decision)
    met: dict[str, None] = {}
    for _ in range(_ROUNDS):
        tried = gate.tried(decision)
        if not tried.broken:
            return Gated(decision, tried.results, tuple(met), passed=bool(decision.accepted))
        met.update(dict.fromkeys(shown(each.question) for each in tried.broken))
        left = _without(decision, tried.broken)
        if len(left.accepted) == len(decision.accepted):
            break
        decision = left
    refused = _refused(decision, decision.accepted, next(iter(met)))
    return Gated(refused, tried.results, tuple(met), passed=False)


def shown(question: GoldenQuestion) -> str:
    """A question as named in reports.

    Reports are kept: a question made from a memory is named after that memory, since its words must not outlive it.
    """
    return f"[{question.about}]" if question.about else question.question


class _Gate:
    """Asks the questions of one space for one dream; their vectors are computed once, up front."""

    def __init__(self, context: SpaceContext, store: SpaceStore, material: Material, decision: Decision) -> None:
        self._context = context
        self._store = store
        self._material = material
        self._asked = golden.questions(store, context.settings, touched=_merged(decision), besides=_retired(decision))
        embedder = context.embedder
        self._queries = {each.question: embedder.query(each.question) for each in self._asked}
        texts = list(dict.fromkeys(text for each in decision.accepted for text in _added(each)))
        vectors = embed_with(embedder)(texts) if texts else None
        self._vectors: Mapping[str, Vectors] = {} if vectors is None else dict(zip(texts, vectors, strict=True))
        self._before = {each.question: each for each in self._answers(self._asked, Source(store=store))}

    def tried(self, decision: Decision) -> _Tried:
        """How recall would do if a decision were applied."""
        with trial(self._store, self._material, decision, self._context.settings, self._vectors) as tried:
            after = {each.question for each in self._answers(self._asked, tried)}
        results = (
            GoldenResult(question=shown(each), before=each in self._before, after=each in after) for each in self._asked
        )
        broken = [answered for question, answered in self._before.items() if question not in after]
        return _Tried(broken, tuple(results))

    def query(self, text: str) -> tuple[Vectors | None, str | None]:
        """The vector of a question, computed at the start: none is computed while a transaction waits."""
        return self._queries[text]

    def _answers(self, asked: Sequence[GoldenQuestion], source: Source) -> Iterator[_Answered]:
        """The questions that recall answers there."""
        for question in asked:
            recalled = self._recalled(question, source)
            if _holds(recalled, question):
                yield _Answered(question, _rests_on(recalled, question))

    def _recalled(self, question: GoldenQuestion, source: Source) -> Recalled:
        request = RecallRequest.of(self._context.settings, query=question.question, now=self._material.at)
        return Recall(self._context, request, [source], embedder=self).run()


def _holds(recalled: Recalled, question: GoldenQuestion) -> bool:
    """Whether a block contains everything that a question expects."""
    texts = _texts(recalled)
    cited = {item.drawer.number for item in recalled.items}
    return cited.issuperset(question.drawers) and all(
        any(_said(expected, text) for text in texts.values()) for expected in question.words
    )


def _rests_on(recalled: Recalled, question: GoldenQuestion) -> frozenset[Ref]:
    """The parts of a block that contain something a question expects."""
    texts = _texts(recalled)
    return frozenset(ref for ref, text in texts.items() if any(_said(expected, text) for expected in question.words))


def _texts(recalled: Recalled) -> dict[Ref, str]:
    """The texts in a block by their source; for a note shown in pieces, all pieces."""
    found: dict[Ref, str] = {}
    for known in recalled.known:
        found[known.kind, known.ref] = f"{found.get((known.kind, known.ref), '')}\n{known.text}"
    return found | {("drawer", str(item.drawer.number)): item.drawer.content for item in recalled.items}


def _said(expected: str, text: str) -> bool:
    """Whether a text contains these words in a row."""
    return f" {' '.join(words(expected))} " in f" {' '.join(words(text))} "


def _without(decision: Decision, broken: Sequence[_Answered]) -> Decision:
    """The decision without what touches the answers of broken questions; if nothing does, without what it adds."""
    for answered in broken:
        touching = [each for each in decision.accepted if _touches(each, answered.rests_on)]
        beside = [each for each in decision.accepted if isinstance(each, _ADDING)]
        decision = _refused(decision, touching or beside, shown(answered.question))
    return decision


def _refused(decision: Decision, proposals: Sequence[Proposal], question: str) -> Decision:
    reason = f"recall would not answer a question any more: {question}"
    return Decision(
        accepted=tuple(each for each in decision.accepted if each not in proposals),
        rejected=(*decision.rejected, *(Rejected(proposal=each, reason=reason) for each in proposals)),
    )


def _merged(decision: Decision) -> set[str]:
    return {source for each in decision.accepted if isinstance(each, MergeEntries) for source in each.sources}


def _retired(decision: Decision) -> set[str]:
    """Entries that should not be found any more: expired, or superseded by another."""
    return {each.id for each in decision.accepted if isinstance(each, RetireEntry)}


def _added(proposal: Proposal) -> Iterator[str]:
    """The texts that a proposal adds to semantic search."""
    if isinstance(proposal, MergeEntries | AntiPattern | InferredPreference):
        yield proposal.content


def _touches(proposal: Proposal, rests_on: Collection[Ref]) -> bool:
    """Whether a proposal changes or retires something that an answer rests on."""
    match proposal:
        case MergeEntries():
            return any(("entry", source) in rests_on for source in proposal.sources)
        case RetireEntry() | RefineEntry():
            return ("entry", proposal.id) in rests_on
        case Synthesis():
            return any(("episode", episode) in rests_on for episode in proposal.episodes)
        case WithdrawRelation():
            return ("relation", proposal.id) in rests_on
        case MergeEntities() | CloseWindows():
            return any(kind == "relation" for kind, _ in rests_on)
        case _:
            return False


# The space as a dream would make it.


@contextmanager
def trial(
    store: SpaceStore, material: Material, decision: Decision, settings: Settings, vectors: Mapping[str, Vectors]
) -> Iterator[Source]:
    """The space with a decision applied, for the duration of the block; no one else can write meanwhile.

    `vectors` are those of the texts that the decision adds, so that they are found by meaning, as they will be later.

    Raises:
        StorageError: the trial failed.
    """
    with store.writing() as connection:
        before = change_log.moment(connection, store.key)
        known = notes.newest(connection, store.key)
        apply.carry_out(connection, store.key, material, decision, settings, material.at)
        _put_vectors(connection, store, known, vectors)
        yield Source(store=store, before=before)
        connection.get_transaction().rollback()  # type: ignore[union-attr]


def _put_vectors(connection: Connection, store: SpaceStore, known: int, vectors: Mapping[str, Vectors]) -> None:
    """Store the vectors of notes numbered above `known`."""
    if store.chroma is None or not vectors:
        return
    model = store.chroma.model
    for note in notes.without_vector(connection, store.key, model, [(known + 1, notes.newest(connection, store.key))]):
        if note.text in vectors:
            embedding_cache.put(connection, store.key, model, [note.text_hash], vectors[note.text][None, :])
