"""The user's own messages that a question needs, though it shares no word with them: "Where do I live?", a move."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import standing
from langmem_tiers.language import quotations
from langmem_tiers.language.chatter import asks
from langmem_tiers.language.needs import Need, asks_for_all, is_list, tells_of_oneself
from langmem_tiers.language.plans import is_undone
from langmem_tiers.language.questions import TimeSpan, spans
from langmem_tiers.recall import conversations, plans
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot, read_texts
from langmem_tiers.storage import drawers
from langmem_tiers.storage.keyword import MOST_TERMS
from langmem_tiers.types import Drawer

if TYPE_CHECKING:
    from langmem_tiers.storage.embedding_cache import Vectors

# The newest messages of the user that are looked at for what they need, and how many are taken.
_LOOKED_AT, _MESSAGES = 60, 4
# And if all that is known of them is asked for, or a list.
_LOOKED_AT_FOR_ALL, _FOR_ALL = 400, 8
# Where none says so plainly: how many have a word of it, and how many near ones are looked at.
_NAMING, _NEAR = 2, 8
# Of a list, how many messages are looked at, and how many that tell of one are taken.
_LOOKED_AT_OF_LIST, _OF_LIST = 2_000, 40
_DAY = 86_400_000
NEAR = 0.42
"""The similarity from which a message may tell of something whose words it does not hold."""


CLOSE = 0.55
"""The similarity from which something is worth showing to a message that anybody might write."""


class OwnMessages(NamedTuple):
    """The user's messages that a question needs, best first, with their fit; `nearest`: with those nearest to it."""

    fits: Mapping[int, float]
    nearest: bool = False


def find(source: SpaceSnapshot, query: Query, request: RecallRequest) -> OwnMessages:
    """The user's newest messages about what a question asks of them: the newest fits best.

    If none says so plainly, they are the newest with a word of it, and those nearest to the question. If all that is
    known of the user is asked for, what tells of home, work and the like comes before whatever else they tell of.
    """
    if not source.own:
        return OwnMessages({})
    if any(need.ahead for need in query.needs):
        return OwnMessages(_ahead(source, query, request))
    if lists := [need for need in query.needs if need.every]:
        return OwnMessages(_listed(source, lists, query, request))
    if asks_for_all(query.needs):
        return OwnMessages(_of_oneself(source, request))
    sought = [need for need in query.needs if need.words]
    return _of_needs(source, sought) if sought else OwnMessages({})


def with_nearest(source: SpaceSnapshot, own: OwnMessages, vector: Vectors | None) -> Mapping[int, float]:
    """The fit of the user's messages, with those nearest to the question if they belong to them.

    Raises:
        InvalidVector: the query's vector has another length than those stored.
    """
    return _fits([*own.fits, *_nearest(source, vector)]) if own.nearest else own.fits


def fitting(
    sources: Sequence[SpaceSnapshot], query: Query, request: RecallRequest, found: list[FoundDrawer]
) -> list[FoundDrawer]:
    """Of the candidates for a message, those that may answer it.

    The words of "what do you know about me" and "what's coming up" are no reason to show anything, and plans and wishes
    are no part of a list of what was done.
    """
    if not query.needs:
        return found
    wanted = {each.key for each in found if each.signals.get("needed", 0.0) > 0}
    ahead = any(need.ahead for need in query.needs)
    if asks_for_all(query.needs) or (wanted and ahead):
        return [each for each in found if each.key in wanted]
    if ahead and not plans.asked_for(query, request):
        return [each for each in found if each.scores.get("vector", 0.0) >= NEAR]
    if not is_list(query.needs):
        return found
    texts = read_texts(sources, [each.key for each in found if each.key not in wanted])
    return [each for each in found if not is_undone(texts.get(each.key, ""))]


def _of_needs(source: SpaceSnapshot, sought: Sequence[Need]) -> OwnMessages:
    """The newest messages that say what is needed, or else those with a word of it and those nearest."""
    naming = _naming(source, sought)
    newest = own_words(source, naming) | _newest(source, _LOOKED_AT)
    ordered = sorted(newest, key=lambda number: newest[number].said_at, reverse=True)
    told = [number for number in ordered if any(need.is_told(newest[number].content) for need in sought)]
    told = [number for number in told if number in naming] or told
    told.sort(key=lambda number: min(need.rank(newest[number].content) for need in sought))
    if told or all(need.plainly for need in sought):
        return OwnMessages(_fits(told))
    named = [number for number in ordered if number in naming and not asks(newest[number].content)]
    return OwnMessages(_fits(named[:_NAMING]), nearest=True)


def _fits(ordered: Sequence[int]) -> dict[int, float]:
    return {number: 1 - place / 10 for place, number in enumerate(list(dict.fromkeys(ordered))[:_MESSAGES])}


