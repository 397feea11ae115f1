"""Runs a dream from start to report.

    gather -> consolidate -> preferences -> synthesize -> graph -> gate -> commit

Each step takes the state of a dream and returns the next one, which can be saved between steps: another process can
resume from it, and what was committed is not committed again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from langmem_tiers.context import SpaceContext
from langmem_tiers.dream import apply, consolidate, decide, graph_pass, preferences, recall_gate, synthesis
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.questions import SOURCE, DreamAsker, Patience, Question, Step, Stopped, arun, run
from langmem_tiers.dream.types import (
    Decision,
    DreamPath,
    DreamReport,
    DreamStatus,
    GoldenResult,
    Material,
    Proposal,
    Trigger,
)
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.knowledge import validation
from langmem_tiers.models.calls import Answer
from langmem_tiers.models.directives import Directives
from langmem_tiers.settings import Settings
from langmem_tiers.storage import dreams, leases, usages
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

_UNDER_WAY = "Another dream of this space is under way."
_NO_MODEL = "There is no model: rules did all of it."
_CLOSED = "The memory was closed meanwhile: nothing was changed."
_LONGEST_NOTE = 200

Progress = Callable[[Mapping[str, Any]], None]
"""Called after each step and after each answer of a model."""
Proposing = Callable[[Material, Settings, Directives], Generator[Question, Answer[Any], list[Proposal]]]
"""A pass that proposes: it asks a model where there is one, and does by rule what it can."""


class DreamState(BaseModel):
    """A dream on its way; with its `report` it is over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    space: str
    trigger: Trigger = "hand"
    dry_run: bool = False
    started_at: datetime
    path: DreamPath = "rule"
    notes: tuple[str, ...] = ()
    material: Material | None = None
    proposals: tuple[Proposal, ...] = ()
    decision: Decision = Decision()
    golden: tuple[GoldenResult, ...] = ()
    passed: bool = True
    took: float = 0.0
    """Seconds that its steps have taken: what lies between two of them, as where it was killed, does not count."""
    report: DreamReport | None = None

    @classmethod
    def new(
        cls, context: SpaceContext, *, trigger: Trigger = "hand", dry_run: bool = False, dream_id: str | None = None
    ) -> DreamState:
        """The state of a dream before its first step."""
        return cls(
            id=dream_id or validation.new_id(),
            space=context.name,
            trigger=trigger,
            dry_run=dry_run,
            started_at=context.clock(),
        )

    def but(self, **changed: Any) -> DreamState:
        """A copy of the state with some fields changed."""
        return self.model_copy(update=changed)

    def noting(self, *notes: str) -> DreamState:
        """The state with more notes, each kept once."""
        cut = (note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]}…" for note in notes)
        return self.but(notes=tuple(dict.fromkeys((*self.notes, *cut))))

    @property
    def seen(self) -> Material:
        """What was gathered."""
        if self.material is None:
            raise ValueError("Nothing was gathered yet: a dream begins with that.")
        return self.material

    @property
    def outcome(self) -> DreamReport:
        """The report of a finished dream."""
        if self.report is None:
            raise ValueError("The dream is not over yet.")
        return self.report


def dream(context: SpaceContext, *, trigger: Trigger = "hand", dry_run: bool = False) -> DreamReport:
    """Run a dream on a space and wait for it; `skipped` if another dream of it is running.

    Raises:
        LeaseLost: it took so long that another dream has started; nothing was written.
        StorageError: nothing was written.
    """
    with otel.step("dream", context.name), context.open() as store:
        dreaming = Dreaming(context, store)
        state = DreamState.new(context, trigger=trigger, dry_run=dry_run)
        try:
            for name in STEPS:
                state = dreaming.step(name, state)
        finally:
            dreaming.release(state)
    return state.outcome


async def adream(context: SpaceContext, *, trigger: Trigger = "hand", dry_run: bool = False) -> DreamReport:
    """Like `dream`, without blocking the event loop."""
    with otel.step("dream", context.name):
        async with opened(context) as store:
            dreaming = Dreaming(context, store)
            state = DreamState.new(context, trigger=trigger, dry_run=dry_run)
            try:
                for name in STEPS:
                    state = await dreaming.astep(name, state)
            finally:
                await asyncio.to_thread(dreaming.release, state)
    return state.outcome


@asynccontextmanager
async def opened(context: SpaceContext) -> AsyncIterator[SpaceStore]:
    """The store of a space, opened and closed without blocking the event loop."""
    held = context.open()
    store = await asyncio.to_thread(held.__enter__)
    try:
        yield store
    finally:
        await asyncio.to_thread(held.__exit__, None, None, None)


