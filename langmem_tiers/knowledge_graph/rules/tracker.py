"""Who was named so far in a turn, so that "she" is somebody only where no other can be meant."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from langmem_tiers.knowledge_graph import kinship
from langmem_tiers.knowledge_graph.rules import kin
from langmem_tiers.knowledge_graph.rules.wording import UPPER, is_name, is_person
from langmem_tiers.palace import tag_people
from langmem_tiers.palace.names import PRODUCTS, names
from langmem_tiers.palace.tag_places import places

_ANY_KIN = re.compile(
    rf"\b(?P<mine>[Mm]y|[Oo]ur)?\b ?(?P<which>\w+ )?\b(?P<kin>{kinship.WORDS})\b(?P<name> [{UPPER}][\w'-]+)?"
)
# Words that tell nobody from another one of the same kin.
_DEAR = frozenset(["dear ", "lovely ", "beloved ", "own "])
_SOMEBODY = re.compile(
    r"\b(?:guy|man|woman|girl|boy|lady|person|somebody|someone|baby|toddler|people|they)\b", re.IGNORECASE
)
_NOBODY = "?"


@dataclass(kw_only=True, slots=True)
class Tracker:
    """The people of a turn in the order they were named, each with what is known to be said of them, he or she."""

    people: dict[str, kinship.Gender | None] = field(default_factory=dict)
    trusting: bool = False
    """Whether any name may be a person's."""

    def copy(self) -> Tracker:
        """One that goes on from here by itself."""
        return Tracker(people=dict(self.people))

    def hear(self, text: str) -> None:
        """Note who is named in a text."""
        related = {named.name: named.kin for named in kin.named(text)}
        for name, word in related.items():
            self._note(name, kinship.gender(word))
        self._hear_kin(text, related)
        self._hear_names(text, related)
        if _SOMEBODY.search(text):
            self._note(_NOBODY, None)

    def _hear_kin(self, text: str, related: Container[str]) -> None:
        """Kin without a name: those of the one who speaks are known by it, others are somebody."""
        for match in _ANY_KIN.finditer(text):
            name = (match["name"] or "").strip()
            if not name or name not in related:
                the_only = match["mine"] and not name and match["which"] in {None, *_DEAR}
                who = f"my {kinship.canonical(match['kin'])}" if the_only else _NOBODY
                self._note(who, kinship.gender(match["kin"]))

    def _hear_names(self, text: str, related: Container[str]) -> None:
        """Names that may be of people, if they were not named before."""
        found = names(text)
        located = set(places(found))
        for each in found:
            may_be = each.text not in related and each.folded not in located
            if may_be and PRODUCTS.isdisjoint(each.folded.split()) and not self._knows(each.text):
                self._note(each.text if tag_people.is_person(each) else _uncertain(each.text, text), None)

    def _knows(self, name: str) -> bool:
        return name in self.people or any(known.split()[0] == name for known in self.people)

    def meant_by(self, pronoun: str) -> str:
        """Who "he" or "she" is: the one person named, if it can be; nothing where it is not sure."""
        people = [person for person in self.people if person]
        if len(people) != 1 or people[0] == _NOBODY:
            return ""
        known = self.people[people[0]]
        return people[0] if known is None or known == pronoun.lower() else ""

    def may_be_person(self, name: str) -> bool:
        """Whether a name that something is said of is a person's."""
        return is_name(name) and (self.trusting or name in self.people or is_person(name))

    def _note(self, name: str, gender: kinship.Gender | None) -> None:
        if name:
            self.people[name] = self.people.get(name) or gender


def _uncertain(name: str, text: str) -> str:
    """Nothing for what is an employer or a place by the words before it; otherwise it may be anybody."""
    if re.search(rf"\b(?:in|at|to|from|for|with|near|joined|left|visited|called)(?: the)? {re.escape(name)}\b", text):
        return ""
    return _NOBODY
