"""English verbs: their forms, and which form a word is."""

from __future__ import annotations

from langmem_tiers.language.word_lists import listed, table

_IRREGULAR: dict[str, str] = table("verbs")["irregular"]
BARE = listed("verbs", "bare")
_IRREGULAR_PAST = listed("verbs", "irregular_past")
_PARTICIPLES = _IRREGULAR_PAST | listed("verbs", "participles")
ADVERBS = listed("verbs", "adverbs")
_DOUBLED = listed("verbs", "doubled")
_MODALS = listed("verbs", "modals")
_NO_PAST = listed("verbs", "no_past")
_THIRD = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "was": "was", "go": "goes"}


def forms(verb: str) -> tuple[str, ...]:
    """Third person, past, participle and -ing of a verb's base form."""
    if verb in _IRREGULAR:
        return tuple(_IRREGULAR[verb].split())
    if verb.endswith("e"):
        return (_with_s(verb), f"{verb}d", f"{verb[:-1]}ing")
    stem = verb + verb[-1] if verb in _DOUBLED else verb
    past = f"{verb[:-1]}ied" if _ends_in_consonant_y(verb) else f"{stem}ed"
    return (_with_s(verb), past, f"{stem}ing")


def is_past(verb: str) -> bool:
    """Whether a word is certainly the past tense of a verb."""
    return verb in _IRREGULAR_PAST or (verb.endswith("ed") and len(verb) > 3 and verb not in _NO_PAST)


def is_participle(verb: str) -> bool:
    """Whether a word can follow 'had'."""
    return verb in _PARTICIPLES or is_past(verb)


def third_person(verb: str) -> str | None:
    """The form after "The user" for the one after "I"; None if that is not certain."""
    if verb in _THIRD:
        return _THIRD[verb]
    if verb in _MODALS or is_past(verb):
        return verb
    return _with_s(verb) if verb in BARE else None


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ies"
    return verb + "s"


def _ends_in_consonant_y(verb: str) -> bool:
    return verb.endswith("y") and verb[-2] not in "aeiou"
