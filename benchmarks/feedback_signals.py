"""How much feedback the rules hear in a list of messages, and how often they hear some where there is none.

The list is a TSV with a header and the columns kind, strength, before, text. `kind` is correction, irritation, wrong,
praise or none; `strength` is casual, mild, very, or empty where the wording leaves it open; `before` is what the
assistant had said.

- **heard**: feedback found at all, and praise told from complaint
- **kind**: of all feedback, that with the right kind. A complaint that is also annoyed is both: where the list says
  irritation, any complaint that is found to be annoyed is right; the other kinds are compared as they are
- **strength**: of what was heard and has a strength in the list, that with the same
- **false alarms**: of the messages without feedback, those with some
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from reporting import Row, parser, report

from langmem_tiers.dream import feedback
from langmem_tiers.dream.types import Signal
from langmem_tiers.records import SpokenTurn

LIST = Path(__file__).parent / "judged" / "feedback_signals_development.tsv"
AT = datetime(2026, 3, 2, tzinfo=UTC)
STRENGTHS = {"mild": "mildly_frustrated", "very": "very_irritated"}
KINDS = ("correction", "wrong", "irritation", "praise")


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A message of the list, and what was found in it."""

    kind: str
    strength: str
    before: str
    text: str
    found: Signal | None

    @property
    def heard(self) -> bool:
        """Whether it was found, as praise or as a complaint."""
        return self.found is not None and (self.found.kind == "praise") == (self.kind == "praise")

    @property
    def same_kind(self) -> bool:
        """Whether the kind is right."""
        if self.found is None or not self.heard:
            return False
        annoyed = self.kind == "irritation" and self.found.sentiment != "casual"
        return annoyed or self.found.kind == self.kind

    @property
    def same_strength(self) -> bool:
        """Whether the strength is right."""
        return self.found is not None and self.found.sentiment == STRENGTHS.get(self.strength, self.strength)


def main() -> None:
    arguments = parser(__doc__ or "", "feedback_signals")
    arguments.add_argument("--list", type=Path, default=LIST, help="TSV with kind, strength, before, text")
    arguments.add_argument("--show", action="store_true", help="print every message that was judged wrongly")
    chosen = arguments.parse_args()
    judged = [*read(chosen.list)]
    for each in judged if chosen.show else ():
        if each.found if each.kind == "none" else not (each.same_kind and (not each.strength or each.same_strength)):
            got = f"{each.found.kind} {each.found.sentiment}" if each.found else "nothing"
            print(f"{each.kind} {each.strength} -> {got}: {each.before!r} {each.text!r}")
    report("Feedback heard by rules [%]", [*figures(judged)], chosen.out)


def read(path: Path) -> Iterator[Judged]:
    """The messages of a list, judged."""
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            found = feedback.signals(turns(row["before"], row["text"]))
            values = {name: (row[name] or "").strip() for name in ("kind", "strength", "before", "text")}
            yield Judged(**values, found=found[0] if found else None)


def turns(before: str, text: str) -> list[SpokenTurn]:
    """A message of the user, and what the assistant had said."""
    said = (("assistant", before or "Done."), ("user", text))
    return [
        SpokenTurn(drawer=number, session="s", role=role, content=content, said_at=AT)
        for number, (role, content) in enumerate(said, 1)
    ]


def figures(judged: Sequence[Judged]) -> Iterator[Row]:
    """A row for each kind, one for all feedback, and one for the messages without any."""
    for kind in KINDS:
        if of := [each for each in judged if each.kind == kind]:
            yield row(kind, of)
    if feedback_given := [each for each in judged if each.kind in KINDS]:
        yield row("all feedback", feedback_given)
    if none := [each for each in judged if each.kind == "none"]:
        alarms = percent(sum(each.found is not None for each in none), len(none))
        yield {"messages": "none", "number": len(none), "heard": "", "kind": "", "strength": "", "false alarms": alarms}


def row(name: str, of: Sequence[Judged]) -> Row:
    """The figures of some feedback."""
    felt = [each for each in of if each.strength and each.heard]
    return {
        "messages": name,
        "number": len(of),
        "heard": percent(sum(each.heard for each in of), len(of)),
        "kind": percent(sum(each.same_kind for each in of), len(of)),
        "strength": percent(sum(each.same_strength for each in felt), len(felt)),
        "false alarms": "",
    }


def percent(part: int, whole: int) -> str:
    """A share in per cent, with the numbers it is made of."""
    return f"{100 * part / whole:.1f} ({part}/{whole})" if whole else ""


if __name__ == "__main__":
    main()
