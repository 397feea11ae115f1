"""Other words for everyday things, so that a question does not say all that its message says. No business logic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from langmem_tiers.palace.words import word_set

_PAIRS = word_set(
    """
    sister:sibling brother:sibling mom:mother mum:mother dad:father kids:children kid:child wife:spouse
    husband:spouse baby:infant friend:buddy boss:manager colleague:coworker teacher:instructor doctor:physician
    job:position company:firm salary:pay meeting:appointment exam:test class:course car:vehicle bike:bicycle
    bicycle:bike photo:picture picture:photo painting:artwork song:tune movie:film film:movie concert:gig
    trip:journey vacation:holiday holiday:vacation apartment:flat flat:apartment house:home garden:yard street:road
    city:town shop:store store:shop gift:present party:celebration wedding:marriage race:run hike:trek phone:mobile
    computer:pc money:cash price:cost dinner:supper meal:food clothes:outfit shoes:footwear surgery:operation
    hospital:clinic medicine:medication pain:ache big:large small:little happy:glad scared:afraid tired:exhausted
    sick:ill buy:purchase purchase:buy move:relocate start:begin finish:complete complete:finish fix:repair
    repair:fix build:construct choose:select teach:instruct learn:study hire:employ receive:get visit:see travel:go
    collect:gather rent:lease
    """
)
_OTHERS: Mapping[str, str] = {word: other for word, _, other in (pair.partition(":") for pair in _PAIRS)}
_WORD = re.compile(r"\b[a-z]+\b")


def reworded(question: str, rng: Random) -> str:
    """The question with one of its everyday words said otherwise, where there is any.

    Example:
        >>> reworded("When did my sister move to Porto?", Random(1))
        'When did my sibling move to Porto?'
    """
    known = [match for match in _WORD.finditer(question) if match.group() in _OTHERS]
    if not known:
        return question
    chosen = rng.choice(known)
    return question[: chosen.start()] + _OTHERS[chosen.group()] + question[chosen.end() :]
