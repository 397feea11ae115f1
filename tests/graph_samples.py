"""Parts of graphs to draw, made of records: any size, any time, any name."""

from datetime import UTC, datetime

from langmem_tiers.knowledge_graph.types import Subgraph, Timeline
from langmem_tiers.language.values import Value
from langmem_tiers.records import Authority, Entity, GraphEvidence, Period, Relation

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_UNITS = ("year", "month", "day")
_BY = {"origin": "user", "path": "user", "authority": Authority.USER}


class Sample:
    """Entities and relations by name, in the order they are spoken of."""

    def __init__(self):
        self.entities = {}
        self.relations = []

    def entity(self, name, type="other", aliases=()):
        number = len(self.entities) + 1
        times = dict.fromkeys(("first_seen", "last_seen", "created_at", "updated_at"), NOW)
        made = Entity(number=number, id=f"{number:012x}", name=name, type=type, aliases=aliases, **times, **_BY)
        return self.entities.setdefault(name, made)

    def relate(self, subject, predicate, other=None, start=None, end=None, value=None, **fields):
        number = len(self.relations) + 1
        made = {
            "number": number,
            "id": f"{number + 0xABC000:012x}",
            "subject": self.entity(subject),
            "predicate": predicate,
            "said": predicate,
            "object": None if other is None else self.entity(other),
            "value": None if value is None else Value(text=str(value), unit="Ah"),
            "period": _period(start, end),
            "recorded_at": NOW,
            "evidence": (GraphEvidence(drawer=number, pointer=f"§W-001/R-01/D-{number:03}"),),
            **_BY,
        }
        self.relations.append(Relation(**(made | fields)))
        return self

    def part(self, root=None, cut=()):
        distance = {} if root is None else {self.entities[root].id: 0}
        relations = tuple(self.relations)
        return Subgraph(entities=tuple(self.entities.values()), relations=relations, distance=distance, cut=cut)

    def timeline(self, name):
        entity = self.entities[name]
        about = [each for each in self.relations if entity in (each.subject, each.object)]
        return Timeline(entity=entity, relations=tuple(about))


def _period(start, end):
    (first, unit), (last, end_unit) = _date(start), _date(end)
    return Period(start=first, end=last, start_unit=unit, end_unit=end_unit)


def _date(text):
    if text is None:
        return None, "moment"
    parts = [int(part) for part in text.split("-")]
    return datetime(*[*parts, 1, 1][:3], tzinfo=UTC), _UNITS[len(parts) - 1]


def family():
    """A sister who moved, her jobs, and an e-bike whose battery was swapped."""
    sample = Sample()
    for type_, names in {
        "person": ("user", "Anna", "Bob", "Lena"),
        "place": ("Lisbon", "Porto", "Bergen"),
        "organisation": ("Acme GmbH", "University of Bergen"),
        "item": ("e-bike", "PowerPack 500", "Li-Ion 625"),
        "pet": ("Miso",),
    }.items():
        for name in names:
            sample.entity(name, type_)
    sample.relate("user", "has_sister", "Anna").relate("Anna", "married_to", "Bob", "2019-06-14")
    sample.relate("Anna", "lives_in", "Lisbon", "2021", "2024-05").relate("Anna", "lives_in", "Porto", "2024-05")
    sample.relate("Bob", "lives_in", "Porto", "2024-05").relate("user", "lives_in", "Bergen", "2018-09")
    sample.relate("Anna", "works_at", "Acme GmbH", "2020", "2023-11")
    sample.relate("Anna", "works_at", "University of Bergen", "2026-09")
    sample.relate("Lena", "child_of", "Anna").relate("Lena", "child_of", "Bob").relate("user", "owns", "Miso")
    sample.relate("user", "owns", "e-bike", "2022-04").relate("Anna", "knows", "Bob", "2015")
    sample.relate("e-bike", "has_battery", "PowerPack 500", "2022-04", "2025-01")
    sample.relate("e-bike", "has_battery", "Li-Ion 625", "2025-01")
    sample.relate("Li-Ion 625", "has_capacity", value=20).relate("PowerPack 500", "has_capacity", value=13)
    return sample.relate("Lena", "mentioned_with", "Miso", kind="mentioned")


def hub(leaves):
    """One that relates to very many, some of whom relate to each other."""
    sample = Sample()
    types = ("person", "organisation", "place", "project", "item", "event", "topic", "other")
    names = [f"{types[n % 8]} number {n}" for n in range(leaves)]
    sample.entity("Marta Fernández", "person")
    for n, name in enumerate(names):
        sample.entity(name, types[n % 8])
    for n, name in enumerate(names):
        sample.relate("Marta Fernández", "knows_of", name, f"{2000 + n % 25}", "2025" if n % 3 == 0 else None)
        if n % 4 == 0:
            sample.relate(name, "works_with", names[(n * 7 + 1) % leaves], "2020-05")
    return sample
