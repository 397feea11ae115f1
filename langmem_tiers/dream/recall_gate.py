"""The gate: asks golden questions before and after a dream's changes, to check that recall gets no worse.

A question that recall answers before and not after is broken: proposals that touch its answer are left out of the
dream, and if that does not help, nothing of the dream is applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, assert_never

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.dream import apply, golden
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
from langmem_tiers.recall.sources import RecallSource
from langmem_tiers.records import GoldenQuestion
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, embedding_cache, notes
from langmem_tiers.store import SpaceStore

if TYPE_CHECKING:
    from langmem_tiers.models.guarded_embedder import QueryVector
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.types import Recalled

# How often proposals are left out before the whole dream is rejected.
_ROUNDS = 3

# What a dream adds: it may push something else out of a block.
_ADDING = (AntiPattern, InferredPreference, Synthesis)
# What adds an entry, which is found by its meaning.
_SEARCHED = (MergeEntries, AntiPattern, InferredPreference)

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
        broken, results = gate.tried(decision)
        if not broken:
            return Gated(decision, results, tuple(met), passed=bool(decision.accepted))
        met.update(dict.fromkeys(shown(each.question) for each in broken))
        left = _without(decision, broken)
        if len(left.accepted) == len(decision.accepted):
            break
        decision = left
    refused = _refused(decision, decision.accepted, next(iter(met)))
    return Gated(refused, results, tuple(met), passed=False)


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
        accepted = decision.accepted
        merged = {source for each in accepted if isinstance(each, MergeEntries) for source in each.sources}
        # What is retired should not be found any more: it has expired, or another entry has taken its place.
        retired = {each.id for each in accepted if isinstance(each, RetireEntry)}
        self._asked = golden.questions(store, context.settings, touched=merged, besides=retired)
        embedder = context.embedder
        self._queries = {each.question: embedder.query(each.question) for each in self._asked}
        texts = list(dict.fromkeys(each.content for each in accepted if isinstance(each, _SEARCHED)))
        vectors = embed_with(embedder)(texts) if texts else None
        self._vectors: Mapping[str, Vectors] = {} if vectors is None else dict(zip(texts, vectors, strict=True))
        self._before = {each.question: each for each in self._answers(self._asked, RecallSource(store=store))}

    def tried(self, decision: Decision) -> tuple[list[_Answered], tuple[GoldenResult, ...]]:
        """How recall would do if a decision were applied: the questions that broke, and the result of each question."""
        with trial(self._store, self._material, decision, self._context.settings, self._vectors) as tried:
            after = {each.question for each in self._answers(self._asked, tried)}
        results = (
            GoldenResult(question=shown(each), before=each in self._before, after=each in after) for each in self._asked
        )
        return [before for question, before in self._before.items() if question not in after], tuple(results)

    def query(self, text: str) -> QueryVector:
        """The vector of a question, computed at the start: none is computed while a transaction waits."""
        return self._queries[text]

    def begin(self, text: str) -> None:
        """There is nothing to wait for."""

    def _answers(self, asked: Sequence[GoldenQuestion], source: RecallSource) -> Iterator[_Answered]:
        """The questions that recall answers there: with a block that holds everything that they expect."""
        for question in asked:
            request = RecallRequest.of(self._context.settings, query=question.question, now=self._material.at)
            recalled = Recall(self._context, request, [source], embedder=self).run()
            texts = _texts(recalled)
            rests_on = {words: [ref for ref, text in texts.items() if _said(words, text)] for words in question.words}
            cited = {item.drawer.number for item in recalled.items}
            if cited.issuperset(question.drawers) and all(rests_on.values()):
                yield _Answered(question, frozenset(ref for refs in rests_on.values() for ref in refs))


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
        case AntiPattern() | InferredPreference():
            return False
        case _:
            assert_never(proposal)


# The space as a dream would make it.


@contextmanager
def trial(
    store: SpaceStore, material: Material, decision: Decision, settings: Settings, vectors: Mapping[str, Vectors]
) -> Iterator[RecallSource]:
    """The space with a decision applied, for the duration of the block; no one else can write meanwhile.

    `vectors` are those of the texts that the decision adds, so that they are found by meaning, as they will be later.

    Raises:
        StorageError: the trial failed.
    """
    with store.writing() as connection:
        before = change_log.moment(connection, store.key)
        known, at = notes.newest(connection, store.key), to_millis(material.at)
        apply.carry_out(connection, store.key, material, decision, settings, material.at)
        if store.model is not None and vectors:
            model, first, last = store.model, known + 1, notes.newest(connection, store.key)
            missing = notes.without_vector(connection, store.key, model, [(first, last)])
            embedded = [each for each in missing if each.text in vectors]
            for note in embedded:
                embedding_cache.put(connection, store.key, model, [note.text_hash], vectors[note.text][None, :])
            if embedded:
                change_log.append(connection, store.key, "notes.embedded", first, until=last, detail=model, at=at)
        yield RecallSource(store=store, before=before)
        connection.get_transaction().rollback()  # type: ignore[union-attr]
