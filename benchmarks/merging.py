"""Telling near-duplicates of entries from conflicting ones: precision and recall of merging, by kind of pair.

The pairs of `merge_pairs.jsonl` are written by hand for this: wordings of one fact, and facts that differ in one thing,
such as a number, a name or a "not". Half of them (`dev`) were looked at while the rule was made, the others
(`held_out`) were not. Below them, what a threshold on similarity alone would do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from embedders import prepared
from reporting import Row, parser, report, say

from langmem_tiers.language.paraphrase import same_fact

PAIRS = Path(__file__).with_name("merge_pairs.jsonl")
THRESHOLDS = (0.85, 0.9, 0.95)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two sentences, whether they are one fact, and what makes the pair hard; `half` is dev or held_out."""

    a: str
    b: str
    same: bool
    kind: str
    half: str
    similarity: float | None = None


Rule = Callable[[Pair], bool]


def main() -> None:
    """Judge the pairs, print what came of it, and each pair of `--half` that was judged wrongly."""
    arguments = _arguments()
    pairs = list(_pairs(arguments.pairs, similar=not arguments.without_vectors))
    judged = [pair for pair in pairs if arguments.half in {pair.half, "both"}]
    rows = [*_by_kind(judged), *_by_rule(judged)]
    report(f"Merging, {arguments.half}: {len(judged)} pairs", rows, arguments.out)
    for pair in judged if arguments.wrong else ():
        verdict = same_fact(pair.a, pair.b, pair.similarity)
        if verdict.same != pair.same:
            say(f"{pair.kind}: {pair.a!r} / {pair.b!r}: {verdict.why} ({pair.similarity or 0:.2f})")


def _arguments():
    made = parser(__doc__ or "", "merging")
    made.add_argument("--pairs", type=Path, default=PAIRS)
    made.add_argument("--half", choices=("dev", "held_out", "both"), default="both", help="which pairs are judged")
    made.add_argument("--without-vectors", action="store_true", help="as with keyword search only")
    made.add_argument("--wrong", action="store_true", help="tell the pairs that were judged wrongly")
    return made.parse_args()


def _pairs(path: Path, *, similar: bool) -> Iterator[Pair]:
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    similarities: Sequence[float | None] = _similarities(told) if similar else [None] * len(told)
    for each, similarity in zip(told, similarities, strict=True):
        yield Pair(**each, similarity=similarity)


def _similarities(told: Sequence[dict[str, str]]) -> list[float]:
    embedder = prepared("minilm")
    here, there = (embedder.embed_documents([each[side] for each in told]) for side in "ab")
    found: list[float] = np.einsum("ij,ij->i", here, there).tolist()
    return found


def _by_kind(pairs: Sequence[Pair]) -> Iterator[Row]:
    for same in (True, False):
        for kind in dict.fromkeys(pair.kind for pair in pairs if pair.same == same):
            of_kind = [pair for pair in pairs if pair.kind == kind and pair.same == same]
            yield _row(f"{'same' if same else 'other'}: {kind}", of_kind, _merges)


def _by_rule(pairs: Sequence[Pair]) -> Iterator[Row]:
    yield _row("ALL", pairs, _merges)
    if all(pair.similarity is not None for pair in pairs):
        for threshold in THRESHOLDS:
            yield _row(f"similarity from {threshold}", pairs, _beyond(threshold))


def _merges(pair: Pair) -> bool:
    return same_fact(pair.a, pair.b, pair.similarity).same


def _beyond(threshold: float) -> Rule:
    return lambda pair: (pair.similarity or 0.0) >= threshold


def _row(name: str, pairs: Sequence[Pair], rule: Rule) -> Row:
    merged = [pair for pair in pairs if rule(pair)]
    right = sum(pair.same for pair in merged)
    same = sum(pair.same for pair in pairs)
    return {
        "pairs": name,
        "of": len(pairs),
        "merged": len(merged),
        "wrongly": len(merged) - right,
        "precision %": 100 * right / len(merged) if merged else "",
        "recall %": 100 * right / same if same else "",
    }


if __name__ == "__main__":
    main()
