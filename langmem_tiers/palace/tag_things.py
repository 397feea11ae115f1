"""Events and items in a text: a list of occasions, and what somebody owns or got."""

from __future__ import annotations

import re

from langmem_tiers.palace.finding import beginning_with
from langmem_tiers.palace.names import CALENDAR
from langmem_tiers.palace.tag_people import KIN
from langmem_tiers.palace.words import LOOKED_AT, STOPWORDS, word_set

_EVENTS = (
    "wedding|birthday|conference|interview|concert|marathon|graduation|anniversary|funeral|festival|parade|party"
    "|reunion|road trip|camping trip|business trip|trip|vacation|holiday|honeymoon|engagement|baby shower|surgery"
    "|operation|exam|appointment|workshop|webinar|retreat|hackathon|meetup|tournament|championship|charity race"
    "|race|competition|contest|exhibition|art show|talent show|fair|gala|ceremony|picnic|barbecue|bbq|potluck|hike"
    "|road race|support group|book club|fundraiser|protest|audition|recital|premiere|promotion|housewarming|prom"
    "|sleepover|playdate|divorce|moving day|checkup|check-up|deadline|launch|kickoff|demo day|summit|seminar"
    "|lecture|christening|baptism|bar mitzvah"
)
_EVENT_WORDS = _EVENTS.split("|")
_EVENT = re.compile(rf"\b({_EVENTS})(s|es)?\b(?!\s+(?:over|up|out)\b)")
_PLURAL_IES = re.compile(r"\b(part|ceremon|anniversar|surger)ies\b")

_RUN = r"((?:[a-z][\w-]*)(?: [a-z][\w-]*){0,5})"
_OWNED = re.compile(rf"\b(?:my|our) {_RUN}")
_HANDLING = (
    "bought|purchased|ordered|built|adopted|sold|repaired|fixed|picked up|wear|wore|rode|drove|broke|charged|lost"
    "|cleaned|painted"
)
_HANDLING_WORDS = _HANDLING.split("|")
_HANDLED = re.compile(rf"\b(?:{_HANDLING})(?: (?:me|him|her|us|them|myself))? (?:a|an|the|some|this|my|our) {_RUN}")
_CONCRETE = word_set(
    """
    accordion apartment backpack bag ball banjo bass battery bed bicycle bike blanket boat book boots bowl bracelet
    bus cabin cake calculator camera camper canoe car card cat cello chair charger clarinet clock coat coin collar
    computer couch curtain cup desk diary dog doll door dress drill drone drum drums earrings efoil engine envelope
    fence fish flute fork fridge garage garden glasses gloves grill guitar hamster harp hat headphones helmet hoodie
    horse house jacket jar jeans jewelry kayak kettle key keyboard keys kite kitten knife ladder lamp lantern laptop
    lawnmower letter lens medal microphone microscope microwave mirror monitor motorbike motorcycle mug necklace
    notebook oven painting pan parrot passport pen phone photo piano picture pillow plant plate poster pot printer
    pump puppy pup purse puzzle quilt rabbit racket radio ring robot rug sandals saddle saw saxophone scarf scooter
    screen sculpture sewing-machine shed shirt shoe shoes skateboard skates skis sneakers snowboard sofa speaker
    statue stove suit suitcase surfboard sweater sword synth synthesizer table tablet telescope tent ticket toaster
    tool toolbox toy trailer train treadmill tree tripod trophy truck turntable tv ukulele umbrella van vase vinyl
    violin wallet watch wetsuit wheelchair window
    """
)
_ADJECTIVES = word_set(
    """
    new old own first second last other big small little tiny huge favorite favourite beautiful lovely nice cute cool
    great amazing awesome good better best bad brand shiny fancy cheap expensive red blue green yellow black white
    brown pink grey gray purple orange dear very whole entire current recent previous next trusty broken used ancient
    """
)
# What one has without owning it: ideas, feelings, times, people, parts of the body.
_NOT_OWNED = word_set(
    """
    way life time day days week month year years night morning evening weekend mind opinion idea ideas thought
    thoughts feeling feelings heart head hand hands eyes eye face hair body back foot feet leg legs arm arms knee
    stomach skin name names age family friends friend people team group community crew company job work career boss
    client clients colleagues students student class school office place home hometown hobby hobbies passion passions
    dream dreams goal goals plan plans journey story stories experience experiences memory memories problem problems
    issue issues question questions point view side turn fault best worst favorite favourite advice help support love
    life lives luck fun stuff things thing lot bit bunch couple chance break rest sleep energy mood mindset attention
    focus confidence courage faith pleasure honor honour word words voice routine schedule progress success struggles
    struggle fear fears health weight diet style taste interest interests skills skill creativity future past present
    childhood youth roots culture country town city neighborhood neighbourhood area part role example answer mistake
    bond relationship marriage pregnancy birth death call message email text reply response result results feedback
    offer raise call ride go look try hang hold rid over into started ready sense kind sort type feel chance hug kick
    glimpse taste hunch
    """
)
_ABSTRACT = re.compile(r"(?:ness|ment|tion|sion|ity|ship|ance|ence|ism|hood|ing)s?$")
_VERB = re.compile(
    r"(?:\w+(?:ed|ly|ing)|broke|went|came|took|made|gave|fell|left|got|died|did|does|goes|gets|makes|has|needs|works|looks"
    r"|feels|sounds|ran|said|says|started|keeps|kept|won|lost|came|became|means|helps|loves?|wants?|today|tonight|yesterday"
    r"|tomorrow|last|next|ago)$"
)


