"""What the lines of a default block are worth: how much of the evidence is shown, in how many lines and tokens.

The questions of a set are asked of its kept memories as an agent would, with the settings' own threshold, limit and
budget. A question is a list if recall takes it for one (`asks_for_several`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from kept import KeptSet, add_arguments, sets
from reporting import Row, parser, report, say

from langmem_tiers import Space
from langmem_tiers.bench.datasets import BenchQuestion, Gold, session_number
from langmem_tiers.language.questions import asks_for_several


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """One block: what it shows of the evidence, and its size."""

    kind: str
    gold_turns: int
    found_turns: int
    gold_sessions: int
    found_sessions: int
    lines: int
    tokens: int


def main() -> None:
    arguments = parser(__doc__ or "", "block_lines")
    add_arguments(arguments)
    arguments.add_argument("--every", type=int, default=1, help="ask only every so many questions of a conversation")
    arguments.add_argument("--by-type", action="store_true", help="a row for each of the set's own question types")
    chosen = arguments.parse_args()
    rows = [row for kept in sets(chosen) for row in table(kept, chosen.every, by_type=chosen.by_type)]
    report("What the lines of a block are worth (%)", rows, chosen.out)


def table(kept: KeptSet, every: int, *, by_type: bool) -> Iterator[Row]:
    """A row for all questions, one for lists and one for others."""
    say(f"asking the memories of {kept.name}; those that are not in {kept.work} yet are stored first")
    gold, blocks = kept.gold(), list[Shown]()
    for case, space in kept.memories():
        messages = {drawer.message_id: drawer.number for drawer in space.drawers()}
        for question in case.questions[::every]:
            sought = gold[question.question_id]
            if sought.sessions and not sought.abstention:
                kind = question.question_type if by_type else _kind(question)
                blocks.append(_shown(space, question, sought, messages, kind))
    yield _row(kept.name, "all", blocks)
    for kind in sorted({each.kind for each in blocks}):
        yield _row(kept.name, kind, [each for each in blocks if each.kind == kind])


def _kind(question: BenchQuestion) -> str:
    return "list" if asks_for_several(question.text) else "other"


def _shown(space: Space, question: BenchQuestion, gold: Gold, messages: Mapping[str | None, int], kind: str) -> Shown:
    recalled = space.recall(question.text, now=question.asked_at, as_of=question.until, keep_receipt=False)
    numbers = {item.drawer.number for item in recalled.items}
    sessions = {session_number(item.drawer.session) for item in recalled.items}
    turns = {messages[turn] for turn in gold.turns if turn in messages}
    return Shown(
        kind=kind,
        gold_turns=len(turns),
        found_turns=len(turns & numbers),
        gold_sessions=len(gold.sessions),
        found_sessions=len(gold.sessions & sessions),
        lines=len(recalled.items),
        tokens=recalled.receipt.tokens,
    )


def _row(name: str, kind: str, blocks: Sequence[Shown]) -> Row:
    told = [each for each in blocks if each.gold_turns]
    evidence = sum(each.found_turns for each in blocks)
    return {
        "set": name,
        "questions": kind,
        "number": len(blocks),
        "any session": 100 * fmean(each.found_sessions > 0 for each in blocks),
        "all sessions": 100 * fmean(each.found_sessions == each.gold_sessions for each in blocks),
        "all messages": 100 * fmean(each.found_turns == each.gold_turns for each in told),
        "lines": fmean(each.lines for each in blocks),
        "tokens": fmean(each.tokens for each in blocks),
        "evidence per 100 lines": 100 * evidence / max(1, sum(each.lines for each in blocks)),
        "per 1,000 tokens": 1000 * evidence / max(1, sum(each.tokens for each in blocks)),
    }


if __name__ == "__main__":
    main()
