"""Can the questions of a set be answered from the default blocks alone? Sheets for a reader, and the count of verdicts.

The conversations are stored with the default settings and without a model, so entries and relations of the rules are
in the blocks as well. `--sheet` writes the blocks of a seeded sample as JSON lines: `row`, `asked_at`, `question` and
`block`. Beside it, `SHEET.key.jsonl` has the type, the set's answer and the tokens of each row, for whoever judges the
replies. A judge writes `row`, `verdict` ("right", "partly" or "wrong"), `cause` (if not right: "not found", "cut",
"misleading", "reader", or "gold" where the set's own answer is not so), `useful` and `items`: how many of the items
shown help to answer, of how many. `--verdicts` counts them with the key. Texts of the sets may not be passed on.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from kept import KeptSet, add_arguments, sets
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Space
from langmem_tiers.bench.asking import finish, through_track_node
from langmem_tiers.bench.datasets import BenchQuestion, Case, Cases
from langmem_tiers.language.questions import asks_for_several
from langmem_tiers.transfer import import_conversations

CAUSES = ("not found", "cut", "misleading", "reader", "gold")


def main() -> None:
    arguments = parser(__doc__ or "", "reading")
    add_arguments(arguments, required=False)
    arguments.add_argument(
        "--sample", type=int, action="append", default=[], help="questions of each set, in its order"
    )
    arguments.add_argument("--sheet", type=Path, required=True, help="the sheet to write, or the one that was read")
    arguments.add_argument("--verdicts", type=Path, help="count the verdicts of a judged sheet instead")
    given = arguments.parse_args()
    if given.verdicts:
        key = {each["row"]: each for each in _lines(_key_of(given.sheet))}
        report("read from the default blocks", [*counted(_lines(given.verdicts), key)], given.out)
        return
    if len(given.sample) != len(given.dataset or ()):
        arguments.error("give --dataset, --data and --sample once for each set")
    pairs = [
        pair
        for kept, size in zip(sets(given), given.sample, strict=True)
        for pair in asked(kept, sampled(kept, size, random.Random(given.seed)))
    ]
    random.Random(given.seed).shuffle(pairs)
    for path, rows in zip((given.sheet, _key_of(given.sheet)), zip(*pairs, strict=True), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        numbered = [json.dumps({"row": row, **told}, ensure_ascii=False) for row, told in enumerate(rows, start=1)]
        path.write_text("\n".join(numbered) + "\n", encoding="utf-8")
    say(f"{len(pairs)} questions to read: {given.sheet}")


def _key_of(sheet: Path) -> Path:
    return sheet.with_suffix(".key.jsonl")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def sampled(kept: KeptSet, size: int, chance: random.Random) -> set[str]:
    """The ids of as many questions that have an answer."""
    told, gold = kept.answers(), kept.gold()
    ids = [name for name, each in gold.items() if name in told and each.sessions and not each.abstention]
    return set(chance.sample(sorted(ids), min(size, len(ids))))


def asked(kept: KeptSet, wanted: set[str]) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """What a reader gets of each question, and what the judge gets."""
    answers = kept.answers()
    for case in Cases(kept.name, kept.data):
        questions = [question for question in case.questions if question.question_id in wanted]
        if not questions:
            continue
        say(f"{kept.name}: {case.conversation}")
        with mined(kept, case) as space:
            for question in questions:
                yield shown(space, question, answers[question.question_id])


@contextmanager
def mined(kept: KeptSet, case: Case) -> Iterator[Space]:
    """The conversation with what the rules derive of it; one that is in the work folder already is used as it is."""
    folder = kept.work / "mined" / case.space.replace("/", "-")
    with Memory.open(folder, embedder=kept.embedder, background=False) as memory:
        space, rejected = memory.space(case.space), 0
        if space.stats().drawers != sum(len(session.messages) for session in case.sessions):
            track = through_track_node(memory)
            rejected = len(import_conversations(case.sessions, track=track, space=case.space).rejected)
            space.mine()
        finish(space, rejected)
        yield space


def shown(space: Space, question: BenchQuestion, answer: str) -> tuple[dict[str, object], dict[str, object]]:
    recalled = space.recall(question.text, now=question.asked_at, as_of=question.until, keep_receipt=False)
    when = question.asked_at.date().isoformat() if question.asked_at else ""
    kind = "list" if asks_for_several(question.text) else "other"
    key = {"type": question.question_type, "kind": kind, "answer": answer, "tokens": recalled.receipt.tokens}
    return {"asked_at": when, "question": question.text, "block": recalled.block}, key


def counted(verdicts: Sequence[Mapping[str, Any]], key: Mapping[int, Mapping[str, Any]]) -> Iterator[Row]:
    """A row for all, one for lists, one for others, and one for each type."""
    judged = [{**key[each["row"]], **each} for each in verdicts]
    yield _row("all", judged)
    for part in ("kind", "type"):
        for name in sorted({each[part] for each in judged}):
            yield _row(name, [each for each in judged if each[part] == name])


def _row(name: str, judged: Sequence[Mapping[str, Any]]) -> Row:
    verdicts, causes = Counter(each["verdict"] for each in judged), Counter(each["cause"] for each in judged)
    return {
        "questions of": name,
        "n": len(judged),
        "right %": 100 * verdicts["right"] / len(judged),
        "partly": verdicts["partly"],
        "wrong": verdicts["wrong"],
        **{cause: causes[cause] for cause in CAUSES},
        "useful items %": 100 * _sum(judged, "useful") / max(1, _sum(judged, "items")),
        "tokens": fmean(each["tokens"] for each in judged),
    }


def _sum(judged: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(int(each[name]) for each in judged)


if __name__ == "__main__":
    main()