@dataclass(frozen=True)
class Dreaming:
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
        with otel.step(f"dream.{name}", state.space) as span:
            patience = self._patience(state)
            try:
                after = run(self._stepping(name, state, patience), self._asker(name, state, patience))
            except Stopped:
                after = self._stopped(state)
            return _traced(span, state, after.but(took=patience.took))

    async def astep(self, name: str, state: DreamState) -> DreamState:
        """Like `step`, without blocking the event loop."""
        with otel.step(f"dream.{name}", state.space) as span:
            patience = self._patience(state)
            try:
                after = await arun(self._stepping(name, state, patience), self._asker(name, state, patience))
            except Stopped:
                after = await asyncio.to_thread(self._stopped, state)
            return _traced(span, state, after.but(took=patience.took))

    def release(self, state: DreamState) -> None:
        """Let other dreams of the space start, if this one did not end normally."""
        if state.report is None and state.material is not None:
            self._give_back(state)

    def lease(self, state: DreamState) -> Lease:
        """The lease that keeps other dreams of the space from starting."""
        seconds = self.context.settings.dream.lease_seconds
        return Lease(self.store.database, DREAM, state.id, seconds, self.context.clock)

    def stay(self, state: DreamState) -> None:
        """Renew the lease.

        Raises:
            LeaseLost: another dream has started meanwhile.
        """
        if not state.dry_run:
            self.lease(state).renew(state.seen.fence)

    def over(self, state: DreamState, status: DreamStatus, *notes: str, **known: Any) -> DreamState:
        """The state of a dream that ends with this report."""
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
            finished_at=self.context.clock(),
            decision=state.decision,
            golden=state.golden,
            usage=self._usage(state),
            notes=state.notes,
        )

    def kept(self, state: DreamState) -> DreamReport | None:
        """The report of a dream if it was already committed, else None."""
        with self.store.reading() as connection:
            row = dreams.one(connection, self.store.key, state.id)
        return None if row is None else DreamReport.model_validate(row.report)

    def _patience(self, state: DreamState) -> Patience:
        return Patience(seconds=self.context.settings.dream.seconds, spent=state.took, stop=self.context.closing)

    def _stepping(self, name: str, state: DreamState, patience: Patience) -> Step[DreamState]:
        """A step, with the checks that all steps share."""
        if state.report is not None:
            return state
        patience.require()
        try:
            state = yield from STEPS[name](self, state)
        except InvalidDirective as error:
            state = self._failed(state, str(error))
        self.progress({"step": name, "space": state.space, "dream": state.id, **_counts(name, state)})
        return state

    def _asker(self, name: str, state: DreamState, patience: Patience) -> DreamAsker:
        asked = 0

        def answered() -> None:
            nonlocal asked
            asked += 1
            self.stay(state)
            self.progress({"step": name, "space": state.space, "dream": state.id, "asked": asked})

        asker = self.context.asker(self.store)
        return DreamAsker(asker=asker, session=_session(state), answered=answered, patience=patience)

    def _failed(self, state: DreamState, reason: str) -> DreamState:
        """End a dream without a change; what it has read is not read again."""
        failed = self.over(state, "failed", reason)
        if not state.dry_run and state.material is not None:
            apply.keep_report(self.store, state.material, failed.outcome)
            self._give_back(state)
        return failed

    def _stopped(self, state: DreamState) -> DreamState:
        """End a dream because the memory is being closed; a later one will see the same material."""
        if state.material is not None:
            self._give_back(state)
        return self.over(state, "skipped", _CLOSED)

    def _give_back(self, state: DreamState) -> None:
        if not state.dry_run:
            self.lease(state).release(state.seen.fence)

    def _usage(self, state: DreamState) -> dict[str, dict[str, float]]:
        """The booked usage of a dream, including runs before it was resumed."""
        with self.store.reading() as connection:
            took = usages.of_session(connection, self.store.key, _session(state))
        if not took.calls:
            return {}
        cost = took.cost_micros / 1_000_000
        tokens = {"input_tokens": took.input_tokens, "output_tokens": took.output_tokens}
        return {SOURCE: {"calls": took.calls, "failures": took.failures, **tokens, "cost": cost}}


def _session(state: DreamState) -> str:
    """The session that a dream's questions are booked under, which gives them a budget of their own."""
    return f"dream/{state.id}"


