"""How much feedback the rules hear in a list of messages, and how often they hear some where there is none.

The list is a TSV with a header and the columns kind, strength, before, text. `kind` is correction, irritation, wrong,
praise or none; `strength` is casual, mild, very, or empty where the wording leaves it open; `before` is what the
assistant had said.

- **heard**: feedback found at all, and praise told from complaint
- **kind**: of all feedback, that with the right kind. A complaint that is also annoyed is both: where the list says
  irritation, any complaint that is found to be annoyed is right; the other kinds are compared as they are
- **strength**: of what was heard and has a strength in the list, that with the same
- **false alarms**: of the messages without feedback, those with some

A model judges what it mines, so its replies can be measured as well: `--prompts FILE` writes what it would be asked, a
JSON line for each five messages of the list, and `--replies FILE` has a reply a line. They pass through mining as any
model's, and the figures are those of `Space.signals`, where what rules and model found comes together.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mined_by_model import InWords
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.dream import feedback
from langmem_tiers.records import SpokenTurn
from langmem_tiers.settings import BudgetSettings, MiningSettings, ModelSettings
from langmem_tiers.testing import FrozenClock

LIST = Path(__file__).parent / "judged" / "feedback_signals_development.tsv"
AT = datetime(2026, 3, 2, tzinfo=UTC)
STRENGTHS = {"mild": "mildly_frustrated", "very": "very_irritated"}
KINDS = ("correction", "wrong", "irritation", "praise")


NO_REPLY = "Done."  # before a message of the list for which none is given
_TOGETHER = 5  # messages of the list in one conversation, and so in one window
_NOTHING = json.dumps({"facts": []})


class Found(NamedTuple):
    """Feedback that was found in a message."""

    kind: str
    sentiment: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message of the list."""

    kind: str
    strength: str
    before: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged(Message):
    """A message, and what was found in it."""

    found: Found | None

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
    arguments.add_argument("--rules", action="store_true", help="without the classifier")
    arguments.add_argument("--prompts", type=Path, help="write what a model would be asked, and judge by rules")
    arguments.add_argument("--replies", type=Path, help="a model's replies, one JSON line for each of these prompts")
    chosen = arguments.parse_args()
    judged = [*read(chosen.list, rules=chosen.rules)]
    if chosen.prompts:
        asked = mined(judged, [])[1]
        chosen.prompts.write_text("".join(json.dumps({"prompt": each}) + "\n" for each in asked), encoding="utf-8")
        say(f"{len(asked)} prompts are in {chosen.prompts}")
    if chosen.replies:
        found, _ = mined(judged, chosen.replies.read_text(encoding="utf-8").splitlines())
        judged = [replace(each, found=found.get(place)) for place, each in enumerate(judged)]
    for each in judged if chosen.show else ():
        if each.found if each.kind == "none" else not (each.same_kind and (not each.strength or each.same_strength)):
            got = f"{each.found.kind} {each.found.sentiment}" if each.found else "nothing"
            print(f"{each.kind} {each.strength} -> {got}: {each.before!r} {each.text!r}")
    who = "a model too" if chosen.replies else "rules alone" if chosen.rules else "rules and classifier"
    report(f"Feedback heard by {who} [%]", [*figures(judged)], chosen.out)


def messages(path: Path) -> Iterator[Message]:
    """The messages of a list."""
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield Message(**{name: (row[name] or "").strip() for name in ("kind", "strength", "before", "text")})


def read(path: Path, *, rules: bool = False) -> Iterator[Judged]:
    """The messages of a list, judged; with `rules`, by rules alone."""
    hear = feedback.by_rules if rules else feedback.signals
    for each in messages(path):
        found = hear(turns(each.before, each.text))
        yield Judged(**asdict(each), found=Found(found[0].kind, found[0].sentiment) if found else None)


def turns(before: str, text: str) -> list[SpokenTurn]:
    """A message of the user, and what the assistant had said."""
    return [
        SpokenTurn(drawer=number, session="s", role=role, content=content, said_at=AT)
        for number, (role, content) in enumerate(said(before, text), 1)
    ]


def mined(judged: Sequence[Judged], replies: Sequence[str]) -> tuple[Mapping[int, Found], list[str]]:
    """What is found in messages of the list, by their place, with a model's replies; and what it was asked."""
    groups = [judged[first : first + _TOGETHER] for first in range(0, len(judged), _TOGETHER)]
    model = InWords(responses=[*(replies or [_NOTHING] * len(groups))])
    ample = BudgetSettings(**dict.fromkeys(BudgetSettings.model_fields, 10**9))
    settings = Settings(
        mining=MiningSettings(window_turns=2 * _TOGETHER), model=ModelSettings(budget=ample, timeout_seconds=60)
    )
    options = {"embedder": None, "background": False, "clock": FrozenClock(AT), "settings": settings}
    with TemporaryDirectory() as folder, Memory.open(folder, model=model, **options) as memory:
        space, places = memory.user("somebody"), {}
        for number, group in enumerate(groups):
            told = [Turn(role=role, content=text) for each in group for role, text in said(each.before, each.text)]
            stored = space.track(told, session=str(number)).stored
            places |= {drawer: _TOGETHER * number + place for place, drawer in enumerate(stored[1::2])}
            space.mine(str(number))
        if model.requests and len(model.requests) != len(groups):
            raise SystemExit(f"The model was asked {len(model.requests)} times for {len(groups)} windows.")
        listed = space.signals.list(limit=len(judged))
        found = {places[each.drawer]: Found(each.kind, each.strength) for each in listed if each.drawer in places}
    return found, ["\n\n".join(str(message.content) for message in each) for each in model.requests]


def said(before: str, text: str) -> tuple[tuple[str, str], ...]:
    """A message of the user, preceded by what the assistant had said."""
    return ("assistant", before or NO_REPLY), ("user", text)


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
