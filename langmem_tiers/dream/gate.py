"""The gate: recall is asked golden questions as the space is, and as a dream would make it.

A question that recall answers and would not answer any more is broken: what touches what its answer rests on is left
out of the dream, and where that does not help, nothing of the dream is carried out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.dream import golden
from langmem_tiers.dream.golden import GoldenQuestion
from langmem_tiers.dream.trial import trial
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
from langmem_tiers.palace.words import words
from langmem_tiers.recall.pipeline import Recall
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.writing.mining.vectors import embed_with

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.recall.sources import OwnSource
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.store import SpaceStore
    from langmem_tiers.types import Recalled

# Times that something is left out of a dream before all of it is.
_ROUNDS = 3

# What a dream adds: it may take the place of something else in a block.
_ADDING = (AntiPattern, InferredPreference, Synthesis)

Ref = tuple[str, str]
"""What an answer rests on: its kind and id, as recall names them."""


class Gated(NamedTuple):
    """What may be carried out, how recall did on each question, and which were broken on the way.

    `passed` is false where nothing is left of what was accepted before.
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
    """How recall would do: the broken questions, and the result of each."""

    broken: list[_Answered]
    results: tuple[GoldenResult, ...]


def check(
    memory: Memory, space: str, store: SpaceStore, material: Material, decision: Decision
) -> tuple[GoldenResult, ...]:
    """Whether recall answers the golden questions as the space is, and whether it would after a decision.

    Raises:
        StorageError: it could not be tried out.
    """
    return _Gate(memory, space, store, material, decision).tried(decision).results


def passing(memory: Memory, space: str, store: SpaceStore, material: Material, decision: Decision) -> Gated:
    """As much of a decision as makes recall no worse; what is left out is rejected, with the question as the reason.

    Raises:
        StorageError: it could not be tried out.
    """
    if not decision.accepted:
        return Gated(decision)
    gate = _Gate(memory, space, store, material, decision)
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
    """A question as reports name it.

    Reports are kept: a question that was made of a memory goes by that, as its words must not outlive the memory's.
    """
    return f"[{question.about}]" if question.about else question.question


class _Gate:
    """Asks the questions of one space on behalf of one dream; what they need of an embedder is made at once."""

    def __init__(self, memory: Memory, space: str, store: SpaceStore, material: Material, decision: Decision) -> None:
        self._memory = memory
        self._store = store
        self._material = material
        self._asked = golden.questions(store, memory.settings, touched=_merged(decision), besides=_retired(decision))
        embedder = memory.embedder_of(space)
        self._queries = {each.question: embedder.query(each.question) for each in self._asked}
        texts = list(dict.fromkeys(text for each in decision.accepted for text in _added(each)))
        vectors = embed_with(embedder)(texts) if texts else None
        self._vectors: Mapping[str, Vectors] = {} if vectors is None else dict(zip(texts, vectors, strict=True))
        self._before = {each.question: each for each in self._answers(self._asked, store)}

    def tried(self, decision: Decision) -> _Tried:
        """How recall would do if a decision were carried out."""
        with trial(self._store, self._material, decision, self._memory.settings, self._vectors) as tried:
            after = {each.question for each in self._answers(self._asked, tried)}
        results = (
            GoldenResult(question=shown(each), before=each in self._before, after=each in after) for each in self._asked
        )
        broken = [answered for question, answered in self._before.items() if question not in after]
        return _Tried(broken, tuple(results))

    def query(self, text: str) -> tuple[Vectors | None, str | None]:
        """The vector that a question got in the beginning: none is made while a transaction waits."""
        return self._queries[text]

    def _answers(self, asked: Sequence[GoldenQuestion], source: OwnSource) -> Iterator[_Answered]:
        """Those of the questions that recall answers there."""
        for question in asked:
            recalled = self._recalled(question, source)
            if _holds(recalled, question):
                yield _Answered(question, _rests_on(recalled, question))

    def _recalled(self, question: GoldenQuestion, source: OwnSource) -> Recalled:
        settings = self._memory.settings
        request = RecallRequest(
            query=question.question,
            session=None,
            message_id=None,
            window=None,
            window_turns=settings.window.turns,
            now=self._material.at,
            until=None,
            limit=settings.recall.limit,
            threshold=settings.recall.threshold,
            token_budget=settings.recall.token_budget,
            fallback=False,
            keep_receipt=False,
            settings=settings.recall,
            fade_days=settings.dream.fade_days,
        )
        return Recall(
            request,
            (),
            own=source,
            embedder=self,
            count_tokens=self._memory.count_tokens,
            receipts_kept=settings.storage.receipts_kept,
        ).run()


def _holds(recalled: Recalled, question: GoldenQuestion) -> bool:
    """Whether a block holds all that a question expects."""
    texts = _texts(recalled)
    cited = {item.drawer.number for item in recalled.items}
    return cited.issuperset(question.drawers) and all(
        any(_said(expected, text) for text in texts.values()) for expected in question.words
    )


def _rests_on(recalled: Recalled, question: GoldenQuestion) -> frozenset[Ref]:
    """What in a block holds something that a question expects."""
    texts = _texts(recalled)
    return frozenset(ref for ref, text in texts.items() if any(_said(expected, text) for expected in question.words))


def _texts(recalled: Recalled) -> dict[Ref, str]:
    """What a block shows, by what it is of; of a note that is shown in pieces, all of these."""
    found: dict[Ref, str] = {}
    for known in recalled.known:
        found[known.kind, known.ref] = f"{found.get((known.kind, known.ref), '')}\n{known.text}"
    return found | {("drawer", str(item.drawer.number)): item.drawer.content for item in recalled.items}


def _said(expected: str, text: str) -> bool:
    """Whether a text holds these words, in this order and without others between them."""
    return f" {' '.join(words(expected))} " in f" {' '.join(words(text))} "


def _without(decision: Decision, broken: Sequence[_Answered]) -> Decision:
    """The decision without what touches the answers of broken questions; where nothing does, without what it adds."""
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
    """The entries that are to be found no more: they have expired, or another one tells what holds."""
    return {each.id for each in decision.accepted if isinstance(each, RetireEntry)}


def _added(proposal: Proposal) -> Iterator[str]:
    """The texts that a proposal adds to what is searched by meaning."""
    if isinstance(proposal, MergeEntries | AntiPattern | InferredPreference):
        yield proposal.content


def _touches(proposal: Proposal, rests_on: Collection[Ref]) -> bool:
    """Whether a proposal changes, or puts aside, something of what an answer rests on."""
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
