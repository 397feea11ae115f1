"""Corrections and denials: what the user says is wrong or no longer true, and what is true instead.

A bare value ("It's Friday, not Thursday") is combined with the earlier statement that contains the wrong value, if
that can be restated with the right one in its place.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langmem_tiers.language import kinship, speech_acts, verbs
from langmem_tiers.language.claims import ANY_OTHER
from langmem_tiers.language.clauses import clauses
from langmem_tiers.language.contrasts import given, is_judged, value_of
from langmem_tiers.language.names import FIRST_NAMES, names
from langmem_tiers.language.turns import Reading, Statement
from langmem_tiers.language.word_lists import named_pattern, named_patterns, word_set
from langmem_tiers.language.words import stems

_BEFORE_A_VALUE = named_pattern("corrections", "before_a_value")
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|we|us|our)\b")
_TO_THE_SPEAKER = (
    (re.compile(r"\b[Yy]our\b"), "my"),
    (re.compile(r"\b[Yy]ou(?:'re| are)\b"), "I am"),
    (re.compile(r"\b[Yy]ou\b(?!')"), "I"),
)
_LONGEST_VALUE = 4  # words


def _bare_value(said: str) -> str:
    """The value in words such as "it's on Friday"."""
    return _BEFORE_A_VALUE.sub("", said)


def _as_whole_word(wrong: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$€£]){re.escape(_bare_value(wrong))}(?!\w)", re.IGNORECASE)


def _say_again(statement: Statement, wrong: str, right: str, *, said: str) -> str | None:
    """An earlier sentence with the right value, in the speaker's words; None if unsafe, or if more was `said`."""
    text, new, value = statement.sentence.text, _bare_value(right), _as_whole_word(wrong)
    if not speech_acts.is_stated(text) or stems(said) - stems(new) - stems(text):
        return None
    if not statement.mine:
        if _FIRST_PERSON.search(text):
            return None
        for pattern, form in _TO_THE_SPEAKER:
            text = pattern.sub(form, text)
    if not 0 < len(new.split()) <= _LONGEST_VALUE or len(value.findall(text)) != 1:
        return None
    clause = next((clause for clause, _ in clauses(text) if value.search(clause)), "")
    again = value.sub(lambda _: new, clause)
    return again if again and speech_acts.standing_alone(again) == again else None