def _of_oneself(source: SpaceSnapshot, request: RecallRequest) -> dict[int, float]:
    """What the user told of themselves and what holds, the most telling first, then the newest."""
    told = _telling_first(_newest(source, _LOOKED_AT_FOR_ALL))
    holding: list[int] = []
    while len(holding) < _FOR_ALL and (some := [*islice(told, _FOR_ALL)]):
        over = standing.in_drawers(source.store, source.moment, some, request.as_of)
        holding += (number for number in some if number not in over)
    return {number: 1 - place / 20 for place, number in enumerate(holding[:_FOR_ALL])}


def _telling_first(said: Mapping[int, Drawer]) -> Iterator[int]:
    """Those that tell most of the user, newest first, then those that tell less; looked at as they are asked for."""
    less: list[int] = []
    for number in sorted(said, key=lambda number: (said[number].said_at, number), reverse=True):
        telling = tells_of_oneself(said[number].content)
        if telling > 1:
            yield number
        elif telling:
            less.append(number)
    yield from less


def _ahead(source: SpaceSnapshot, query: Query, request: RecallRequest) -> dict[int, float]:
    """What the user told of days to come, the nearest first."""
    dated = {number for number, _ in drawers.tagged(source.connection, source.key, "t", most=_LOOKED_AT_OF_LIST)}
    said = own_words(source, dated, most=_LOOKED_AT_OF_LIST) | _newest(source, _LOOKED_AT)
    return {number: 1 - place / 100 for place, number in enumerate(plans.ahead(source, said, query, request))}


def _listed(source: SpaceSnapshot, needs: Sequence[Need], query: Query, request: RecallRequest) -> dict[int, float]:
    """All messages of the user that belong to a list, newest first; of a time asked about, if there are any."""
    told = {number: drawer for need in needs for number, drawer in _telling(source, need)}
    lasting = any(need.lasting for need in needs)
    times = () if lasting else spans(query.text, request.as_of.date())
    then = {number for number, drawer in told.items() if any(_is_within(drawer, span) for span in times)}
    then |= told.keys() & set(conversations.about(source, times))
    ordered = sorted(then or told, key=lambda number: (told[number].said_at, number), reverse=True)
    return {number: 1 - place / 100 for place, number in enumerate(ordered[:_OF_LIST])}


def _telling(source: SpaceSnapshot, need: Need) -> Iterator[tuple[int, Drawer]]:
    """The messages of the user that tell of one of a list."""
    if need.tag:
        tagged = drawers.tagged(source.connection, source.key, need.tag, most=_LOOKED_AT_OF_LIST)
        said = own_words(source, {number for number, _ in tagged}, most=_LOOKED_AT_OF_LIST)
    else:
        named = own_words(source, _naming(source, [need]), most=_LOOKED_AT_OF_LIST)
        said = named | _newest(source, _LOOKED_AT_FOR_ALL)
    return ((number, drawer) for number, drawer in said.items() if need.is_told(drawer.content))


def _is_within(drawer: Drawer, span: TimeSpan) -> bool:
    day = to_millis(drawer.said_at) / _DAY
    return span.start <= day < span.stop + (0 if span.strict else span.margin)


def _naming(source: SpaceSnapshot, needs: Sequence[Need]) -> set[int]:
    """The messages with one of the words of these needs."""
    words = tuple(dict.fromkeys(word for need in needs for word in need.words))
    parts = (words[start : start + MOST_TERMS] for start in range(0, len(words), MOST_TERMS))
    held = (each for part in parts for each in source.store.words.holding(source.drawers_at, part)[0])
    return {number for said, _ in held for number in said.tolist()}


def _newest(source: SpaceSnapshot, most: int) -> dict[int, Drawer]:
    """What the user wrote of the newest messages."""
    _, last = source.store.words.holding(source.drawers_at, ())
    return own_words(source, range(max(1, last - most + 1), last + 1), most=most)


def own_words(source: SpaceSnapshot, numbers: Collection[int], *, most: int = _LOOKED_AT) -> dict[int, Drawer]:
    """The newest of these messages that the user wrote, with blanks for what they only quote."""
    known = sorted(_said_by_then(source, set(numbers)), reverse=True)[:most]
    own = drawers.of_user(source.connection, source.key, known)
    return {number: replace(drawer, content=quotations.own_words_of(drawer)) for number, drawer in own.items()}


def _nearest(source: SpaceSnapshot, vector: Vectors | None) -> list[int]:
    """The user's messages nearest to a question, unless they ask as well."""
    if vector is None or source.store.vectors is None:
        return []
    near = source.store.vectors.similar(source.drawers_at, vector, _NEAR)
    own = own_words(source, near)
    return [number for number in near if number in own and not asks(own[number].content)]


def _said_by_then(source: SpaceSnapshot, numbers: Collection[int]) -> Collection[int]:
    """Those of these drawers that were said by the moment asked about."""
    if source.moment.until is None:
        return numbers
    rows = source.store.columns.rows(source.drawers_at, numbers)
    said: list[int] = rows.numbers[rows.said_at <= source.moment.until].tolist()
    return said
