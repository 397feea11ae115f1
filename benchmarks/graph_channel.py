"""What the graph adds to recall on LoCoMo without a model: evidence that only it finds, and how good its relations are.

Both speakers of a conversation are read as users, each by name. For each question of `--category` (2: those of time),
the graph channel takes the entities that the question names and the drawers that their relations rest on, those
whose words are like the question's first. It is counted how often a drawer with the evidence is among them that the
first `--top` of recall do not hold. `--sheet` writes a seeded, shuffled sample of relations with their evidence and an
empty column for the verdict: "right", "wrong" or "junk". The texts of LoCoMo may not be passed on: the sheet belongs
beside the data.
"""

from __future__ import annotations

import csv
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
from langmem_tiers.knowledge_graph import resolving
from langmem_tiers.knowledge_graph.types import Relation
from langmem_tiers.palace.words import meaningful_words, stem
from langmem_tiers.storage.change_log import moment
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.transfer.locomo import LocomoSample, sample_sessions
from langmem_tiers.transfer.records import ImportedSession

COLUMNS = ("row", "relation", "since", "until", "said by", "said on", "quote", "verdict")


@dataclass(kw_only=True, slots=True)
class Measured:
    """What came of one conversation."""

    name: str
    turns: int = 0
    questions: int = 0
    named: int = 0
    by_recall: int = 0
    by_graph: int = 0
    added: int = 0
    drawers: list[int] = field(default_factory=list)
    relations: list[tuple[Relation, str, str]] = field(default_factory=list)
    mentioned: int = 0


def main() -> None:
    arguments = parser(__doc__ or "", "graph_channel")
    arguments.add_argument("--data", type=Path, required=True, help="the LoCoMo file")
    arguments.add_argument("--conversations", nargs="*", default=[], help="only these, by their sample ids")
    arguments.add_argument("--category", type=int, default=2)
    arguments.add_argument("--top", type=int, default=10, help="drawers of recall, and of the graph")
    arguments.add_argument("--embedder", choices=("minilm", "hash"), default="minilm")
    arguments.add_argument("--sheet", type=Path, help="write a sample of relations to judge here")
    arguments.add_argument("--sample", type=int, default=60)
    given = arguments.parse_args()
    embedder = prepared("minilm") if given.embedder == "minilm" else HashEmbedder()
    measured = [
        measure(sample, embedder, given.category, given.top) for sample in samples(given.data, given.conversations)
    ]
    report(f"What the graph adds to recall, category {given.category}", [*rows(measured)], given.out)
    if given.sheet:
        write_sheet(given.sheet, measured, given.sample, given.seed)


def measure(sample: LocomoSample, embedder: object, category: int, top: int) -> Measured:
    """Store a conversation in a temporary memory, and ask its questions."""
    say(f"storing {sample.sample_id}")
    measured = Measured(name=sample.sample_id)
    with tempfile.TemporaryDirectory() as folder:
        with Memory.open(folder, embedder=embedder, background=False) as memory:
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
    cited = [part.strip() for each in told if isinstance(each, str) for part in each.split(";")] if isinstance(told, list) else []
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
    recalled = space.recall(
        question, threshold=0, limit=top, token_budget=100_000, fallback=False, keep_receipt=False
    )
    first = {item.drawer.number for item in recalled.items if item.drawer is not None}
    named = list(by_graph(space, question))
    found = set(named[:top])
    measured.named += bool(named)
    measured.drawers.append(len(found))
    measured.by_recall += bool(gold & first)
    measured.by_graph += bool(gold & found)
    measured.added += bool((gold & found) - first) and not gold & first


def by_graph(space: Space, question: str) -> Iterator[int]:
    """The drawers of the relations of those named in a question, the likest to its words first."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        view = store.graph.view(moment(connection, store.key))
        matches = resolving.named_in(view, question, at=to_millis(space.memory.clock()))
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


def rows(measured: Sequence[Measured]) -> Iterator[Row]:
    for one in measured:
        yield row(one.name, [one])
    yield row("all", measured)


def row(name: str, of: Sequence[Measured]) -> Row:
    questions = sum(one.questions for one in of)
    turns = sum(one.turns for one in of)
    stated = sum(sum(relation.kind == "stated" for relation, _, _ in one.relations) for one in of)

    def share(count: int) -> float:
        return 100 * count / questions if questions else 0.0

    return {
        "conversation": name,
        "questions": questions,
        "names somebody %": share(sum(one.named for one in of)),
        "found by recall %": share(sum(one.by_recall for one in of)),
        "found by graph %": share(sum(one.by_graph for one in of)),
        "added by graph %": share(sum(one.added for one in of)),
        "drawers of graph": sum(sum(one.drawers) for one in of) / max(1, questions),
        "turns": turns,
        "relations": stated,
        "per 100 turns": 100 * stated / max(1, turns),
        "mentioned": sum(one.mentioned for one in of),
    }


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
