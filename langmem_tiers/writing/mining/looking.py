"""Looking at one window: by the model where there is one to ask and it answers, else by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from langmem_tiers.knowledge_graph import rules
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.palace.words import meaningful_words
from langmem_tiers.settings import Settings
from langmem_tiers.storage.mined import NewProposal
from langmem_tiers.trust import secrets
from langmem_tiers.writing import extractive
from langmem_tiers.writing.mining import reading
from langmem_tiers.writing.mining.prompt import Told, prompt
from langmem_tiers.writing.mining.types import Found, RefusedProposal, Window
from langmem_tiers.writing.proposals import Evidence, Proposal

SOURCE = "memory_extract"

_LEAST_WORDS = 3  # meaningful ones; with fewer there is nothing to ask a model about
_MOST_TOPICS = 3


def by_model(window: Window, asker: ModelAsker, settings: Settings, now: datetime) -> Found:
    """What the model finds in a window; what the rules find where it gives no answer."""
    asked = prompt(window, facts=settings.mining.facts_per_window)
    answer = asker.ask(Told, asked, source=SOURCE, session=window.session)
    if answer.value is None:
        # Beyond a budget the rules do for good; what the model was kept from by chance it is asked again.
        temporary = answer.temporary and answer.failure != "budget"
        found = by_rule(window, settings, now, reason=answer.reason, temporary=temporary)
    else:
        found = _read(answer.value, window, settings)
    return _with_cost(found, answer)


def by_rule(window: Window, settings: Settings, now: datetime, *, reason: str = "", temporary: bool = False) -> Found:
    """What the rules find in a window; `reason` says why not the model."""
    proposals = _of_window(extractive.proposals([*window.before, *window.turns], now), window)
    most = settings.mining.facts_per_window
    kept, quoting = _without_secrets(proposals[:most], settings)
    over = [reading.refusal(each.content, f"more than {most} facts of one window") for each in proposals[most:]]
    return Found(
        path="rule",
        proposals=kept,
        for_graph=_for_graph(window, settings, now),
        refused=(*quoting, *over, *_cut(window)),
        topics=extractive.key_topics([turn.content for turn in window.turns], _MOST_TOPICS),
        reason=reason,
        temporary=temporary,
    )


def _for_graph(window: Window, settings: Settings, now: datetime) -> tuple[NewProposal, ...]:
    """What the rules find for the graph, without what stands beside a secret."""
    found = rules.proposals(window.turns, now, before=window.before)
    return tuple(each for each in found if settings.privacy.derived == "keep" or not secrets.find(each.quote))


def says_enough(window: Window) -> bool:
    """Whether the user says enough in a window to ask a model about it."""
    return sum(len(meaningful_words(turn.content)) for turn in window.told) >= _LEAST_WORDS


def _read(told: Told, window: Window, settings: Settings) -> Found:
    checked = reading.check(told, window, settings)
    kept, quoting = _without_secrets(checked.proposals, settings)
    return Found(
        path="model",
        proposals=kept,
        for_graph=tuple(checked.for_graph),
        refused=(*checked.refused, *quoting),
        topics=reading.topics(told),
        subject=reading.subject(told),
    )


def _of_window(proposals: Sequence[Proposal], window: Window) -> list[Proposal]:
    """The proposals that rest on turns of the window: those in front of it were looked at before."""
    inside = {turn.drawer for turn in window.turns}
    cited = [(each, _inside(each.evidence, inside)) for each in proposals]
    return [replace(each, evidence=evidence) for each, evidence in cited if evidence]


def _inside(evidence: Sequence[Evidence], drawers: set[int]) -> tuple[Evidence, ...]:
    return tuple(each for each in evidence if each.drawer in drawers)


def _cut(window: Window) -> list[RefusedProposal]:
    """What was not looked at: of long turns, that are pasted for the most part, all but the first part."""
    reason = f"longer than {extractive.LONGEST:,} characters: the rest was not looked at"
    return [
        reading.refusal(turn.content[extractive.LONGEST :], reason) for turn in window.told if extractive.is_cut(turn)
    ]


def _without_secrets(
    proposals: Sequence[Proposal], settings: Settings
) -> tuple[tuple[Proposal, ...], list[RefusedProposal]]:
    """Proposals that quote no secret; where drawers keep them, a quote would bring one into the knowledge."""
    if settings.privacy.derived == "keep":
        return tuple(proposals), []
    kept = tuple(each for each in proposals if not any(secrets.find(one.quote) for one in each.evidence))
    refused = [each for each in proposals if each not in kept]
    return kept, [reading.refusal(each.content, "it quotes a secret") for each in refused]


def _with_cost(found: Found, answer: Answer[Told]) -> Found:
    took = {"calls": answer.calls, "input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return replace(found, **took)  # type: ignore[arg-type]
