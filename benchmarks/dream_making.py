"""Spaces to dream of, decisions at random, and a dump of all that a dream may change.

What is decided is careless on purpose: entries that were merged are refined, unknown ids are retired, words that exist
already are proposed again. Applying sorts that out, and whatever it carried out is to be undone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.clock import to_millis
from langmem_tiers.dream.types import (
    AntiPattern,
    Decision,
    InferredPreference,
    Material,
    MergeEntities,
    MergeEntries,
    Proposal,
    RefineEntry,
    RetireEntry,
    Synthesis,
    WithdrawRelation,
)
from langmem_tiers.knowledge_graph.entities import NamedEntity, upsert_entity
from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.records import Authority, Evidence
from langmem_tiers.storage import change_log, drawers, dreams, entries, keyword
from langmem_tiers.storage.changesets import TABLES
from langmem_tiers.storage.entries import Filters
from langmem_tiers.store import SpaceStore

WHO = ("Anna", "Ben", "Carla", "David", "Elena", "Felix", "Grace", "Hugo")
DOES = ("likes", "collects", "repairs", "paints", "grows", "avoids", "sells", "photographs")
WHAT = ("old maps", "violins", "tomatoes", "canoes", "lamps", "cactuses", "tents", "mirrors", "cheese", "ladders")
WHERE = ("in Porto", "on Mondays", "at work", "with her sister", "every summer", "in the garden", "by train")
_MOST_EPISODES = 10
CATEGORIES = ("people/friends", "hobbies", "work/habits", "user-preferences/food", "general")


def fill(space: Space, rng: random.Random, *, size: int) -> None:
    """Conversations, entries that rest on them, episodes, documents, and a small graph."""
    for number in range(max(1, size // 6)):
        turns = [Turn(role="user", content=f"{_fact(rng)} {number}-{each}.") for each in range(rng.randint(2, 5))]
        session = f"s{number}-{rng.random()}"
        space.track(turns, session=session)
        space.end_session(session)
        space.archive.write(session, summary=f"They spoke of it: {turns[0].content}")
    said = [drawer.number for drawer in space.drawers()]
    for _ in range(size):
        _save(space, rng, said)
    if rng.random() < 0.5:
        space.documents.write("MEMORY.md", f"# Notes\n\n{_fact(rng)}.\n")
    _relate(space, rng, said)


def material(store: SpaceStore, now: datetime, *, fence: int = 0) -> Material:
    """All that a space holds, as a dream would see it."""
    with store.reading() as connection:
        key = store.key
        held = entries.find(connection, key, Filters(status="active"), -1)
        told = dreams.unpromoted(connection, key, _MOST_EPISODES, at=to_millis(now))
        position = change_log.head(connection, key)
    return Material(
        space=store.name,
        at=now,
        position=position,
        fence=fence,
        active=len(held),
        entries=tuple(held),
        episodes=tuple(told),
    )


def decision(store: SpaceStore, seen: Material, rng: random.Random, *, most: int = 12) -> Decision:
    """Proposals at random, all of them accepted."""
    with store.reading() as connection:
        said = [drawer.number for drawer in drawers.every(connection, store.key)]
        view = store.graph.view(change_log.moment(connection, store.key))
    ids = [entry.id for entry in seen.entries] + ["000000000000"]
    people = [row.id for row in view.entities.values()]
    links = [row.id for row in view.relations.values()]
    makers: list[Callable[[], Proposal | None]] = [
        lambda: _merge(seen, rng),
        lambda: _merge(seen, rng),
        lambda: RetireEntry(id=rng.choice(ids), successor=rng.choice([None, rng.choice(ids)]), why="noise"),
        lambda: RefineEntry(id=rng.choice(ids), category=rng.choice(CATEGORIES), tags=_tags(rng)),
        lambda: _prefer(rng, said),
        lambda: _avoid(rng, said),
        lambda: _synthesis(seen, rng),
        lambda: MergeEntities(source=rng.choice(people), target=rng.choice(people)) if people else None,
        lambda: WithdrawRelation(id=rng.choice(links)) if links else None,
    ]
    made = (rng.choice(makers)() for _ in range(rng.randint(1, most)))
    return Decision(accepted=tuple(each for each in made if each is not None))


def dump(store: SpaceStore) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables that a dream may change, as it is stored, and the keyword index over notes."""
    listed = {name: [column.name for column in table.columns] for name, table in TABLES.items()}
    with store.reading() as connection:
        found = {
            name: [tuple(row) for row in connection.exec_driver_sql(f"SELECT {', '.join(names)} FROM {name}")]
            for name, names in listed.items()
        }
        found["note_words"] = [(number, *words) for number, words in keyword.notes.every(connection).items()]
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def opened(folder: str, clock: Callable[[], datetime]) -> Memory:
    """A memory without embedder and without a worker."""
    return Memory.open(folder, embedder=None, background=False, clock=clock)