def _traced(span: otel.Noting, before: DreamState, after: DreamState) -> DreamState:
    span.note({f"{otel.SCOPE}.proposals": len(after.proposals)})
    if before.report is None and after.report is not None:
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
    """The counts reported after a step."""
    if state.report is not None:
        return {"status": state.report.status}
    if name == "gather":
        seen = state.seen
        return {"entries": len(seen.entries), "turns": len(seen.turns), "episodes": len(seen.episodes)}
    if name == "gate":
        return {"accepted": len(state.decision.accepted), "rejected": len(state.decision.rejected)}
    return {"proposals": len(state.proposals)}


# The steps.


def _gather(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
    """Take the lease, and read the space."""
    yield from ()
    fence = 0 if state.dry_run else _fence(dreaming, state)
    if fence is None:
        return dreaming.over(state, "skipped", _UNDER_WAY)
    context = dreaming.context
    try:
        material = gather(dreaming.store, context.settings, context.clock(), fence)
    except BaseException:
        dreaming.lease(state).release(fence)
        raise
    state = state.but(material=material)
    return state if context.asker(dreaming.store) else state.noting(_NO_MODEL)


def _fence(dreaming: Dreaming, state: DreamState) -> int | None:
    """The lease number, None if another dream has it; a dream killed in this step still has it."""
    fence = dreaming.lease(state).acquire()
    if fence is not None:
        return fence
    with dreaming.store.reading() as connection:
        held = leases.read(connection, dreaming.store.key, DREAM)
    return held.fence if held is not None and held.holder == state.id else None


def _proposing(name: str, proposing: Proposing) -> Callable[[Dreaming, DreamState], Step[DreamState]]:
    """The step of a pass that proposes."""

    def step(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
        context = dreaming.context
        dreaming.stay(state)
        heard: list[Answer[Any]] = []
        asking = proposing(state.seen, context.settings, Directives(context.folder))
        proposals = yield from _listening(asking, heard)
        failures = (f"{name}: {each.reason}; rules did what they can" for each in heard if each.failure)
        path: DreamPath = "model" if any(each.value is not None for each in heard) else state.path
        state = state.but(proposals=(*state.proposals, *proposals), path=path)
        return state if _NO_MODEL in state.notes else state.noting(*failures)

    return step


def _listening(
    asking: Generator[Question, Answer[Any], list[Proposal]], heard: list[Answer[Any]]
) -> Step[list[Proposal]]:
    """A pass as a step, with every answer noted."""
    try:
        question = next(asking)
        while True:
            answer = yield question
            heard.append(answer)
            question = asking.send(answer)
    except StopIteration as done:
        proposals: list[Proposal] = done.value
        return proposals


def _gate(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
    """Judge the proposals, and check that recall gets no worse."""
    yield from ()
    dreaming.stay(state)
    context, store = dreaming.context, dreaming.store
    decision = decide.decide(state.seen, state.proposals, context.settings)
    gated = recall_gate.passing(context, store, state.seen, decision)
    broke = (f"recall would not answer any more: {question}" for question in gated.broken)
    return state.noting(*broke).but(decision=gated.decision, golden=gated.results, passed=gated.passed)


def _commit(dreaming: Dreaming, state: DreamState) -> Step[DreamState]:
    """Apply the decision, once."""
    yield from ()
    if state.dry_run:
        return _previewed(dreaming, state)
    state = state.but(report=dreaming.kept(state) or _committed(dreaming, state))
    dreaming.lease(state).release(state.seen.fence)
    dreaming.context.wake()
    return state


def _previewed(dreaming: Dreaming, state: DreamState) -> DreamState:
    context = dreaming.context
    applied, diff = apply.preview(dreaming.store, state.seen, state.decision, context.settings, context.clock())
    return dreaming.over(state, "previewed" if state.passed else "gated", decision=applied.decision, diff=diff)


def _committed(dreaming: Dreaming, state: DreamState) -> DreamReport | None:
    """The report of a dream, once it is stored with its changes."""
    context, store = dreaming.context, dreaming.store
    draft = dreaming.draft(state)
    if state.passed:
        apply.apply(store, state.seen, state.decision, context.settings, context.clock(), report=draft)
    else:
        apply.keep_report(store, state.seen, draft.model_copy(update={"status": "gated"}))
    return dreaming.kept(state)


_PASSES: Mapping[str, Proposing] = {
    "consolidate": consolidate.propose,
    "preferences": preferences.propose,
    "synthesize": synthesis.propose,
    "graph": graph_pass.propose,
}

STEPS: Mapping[str, Callable[[Dreaming, DreamState], Step[DreamState]]] = {
    "gather": _gather,
    **{name: _proposing(name, proposing) for name, proposing in _PASSES.items()},
    "gate": _gate,
    "commit": _commit,
}
"""The steps by name, in their order."""
