"""The steps of a dream, each from one state to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langmem_tiers.dream import applying, consolidate, decider, gate, graph_pass, preferences, synthesis
from langmem_tiers.dream.asking import SOURCE, DreamAsker, Patience, Question, Step, Stopped, arun, listening, run
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.lease import DREAM, Lease
from langmem_tiers.dream.state import DreamState, report_of
from langmem_tiers.dream.telling import atraced, traced
from langmem_tiers.dream.types import DreamPath, DreamReport, DreamStatus, Material, Proposal
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.directives import Directives
from langmem_tiers.settings import Settings
from langmem_tiers.storage import dreams, leases, usages
from langmem_tiers.storage.store import SpaceStore

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

_UNDER_WAY = "Another dream of this space is under way."
_NO_MODEL = "There is no model: rules did all of it."
_CLOSED = "The memory was closed meanwhile: nothing was changed."

Progress = Callable[[Mapping[str, Any]], None]
"""Is told of each step that ends, and of each answer of a model."""
Proposing = Callable[[Material, Settings, Directives], Generator[Question, Answer[Any], list[Proposal]]]
"""A pass that proposes: it asks a model where there is one, and does by rule what it can."""


@dataclass(frozen=True)
class Dreaming:
    """Takes the dreams of an open space from step to step."""

    memory: Memory
    store: SpaceStore
    told: Progress = lambda _: None

    @traced
    def step(self, name: str, state: DreamState) -> DreamState:
        """The state after a step; a dream that is over stays as it is.

        Raises:
            LeaseLost: another dream has begun meanwhile.
            StorageError: nothing was written.
        """
        patience = self._patience(state)
        try:
            after = run(self._taken(name, state, patience), self._asker(name, state, patience))
        except Stopped:
            after = self._stopped(state)
        return after.but(took=patience.took)

    @atraced
    async def astep(self, name: str, state: DreamState) -> DreamState:
        """`step`, while the event loop goes on."""
        patience = self._patience(state)
        try:
            after = await arun(self._taken(name, state, patience), self._asker(name, state, patience))
        except Stopped:
            after = await asyncio.to_thread(self._stopped, state)
        return after.but(took=patience.took)

    def release(self, state: DreamState) -> None:
        """Let others dream of the space, where this dream has not ended in due form."""
        if state.report is None and state.material is not None:
            self._give_back(state)

    def lease(self, state: DreamState) -> Lease:
        """What keeps others from dreaming of the space meanwhile."""
        seconds = self.memory.settings.dream.lease_seconds
        return Lease(self.store, DREAM, state.id, seconds, self.memory.clock)

    def over(self, state: DreamState, status: DreamStatus, *notes: str, **known: Any) -> DreamState:
        """A dream that ends like this, with its report."""
        noted = state.noting(*notes)
        return noted.but(report=self.draft(noted).model_copy(update={"status": status, **known}))

    def draft(self, state: DreamState) -> DreamReport:
        """The report of a dream, as far as it is known before the commit."""
        return DreamReport(
            id=state.id,
            space=state.space,
            status="nothing",
            trigger=state.trigger,
            path=state.path,
            started_at=state.started_at,
            finished_at=self.memory.clock(),
            decision=state.decision,
            golden=state.golden,
            usage=self._usage(state),
            notes=state.notes,
        )

    def _patience(self, state: DreamState) -> Patience:
        memory = self.memory
        return Patience(seconds=memory.settings.dream.seconds, spent=state.took, stop=lambda: memory.closing)

    def _taken(self, name: str, state: DreamState, patience: Patience) -> Step[DreamState]:
        """A step, with what holds for each of them."""
        if state.report is not None:
            return state
        patience.require()
        try:
            state = yield from STEPS[name](self, state)
        except InvalidDirective as error:
            state = self._failed(state, str(error))
        self.told({"step": name, "space": state.space, "dream": state.id, **_counts(name, state)})
        return state

    def stay(self, state: DreamState) -> None:
        """Keep the lease for as long again.

        Raises:
            LeaseLost: another dream has begun meanwhile.
        """
        if not state.dry_run:
            self.lease(state).renew(state.seen.fence)

    def _failed(self, state: DreamState, reason: str) -> DreamState:
        """A dream that ends without a change: what it has read is not read again."""
        failed = self.over(state, "failed", reason)
        if not state.dry_run and state.material is not None:
            applying.note(self.store, state.material, report_of(failed))
            self._give_back(state)
        return failed

    def _stopped(self, state: DreamState) -> DreamState:
        """A dream that ends because the memory is being closed: another one sees all of it again."""
        if state.material is not None:
            self._give_back(state)
        return self.over(state, "skipped", _CLOSED)

    def _give_back(self, state: DreamState) -> None:
        if not state.dry_run:
            self.lease(state).release(state.seen.fence)

    def _asker(self, name: str, state: DreamState, patience: Patience) -> DreamAsker:
        asked = 0

        def answered() -> None:
            nonlocal asked
            asked += 1
            self.stay(state)
            self.told({"step": name, "space": state.space, "dream": state.id, "asked": asked})

        asker = self.memory.asker(self.store)
        return DreamAsker(asker=asker, session=_session(state), answered=answered, patience=patience)

    def _usage(self, state: DreamState) -> dict[str, dict[str, float]]:
        """What models took for a dream, as it is booked: a dream that was taken up again has it all."""
        with self.store.reading() as connection:
            took = usages.of_session(connection, self.store.key, _session(state))
        if not took.calls:
            return {}
        cost = took.cost_micros / 1_000_000
        tokens = {"input_tokens": took.input_tokens, "output_tokens": took.output_tokens}
        return {SOURCE: {"calls": took.calls, "failures": took.failures, **tokens, "cost": cost}}


def _gather(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
    """Take the lease, and look at the space."""
    yield from ()
    fence = 0 if state.dry_run else _fence(dreaming, state)
    if fence is None:
        return dreaming.over(state, "skipped", _UNDER_WAY)
    memory = dreaming.memory
    try:
        material = gather(dreaming.store, memory.settings, memory.clock(), fence)
    except BaseException:
        dreaming.lease(state).release(fence)
        raise
    state = state.but(material=material)
    return state if memory.asker(dreaming.store) else state.noting(_NO_MODEL)


def _fence(dreaming: Dreaming, state: DreamState) -> int | None:
    """The number of the lease, None where another dream has it; one that was killed in this step has it already."""
    fence = dreaming.lease(state).acquire()
    if fence is not None:
        return fence
    with dreaming.store.reading() as connection:
        held = leases.read(connection, dreaming.store.key, DREAM)
    return held.fence if held is not None and held.holder == state.id else None


def _proposing(name: str, proposing: Proposing) -> Callable[[Dreaming, DreamState], Step[DreamState]]:
    """The step of a pass that proposes."""

    def step(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
        heard: list[Answer[Any]] = []
        memory = dreaming.memory
        dreaming.stay(state)
        asking = proposing(state.seen, memory.settings, Directives(memory.path))
        proposals = yield from listening(asking, heard)
        failures = (f"{name}: {each.reason}; rules did what they can" for each in heard if each.failure)
        path: DreamPath = "model" if any(each.value is not None for each in heard) else state.path
        state = state.but(proposals=(*state.proposals, *proposals), path=path)
        return state if _NO_MODEL in state.notes else state.noting(*failures)

    return step


def _gate(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
    """Judge what was proposed, and see that recall becomes no worse by it."""
    yield from ()
    dreaming.stay(state)
    memory, store = dreaming.memory, dreaming.store
    decision = decider.decide(state.seen, state.proposals, memory.settings)
    gated = gate.passing(memory, store.name, store, state.seen, decision)
    broke = (f"recall would not answer any more: {question}" for question in gated.broken)
    state = state.noting(*broke)
    return state.but(decision=gated.decision, golden=gated.results, passed=gated.passed)


def _commit(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
    """Carry out what was decided, once."""
    yield from ()
    if state.dry_run:
        return _previewed(dreaming, state)
    state = state.but(report=_kept(dreaming, state) or _committed(dreaming, state))
    dreaming.lease(state).release(state.seen.fence)
    dreaming.memory.wake(state.space)
    return state


def _previewed(dreaming: Dreaming, state: DreamState) -> DreamState:
    memory = dreaming.memory
    applied, diff = applying.preview(dreaming.store, state.seen, state.decision, memory.settings, memory.clock())
    return dreaming.over(state, "previewed" if state.passed else "gated", decision=applied.decision, diff=diff)


def _committed(dreaming: Dreaming, state: DreamState) -> DreamReport | None:
    """The report of a dream, once it is kept with what it changed."""
    memory, store = dreaming.memory, dreaming.store
    draft = dreaming.draft(state)
    if state.passed:
        applying.apply(store, state.seen, state.decision, memory.settings, memory.clock(), report=draft)
    else:
        applying.note(store, state.seen, draft.model_copy(update={"status": "gated"}))
    return _kept(dreaming, state)


def _kept(dreaming: Dreaming, state: DreamState) -> DreamReport | None:
    """The report of a dream that was committed already; None for another one."""
    with dreaming.store.reading() as connection:
        row = dreams.one(connection, dreaming.store.key, state.id)
    return None if row is None else row.report


def _session(state: DreamState) -> str:
    """What the questions of a dream are booked under, so that they have a budget of their own."""
    return f"dream/{state.id}"


def _counts(name: str, state: DreamState) -> dict[str, Any]:
    """What is told of a state after a step."""
    if state.report is not None:
        return {"status": state.report.status}
    if name == "gather":
        seen = state.seen
        return {"entries": len(seen.entries), "turns": len(seen.turns), "episodes": len(seen.episodes)}
    if name == "gate":
        return {"accepted": len(state.decision.accepted), "rejected": len(state.decision.rejected)}
    return {"proposals": len(state.proposals)}


_PASSES: Mapping[str, Proposing] = {
    "consolidate": consolidate.flow,
    "preferences": preferences.flow,
    "synthesize": synthesis.flow,
    "graph": graph_pass.flow,
}

STEPS: Mapping[str, Callable[[Dreaming, DreamState], Step[DreamState]]] = {
    "gather": _gather,
    **{name: _proposing(name, proposing) for name, proposing in _PASSES.items()},
    "gate": _gate,
    "commit": _commit,
}
"""The steps by name, in their order."""