def _fact(rng: random.Random) -> str:
    return f"{rng.choice(WHO)} {rng.choice(DOES)} {rng.choice(WHAT)} {rng.choice(WHERE)}"


def _save(space: Space, rng: random.Random, said: list[int]) -> None:
    space.knowledge.save(
        f"{_fact(rng)}.",
        category=rng.choice(CATEGORIES),
        tags=_tags(rng),
        origin=rng.choice(("user", "assistant")),
        evidence=rng.sample(said, rng.randint(0, 2)),
        pinned=rng.random() < 0.05,
        metadata={"n": rng.random()},
    )


def _tags(rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample(("one", "two", "drei", "vier"), rng.randint(0, 2)))


def _relate(space: Space, rng: random.Random, said: list[int]) -> None:
    """A graph that the memory found by itself."""
    by: dict[str, Any] = {"origin": "system", "path": "rule", "authority": Authority.SYSTEM}
    with space.memory.use(space.name) as store, store.writing() as connection:
        graph = GraphTransaction(connection, store.key, to_millis(space.memory.clock()), space.memory.settings)
        people = [
            upsert_entity(graph, NamedEntity(name=f"{name} {rng.choice(WHAT)}", type="person", **by))
            for name in rng.sample(WHO, 5)
        ]
        for _ in range(6):
            one, other = rng.sample(people, 2)
            cited = tuple(Evidence(drawer=each, quote="") for each in rng.sample(said, rng.randint(0, 1)))
            predicate = rng.choice(("knows", "works_at", "lives_in"))
            add_relation(graph, NewRelation(subject=one, predicate=predicate, object=other, evidence=cited, **by))


def _merge(seen: Material, rng: random.Random) -> Proposal | None:
    if len(seen.entries) < 2:
        return None
    sources = rng.sample(seen.entries, rng.randint(2, min(4, len(seen.entries))))
    content = sources[0].content if rng.random() < 0.5 else f"{_fact(rng)}, it is said."
    return MergeEntries(sources=tuple(each.id for each in sources), content=content, path="rule")


def _prefer(rng: random.Random, said: list[int]) -> Proposal:
    cited = tuple(Evidence(drawer=each) for each in rng.sample(said, min(2, len(said))))
    return InferredPreference(content=f"The user likes it when {_fact(rng)}.", evidence=cited)


def _avoid(rng: random.Random, said: list[int]) -> Proposal:
    content = f"Don't say that {_fact(rng)} because it is wrong; instead ask."
    return AntiPattern(domain="talk", content=content, evidence=(Evidence(drawer=rng.choice(said)),))


def _synthesis(seen: Material, rng: random.Random) -> Proposal | None:
    if not seen.episodes:
        return None
    taken = rng.sample(seen.episodes, rng.randint(1, len(seen.episodes)))
    text = "## Project facts\n\n" + "\n".join(f"- {each.abstract}" for each in taken)
    return Synthesis(text=text, episodes=tuple(each.id for each in taken))