def events(text: str) -> list[str]:
    """The occasions of a text, casefolded, in the singular."""
    shown = text[:LOOKED_AT].casefold()
    if "ies" in shown:
        shown = _PLURAL_IES.sub(r"\1y", shown)
    return list(dict.fromkeys(match.group(1) for match in beginning_with(_EVENT_WORDS, _EVENT, shown)))


def items(text: str) -> list[str]:
    """The things somebody owns, bought or handled, casefolded, without their adjectives.

    What is 'mine' counts when it can be touched: a known thing, or one spoken of as bought, sold or repaired.
    """
    shown = text[:LOOKED_AT].casefold()
    owned = beginning_with(("my ", "our "), _OWNED, shown)
    handled = beginning_with(_HANDLING_WORDS, _HANDLED, shown)
    found = [(match.start(1), _known_thing(match.group(1).split())) for match in owned]
    found += [(match.start(1), _handled_thing(match.group(1).split())) for match in handled]
    return list(dict.fromkeys(thing for _, thing in sorted(found) if thing))


def _known_thing(run: list[str]) -> str:
    """The run up to its concrete noun: 'electric guitar' of 'new electric guitar broke again'."""
    place = next((place for place, word in enumerate(run[:4]) if word in STOPWORDS or _is_concrete(word)), -1)
    if place < 0 or run[place] in STOPWORDS:
        return ""
    end = place + 2 if _is_concrete(" ".join(run[place + 1 : place + 2])) else place + 1
    return " ".join([*[word for word in run[:place] if word not in _ADJECTIVES][-2:], *run[place:end]])


def _is_concrete(word: str) -> bool:
    return word in _CONCRETE or word.removesuffix("s") in _CONCRETE


def _handled_thing(run: list[str]) -> str:
    """The noun that a run begins with: two words when the run ends after them, else one."""
    known = _known_thing(run)
    while run and run[0] in _ADJECTIVES:
        run = run[1:]
    noun: list[str] = []
    for word in run:
        if _ends_noun(word) or (noun and _VERB.match(word)):
            break
        noun.append(word)
    kept = noun if len(noun) == 2 else noun[:1]
    return known or (" ".join(kept) if kept and all(_is_thing(word) for word in kept) else "")


def _ends_noun(word: str) -> bool:
    return word in STOPWORDS or word in CALENDAR or word in _ADJECTIVES


def _is_thing(word: str) -> bool:
    return (
        2 < len(word) <= 20
        and not {word, word.removesuffix("s")} & _NOT_OWNED
        and word not in KIN
        and not _ABSTRACT.search(word)
        and not _EVENT.fullmatch(word)
    )
