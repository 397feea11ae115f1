"""What the graph adds to recall on LoCoMo without a model: evidence that only it finds, and how good its relations are.

Both speakers of a conversation are read as users, each by name. For each question of `--category` (2: those of time),
the graph channel takes the entities that the question names and the drawers that their relations rest on, those
whose words are like the question's first. It is counted how often a drawer with the evidence is among as many of them
as of recall (`--top`), where recall does not hold any. `--sheet` writes a seeded, shuffled sample of relations with
their evidence and an empty column for the verdict: "right", "wrong" or "junk". The texts of LoCoMo may not be passed
on: the sheet belongs beside the data.
"""

from __future__ import annotations

import csv
import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from embedders import prepared
from extracted_facts import samples
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.language.words import meaningful_words, stem
from langmem_tiers.records import Relation
from langmem_tiers.storage.change_log import moment
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.transfer.formats import LocomoSample, sample_sessions
from langmem_tiers.transfer.records import ImportedSession

COLUMNS = ("row", "relation", "since", "until", "said by", "said on", "quote", "verdict")


@dataclass(kw_only=True, slots=True)
class Measured:
    """What came of one conversation."""

    name: str
    turns: int = 0
    questions: int = 0
    named: int = 0
    ranks: list[tuple[float, float]] = field(default_factory=list)
    """Of each question, where the first drawer with evidence stands in recall and in the graph; infinity: nowhere."""
    relations: list[tuple[Relation, str, str]] = field(default_factory=list)
    mentioned: int = 0


def main() -> None:
    arguments = parser(__doc__ or "", "graph_channel")
    arguments.add_argument("--data", type=Path, required=True, help="the LoCoMo file")
    arguments.add_argument("--conversations", nargs="*", default=[], help="only these, by their sample ids")
    arguments.add_argument("--category", type=int, default=2)
    arguments.add_argument(
        "--top", type=int, nargs="*", default=[10, 1, 3, 5], help="drawers of recall, and of the graph"
    )
    arguments.add_argument("--embedder", choices=("minilm", "hash"), default="minilm")
    arguments.add_argument("--sheet", type=Path, help="write a sample of relations to judge here")
    arguments.add_argument("--sample", type=int, default=60)
    given = arguments.parse_args()
    embedder = prepared("minilm") if given.embedder == "minilm" else HashEmbedder()
    measured = [
        measure(sample, embedder, given.category, max(given.top)) for sample in samples(given.data, given.conversations)
    ]
    found = [row for top in given.top for row in rows(measured, top)]
    report(f"What the graph adds to recall, category {given.category}", found, given.out)
    report("Relations without a model", [*counts(measured)], given.out.with_stem(f"{given.out.stem}_relations"))
    if given.sheet:
        write_sheet(given.sheet, measured, given.sample, given.seed)


def measure(sample: LocomoSample, embedder: object, category: int, top: int) -> Measured:
    """Store a conversation in a temporary memory, and ask its questions."""
    say(f"storing {sample.sample_id}")
    measured = Measured(name=sample.sample_id)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(folder, embedder=embedder, background=False) as memory,
    ):
        space = memory.user("locomo")
        where = store(space, sample, measured)
        space.mine()
        space.flush()
        gather(space, measured)
        for question in sample.questions:
            if question.get("category") == category:
                ask(space, str(question["question"]), evidence(question.get("evidence"), where), top, measured)
    return measured


def store(space: Space, sample: LocomoSample, measured: Measured) -> dict[str, int]:
    """Track all sessions; the drawer of each message id."""
    for session in sample_sessions(sample):
        if isinstance(session, ImportedSession):
            turns = [
                Turn(role="user", content=m.content, message_id=m.message_id, speaker=m.speaker, said_at=m.at)
                for m in session.messages
            ]
            space.track(turns, session=session.session)
            measured.turns += len(turns)
    return {drawer.message_id: drawer.number for drawer in space.drawers() if drawer.message_id}


def evidence(told: object, where: dict[str, int]) -> frozenset[int]:
    """The drawers that hold the answer; malformed ones are left out."""
    said = [each for each in told if isinstance(each, str)] if isinstance(told, list) else []
    cited = [part.strip() for each in said for part in each.split(";")]
    return frozenset(where[each] for each in cited if each in where)


