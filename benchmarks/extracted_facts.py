"""What the rules keep of conversations without a model: facts per 100 turns, and a sheet to judge them by.

Both speakers of a LoCoMo conversation are read as users, in windows of one session. `--sheet` writes a seeded, shuffled
sample of the proposals, without their kinds, with empty columns for the verdict: "worth", "junk" or "wrong" (said of the
wrong person, or not what was said). The texts of LoCoMo may not be passed on: the sheet belongs beside the data.
`--verdicts` counts a sheet that has been judged.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporting import Row, parser, report, say

from langmem_tiers.clock import utc_now
from langmem_tiers.transfer.locomo import LocomoSample, read_samples, sample_sessions
from langmem_tiers.transfer.records import ImportedSession, LineProblem
from langmem_tiers.writing.extractive import proposals
from langmem_tiers.writing.proposals import Proposal, Said

COLUMNS = ("row", "proposal", "quote", "verdict")
VERDICTS = ("worth", "junk", "wrong")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What was kept of one conversation of so many turns."""

    conversation: str
    turns: int
    proposals: Sequence[Proposal]


def main() -> None:
    arguments = parser(__doc__ or "", "extracted_facts")
    arguments.add_argument("--data", type=Path, help="the LoCoMo file")
    arguments.add_argument("--conversations", nargs="*", default=[], help="only these, by their sample ids")
    arguments.add_argument("--sheet", type=Path, help="write a sample to judge here")
    arguments.add_argument("--sample", type=int, default=100)
    arguments.add_argument("--verdicts", type=Path, help="count the verdicts of a judged sheet instead")
    given = arguments.parse_args()
    if given.verdicts:
        report("judged", judged(given.verdicts), given.out)
        return
    if given.data is None:
        arguments.error("--data or --verdicts is needed")
    kept = [keep(sample) for sample in samples(given.data, given.conversations)]
    report("facts kept without a model", [*rows(kept)], given.out)
    if given.sheet:
        write_sheet(given.sheet, kept, given.sample, given.seed)


def samples(data: Path, wanted: Sequence[str]) -> Iterator[LocomoSample]:
    for sample in read_samples(data):
        if not isinstance(sample, LineProblem) and (not wanted or sample.sample_id in wanted):
            yield sample


def keep(sample: LocomoSample) -> Kept:
    """What is proposed of a conversation, each session read by itself."""
    now = utc_now()
    sessions = [session for session in sample_sessions(sample) if isinstance(session, ImportedSession)]
    found = [proposal for session in sessions for proposal in proposals(turns_of(session), now)]
    return Kept(
        conversation=sample.sample_id, turns=sum(len(session.messages) for session in sessions), proposals=found
    )


def turns_of(session: ImportedSession) -> list[Said]:
    return [
        Said(
            drawer=place,
            place=place,
            role="user",
            origin="import",
            speaker=message.speaker,
            content=message.content,
            said_at=message.at or utc_now(),
        )
        for place, message in enumerate(session.messages)
    ]


def rows(kept: Sequence[Kept]) -> Iterator[Row]:
    """A row for each conversation, kind and path, and one for all."""
    for one in kept:
        for (kind, path), count in sorted(Counter((each.kind, each.path) for each in one.proposals).items()):
            yield row(one.conversation, kind, path, count, one.turns)
    total, turns = sum(len(one.proposals) for one in kept), sum(one.turns for one in kept)
    yield row("all", "all", "all", total, turns)


def row(conversation: str, kind: str, path: str, count: int, turns: int) -> Row:
    return {
        "conversation": conversation,
        "kind": kind,
        "path": path,
        "kept": count,
        "turns": turns,
        "per 100 turns": 100 * count / turns if turns else 0.0,
    }


def write_sheet(path: Path, kept: Sequence[Kept], most: int, seed: int) -> None:
    """A shuffled sample of the proposals; fewer where there are no more."""
    found = [proposal for one in kept for proposal in one.proposals]
    random.Random(seed).shuffle(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file, delimiter="\t")
        sheet.writerow(COLUMNS)
        for number, proposal in enumerate(found[:most], start=1):
            sheet.writerow([number, proposal.content, " / ".join(each.quote for each in proposal.evidence), ""])
    say(f"{min(most, len(found))} of {len(found)} proposals to judge: {path}")


def judged(path: Path) -> list[Row]:
    """How many rows of a sheet have each verdict."""
    with path.open(encoding="utf-8", newline="") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file, delimiter="\t")]
    unknown = sorted(set(verdicts) - set(VERDICTS))
    if unknown:
        raise SystemExit(f"{path}: the verdicts {unknown} are none of {', '.join(VERDICTS)}")
    return [
        {"verdict": each, "rows": verdicts.count(each), "share %": 100 * verdicts.count(each) / len(verdicts)}
        for each in VERDICTS
    ]


if __name__ == "__main__":
    main()
