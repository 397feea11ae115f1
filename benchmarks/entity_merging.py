"""Two names, one entity? Precision and recall of merging by the names alone, and what is left to somebody to say.

The pairs of `entity_pairs.jsonl` are written by hand for this, with the type of each, other entities that are known
(`others`), and a label: "same", "different", or "unsure" where the names alone cannot tell. A pair that is merged and
not labelled "same" is merged wrongly. Which half a pair is in (`dev`, looked at while the rules were made, or
`held_out`, which was not) is drawn by a hash of its names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reporting import Row, parser, report, say

from langmem_tiers.knowledge_graph import duplicates
from langmem_tiers.knowledge_graph.view_updates import build_view
from langmem_tiers.language.slugs import name_key
from langmem_tiers.settings import GraphSettings
from langmem_tiers.storage.entities import EntityRow

PAIRS = Path(__file__).with_name("entity_pairs.jsonl")
Decision = Literal["merged", "flagged", "left"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NamePair:
    """Two names with their types, what they are, what makes the pair hard, and its half; `others` are known too."""

    a: str
    b: str
    a_type: str
    b_type: str
    label: Literal["same", "different", "unsure"]
    kind: str
    half: str
    others: tuple[str, ...] = ()


def main() -> None:
    arguments = parser(__doc__ or "", "entity_merging")
    arguments.add_argument("--pairs", type=Path, default=PAIRS)
    arguments.add_argument(
        "--wrong", choices=("dev", "held_out", "both"), help="tell the pairs of this half judged wrongly"
    )
    given = arguments.parse_args()
    judged = [(pair, decide(pair)) for pair in read(given.pairs)]
    rows = [row(half, [each for each in judged if each[0].half == half]) for half in ("dev", "held_out")]
    report(f"Merging of entities: {len(judged)} pairs", [*rows, row("both", judged)], given.out)
    report("Merging of entities, by kind", [*by_kind(judged)], given.out.with_stem(f"{given.out.stem}_kinds"))
    for pair, decision in judged if given.wrong else ():
        if given.wrong in {pair.half, "both"} and wrong(pair, decision):
            say(f"{pair.kind}: {pair.a!r} / {pair.b!r} is {pair.label}, was {decision}")


def read(path: Path) -> Iterator[NamePair]:
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        yield NamePair(**{**told, "others": tuple(told.get("others", ()))})


def decide(pair: NamePair) -> Decision:
    """What the memory does with the pair where nothing is known of either but the name."""
    named = [(pair.a, pair.a_type), (pair.b, pair.b_type), *((name, pair.b_type) for name in pair.others)]
    entities = [entity(number, name, kind) for number, (name, kind) in enumerate(named, 1)]
    if name_key(pair.a) == name_key(pair.b) and pair.a_type == pair.b_type:
        return "merged"  # one name, one entity: nothing is made twice
    found = duplicates.pairs(build_view(entities, ()), [1, 2])
    like = next((each.like for each in found if {each.source.number, each.target.number} == {1, 2}), None)
    settings = GraphSettings()
    if like is None or like.score < settings.flag_score:
        return "left"
    merges = like.kind == "part" or (like.kind == "same" and like.score >= settings.merge_score)
    return "merged" if merges else "flagged"


def entity(number: int, name: str, kind: str) -> EntityRow:
    return EntityRow(
        number=number,
        id=f"{number:012x}",
        name=name,
        slug=name_key(name),
        type=kind,
        origin="user",
        path="rule",
        authority=0,
        metadata="{}",
        first_seen=0,
        last_seen=0,
        created_at=0,
        updated_at=0,
        merged_into=None,
        aliases=(),
    )


def wrong(pair: NamePair, decision: Decision) -> bool:
    best: dict[str, Decision] = {"same": "merged", "unsure": "flagged", "different": "left"}
    return decision != best[pair.label]


def row(name: str, judged: Sequence[tuple[NamePair, Decision]]) -> Row:
    merged = [pair for pair, decision in judged if decision == "merged"]
    right = sum(pair.label == "same" for pair in merged)
    return {
        "pairs": name,
        "of": len(judged),
        "merged": len(merged),
        "wrongly": len(merged) - right,
        "precision %": 100 * right / len(merged) if merged else "",
        "recall %": _share(judged, "same", "merged"),
        "flagged: same %": _share(judged, "same", "flagged"),
        "flagged: unsure %": _share(judged, "unsure", "flagged"),
        "flagged: different %": _share(judged, "different", "flagged"),
    }


def by_kind(judged: Sequence[tuple[NamePair, Decision]]) -> Iterator[Row]:
    kinds = dict.fromkeys((pair.label, pair.b_type, pair.kind) for pair, _ in judged)
    for label, of_type, kind in kinds:
        found = [
            decision for pair, decision in judged if (pair.label, pair.b_type, pair.kind) == (label, of_type, kind)
        ]
        counts = {what: found.count(what) for what in ("merged", "flagged", "left")}
        yield {"pairs": f"{label}: {of_type}, {kind}", "of": len(found), **counts}


def _share(judged: Sequence[tuple[NamePair, Decision]], label: str, decision: Decision) -> float | str:
    of_label = [found for pair, found in judged if pair.label == label]
    return 100 * of_label.count(decision) / len(of_label) if of_label else ""


if __name__ == "__main__":
    main()
