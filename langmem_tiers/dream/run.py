"""Runs a dream from start to report.

    gather -> consolidate -> preferences -> synthesize -> graph -> gate -> commit

Each step takes the state of a dream and returns the next one, which can be saved between steps: another process can
resume from it, and what was committed is not committed again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict

from langmem_tiers.context import SpaceContext
from langmem_tiers.dream import apply, consolidate, decide, graph_pass, preferences, recall_gate, synthesis
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.questions import SOURCE, DreamAsker, Step, Stopped, arun, run
from langmem_tiers.dream.types import DreamPath, DreamReport, DreamStatus, Material, Proposal, Trigger
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.models.calls import ModelAnswer
from langmem_tiers.models.directives import Directives
from langmem_tiers.settings import Settings
from langmem_tiers.storage import dreams, leases, usages
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.threads import to_thread

log = logging.getLogger(__name__)

_UNDER_WAY = "Another dream of this space is under way."
_NO_MODEL = "There is no model: rules did all of it."
_CLOSED = "The memory was closed meanwhile: nothing was changed."
_LONGEST_NOTE = 200

Progress = Callable[[Mapping[str, Any]], None]
"""Called after each step and after each answer of a model."""
Propose = Callable[[Material, Settings, Directives], Step[list[Proposal]]]
"""A pass that proposes: it asks a model where there is one, and does by rule what it can."""


class DreamState(BaseModel):
    """A dream on its way: its report as far as it goes, and what its next steps work with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    report: DreamReport
    dry_run: bool = False
    material: Material | None = None
    proposals: tuple[Proposal, ...] = ()
    passed: bool = True
    took: float = 0.0
    """Seconds that its steps have taken: what lies between two of them, as where it was killed, does not count."""

    @classmethod
    def new(
        cls, context: SpaceContext, *, trigger: Trigger = "hand", dry_run: bool = False, dream_id: str | None = None
    ) -> DreamState:
        """The state of a dream before its first step."""
        report = DreamReport.begun(context.name, context.clock(), trigger=trigger, dream_id=dream_id)
        return cls(report=report, dry_run=dry_run)

    def but(self, **changed: Any) -> DreamState:
        """A copy of the state with some fields changed."""
        return self.model_copy(update=changed)

    def known(self, **changed: Any) -> DreamState:
        """A copy of the state with some fields of its report changed."""
        return self.but(report=self.report.but(**changed))

    def noting(self, *notes: str) -> DreamState:
        """The state with more notes, each kept once."""
        cut = (note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]}…" for note in notes)
        return self.known(notes=tuple(dict.fromkeys((*self.report.notes, *cut))))

    @property
    def over(self) -> bool:
        """Whether the dream has ended, one way or another."""
        return self.report.finished_at is not None

    @property
    def session(self) -> str:
        """The session that its questions are booked under, which gives them a budget of their own."""
        return f"dream/{self.report.id}"

    @property
    def seen(self) -> Material:
        """What was gathered."""
        if self.material is None:
            raise ValueError("Nothing was gathered yet: a dream begins with that.")
        return self.material


def dream(context: SpaceContext, *, trigger: Trigger = "hand", dry_run: bool = False) -> DreamReport:
    """Run a dream on a space and wait for it; `skipped` if another dream of it is running.

    Raises:
        LeaseLost: it took so long that another dream has started; nothing was written.
        StorageError: nothing was written.
    """
    with otel.step("dream", context.name), context.open() as store:
        runner = DreamRunner(context, store)
        state = DreamState.new(context, trigger=trigger, dry_run=dry_run)
        try:
            for name in STEPS:
                state = runner.step(name, state)
        finally:
            runner.release(state)
    return state.report


