"""Explanations of recalls in words: what each verdict means, and what a memory had and would have needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from langmem_tiers.types import Explanation, RecallVerdict, Receipt, WhyStage
from langmem_tiers.wording import counted

RESULTS: dict[RecallVerdict, str] = {
    "recalled": "recalled",
    "repeated": "recalled again, as before",
    "nothing_found": "nothing: nothing that is stored came close enough",
    "nothing_new": "nothing: what fits was there already",
    "trivial": "nothing: it says too little to look anything up for",
    "disabled": "nothing: recall is turned off",
}
"""What came of a recall, by its verdict."""
VERDICTS: dict[WhyStage, str] = {
    "shown": "shown",
    "below_threshold": "below threshold: too far from the query",
    "not_asked_for": "not asked for: a summary, shown only to questions on what was said or done, or if it fits well",
    "below_best": "below best: others come much nearer",
    "judged_unfit": "judged unfit by the reranker",
    "in_window": "in window: the model sees that message anyway",
    "already_shown": "already shown in this session",
    "asked_again": "asked again: the same question, asked before",
    "quoted_instead": "quoted instead: the message it was found in is shown",
    "duplicate": "duplicate: something shown says the same",
    "chatter": "chatter: it tells nothing",
    "outside_dates": "outside dates: not of the time asked about",
    "over_limit": "over limit: there were enough better ones",
    "over_budget": "over budget: no tokens were left for it",
    "withheld": "withheld: its words are not those that were stored",
}
"""Why something stands in a block or does not, by its verdict."""
STAGES: dict[WhyStage, str] = {
    **VERDICTS,
    "not_looked_up": "not looked up: for this message, nothing was searched",
    "layer_off": "layer off: the settings leave out what is of its kind",
    "recorded_later": "recorded later: it was not stored yet",
    "superseded": "superseded: its message was edited, or its branch was left",
    "no_longer_true": "no longer true: it had been put aside, or had ended",
    "expired": "expired: its time had run out",
    "not_found": "not found: no search channel came near it",
    "gone": "gone: it has been deleted",
}
"""The same for every stage at which a memory may fall."""
# What speaks for a message, by the signal.
_SIGNALS = {
    "match": "its own words and meaning",
    "previous": "the message before it matches",
    "session": "its conversation matches",
    "support": "several messages of its conversation match",
    "time": "it is from the time asked about",
    "asked": "the one whose words are asked for said it",
    "statement": "it tells something of who said it",
    "preference": "it tells what somebody likes, and advice is asked for",
    "latest": "it is among the latest of those that match",
    "graph": "a relation of somebody named in the message rests on it",
    "needed": "the message needs it, whatever its words",
}
_CHANNELS = {"keyword": "words", "vector": "meaning", "graph": "graph", "needed": "need", "rerank": "reranker"}


def at_words(moment: datetime) -> str:
    """A moment as it stands in explanations.

    Example:
        >>> at_words(datetime(2026, 3, 2, 9, 5))
        '2026-03-02 09:05 UTC'
    """
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def by_channel(scores: Mapping[str, float]) -> str:
    """The scores by channel, 0 to 1, as one sentence; an empty string if there are none."""
    told = ", ".join(f"{_CHANNELS.get(name, name)} {value:.2f}" for name, value in scores.items())
    return f"By channel: {told}." if told else ""


def speaking_for(signals: Mapping[str, float], factors: Mapping[str, float]) -> str:
    """What spoke for a message, the strongest first; an empty string if nothing did."""
    ranked = sorted((name for name, value in signals.items() if value > 0), key=lambda name: -signals[name])
    told = [f"{_SIGNALS.get(name, name)} ({signals[name]:.2f})" for name in ranked]
    turned = [f"{name.replace('_', ' ')} {value:.2f}" for name, value in factors.items() if value != 1]
    factor = f" Multiplied by {', '.join(turned)}." if turned else ""
    return f"What speaks for it: {'; '.join(told)}.{factor}" if told else factor.strip()


def score_words(found: Explanation, receipt: Receipt) -> Iterator[str]:
    """Its score against what was needed."""
    if found.score is None:
        return
    if found.threshold is None:
        yield f"Its score is {found.score:.2f}."
        return
    if found.stage == "not_found":
        if found.place is not None:
            return  # said already: the recall would show it today
        yield f"Had it been looked at, its score would have been {found.score:.2f}."
        return
    today = "" if receipt.limits else " (by the settings of today, as the receipt does not keep it)"
    yield f"Its score is {found.score:.2f}; the best one needed {found.threshold:.2f}{today}."


def limit_words(stage: WhyStage, receipt: Receipt, *, of_message: bool) -> Iterator[str]:
    """For what was left out for want of room: how much there was."""
    limits = receipt.limits
    if stage == "over_limit" and limits:
        most = int(limits["limit" if of_message else "knowledge"])
        yield f"At most {counted(most, 'message' if of_message else 'known thing')} may be shown."
    elif stage == "over_budget":
        budget = f" of at most {int(limits['token_budget']):,}" if limits else ""
        yield f"The block has {counted(receipt.tokens, 'token')}{budget}."


def whole_words(receipt: Receipt, parts: Sequence[Explanation], *, threshold: float, least: int) -> Iterator[str]:
    """What came of a whole recall, and why; `least` are the words that a message has to have."""
    yield f"Recall {receipt.number} of {at_words(receipt.at)} for: {receipt.query}"
    yield f"Result: {RESULTS[receipt.verdict]}."
    if receipt.verdict == "trivial":
        yield f"A message needs {counted(least, 'meaningful word')}, a question or a name to be looked up."
    if receipt.verdict in {"trivial", "disabled"}:
        return
    shown = sum(each.shown for each in parts)
    yield f"{counted(len(parts), 'memory was', 'memories were')} looked at and kept in the receipt, {shown:,} shown."
    if not shown and parts:
        yield _why_none(parts, threshold)
    yield from (f"Note: {note}" for note in receipt.notes)


def _why_none(parts: Sequence[Explanation], threshold: float) -> str:
    if _is_unheard(parts, threshold):
        return "It asks for something of the user's own that nobody ever told of: rather than guess, nothing is shown."
    best = max(parts, key=lambda each: each.score or 0.0)
    return f"The nearest was {best.ref}: {STAGES[best.stage or 'not_found']}."


def _is_unheard(parts: Sequence[Explanation], threshold: float) -> bool:
    """Whether all fell below a threshold that some of them reached: only that gate does so."""
    fell = all(each.stage == "below_threshold" for each in parts)
    return fell and any((each.score or 0) >= threshold for each in parts)
