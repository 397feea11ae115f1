"""A turn as it is read: whose it is, which part is looked at, and what was said before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from langmem_tiers.language import speech_acts
from langmem_tiers.language.answers import in_full
from langmem_tiers.language.chatter import substance
from langmem_tiers.language.ellipsis import filled_in
from langmem_tiers.language.introductions import introduced
from langmem_tiers.language.quotation_signs import ASIDE, is_own_text
from langmem_tiers.language.quotations import announces, own_words
from langmem_tiers.language.rewriting import Subject
from langmem_tiers.language.rules import Listener
from langmem_tiers.language.sentences import Sentence, is_latin, sentences
from langmem_tiers.language.word_lists import named_pattern, word_set
from langmem_tiers.records import Said

LONGEST = 4000
"""Characters of a turn that are looked at: what people tell is shorter, what they paste is longer."""

_LONGEST_QUOTE = 300
_MOST_OF_A_REQUEST = 5  # sentences; an order in a longer turn only applies to its own task
_OPENING_SENTENCES = 2  # sentences later in a turn do not answer another turn
_MOST_AGO = 4  # turns that are searched for what a correction refers to
_TELLS = re.compile(r"(?:I|My|We|Our)\b")
# "I just moved to Oslo | , so can you suggest some gyms?", but not "I live in Oslo, don't I?".
_TELLS_FIRST = named_pattern("turns", "tells_first")
_ASKS_THEN = named_pattern("turns", "asks_then")
_IS_MATERIAL = named_pattern("turns", "is_material")
_ASKS_OF_WORDS = named_pattern("turns", "asks_of_words")
_NOBODY = word_set("user assistant human ai system tool bot agent speaker unknown me")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """An earlier sentence: in which turn, how many turns ago, and whether by the same speaker."""

    sentence: Sentence
    said: Said
    ago: int
    mine: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A sentence being read: in which turn, whose it is, who listens, and what came before.

    `briefs` says that the turn is a long brief for a task, `asked` that it answers a question about the past; `own` are
    the sentences before this one, `behind` the earlier turns, nearest first. `full` is what a short answer, an
    introduction or a sentence that leaves something out means. `withdrawn` says that the next sentence takes it back.
    """

    said: Said
    sentence: Sentence
    subject: Subject
    listener: Listener
    briefs: bool = False
    asked: bool = False
    own: tuple[Sentence, ...] = ()
    behind: tuple[Said, ...] = ()
    full: str = ""
    withdrawn: bool = False

    @property
    def text(self) -> str:
        """The sentence, in full where it is a short answer or an introduction, or leaves something out."""
        return self.full or self.sentence.text

    @property
    def quote(self) -> str:
        """Its words in the turn itself."""
        return quote(self.said, self.sentence)

    @property
    def before(self) -> Sentence | None:
        """The sentence before the one being read."""
        return self.own[-1] if self.own else None

    @property
    def leans_on(self) -> Sentence | None:
        """The sentence before it that may say what it leaves out: not "So happy!"."""
        return _telling(reversed(self.own))

    def earlier(self) -> Iterator[Statement]:
        """What was said before the current sentence, nearest first; other turns only count if it opens this one."""
        for sentence in reversed(self.own):
            yield Statement(sentence=sentence, said=self.said, ago=0, mine=True)
        if len(self.own) < _OPENING_SENTENCES:
            for ago, turn in enumerate(self.behind, start=1):
                if turn.role in {"tool", "system"}:
                    continue
                mine = may_speak(turn) and turn.speaker == self.said.speaker
                for sentence in sentences(own_part(turn)):  # questions too, since they name values
                    yield Statement(sentence=sentence, said=turn, ago=ago, mine=mine)


def may_speak(turn: Said) -> bool:
    """Whether the words of a turn are the user's own."""
    return turn.role == "user" and turn.origin in {"user", "import"}


def own_part(turn: Said) -> str:
    """The part of a turn that is looked at, with blanks for what a user only quotes."""
    shown = turn.content[:LONGEST]
    return own_words(shown) if turn.role == "user" else shown


def _named(turn: Said) -> str | None:
    """The speaker's name, if there is one."""
    name = " ".join((turn.speaker or "").split())
    return None if not name or name.casefold() in _NOBODY else name