@dataclass(frozen=True)
class DreamRunner:
    """Takes dreams of an open space from step to step."""

    context: SpaceContext
    store: SpaceStore
    progress: Progress = lambda _: None

    def step(self, name: str, state: DreamState) -> DreamState:
        """The state after the next step; a finished dream stays as it is.

        Raises:
            LeaseLost: another dream has started meanwhile.
            StorageError: nothing was written.
        """
        with otel.step(f"dream.{name}", self.context.name) as span:
            asker = self._asker(name, state)
            try:
                after = run(self._stepping(name, state, asker), asker)
            except Stopped:
                after = self._stopped(state)
            return _traced(span, state, after.but(took=asker.took))

    async def astep(self, name: str, state: DreamState) -> DreamState:
        """Like `step`, without blocking the event loop."""
        with otel.step(f"dream.{name}", self.context.name) as span:
            asker = self._asker(name, state)
            try:
                after = await arun(self._stepping(name, state, asker), asker)
            except Stopped:
                after = await to_thread(self._stopped, state)
            return _traced(span, state, after.but(took=asker.took))

    def release(self, state: DreamState) -> None:
        """Let other dreams of the space start, if this one did not end normally."""
        if not state.over and state.material is not None:
            self._give_back(state)

    def lease(self, state: DreamState) -> Lease:
        """The lease that keeps other dreams of the space from starting."""
        seconds = self.context.settings.dream.lease_seconds
        return Lease(self.store.database, DREAM, state.report.id, seconds, self.context.clock)

    def renew_lease(self, state: DreamState) -> None:
        """Renew the lease.

        Raises:
            LeaseLost: another dream has started meanwhile.
        """
        if not state.dry_run:
            self.lease(state).renew(state.seen.fence)

    def ended(self, state: DreamState, status: DreamStatus, *notes: str) -> DreamState:
        """The state of a dream that ends like this."""
        ended = {"status": status, "finished_at": self.context.clock(), "usage": self.usage(state)}
        return state.noting(*notes).known(**ended)

    def usage(self, state: DreamState) -> dict[str, dict[str, float]]:
        """The booked usage of a dream, including runs before it was resumed."""
        with self.store.reading() as connection:
            took = usages.of_session(connection, self.store.key, state.session)
        if not took.calls:
            return {}
        counted = ("calls", "failures", "input_tokens", "output_tokens")
        return {SOURCE: {name: float(getattr(took, name)) for name in counted} | {"cost": took.cost_micros / 1_000_000}}

    def _asker(self, name: str, state: DreamState) -> DreamAsker:
        def answered() -> None:
            self.renew_lease(state)
            self._tell(name, state, {"asked": len(asker.heard)})

        seconds = self.context.settings.dream.seconds
        asker = DreamAsker(
            asker=self.context.asker(self.store),
            session=state.session,
            answered=answered,
            seconds=seconds,
            spent=state.took,
            stop=self.context.closing,
        )
        return asker

    def _stepping(self, name: str, state: DreamState, asker: DreamAsker) -> Step[DreamState]:
        """A step, with the checks that all steps share."""
        if state.over:
            return state
        asker.require_time()
        try:
            state = _heard(name, (yield from STEPS[name](self, state)), asker.heard)
        except InvalidDirective as error:
            state = self._failed(state, str(error))
        self._tell(name, state, _counts(name, state))
        return state

    def _tell(self, name: str, state: DreamState, counts: Mapping[str, Any]) -> None:
        self.progress({"step": name, "space": state.report.space, "dream": state.report.id, **counts})

    def _failed(self, state: DreamState, reason: str) -> DreamState:
        """End a dream without a change; what it has read is not read again."""
        failed = self.ended(state, "failed", reason)
        if not state.dry_run and state.material is not None:
            apply.keep_report(self.store, state.material, failed.report)
            self._give_back(state)
        return failed

    def _stopped(self, state: DreamState) -> DreamState:
        """End a dream because the memory is being closed; a later one will see the same material."""
        if state.material is not None:
            self._give_back(state)
        return self.ended(state, "skipped", _CLOSED)

    def _give_back(self, state: DreamState) -> None:
        if not state.dry_run:
            self.lease(state).release(state.seen.fence)


def _heard(name: str, state: DreamState, answers: Sequence[ModelAnswer[Any]]) -> DreamState:
    """The state with what became of a step's questions."""
    failures = (f"{name}: {each.reason}; rules did what they can" for each in answers if each.failure)
    path: DreamPath = "model" if any(each.value is not None for each in answers) else state.report.path
    return state.known(path=path) if _NO_MODEL in state.report.notes else state.known(path=path).noting(*failures)


def _traced(span: otel.Noting, before: DreamState, after: DreamState) -> DreamState:
    span.note({f"{otel.SCOPE}.proposals": len(after.proposals)})
    if after.over and not before.over:
        report_end(after.report, span)
    return after


