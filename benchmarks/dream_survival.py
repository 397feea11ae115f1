"""How much is left of what a memory knew after many dreams in a row with a careless model.

The entries are mined from LoCoMo without a model, both speakers read as users. In each dream the model, a script with a
seed, proposes for every batch to delete some entries at random, to merge others, at random or the likest, into one
that is cut, blended or has another number in it, and to file still others anywhere. Nothing is said meanwhile.

- "facts": of the entries there were at first, how many an active one still tells, but for inflection: every telling
  word, number, name and "not" (compared here, not by what judges dreams).
- "found": of them, how many are among the first five that a search with their own words finds, as a share of those
  that were found at first.
- "questions": of LoCoMo's questions for which a search among entries found one that rests on an evidence turn, the
  share for which it still does.
- "in the block": of the questions for which recall showed an evidence turn, the share for which it still does.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from reporting import Row, parser, report, say

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.bench.datasets import evidence_turns
from langmem_tiers.language.wordings import alike, wording
from langmem_tiers.settings import BudgetSettings, ModelSettings
from langmem_tiers.testing import FrozenClock, ScriptedChatModel
from langmem_tiers.transfer.formats import LocomoSample, read_samples, sample_sessions
from langmem_tiers.transfer.records import ImportedSession, LineProblem

LINE = re.compile(r"^\[(\d+)\] \(.*?\) (.+)$", re.MULTILINE)
NUMBER = re.compile(r"\d+")
DAY = 24 * 3600
FIRST = 5
SETTINGS = Settings(
    model=ModelSettings(budget=BudgetSettings(session_calls=None, session_tokens=None, day_calls=None, day_tokens=None))
)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What there is of a conversation before the first dream."""

    facts: Mapping[str, str]
    """What each active entry says, by its id."""
    questions: Sequence[tuple[str, frozenset[int]]]
    """Questions, and the drawers that answer them."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What is told, found and answered at a moment: ids of facts, and places of questions."""

    told: frozenset[str]
    found: frozenset[str]
    answered: frozenset[int]
    shown: frozenset[int]


def main() -> None:
    arguments = parser(__doc__ or "", "dream_survival")
    arguments.add_argument("--data", type=Path, required=True, help="the LoCoMo file")
    arguments.add_argument("--dreams", type=int, default=100)
    arguments.add_argument("--limit", type=int, help="the first so many conversations")
    arguments.add_argument("--every", type=int, default=25, help="measured after so many dreams, and at the end")
    chosen = arguments.parse_args()
    rows: list[Row] = []
    for sample in [*samples(chosen.data)][: chosen.limit]:
        rows += measure(sample, chosen)
    report("What is left after dreams with a careless model", rows, chosen.out)


def samples(data: Path) -> Iterator[LocomoSample]:
    return (sample for sample in read_samples(data) if not isinstance(sample, LineProblem))


def measure(sample: LocomoSample, chosen) -> Iterator[Row]:
    clock = FrozenClock(datetime(2026, 3, 2, tzinfo=UTC))
    model = ScriptedChatModel(responses=[Careless(chosen.seed)])
    with TemporaryDirectory() as folder:
        options = {"embedder": None, "background": False, "clock": clock, "settings": SETTINGS}
        with Memory.open(folder, **options) as memory:  # mining is done by rules
            known = talk(memory.user("alice"), sample)
        with Memory.open(folder, model=model, **options) as memory:
            space = memory.user("alice")
            before = state(space, known)
            changed = refused = 0
            for number in range(1, chosen.dreams + 1):
                clock.tick(DAY)
                dreamt = space.dream()
                changed += len(dreamt.decision.accepted)
                refused += len(dreamt.decision.rejected)
                if number % chosen.every == 0 or number == chosen.dreams:
                    say(f"{sample.sample_id}: {number} dreams, {changed:,} changes, {refused:,} refused")
                    yield told(sample, number, known, before, state(space, known)) | {
                        "accepted": changed,
                        "rejected": refused,
                    }


