"""Who and what is named in one sentence: spoken of together, and no more is known. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.palace import tag_people
from langmem_tiers.palace.names import Name, addressed, names
from langmem_tiers.palace.tag_places import places
from langmem_tiers.palace.words import FIRST_PERSON, FUNCTION_WORDS, word_set, words

PREDICATE = "mentioned with"
# A sentence that names more is a list.
_MOST_NAMED = 3
_LEAST_LITTLE = 2
# Words that begin with a capital where no name is, as people write them.
_NO_NAMES = word_set("congrats woohoo yay omg haha gosh wow btw lol fyi pics photo bestie mommy daddy")


def together(sentence: str, speaker: str | None = None) -> Iterator[Claim]:
    """A claim for each two that a sentence names, people before places; whoever speaks or is spoken to is neither."""
    if not _is_told(sentence):
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
    """The people and places of a sentence by name, with their types, in the order of people first."""
    found = names(sentence)
    left_out = addressed(sentence) | _NO_NAMES | ({speaker.casefold()} if speaker else set())
    located = set(places(found))
    told = [name for name in found if name.folded not in left_out and name.folded.split()[0] not in left_out]
    people = {name.text: "person" for name in told if name.folded not in located and _is_person(name)}
    return people | {name.text: _type(name) for name in told if name.folded in located and name.text not in people}


def _type(name: Name) -> str:
    """What is 'at' or 'for' may be an employer as well as a place."""
    return "other" if name.before[-1:] in {("at",), ("for",), ("with",)} else "place"


def _is_told(sentence: str) -> bool:
    """Whether a sentence is English, by its little words, and tells of the one who speaks: no story, no list."""
    said = words(sentence)
    if FIRST_PERSON.isdisjoint(said):
        return False
    little = {word for word in said if word in FUNCTION_WORDS}
    return len(little) >= _LEAST_LITTLE and len(little) * 8 >= len(set(said))


def _is_person(name: Name) -> bool:
    return tag_people.is_person(name) and not name.text.isupper()
