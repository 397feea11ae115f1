"""Who is named in a turn: whom "she" means, and who is merely mentioned together with whom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from langmem_tiers.language import kinship, relations_family
from langmem_tiers.language.claims import Claim
from langmem_tiers.language.names import PRODUCTS, Name, addressed, names, places
from langmem_tiers.language.names import is_person as is_persons_name
from langmem_tiers.language.relation_patterns import compiled, is_name, is_person
from langmem_tiers.language.word_lists import named_pattern, word_set
from langmem_tiers.language.words import FIRST_PERSON, FUNCTION_WORDS, words

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


PREDICATE = "mentioned with"
# A sentence that names more is a list.
_MOST_NAMED = 3
_LEAST_LITTLE = 2
# Capitalised words that are not names.
_NO_NAMES = word_set("congrats woohoo yay omg haha gosh wow btw lol fyi pics photo bestie mommy daddy")


def together(sentence: str, speaker: str | None = None) -> Iterator[Claim]:
    """A claim for each pair of names in a sentence, people before places; the speaker and addressees are left out."""
    if not _is_about_speaker(sentence):
        return
    found = _named(sentence, speaker)
    if len(found) > _MOST_NAMED:
        return
    for (first, kind), (second, other) in combinations(found.items(), 2):
        if {kind, other} == {"place"}:
            continue
        yield Claim(
            subject=first,
            subject_type=kind,
            predicate=PREDICATE,
            object=second,
            object_type=other,
            kind="mentioned",
        )


def _named(sentence: str, speaker: str | None) -> dict[str, str]:
    """The people and places of a sentence by name, with their types, people first."""
    found = names(sentence)
    left_out = addressed(sentence) | _NO_NAMES | ({speaker.casefold()} if speaker else set())
    located = set(places(found))
    told = [name for name in found if name.folded not in left_out and name.folded.split()[0] not in left_out]
    people = {
        name.text: "person"
        for name in told
        if name.folded not in located and is_persons_name(name) and not name.text.isupper()
    }
    return people | {name.text: _type(name) for name in told if name.folded in located and name.text not in people}


def _type(name: Name) -> str:
    """The object of 'at' or 'for' may be an employer as well as a place."""
    return "other" if name.before[-1:] in {("at",), ("for",), ("with",)} else "place"


def _is_about_speaker(sentence: str) -> bool:
    """Whether a sentence is English, by its function words, and about the speaker: no story, no list."""
    said = words(sentence)
    if FIRST_PERSON.isdisjoint(said):
        return False
    little = {word for word in said if word in FUNCTION_WORDS}
    return len(little) >= _LEAST_LITTLE and len(little) * 8 >= len(set(said))