_OPENING = named_pattern("corrections", "opening")
# Words that may introduce a statement set against another one; alone, they are no more than an apology.
_APOLOGY = re.compile(r"^(?:oh,? |ah,? |oops,? |hmm,? )?(?:sorry|my mistake|my bad|oops)[,.:;!-]+ ?", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(r",? (?:actually|sorry)[.!]*$", re.IGNORECASE)
_MORE = named_pattern("corrections", "more")
# The speaker means their own words.
_SLIP = re.compile(r"\b(?:i meant|i mean|scratch that|correct myself)\b", re.IGNORECASE)
_STRONG = named_pattern("corrections", "strong")
_NOT_BEHIND = named_pattern("corrections", "not_behind")
_NOT_BEFORE = named_pattern("corrections", "not_before")
_VALUES = named_patterns("corrections", "values")
_IT_IS = re.compile(r"^(?:it's|it is|it was|that's|they're|he's|she's|in fact it's)\b", re.IGNORECASE)
_MOOD = named_pattern("corrections", "mood")
_MEASURABLE = re.compile(r"\d|\b[A-Z][a-z]+|day\b")
_NO_VALUE = word_set("so really very too that sure just only because even yet going to")
_LONGEST = 200
_AUXILIARY = named_pattern("corrections", "auxiliary")
# A statement about oneself; what one owns, and any other thing, needs a verb to be one.
_OWN = named_pattern("corrections", "own")


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What is right; what is wrong, as it was said; and whether the right part makes sense alone.

    `of` is the statement with the wrong value, `again` the same with the right one, as the speaker would say it.
    """

    right: str
    wrong: str
    alone: bool
    of: Statement | None = None
    again: str | None = None

    @property
    def stands(self) -> bool:
        """Whether the right part can be stored as a statement."""
        return self.alone or self.again is not None

    @property
    def lender(self) -> Statement | None:
        """The speaker's own statement that is restated."""
        return self.of if self.again and self.of and self.of.mine else None


def read_correction(sentence: str, earlier: Iterable[Statement]) -> Correction | None:
    """The correction that a sentence makes, of something it names or something said before; None if there is none."""
    opening = _OPENING.match(sentence)
    rest = _without_stop(sentence[opening.end() :] if opening else sentence)
    if len(rest) > _LONGEST or not rest:
        return None
    if opening is None:
        return _of_itself(rest, earlier)
    there = [*earlier]
    with_wrong = _with_wrong(rest)
    return _placed(with_wrong, there) if with_wrong else _of_said(rest, there, opening.group())


def _without_stop(text: str) -> str:
    """The text without trailing blanks and punctuation."""
    return text.rstrip(string.whitespace + ".!…")


def correcting_statement(sentence: str, before: str | None) -> str | None:
    """What a sentence asserts in contradiction of something it does not name; None if it need not contradict anything.

    Example:
        >>> correcting_statement("No, I have three cats.", None)
        'I have three cats.'
    """
    opening, closing = _opening(sentence), _AFTERTHOUGHT.search(sentence)
    # "No." or "That's wrong!" alone rejects what was said before it.
    rejected = (before or "").rstrip()
    rejects = _opening(f"{rejected} ")
    if _MORE.search(sentence) or not (opening or closing or (rejects and rejects.end() >= len(rejected))):
        return None
    return sentence[opening.end() if opening else 0 : closing.start() if closing else len(sentence)]


def _opening(sentence: str) -> re.Match[str] | None:
    return _OPENING.match(sentence) or _APOLOGY.match(sentence)


def _of_itself(rest: str, earlier: Iterable[Statement]) -> Correction | None:
    """'It's not 30, it's 45', 'I don't live in Oslo anymore, I live in Bergen', without a "no" before it.

    'It's 45, not 30' counts if an earlier statement says 30.
    """
    rest = _APOLOGY.sub("", rest)
    if _is_measured(_NOT_BEFORE.match(rest)):
        found = _with_wrong(rest)
        return found and _placed(found, earlier)
    found = _with_wrong(rest) if _IT_IS.match(rest) else None
    there = [*earlier]
    if found is None or is_judged(found.right):
        return None
    if _is_measured(_NOT_BEHIND.match(rest)) or _is_given(found.wrong, there):
        placed = _placed(found, there)
        return placed if placed and placed.again else None
    return None


def _is_given(wrong: str, earlier: Iterable[Statement]) -> bool:
    """Whether the speaker gave a property this value before."""
    value = value_of(wrong)
    said = (clause for each in earlier if each.mine for clause, _ in clauses(each.sentence.text))
    return bool(value) and any(given(clause, value) for clause in said)


def _is_measured(match: re.Match[str] | None) -> bool:
    """Whether the right and the wrong part can be names, numbers or days."""
    return match is not None and all(_MEASURABLE.search(match[each]) for each in ("right", "wrong"))


def _with_wrong(rest: str) -> Correction | None:
    """'It's Friday, not Thursday', 'it's not Thursday, it's Friday': even without a word that signals a correction."""
    match = _NOT_BEHIND.match(rest) or _NOT_BEFORE.match(rest)
    if match is None or _AUXILIARY.search(match["right"]):
        return None
    right, wrong = match["right"], match["wrong"]
    if _MOOD.search(wrong) or wrong.split(maxsplit=1)[0].casefold() in _NO_VALUE:
        return None
    return Correction(right=right, wrong=wrong, alone=_OWN.match(right) is not None)


def _of_said(rest: str, earlier: Sequence[Statement], opening: str) -> Correction | None:
    """'No, it's on Friday', after a statement with another day."""
    alone, strong = _OWN.match(rest) is not None, _STRONG.search(opening) is not None
    if _MOOD.search(rest) or not (strong or alone or _IT_IS.match(rest)):
        return None
    # After a slip, the speaker's own statements come first.
    own = [each for each in earlier if each.mine] if _SLIP.search(opening) else []
    near = (each for place, each in enumerate(earlier) if each.ago == 1 or (each.ago == 0 and place == 0))
    for statement in (*own, *near):
        text = statement.sentence.text
        wrong, right = _other_values(rest, text) or ("", "")
        frame = stems(text) - stems(wrong)
        # Alone, it must be about what the statement is about, and leave nothing of that out.
        if wrong and (strong or not alone or (frame and frame <= stems(rest))):
            again = None if alone else _say_again(statement, wrong, right, said=rest)
            return Correction(right=rest, wrong=wrong, alone=alone, of=statement, again=again)
    return None


def _placed(found: Correction, earlier: Iterable[Statement]) -> Correction:
    """The correction with the nearest statement that contains the wrong value, if the right part needs one."""
    wrong = _as_whole_word(found.wrong)
    for statement in () if found.alone else earlier:
        if wrong.search(statement.sentence.text):
            again = _say_again(statement, found.wrong, found.right, said=found.right)
            if again:
                return replace(found, of=statement, again=again)
    return found


def _other_values(right: str, statement: str) -> tuple[str, str] | None:
    """The value in a statement that the right one replaces, of the same kind, and the right one."""
    for pattern in _VALUES:
        said, held = pattern.findall(right), pattern.findall(statement)
        if len(set(said)) == 1 and len(set(held)) == 1 and said[0].casefold() != held[0].casefold():
            return held[0], said[0]
    new = {name.text for name in names(f"x {right}")}
    old = {name.text for name in names(statement) if not name.opens or name.folded in FIRST_NAMES}
    if len(new) == 1 and len(old) == 1 and new != old and not statement.endswith("?"):
        return old.pop(), new.pop()
    return None


_OVER = named_patterns("corrections", "over")
# Contradicting what was said, without saying that something ended.
_NOT_SO = named_patterns("corrections", "not_so")
_BEING = {"'m": "am", "'re": "are", "'s": "is"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Denial:
    """What was true, and what is true now, both in the speaker's words."""

    held: str
    now: str


def read_denial(clause: str, *, against: bool = False) -> Denial | None:
    """The denial in a clause; None if there is none.

    Args:
        clause: What is said.
        against: Whether it contradicts something: then a plain "not" denies as well.

    Example:
        >>> read_denial("I don't live in Oslo any more")
        Denial(held='I live in Oslo', now='I no longer live in Oslo')

    """
    over = _first_match(_OVER, clause)
    plain = _first_match(_NOT_SO, clause) if against and not over else None
    match = over or plain
    if match is None:
        return None
    who, being = match["who"], match.groupdict().get("be", "").strip()
    if being:
        verb, what = _BEING.get(being, being), match["what"]
        return Denial(held=f"{who} {verb} {what}", now=clause if plain else f"{who} {verb} no longer {what}")
    # The verb as it would be without "doesn't"; an unknown one is left as it is.
    of_others = who[:2] not in {"I", "we", "We"} and "no longer" not in match.group()
    said = f"{(verbs.third_person(match['verb']) if of_others else None) or match['verb']}{match['what']}"
    return Denial(held=f"{who} {said}", now=clause if plain else f"{who} no longer {said}")


def _first_match(patterns: Iterable[re.Pattern[str]], clause: str) -> re.Match[str] | None:
    return next(filter(None, (pattern.match(clause) for pattern in patterns)), None)


# What became something else was right before.
_CHANGED = named_pattern("corrections", "changed")
# Phrases that call what was said before wrong, alone or before the right version.
_ALL_WRONG = named_pattern("corrections", "all_wrong")
_LAUGHED_NO = re.compile(r"(?:lol|haha+|hehe|lmao|oops)[,.!]* no[,.!]* (?=I\b|I'|[Mm]y\b|[Ww]e\b)", re.IGNORECASE)
_NEVER = named_pattern("corrections", "never")
_NOT_MOVING = named_pattern("corrections", "not_moving")
_NOT_TRUE = named_pattern("corrections", "not_true")
_PRESENT = {"live": "lives", "work": "works", "study": "studies", "own": "owns"}
_BARE = {"lived": "live", "worked": "work", "studied": "study", "owned": "own", "moved": "move"}
_DATE = re.compile(r"\d{2,}|\b(?:before|after(?! all)|until|till|since|when|while|long|yet|full[- ]time)\b")
_IN_FRONT = re.compile(r"^(?:in|on|at|an?|the|to) (?=[A-Z\d])")
_NAME_OR_NUMBER = re.compile(r"[^\W_a-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Righting:
    """What is right, as a sentence of its own, and the wrong value if any; or what never was true."""

    right: str = ""
    wrong: str = ""
    never: str = ""


def read_righting(reading: Reading, text: str) -> Righting | None:
    """What a sentence corrects; after a change, only what is true now; None if it corrects nothing."""
    if never := _never(text):
        return Righting(never=never)
    if right := _against_before(reading, text):
        return Righting(right=right, wrong=ANY_OTHER)
    both = _with_wrong(_without_stop(text))
    if both and not (_NAME_OR_NUMBER.match(_IN_FRONT.sub("", both.wrong)) or kinship.mine(both.wrong)):
        both = None
    if _CHANGED.search(text):
        return Righting(right=both.right) if both else None
    # "Correction: I live in Turin, not Rome", "I don't live in Rome, I live in Turin".
    found = read_correction(text, reading.earlier())
    if found and found.stands:
        both = replace(found, right=found.again or found.right)
    if both:
        return Righting(right=both.right, wrong=_IN_FRONT.sub("", both.wrong))
    # "No, I live in Turin", "Actually, I don't live in Rome".
    stated = correcting_statement(text, reading.before.text if reading.before else None)
    clause = _without_stop(stated or "")
    denial = read_denial(clause, against=True)
    if denial:
        return Righting(never=denial.held)
    return Righting(right=clause, wrong=ANY_OTHER) if stated else None


def unlaughed(text: str) -> str:
    """'lol no I live in Kiel' as 'No, I live in Kiel': the laughter is about what was said before."""
    laughed = _LAUGHED_NO.match(text)
    return f"No, {text[laughed.end() :]}" if laughed else text


def _never(text: str) -> str:
    """What a sentence says was never true, stated positively: 'Nils lives in Oslo'."""
    if said := _NOT_TRUE.match(text):
        return said["held"]
    if moving := _NOT_MOVING.match(text):
        return f"{moving['who']} moved{moving['what']}"
    never = _NEVER.match(text)
    if never is None or _DATE.search(never["what"]):
        return ""
    verb = _BARE.get(never["verb"], never["verb"])
    if verb == "move":
        return f"{never['who']} moved{never['what']}"
    # "I didn't live in Oslo" may be about another time.
    others = never["who"].lower() not in {"i", "we"}
    return "" if never["did"] else f"{never['who']} {_PRESENT[verb] if others else verb}{never['what']}"


def _against_before(reading: Reading, text: str) -> str:
    """The right statement after words that reject what was said before, in the same sentence or the one before."""
    if opening := _ALL_WRONG.match(text):
        right = text[opening.end() :]
    else:
        before = _ALL_WRONG.fullmatch(reading.before.text.strip()) if reading.before else None
        right = text if before else ""
    return "" if _CHANGED.search(right) or _with_wrong(_without_stop(right)) else right