def talk(space: Space, sample: LocomoSample) -> Known:
    """Hold the sessions, and mine them."""
    drawers: dict[str, int] = {}
    for session in sample_sessions(sample):
        if isinstance(session, ImportedSession):
            turns = [
                Turn(
                    role="user", content=each.content, message_id=each.message_id, speaker=each.speaker, said_at=each.at
                )
                for each in session.messages
            ]
            space.track(turns, session=session.session)
    space.flush()
    space.mine()
    space.flush()
    for drawer in space.drawers():
        drawers[drawer.message_id or ""] = drawer.number
    facts = {each.entry.id: each.entry.content for each in space.knowledge.search(limit=100_000)}
    asked = ((str(each.get("question")), evidence_turns(each.get("evidence"))) for each in sample.questions)
    questions = [(text, frozenset(drawers[turn] for turn in turns if turn in drawers)) for text, turns in asked]
    return Known(facts=facts, questions=[(text, there) for text, there in questions if there])


def state(space: Space, known: Known) -> State:
    active = [each.entry for each in space.knowledge.search(limit=100_000)]
    found, answered, shown = set(), set(), set()
    for fact, content in known.facts.items():
        hits = space.knowledge.search(content, limit=FIRST)
        if any(tells(hit.entry.content, content) for hit in hits):
            found.add(fact)
    for place, (question, drawers) in enumerate(known.questions):
        hits = space.knowledge.search(question, limit=FIRST)
        if any(drawers & {each.drawer for each in hit.entry.evidence} for hit in hits):
            answered.add(place)
        if drawers & {item.drawer.number for item in space.recall(question).items}:
            shown.add(place)
    return State(
        told=frozenset(
            fact for fact, content in known.facts.items() if any(tells(entry.content, content) for entry in active)
        ),
        found=frozenset(found),
        answered=frozenset(answered),
        shown=frozenset(shown),
    )


def tells(whole: str, part: str) -> bool:
    """Whether a sentence holds every word of another that tells something, and turns it in no other way."""
    if whole == part:
        return True
    here, there = wording(whole), wording(part)
    left = list(here.words)
    for word in there.words:
        match = next((each for each in left if alike(each, word)), None)
        if match is None:
            return False
        left.remove(match)
    return set(there.turning) <= set(here.turning) and ("not" in there.turning) == ("not" in here.turning)


def told(sample: LocomoSample, dreams: int, known: Known, before: State, after: State) -> dict[str, float | int | str]:
    return {
        "conversation": sample.sample_id,
        "dreams": dreams,
        "entries": len(known.facts),
        "facts %": share(before.told, after.told),
        "found %": share(before.found, after.found),
        "questions": len(before.answered),
        "questions %": share(before.answered, after.answered),
        "in the block %": share(before.shown, after.shown),
    }


def share(before: frozenset[int] | frozenset[str], after: frozenset[int] | frozenset[str]) -> float:
    return 100 * len(set(before) & set(after)) / len(before) if before else 100.0


def likest(entry: tuple[int, str], entries: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The entries by how many words they have in common with one of them, itself first."""
    said = set(entry[1].split())
    return sorted(entries, key=lambda each: (each != entry, -len(said & set(each[1].split()))))


class Careless:
    """Replies to each batch with whatever comes to its mind."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, messages: Sequence[object]) -> str:
        """The reply to a question."""
        asked = str(getattr(messages[-1], "text", ""))
        entries = [(int(number), content) for number, content in LINE.findall(asked)] if "Entries:" in asked else []
        if len(entries) < 2:
            return "{}"
        rng = self._random
        numbers = [number for number, _ in entries]
        groups = [rng.sample(entries, rng.randint(2, min(4, len(entries)))) for _ in range(4)]
        groups += [likest(rng.choice(entries), entries)[: rng.randint(2, 3)] for _ in range(4)]
        return json.dumps(
            {
                "toDelete": rng.sample(numbers, len(numbers) // 3),
                "merges": [
                    {"sources": [number for number, _ in group], "content": self._blend(group)} for group in groups
                ],
                "refine": [{"entry": number, "category": "misc"} for number in rng.sample(numbers, len(numbers) // 4)],
                "antiPatterns": [],
            }
        )

    def _blend(self, group: Sequence[tuple[int, str]]) -> str:
        """A sentence for several: one of them, all of them, or one that lost or changed something."""
        rng = self._random
        first, *others = (content for _, content in group)
        makers = (
            lambda: first,
            lambda: " ".join((first, *others)),
            lambda: " ".join(first.split()[: max(3, len(first.split()) // 2)]),
            lambda: NUMBER.sub(lambda found: str(int(found[0]) + 1), first),
            lambda: re.sub(r"\b(?:not|never|n't)\b ?", "", first),
            lambda: f"{first.rstrip('.')} and {others[0][:1].lower()}{others[0][1:]}",
        )
        return rng.choice(makers)()


if __name__ == "__main__":
    main()
