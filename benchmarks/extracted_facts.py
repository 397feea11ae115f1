"""What the rules keep of conversations without a model: facts per 100 turns, and a sheet to judge them by.

Both speakers of a LoCoMo conversation are read as users, one session at a time; what a session says that an earlier one
said is counted once where the knowledge merges the two. `--sheet` writes a seeded, shuffled
sample of the proposals, without their kinds, with an empty column for the verdict: "worth", "junk" or "wrong" (said of
the wrong person, or not what was said). The texts of LoCoMo may not be passed on: the sheet belongs beside the data,
and `--verdicts` writes what is left of a judged one, the numbers of the rows and their verdicts, to `--kept`.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporting import Row, parser, report, say

from langmem_tiers.clock import utc_now
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.reader import read
from langmem_tiers.records import Proposal, Said
from langmem_tiers.transfer.formats import LocomoSample, read_samples, sample_sessions
from langmem_tiers.transfer.records import ImportedSession, LineProblem

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
    arguments.add_argument("--kept", type=Path, help="write its rows without their texts here")
    given = arguments.parse_args()
    if given.verdicts:
        verdicts = read_verdicts(given.verdicts)
        report("judged", judged(verdicts), given.out)
        if given.kept:
            write_verdicts(given.kept, verdicts)
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
    found: list[Proposal] = []
    for session in sessions:
        found += [each for each in read(turns_of(session), now).entries if not is_known(each, found)]
    return Kept(
        conversation=sample.sample_id, turns=sum(len(session.messages) for session in sessions), proposals=found
    )


def is_known(proposal: Proposal, found: Sequence[Proposal]) -> bool:
    """Whether a proposal would be merged with another one, as the knowledge merges them."""
    return any(same_fact(proposal.content, each.content, None).same for each in found)


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


def read_verdicts(path: Path) -> dict[str, str]:
    """The verdict of each row of a sheet."""
    with path.open(encoding="utf-8", newline="") as file:
        verdicts = {row["row"]: row["verdict"] for row in csv.DictReader(file, delimiter="\t")}
    if unknown := sorted(set(verdicts.values()) - set(VERDICTS)):
        raise SystemExit(f"{path}: the verdicts {unknown} are none of {', '.join(VERDICTS)}")
    return verdicts


def write_verdicts(path: Path, verdicts: Mapping[str, str]) -> None:
    """The rows by number, without their texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([("row", "verdict"), *verdicts.items()])


def judged(verdicts: Mapping[str, str]) -> list[Row]:
    """How many rows have each verdict."""
    counted = Counter(verdicts.values())
    return [
        {"verdict": each, "rows": counted[each], "share %": 100 * counted[each] / max(1, len(verdicts))}
        for each in VERDICTS
    ]


if __name__ == "__main__":
    main()