def several_speak(said: Iterable[Said]) -> bool:
    """Whether several named speakers talk."""
    return len({name for turn in said if (name := _named(turn))}) > 1


def is_of_another(turn: Said) -> bool:
    """Whether somebody else than the user said it, in a conversation that was imported."""
    return turn.origin == "import" and _named(turn) is not None


def is_cut(turn: Said) -> bool:
    """Whether part of a turn is not looked at."""
    return may_speak(turn) and len(turn.content) > LONGEST


def readings(said: Sequence[Said], place: int, *, several: bool) -> Iterator[Reading]:
    """Each sentence of a turn, with what is known at that point."""
    turn, before = said[place], said[place - 1] if place else None
    read = _sentences(turn)
    # One of several who speak for themselves, such as in a group chat, need not be the user.
    by_name = is_of_another(turn) or several_speak(each for each in said if not is_of_another(each))
    subject = Subject(name=_named(turn) if by_name else None)
    answers = before is not None and (before.speaker, before.role) != (turn.speaker, turn.role)
    asked = before is not None and answers and speech_acts.asks_of_long_ago(before.content[:LONGEST])
    full = in_full(before.content[:LONGEST], read[0].text) if before and answers and read else ""
    for number, sentence in enumerate(read):
        last = read[number - 1].text if number else ""
        yield Reading(
            said=turn,
            sentence=sentence,
            subject=subject,
            listener="people" if several else "agent",
            briefs=len(read) > _MOST_OF_A_REQUEST and not several,
            asked=asked,
            own=tuple(read[:number]),
            behind=tuple(reversed(said[max(0, place - _MOST_AGO) : place])),
            full=(not number and full) or _filled_in(read, number) or introduced(sentence.text, last),
            withdrawn=any(speech_acts.takes_back(each.text) for each in read[number + 1 : number + 2]),
        )


def _filled_in(read: Sequence[Sentence], number: int) -> str:
    """A sentence with what those around it add: "I got the job at Bosch! | So happy! | I start on Monday."."""
    last, coming = _telling(reversed(read[:number])), _telling(read[number + 1 :])
    return filled_in(read[number].text, last.text if last else "", coming.text if coming else "")


def _telling(others: Iterable[Sentence]) -> Sentence | None:
    """The first sentence that is more than an exclamation."""
    return next((each for each in others if not each.text.endswith("!") or substance(each.text)), None)


def _sentences(turn: Said) -> list[Sentence]:
    """The user's own sentences in the part that is looked at; none if it is a joke or in another script."""
    shown = own_part(turn)
    if not is_latin(shown) or speech_acts.jokes_throughout(shown):
        return []
    told = (each for each in sentences(shown) if not announces(each, turn.content[:LONGEST]))
    read = [part for each in told for part in _before_question(_behind_intro(each))]
    # The last one may be cut in the middle.
    return read[:-1] if is_cut(turn) and read and read[-1].stop >= len(turn.content[:LONGEST].rstrip()) else read


def _behind_intro(sentence: Sentence) -> Sentence:
    """The sentence without what only introduces it as the user's own: "For context: I live in Oslo."."""
    intro, colon, rest = sentence.text.partition(": ")
    if not (colon and _TELLS.match(rest) and (ASIDE.match(f"{intro}:") or is_own_text(intro))):
        return sentence
    return Sentence(text=rest, start=sentence.start + len(intro) + len(colon))


def _before_question(sentence: Sentence) -> Iterator[Sentence]:
    """What a sentence tells before it asks, and the question: "I just moved to Oslo | can you suggest some gyms?"."""
    text = sentence.text
    joint = _ASKS_THEN.search(text) if speech_acts.is_question(text) and _TELLS_FIRST.match(text) else None
    if joint is None or _IS_MATERIAL.search(text) or _ASKS_OF_WORDS.search(text, joint.end()):
        yield sentence
        return
    yield Sentence(text=text[: joint.start()], start=sentence.start)
    asked = Sentence(text=text[joint.end() :], start=sentence.start + joint.end())
    if not speech_acts.is_task(asked.text):  # what follows a whole sentence with a task is material for it
        yield asked


def quote(said: Said, sentence: Sentence) -> str:
    """The words in the turn itself at the sentence's position."""
    return said.content[sentence.start : min(sentence.stop, sentence.start + _LONGEST_QUOTE)]
