"""How often later words mark a message of real conversations as no longer so, and which ones do.

People who talk to an assistant seldom take back what they said: most marks among such conversations are mistakes of the
rules. Sessions of LongMemEval haystacks, each once and in the order of their dates, are one user's; each conversation
of LoCoMo is for itself. `--show` prints the sentences that mark the most, with some of what they mark, to be judged.

`judged/later_words.tsv` has pairs of messages by a writer who saw no rules: `ended`, in which the second ends or
changes what the first says, and `alike`, in which it only sounds so. The rules were written with them in view since.
"""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from recall_of_conversations import read
from reporting import Row, parser, report

from langmem_tiers.bench.datasets import read_cases
from langmem_tiers.knowledge import standing
from langmem_tiers.language import reader
from langmem_tiers.language.assertions import assertions
from langmem_tiers.language.quotations import own_words
from langmem_tiers.language.turns import may_speak
from langmem_tiers.records import Said
from langmem_tiers.storage.revision_index import StandingRevisions
from langmem_tiers.storage.revisions import RevisedRow
from langmem_tiers.transfer.records import ImportedSession, LineProblem

PAIRS = Path(__file__).parent / "judged" / "later_words.tsv"
FIRST, THEN = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 10, tzinfo=UTC)
END = datetime(2100, 1, 1, tzinfo=UTC)


def main() -> None:
    """Count the marks of each set that is given."""
    arguments = parser(__doc__ or "", "later_marks")
    arguments.add_argument("--longmemeval", type=Path, help="a LongMemEval file")
    arguments.add_argument("--locomo", type=Path, help="a LoCoMo file")
    arguments.add_argument("--messages", type=int, default=6_000, help="of LongMemEval")
    arguments.add_argument("--show", type=int, default=0, help="print so many sentences")
    chosen = arguments.parse_args()
    report("Pairs of messages, the first marked by the second", [*of_pairs()], chosen.out)
    if counts := [*rows(chosen)]:
        report("Messages marked by later words", counts, chosen.out.with_stem(f"{chosen.out.stem}_conversations"))


def rows(chosen: Namespace) -> Iterator[Row]:
    """A row for each set."""
    if chosen.longmemeval is not None:
        yield counted("LongMemEval", [read(chosen.longmemeval, chosen.messages)[0]], chosen.show)
    if chosen.locomo is not None:
        cases = read_cases("locomo", chosen.locomo)
        told = [case.sessions for case in cases if not isinstance(case, LineProblem)]
        yield counted("LoCoMo", told, chosen.show)


def of_pairs() -> Iterator[Row]:
    """How many of the pairs are marked, by kind."""
    with PAIRS.open(encoding="utf-8", newline="") as file:
        pairs = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    for kind in dict.fromkeys(pair["kind"] for pair in pairs):
        of_kind = [pair for pair in pairs if pair["kind"] == kind]
        found = sum(is_marked(pair["first"], pair["then"]) for pair in of_kind)
        yield {"pairs": kind, "of them": len(of_kind), "marked": found, "marked %": 100 * found / len(of_kind)}


def is_marked(first: str, then: str) -> bool:
    """Whether a message is marked by a later one."""
    said = {"role": "user", "origin": "user", "speaker": None}
    turns = [
        Said(drawer=1, place=1, content=first, said_at=FIRST, **said),  # type: ignore[arg-type]
        Said(drawer=2, place=1, content=then, said_at=THEN, **said),  # type: ignore[arg-type]
    ]
    judge = standing._LaterWords(StandingRevisions.of(later_words([turns[1:]])), END)
    return bool(judge.on(standing._Said(assertions(own_words(first)), FIRST, 1, len(first))))


def counted(name: str, users: Sequence[Sequence[ImportedSession]], show: int) -> Row:
    """How many messages of these users are marked, and by how many sentences."""
    messages, sentences = 0, 0
    marks: dict[tuple[int, int, int], tuple[str, list[str]]] = {}
    marked = 0
    for user, sessions in enumerate(users):
        turns = [*turns_of(sessions)]
        later = [*later_words(turns)]
        sentences += len(later)
        judge = standing._LaterWords(StandingRevisions.of(later), END)
        for turn in (turn for each in turns for turn in each if may_speak(turn)):
            messages += 1
            own = assertions(own_words(turn.content), standing._names(turn.speaker))
            said = standing._Said(own, turn.said_at, turn.drawer, len(turn.content))
            found = [(each.clause, row) for each in own if (row := judge._revising(each, said)) is not None]
            marked += bool(found)
            for clause, row in found:
                marks.setdefault((user, row.drawer, row.start), (row.quote, []))[1].append(clause)
    for quote, clauses in sorted(marks.values(), key=lambda each: -len(each[1]))[:show]:
        print(len(clauses), " ".join(quote.split()))
        for clause in clauses[:3]:
            print("    of:", clause)
    return {
        "set": name,
        "messages of users": messages,
        "marked": marked,
        "marked %": 100 * marked / messages,
        "later words": sentences,
        "of these mark something": len(marks),
    }


def turns_of(sessions: Sequence[ImportedSession]) -> Iterator[list[Said]]:
    """The turns of each session, numbered throughout."""
    number = 0
    for session in sessions:
        turns: list[Said] = []
        for each in session.messages:
            number += 1
            of = {"role": each.role, "speaker": each.speaker, "content": each.content, "said_at": each.at}
            origin = "import" if each.speaker else each.role
            turns.append(Said(drawer=number, place=number, origin=origin, **of))  # type: ignore[arg-type]
        yield turns


def later_words(sessions: Sequence[Sequence[Said]]) -> Iterator[RevisedRow]:
    """The sentences of these sessions that end or change something."""
    for turns in sessions:
        at = {turn.drawer: turn.said_at for turn in turns}
        for each in reader.read_revisions(turns, END):
            yield RevisedRow(each.drawer, each.start, each.quote, at[each.drawer], each.revisions)


if __name__ == "__main__":
    main()