def report_end(report: DreamReport, span: otel.Noting | None = None) -> None:
    """Log and count the end of a dream; in a span if it ended in one of its steps."""
    span = span or otel.Noting()
    counts: dict[str, Any] = {
        "status": report.status,
        "trigger": report.trigger,
        "path": report.path,
        "accepted": len(report.decision.accepted),
        "rejected": len(report.decision.rejected),
    }
    span.note(otel.named(counts))
    if report.status == "failed":
        span.failed("failed")
    otel.dreamt(report.status, report.trigger, report.path)
    say(log, logging.INFO, "dreamt", space=report.space, dream=report.id, **counts)


def _counts(name: str, state: DreamState) -> dict[str, Any]:
    if state.over:
        return {"status": state.report.status}
    if name == "gather":
        seen = state.seen
        return {"entries": len(seen.entries), "turns": len(seen.turns), "episodes": len(seen.episodes)}
    if name == "gate":
        decision = state.report.decision
        return {"accepted": len(decision.accepted), "rejected": len(decision.rejected)}
    return {"proposals": len(state.proposals)}


# The steps.


def _gather(runner: DreamRunner, state: DreamState) -> Step[DreamState]:
    """Take the lease, and read the space."""
    yield from ()
    fence = 0 if state.dry_run else _fence(runner, state)
    if fence is None:
        return runner.ended(state, "skipped", _UNDER_WAY)
    context = runner.context
    try:
        material = gather(runner.store, context.settings, context.clock(), fence)
    except BaseException:
        runner.lease(state).release(fence)
        raise
    state = state.but(material=material)
    return state if context.asker(runner.store) else state.noting(_NO_MODEL)


def _fence(runner: DreamRunner, state: DreamState) -> int | None:
    """The lease number, None if another dream has it; a dream killed in this step still has it."""
    fence = runner.lease(state).acquire()
    if fence is not None:
        return fence
    with runner.store.reading() as connection:
        held = leases.read(connection, runner.store.key, DREAM)
    return held.fence if held is not None and held.holder == state.report.id else None


def _propose(propose: Propose, runner: DreamRunner, state: DreamState) -> Step[DreamState]:
    """Collect the proposals of a pass."""
    context = runner.context
    runner.renew_lease(state)
    proposals = yield from propose(
        state.seen, context.settings, Directives(context.folder, context.settings.directives)
    )
    return state.but(proposals=(*state.proposals, *proposals))


def _gate(runner: DreamRunner, state: DreamState) -> Step[DreamState]:
    """Judge the proposals, and check that recall gets no worse."""
    yield from ()
    runner.renew_lease(state)
    context, store = runner.context, runner.store
    decision = decide.decide(state.seen, state.proposals, context.settings)
    gated = recall_gate.passing(context, store, state.seen, decision)
    broke = (f"recall would not answer any more: {question}" for question in gated.broken)
    return state.noting(*broke).known(decision=gated.decision, golden=gated.results).but(passed=gated.passed)


def _commit(runner: DreamRunner, state: DreamState) -> Step[DreamState]:
    """Apply the decision, once."""
    yield from ()
    context, store = runner.context, runner.store
    if state.dry_run:
        draft = state.report.but(usage=runner.usage(state))
        given = (store, state.seen, draft, context.settings, context.clock())
        return state.but(report=apply.preview(*given, passed=state.passed))
    with store.reading() as connection:
        row = dreams.one(connection, store.key, state.report.id)
    if row is not None:  # it was killed after its commit
        state = state.but(report=DreamReport.model_validate(row.report))
    elif state.passed:
        draft = state.report.but(usage=runner.usage(state))
        done = apply.apply(store, state.seen, draft, context.settings, context.clock())
        state = state.but(report=done.report)
    else:
        state = runner.ended(state, "gated")
        apply.keep_report(store, state.seen, state.report)
    runner.lease(state).release(state.seen.fence)
    context.wake()
    return state


_PASSES: Mapping[str, Propose] = {
    "consolidate": consolidate.propose,
    "preferences": preferences.propose,
    "synthesize": synthesis.propose,
    "graph": graph_pass.propose,
}

STEPS: Mapping[str, Callable[[DreamRunner, DreamState], Step[DreamState]]] = {
    "gather": _gather,
    **{name: partial(_propose, propose) for name, propose in _PASSES.items()},
    "gate": _gate,
    "commit": _commit,
}
"""The steps by name, in their order."""
