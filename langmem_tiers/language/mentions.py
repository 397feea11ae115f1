"""Who is named in a turn: whom "she" means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

from langmem_tiers.language import kinship, relations_family
from langmem_tiers.language.names import PRODUCTS, Name, names, places
from langmem_tiers.language.names import is_person as is_persons_name
from langmem_tiers.language.relation_patterns import compiled, is_name, is_person
from langmem_tiers.language.word_lists import named_pattern

_ANY_KIN = compiled(r"\b(?P<mine>[Mm]y|[Oo]ur)?\b ?(?P<which>\w+ )?\b(?P<kin>@kin@)\b(?P<name> [@upper@][\w'-]+)?")
# Words that do not distinguish one person from another of the same kin.
_DEAR = frozenset(["dear ", "lovely ", "beloved ", "own "])
_SOMEBODY = named_pattern("mentions", "somebody")
_BEFORE_PLACE = r"\b(?:in|at|to|from|for|with|near|joined|left|visited|called)(?: the)? "
_NOBODY = "?"


@dataclass(kw_only=True, slots=True)
class Tracker:
    """The people of a turn in the order they were named, each with their kinship and whether they are "he" or "she"."""

    people: dict[str, kinship.Gender | None] = field(default_factory=dict)
    trusting: bool = False
    """Whether any name may be a person's."""

    def copy(self) -> Tracker:
        """An independent copy."""
        return Tracker(people=dict(self.people))

    def hear(self, text: str) -> None:
        """Record who is named in a text."""
        related = {named.name: named.kin for named in relations_family.named_kin(text)}
        for name, word in related.items():
            self._note(name, kinship.gender(word))
        for match in _ANY_KIN.finditer(text):
            # Without a name, the speaker's own kin are identified by the word, others are someone unknown.
            name = (match["name"] or "").strip()
            if not name or name not in related:
                the_only = match["mine"] and not name and match["which"] in {None, *_DEAR}
                who = f"my {kinship.canonical(match['kin'])}" if the_only else _NOBODY
                self._note(who, kinship.gender(match["kin"]))
        found = names(text)
        others = {*related, *places(found)}
        for each in found:
            if {each.text, each.folded}.isdisjoint(others) and PRODUCTS.isdisjoint(each.folded.split()):
                self._hear_name(each, text)
        if _SOMEBODY.search(text):
            self._note(_NOBODY, None)

    def _hear_name(self, name: Name, text: str) -> None:
        """A name that may be somebody's, unless the words before it make it an employer or a place."""
        if any(name.text in {known, known.split()[0]} for known in self.people):
            return
        if is_persons_name(name):
            self._note(name.text, None)
        elif not re.search(_BEFORE_PLACE + re.escape(name.text) + r"\b", text):
            self._note(_NOBODY, None)

    def meant_by(self, pronoun: str) -> str:
        """Who "he" or "she" is: the one person who fits; empty if that is not certain."""
        people = [*self.people]
        if len(people) != 1 or people[0] == _NOBODY:
            return ""
        known = self.people[people[0]]
        return people[0] if known is None or known == pronoun.lower() else ""

    def may_be_person(self, name: str) -> bool:
        """Whether a name that something is said about is a person's."""
        return is_name(name) and (self.trusting or name in self.people or is_person(name))

    def _note(self, name: str, gender: kinship.Gender | None) -> None:
        self.people[name] = self.people.get(name) or gender


def side_by_side(sentence: str) -> Iterator[tuple[str, str]]:
    """Pairs of people in one sentence of whom one has a part of the other's name: nobody is named twice like that."""
    found = names(sentence)
    located = set(places(found))
    people = {each.folded: each.text for each in found if each.folded not in located and is_persons_name(each)}
    for (one, first), (other, second) in permutations(people.items(), 2):
        if set(one.split()) < set(other.split()):
            yield first, second
