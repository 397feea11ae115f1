"""People in a text: known first names, titles, kin, and names that somebody speaks to or that speak."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import product

from langmem_tiers.palace.finding import beginning_with
from langmem_tiers.palace.names import PRODUCTS, Name
from langmem_tiers.palace.words import LOOKED_AT, word_set

FIRST_NAMES = word_set(
    """
    aaron abigail adam ahmed aisha alan albert alejandro alex alexander alexandra ali alice alicia amanda amber amelia
    amir amy ana andre andrea andrew andy angela ann anna anne anthony antonio ashley audrey barbara ben benjamin beth
    betty bill bob brandon brian bruce caleb cameron carl carla carlos carol caroline catherine charles charlie
    charlotte chen chloe chris christina christine christopher claire clara connor craig cynthia dan daniel daniela
    danielle dave david deborah denise dennis derek diana diego dmitri dominic donna dorothy doug dylan ed edward
    elena eli elizabeth ella ellen emily emma eric erica erik ethan eva evan evelyn fatima felix fernando fiona
    francesca francis frank fred gabriel gary george gerald gina giovanni giulia gloria grace greg hannah harold harry
    hassan heather heidi helen henry hiroshi hugo ian ibrahim ingrid irene isaac isabel isabella ivan jack jacob jake
    james jamie jan jane janet jason javier jean jeff jeffrey jen jennifer jenny jeremy jerry jesse jessica jill jim
    joan joanna joe joel johan john johnny jon jonathan jordan jorge jose josé joseph josh joshua joyce juan judith
    judy julia julian julie justin karen karl kate katherine kathleen katie keiko keith kelly ken kenneth kenji kevin
    kim klaus kyle lars laura lauren lena leo leon leonard linda lisa liam lily louis louise luca lucas lucia lucy
    luis luke maya magda marco marcus margaret maria marie mario mark martha martin mary matt matthew max megan mei
    melanie melissa mia michael michelle miguel mike mohamed mohammed monica muhammad nadia nancy naomi natalie
    natasha nathan nick nicholas nicole nina noah nora olga oliver olivia omar oscar pablo pamela patricia patrick
    paul paula pavel pedro peter phil philip pierre priya rachel rafael raj ralph raymond rebecca renee ricardo
    richard rick rob robert roberto robin roger ron rosa rosie roy ruth ryan sabrina sally sam samantha samuel sandra
    sara sarah scott sean sebastian sergei sergio sharon shirley simon sofia sonia sophia sophie stefan stephanie
    stephen steve steven stuart sunil susan suzanne sven tanya tara teresa theo theresa thomas tim timothy tina todd
    tom tommy tony tracy tyler vera veronica vicky victor victoria vincent walter wendy will william yasmin yuki yusuf
    zach zachary zoe
    """
)
_KIN = (
    "mother|mom|mum|father|dad|parents|sister|brother|wife|husband|partner|girlfriend|boyfriend|fiancée?|son|daughter"
    "|kids|children|aunt|uncle|cousin|niece|nephew|grandmother|grandma|granny|grandfather|grandpa|grandparents"
    "|stepmother|stepfather|mother-in-law|father-in-law|sister-in-law|brother-in-law|roommate|flatmate|neighbou?r|boss"
    "|manager|therapist|doctor|dentist|landlord|coach|teacher|mentor|colleague|co-?worker|friend|twins?"
)
_OUR = ["".join(cased) for word in ("my", "our") for cased in product(*zip(word, word.upper(), strict=True))]
_KINSHIP = re.compile(rf"\b(?:my|our)\s+(?:\w+\s+)?({_KIN})\b(?!['’-]\w\w)", re.IGNORECASE)
KIN = frozenset(re.sub(r"[?]", "", _KIN).split("|")) | {"neighbor", "coworker", "twin", "fiance", "fiancé"}
_TITLES = word_set("mr mrs ms miss dr prof professor aunt auntie uncle grandma grandpa sir captain coach president")
_GREETINGS = word_set("hi hey hello dear thanks thank bye goodbye congrats congratulations wow sorry yo yes yeah")
_TO_SOMEBODY = word_set(
    """
    told asked tell ask met meet meeting married marry hugged dating texted texting emailed phoned invited invite
    thank visited visiting remember introduced
    """
)
_SPEECH = re.compile(
    r"(?:says?|said|told|tells|asked|asks|thinks|thought|wants|wanted|loves|loved|likes|liked|hates|called|texted|replied"
    r"|mentioned|suggested|promised|agreed|invited|knows|knew|feels|felt|lives|works|married|bought|gave|hopes|believes)"
)
_OF_A_NAME = re.compile(r"(?:friend|colleague|boss|brother|sister|son|daughter|cousin|neighbou?r)")
_GENERIC_SPEAKERS = word_set("user assistant human ai system tool bot agent speaker unknown")


def people(text: str, found: Sequence[Name], speaker: str | None) -> list[str]:
    """The people of a text, the speaker first, casefolded; kin are in it as 'sister', and by name where it is said."""
    return list(dict.fromkeys([*_speaker(speaker), *_named(found), *_kin(text)]))


def _speaker(speaker: str | None) -> list[str]:
    folded = " ".join((speaker or "").casefold().split())
    return [folded] if folded and folded not in _GENERIC_SPEAKERS else []


def _kin(text: str) -> list[str]:
    return [match.group(1).casefold() for match in beginning_with(_OUR, _KINSHIP, text[:LOOKED_AT])]


def _named(found: Sequence[Name]) -> list[str]:
    """The names with evidence for a person; one good mention is good for all."""
    counted = Counter(name.folded for name in found)
    return [_without_title(name.folded) for name in found if is_person(name, counted[name.folded])]


def _without_title(folded: str) -> str:
    first, _, rest = folded.partition(" ")
    return rest if rest and first.rstrip(".") in _TITLES else folded


def is_person(name: Name, times: int = 1) -> bool:
    """Whether the name is a person's, by its first word or by what stands around it."""
    parts = name.folded.split()
    if len(parts) > 3 or not PRODUCTS.isdisjoint(parts) or name.text.isupper():
        return False
    if parts[0] in FIRST_NAMES or (len(parts) > 1 and parts[0].rstrip(".") in _TITLES):
        return True
    return _is_addressed(name) or _is_spoken_of(name, times)


def _is_addressed(name: Name) -> bool:
    """'Hey Caroline', 'Dr. Okafor', 'my friend Oluwaseun', 'told Mbali'."""
    last = "".join(name.before[-1:])
    if name.opens:  # then the words before belong to another sentence, but for a title's full stop
        return last in _TITLES
    if last in {"named", "called"}:  # films and bands are called something, too, in several words
        return " " not in name.text
    return last in _GREETINGS or last in _TITLES or last in _TO_SOMEBODY or bool(_OF_A_NAME.fullmatch(last))


def _is_spoken_of(name: Name, times: int) -> bool:
    """'Oluwaseun said', 'Oluwaseun's wife'; with a name that comes twice, 'with Oluwaseun' will do."""
    if _SPEECH.fullmatch(name.after) or (name.possessive and name.after in KIN):
        return True
    return times > 1 and not name.opens and name.before[-1:] in {("with",), ("and",)}
