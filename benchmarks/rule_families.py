"""What each family of rules brings: what is missing without it, entries and relations, and a sheet to judge them by.

Of LoCoMo both speakers are read as users, of LongMemEval the user of a chat. A family is taken out, everything is read
again, and what is then missing is what it brings; something that another family says as well counts for neither. The
sheet has a shuffled sample of each family without its name, and `--key` the names, for after the judging. The texts may
not be passed on: both belong beside the data.
"""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from extracted_facts import COLUMNS, VERDICTS, read_verdicts
from reporting import Row, parser, report, say

from langmem_tiers.bench.datasets import read_cases
from langmem_tiers.clock import utc_now
from langmem_tiers.language import relation_shapes, rules
from langmem_tiers.language.reader import read
from langmem_tiers.records import Said
from langmem_tiers.transfer.records import ImportedSession, LineProblem

Found = Counter[tuple[str, str]]
"""What was read, as it is shown and with the words that say so."""


def main() -> None:
    arguments = parser(__doc__ or "", "rule_families")
    arguments.add_argument("--dataset", choices=("locomo", "longmemeval"), default="locomo")
    arguments.add_argument("--data", type=Path, help="the file of the conversation set")
    arguments.add_argument("--sheet", type=Path, help="write a sample to judge here")
    arguments.add_argument("--key", type=Path, help="which family each row of the sheet is of")
    arguments.add_argument("--sample", type=int, default=20, help="rows of a family")
    arguments.add_argument("--verdicts", type=Path, help="count the verdicts of a judged sheet instead")
    given = arguments.parse_args()
    if given.verdicts and given.key:
        report("judged", judged(read_verdicts(given.verdicts), read_key(given.key)), given.out)
        return
    if given.data is None:
        arguments.error("--data, or --verdicts with --key, is needed")
    sessions = [*conversations(given.dataset, given.data)]
    brought = by_family(sessions)
    turns = sum(turn.role == "user" for session in sessions for turn in session)
    report("what each family brings", [row(*each, turns) for each in brought.items()], given.out)
    if given.sheet and given.key:
        write_sheet(given.sheet, given.key, brought, given.sample, given.seed)


def conversations(dataset: str, data: Path) -> Iterator[list[Said]]:
    """Each session once, though several questions may share it."""
    seen: set[tuple[str, ...]] = set()
    for case in read_cases("locomo" if dataset == "locomo" else "longmemeval", data):
        for session in () if isinstance(case, LineProblem) else case.sessions:
            words = tuple(message.content for message in session.messages)
            if words not in seen:
                seen.add(words)
                yield turns_of(session, everyone=dataset == "locomo")


def turns_of(session: ImportedSession, *, everyone: bool) -> list[Said]:
    return [
        Said(
            drawer=place,
            place=place,
            role="user" if everyone else message.role,
            origin="import",
            speaker=message.speaker,
            content=message.content,
            said_at=message.at or utc_now(),
        )
        for place, message in enumerate(session.messages)
    ]


def by_family(sessions: Sequence[Sequence[Said]]) -> dict[str, Found]:
    """What is missing without each family, which is named after what it makes: `entry: likings`."""
    all_rules, all_shapes = rules.RULES, relation_shapes.SHAPES
    with_all = everything(sessions)
    brought: dict[str, Found] = {}
    try:
        for family in dict.fromkeys(rule.family for rule in all_rules):
            say(f"without the rules of {family}")
            rules.RULES = tuple(rule for rule in all_rules if rule.family != family)
            brought[f"entry: {family}"] = with_all - everything(sessions)
        rules.RULES = all_rules
        for family in dict.fromkeys(shape.family for shape in all_shapes):
            say(f"without the shapes of {family}")
            relation_shapes.SHAPES = tuple(shape for shape in all_shapes if shape.family != family)
            brought[f"relation: {family}"] = with_all - everything(sessions)
    finally:
        rules.RULES, relation_shapes.SHAPES = all_rules, all_shapes
    return brought


def everything(sessions: Sequence[Sequence[Said]]) -> Found:
    now = utc_now()
    found: Found = Counter()
    for said in sessions:
        told = read(said, now)
        found.update((each.content, " / ".join(cited.quote for cited in each.evidence)) for each in told.entries)
        for claim in told.claims:
            when = " ".join(part for part in (claim.since, claim.until, claim.ended) if part)
            shown = f"{claim.subject} | {claim.predicate} | {claim.object or claim.value} | {when}"
            found[shown, claim.quote] += 1
    return found


def row(family: str, brought: Found, turns: int) -> Row:
    return {"family": family, "brings": brought.total(), "per 1,000 turns": 1000 * brought.total() / max(1, turns)}


def write_sheet(sheet: Path, key: Path, brought: Mapping[str, Found], most: int, seed: int) -> None:
    """Samples of all families, shuffled together."""
    chance = random.Random(seed)
    rows = []
    for family, found in brought.items():
        shown = sorted(found)
        rows += [(family, *each) for each in chance.sample(shown, min(most, len(shown)))]
    chance.shuffle(rows)
    with sheet.open("w", encoding="utf-8", newline="") as judged, key.open("w", encoding="utf-8", newline="") as named:
        to_judge, names = csv.writer(judged, delimiter="\t"), csv.writer(named, delimiter="\t")
        to_judge.writerow(COLUMNS)
        names.writerow(("row", "family"))
        for number, (family, shown, quote) in enumerate(rows, start=1):
            to_judge.writerow([number, shown, quote, ""])
            names.writerow([number, family])
    say(f"{len(rows)} rows to judge: {sheet}")


def read_key(path: Path) -> dict[str, str]:
    """The family of each row of a sheet."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["row"]: row["family"] for row in csv.DictReader(file, delimiter="\t")}


def judged(verdicts: Mapping[str, str], key: Mapping[str, str]) -> list[Row]:
    """How many rows of each family have each verdict."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for number, verdict in verdicts.items():
        counted[key[number]][verdict] += 1
    return [{"family": family, **{each: counted[family][each] for each in VERDICTS}} for family in sorted(counted)]


if __name__ == "__main__":
    main()
