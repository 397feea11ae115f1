"""Verbs as people use them of themselves, and what they are called in a question. No business logic."""

from __future__ import annotations

from collections.abc import Mapping

from langmem_tiers.palace.words import word_set

_REGULAR = word_set(
    """
    adopt apply arrive ask attend bake book borrow call cancel celebrate change chat clean climb collect complete cook
    cycle dance decide deliver design discover donate drop enjoy enroll explore finish fix follow graduate grab help
    hike hire install interview invite join jog knit land launch learn lease like live love marry miss move name need
    open order organise organize pack paint park pass pick plan plant play practice practise prefer prepare present
    publish purchase quit receive record register remodel renew rent repair replace reserve return sail schedule ship
    shop sign sketch start stay stop study swap switch talk teach test train transfer travel try turn use visit
    volunteer walk want wash watch work
    """
)
_DOUBLED = word_set("stop plan drop shop jog swap chat ship grab")
_IRREGULAR = word_set(
    """
    went:go bought:buy got:get came:come took:take made:make gave:give saw:see met:meet found:find lost:lose
    sold:sell built:build wrote:write read:read ran:run drove:drive flew:fly rode:ride swam:swim ate:eat drank:drink
    left:leave spent:spend paid:pay sent:send taught:teach thought:think told:tell brought:bring caught:catch
    began:begin broke:break chose:choose drew:draw fell:fall felt:feel forgot:forget grew:grow heard:hear held:hold
    kept:keep knew:know led:lead lent:lend put:put said:say sang:sing slept:sleep spoke:speak stood:stand won:win
    wore:wear became:become quit:quit had:have did:do
    """
)
_PRESENT = word_set(
    """
    collect drive drink eat grow have keep know like live love need play practise prefer read ride run sing speak
    study teach use volunteer walk want watch wear work write
    """
)


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + base[-1] + "ed" if base in _DOUBLED else base + "ed"


def _third_person(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "o")) else "s")


_FORMS: Mapping[str, tuple[str, str]] = {
    **{base: ("do", base) for base in _PRESENT},
    **{_third_person(base): ("does", base) for base in _PRESENT},
    **{_past(base): ("did", base) for base in _REGULAR},
    **{past: ("did", base) for past, _, base in (pair.partition(":") for pair in _IRREGULAR)},
}


def verb(word: str) -> tuple[str, str] | None:
    """The helper and the base that ask for a verb form; None for other words.

    Example:
        >>> verb("moved"), verb("works"), verb("bicycle")
        (('did', 'move'), ('does', 'work'), None)
    """
    return _FORMS.get(word.casefold())