def gather(space: Space, measured: Measured) -> None:
    """All relations, each with who said it and when."""
    seen: set[str] = set()
    for entity in space.graph.entities(limit=100_000):
        for found in space.graph.timeline(entity.id, limit=100_000).relations:
            if found.id in seen or found.withdrawn:
                continue
            seen.add(found.id)
            whole = space.graph.relation(found.id)
            cited = space.drawer(whole.evidence[0].drawer) if whole and whole.evidence else None
            if whole is not None and cited is not None:
                measured.relations.append((whole, cited.speaker or "", f"{cited.said_at:%Y-%m-%d}"))
    measured.mentioned = space.graph.stats().mentioned


def ask(space: Space, question: str, gold: frozenset[int], top: int, measured: Measured) -> None:
    if not gold:
        return
    measured.questions += 1
    recalled = space.recall(question, threshold=0, limit=top, token_budget=100_000, keep_receipt=False)
    first = [item.drawer.number for item in recalled.items if item.drawer is not None]
    named = list(dict.fromkeys(by_graph(space, question)))
    measured.named += bool(named)
    measured.ranks.append((rank(first, gold), rank(named, gold)))


def rank(numbers: Sequence[int], gold: frozenset[int]) -> float:
    """The place of the first that holds evidence, from 1; infinity where none does."""
    return next((place for place, number in enumerate(numbers, 1) if number in gold), math.inf)


def by_graph(space: Space, question: str) -> Iterator[int]:
    """The drawers of the relations of those named in a question, the likest to its words first."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        view = store.graph.view(moment(connection, store.key))
        matches = entity_lookup.named_in(view, question, at=to_millis(space.memory.clock()))
    wanted = {stem(word) for word in meaningful_words(question)}
    names = {stem(word) for match in matches for word in meaningful_words(match.entity.name)}
    relations = {
        relation.id: relation
        for match in matches
        for relation in space.graph.timeline(match.entity.id, limit=100_000).relations
    }
    likest = sorted(relations.values(), key=lambda each: -_overlap(each, wanted - names))
    for relation in likest:
        whole = space.graph.relation(relation.id)
        yield from (each.drawer for each in (whole.evidence if whole else ()))


def _overlap(relation: Relation, wanted: set[str]) -> int:
    said = f"{relation.predicate.replace('_', ' ')} {relation.target} {relation.subject.name}"
    return len({stem(word) for word in meaningful_words(said)} & wanted)


def rows(measured: Sequence[Measured], top: int) -> Iterator[Row]:
    for name, of in [*((one.name, [one]) for one in measured), ("all", measured)]:
        ranks = [each for one in of for each in one.ranks]
        yield {
            "conversation": name,
            "top": top,
            "questions": len(ranks),
            "found by recall %": _share([recall <= top for recall, _ in ranks]),
            "found by graph %": _share([graph <= top for _, graph in ranks]),
            "added by graph %": _share([graph <= top < recall for recall, graph in ranks]),
        }


def counts(measured: Sequence[Measured]) -> Iterator[Row]:
    for name, of in [*((one.name, [one]) for one in measured), ("all", measured)]:
        turns = sum(one.turns for one in of)
        stated = sum(sum(relation.kind == "stated" for relation, _, _ in one.relations) for one in of)
        yield {
            "conversation": name,
            "turns": turns,
            "relations": stated,
            "per 100 turns": 100 * stated / max(1, turns),
            "mentioned": sum(one.mentioned for one in of),
            "questions that name somebody": sum(one.named for one in of),
        }


def _share(found: Sequence[bool]) -> float:
    return 100 * sum(found) / len(found) if found else 0.0


def write_sheet(path: Path, measured: Sequence[Measured], most: int, seed: int) -> None:
    """A shuffled sample of the stated relations; fewer where there are no more."""
    found = [each for one in measured for each in one.relations if each[0].kind == "stated"]
    random.Random(seed).shuffle(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file, delimiter="\t")
        sheet.writerow(COLUMNS)
        for number, (relation, speaker, said_on) in enumerate(found[:most], start=1):
            period = (relation.period.start, relation.period.end)
            dates = ["" if each is None else f"{each:%Y-%m-%d}" for each in period]
            quotes = " / ".join(each.quote for each in relation.evidence)
            sheet.writerow([number, str(relation), *dates, speaker, said_on, quotes, ""])
    say(f"{min(most, len(found))} of {len(found)} relations to judge: {path}")


if __name__ == "__main__":
    main()
