"""Needs: what has to be known of the user to answer a message, though its words do not say so.

"Suggest a cake" needs their diet, "Tell me about myself" all that is known, "Email Bob" the rule that forbids it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, get_args

from langmem_tiers.language.chatter import substance
from langmem_tiers.language.first_person import statements
from langmem_tiers.language.speech_acts import is_question, is_stated, is_task, is_unreal, speaks_to_somebody
from langmem_tiers.language.standing_facts import Topic
from langmem_tiers.language.synonyms import CLASSES
from langmem_tiers.language.word_lists import COMMON_PARTS, table, word_set, written_out
from langmem_tiers.language.words import FIRST_PERSON, STOPWORDS, meaningful_words, stem, words

_LOOKED_AT = 2000
# Forms of i and s that `lower` does not make small: somebody with a Turkish keyboard writes "SUGGEST A DİSH".
_LETTERS = str.maketrans("ıİſ", "iis")
# Fewer telling words than these tell nothing of who says them.
_TELLING = 2
_TOPICS: tuple[Topic, ...] = get_args(Topic)
_TABLE = table("needs")
_PAST = re.compile(_TABLE["past"], re.IGNORECASE)
_FORBIDS = re.compile(written_out(_TABLE["rules"]["forbids"], {}), re.IGNORECASE)
_ORDER = re.compile(written_out(_TABLE["rules"]["order"], {}))
_PLAIN = {stem(word) for word in _TABLE["rules"]["plain"].split()}
_PATH_WORDS = {word: name for name, line in _TABLE["path_words"].items() for word in line.split()}


class Need(NamedTuple):
    """What answers a kind of message: standing facts on `topics`, entries of `categories`, and own words.

    The user's own words are in messages that hold one of `words` and a sentence that fits `said`. What holds `now` is
    not needed for a question about the past. For a list, they are in `every` message that tells of one, which has a tag
    of the kind `tag` if one is given, and in relations by one of `predicates`; what is `lasting` may have been told
    outside the time that is asked about. A question about what is `ahead` needs what was told of days to come. Of what
    is `plainly` told, nothing stands in for what was never said so. Messages with what is `foremost` come first, and
    those about people who stand `aside` last: a child's allergy before a neighbour's diet.
    """

    topics: frozenset[Topic]
    categories: frozenset[str]
    words: tuple[str, ...]
    said: re.Pattern[str] | None
    now: bool
    every: bool = False
    lasting: bool = False
    ahead: bool = False
    tag: str = ""
    predicates: frozenset[str] = frozenset()
    plainly: bool = False
    foremost: re.Pattern[str] | None = None
    aside: re.Pattern[str] | None = None

    def rank(self, text: str) -> int:
        """How soon a message of the user comes among those that tell something of the kind: 0 is first."""
        first = self.foremost is None or self.foremost.search(text) is not None
        aside = self.aside is not None and self.aside.search(text) is not None
        return 2 * (not first) + aside

    def is_told(self, text: str) -> bool:
        """Whether a message of the user tells something of the kind, rather than asking for it."""
        return self.said is not None and self.is_told_in(telling_sentences(text))

    def is_told_in(self, sentences: Iterable[str]) -> bool:
        """Whether one of these sentences, as `telling_sentences` gives them, tells something of the kind."""
        if self.said is None:
            return False
        told = ((self.said.search(sentence), sentence) for sentence in sentences)
        return any(found and not is_unreal(sentence[: found.start()]) for found, sentence in told)


def telling_sentences(text: str) -> list[str]:
    """The sentences of a message that are no questions, in plain characters."""
    return [each for each in re.split(r"(?<=[.!?\n])\s+", _plain(text)) if not is_question(each)]


def is_list(needs: Iterable[Need]) -> bool:
    """Whether all of something that the user did or had is asked for."""
    return any(need.every for need in needs)


def has_best(needs: Iterable[Need]) -> bool:
    """Whether one message answers better than the others: the newest on what holds now, the nearest day to come."""
    return any(need.now or need.ahead for need in needs)


def needed_for(message: str) -> tuple[Need, ...]:
    """What a message needs; nothing for small talk and questions about the world.

    Example:
        >>> [sorted(need.topics) for need in needed_for("Can you suggest a cake?")]
        [['diet']]
        >>> needed_for("What is the capital of France?")
        ()
    """
    plain = _plain(message).translate(_LETTERS).lower()
    past = _PAST.search(plain) is not None
    return tuple(need for asked, need in _NEEDS if asked.search(plain) and not (need.now and past))


def asks_for_all(needs: Iterable[Need]) -> bool:
    """Whether all that is known of the user is asked for."""
    return any(len(need.topics) == len(_TOPICS) for need in needs)


def tells_of_oneself(message: str) -> int:
    """How much a message tells of who says it: 2 if of diet, home, work and the like, 1 if of something else, or 0.

    Example:
        >>> [tells_of_oneself(said) for said in ("gone vegetarian", "I juggle with three knives.", "lol")]
        [2, 1, 0]
    """
    sentences = telling_sentences(message)
    if any(need.is_told_in(sentences) for _, need in _NEEDS if not need.every):
        return 2
    own = (message[start:stop] for start, stop in statements(message))
    told = (each for each in own if not speaks_to_somebody(each) and not is_task(each))
    return int(any(is_stated(each, joking=True) and substance(each) >= _TELLING for each in told))


def told_by(question: str) -> tuple[str, ...]:
    """The words of which one must have been said if something of the user's own that is asked for was ever told.

    Empty where that may be told in any words.

    Example:
        >>> told_by("What is my aunt's name?")
        ('aunt', 'auntie', 'aunts', 'family', 'relatives')
        >>> told_by("What is my job?")
        ()
    """
    found = _OWN.search(_plain(question)) if "?" in question else None
    return _TOLD_BY[found["named"].casefold()] if found else ()


def forbidden(rule: str, message: str, category: str = "") -> bool:
    """Whether a message asks for what a rule for the agent, filed under a category, forbids.

    Example:
        >>> rule = "Never send emails without asking me first."
        >>> forbidden(rule, "Please email Bob the report."), forbidden(rule, "What is an email header?")
        (True, False)
    """
    action = _FORBIDS.search(_plain(rule))
    if action is None:
        return False
    about = _kinds(action["action"]) | _kinds(category.rpartition("/")[2])
    verbs = {_kind(order["verb"]) for order in _ORDER.finditer(_plain(message).casefold())}
    return bool(verbs & about) and bool(((verbs & about) | _kinds(message) & about) - _PLAIN)


def names_category(question: str, category: str) -> bool:
    """Whether the words of a question are those of a category's path: "my food preferences".

    Example:
        >>> names_category("What are my food preferences?", "user-preferences/food")
        True
    """
    asked = [_PATH_WORDS.get(word, word) for word in words(question) if word in _PATH_WORDS or word not in STOPWORDS]
    if len(asked) < 2 and FIRST_PERSON.isdisjoint(words(question)):
        return False  # "What is food?"
    path, last = _kinds(category.replace("-", " ").replace("/", " ")), _kinds(category.rpartition("/")[2])
    return bool(last) and last <= {_kind(word) for word in asked} <= path


def _kinds(text: str) -> set[str]:
    return {_kind(word) for word in meaningful_words(text)}


def _kind(word: str) -> str:
    """A word in a form that its inflections and synonyms share."""
    base = word.removesuffix("s") if word.removesuffix("s") in CLASSES else word
    return stem(CLASSES.get(base, word))


def _plain(text: str) -> str:
    return text[:_LOOKED_AT].replace("’", "'").replace("ʼ", "'")


def _needs() -> tuple[tuple[re.Pattern[str], Need], ...]:
    parts = {**COMMON_PARTS, **_TABLE["parts"]}
    return tuple(
        (
            re.compile(written_out(each["asked"], parts)),  # in small letters: half the time that any case takes
            Need(
                topics=_topics(each.get("topics", "")),
                categories=word_set(each.get("categories", "")),
                words=tuple(each.get("words", "").split()),
                said=re.compile(written_out(each["said"], parts), re.IGNORECASE) if "said" in each else None,
                now=each.get("now", False),
                every=each.get("every", False),
                lasting=each.get("lasting", False),
                ahead=each.get("ahead", False),
                tag=each.get("tag", ""),
                predicates=word_set(each.get("predicates", "")),
                plainly=each.get("plainly", False),
                foremost=re.compile(each["foremost"], re.IGNORECASE) if "foremost" in each else None,
                aside=re.compile(written_out(each["aside"], parts), re.IGNORECASE) if "aside" in each else None,
            ),
        )
        for each in _TABLE["need"]
    )


def _topics(named: str) -> frozenset[Topic]:
    return frozenset(topic for topic in _TOPICS if named == "all" or topic in named.split())


_NEEDS = _needs()
_TOLD_BY = {
    word: tuple(line.replace("| ", "").split())
    for line in _TABLE["own"]["told_by"]
    for word in line.partition(" | ")[0].split()
}
_OWN = re.compile(
    written_out(_TABLE["own"]["asked"], {"named": f"(?P<named>{'|'.join(sorted(_TOLD_BY, key=len, reverse=True))})"}),
    re.IGNORECASE,
)
