"""The request of a recall, and the user's message as a search query."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from langmem_tiers.content import content_hash
from langmem_tiers.language.impersonal import is_impersonal, is_of_agent
from langmem_tiers.language.needs import Need, is_list, needed_for
from langmem_tiers.language.questions import (
    ERRANDS,
    asked_about,
    asks_for_latest,
    asks_for_several,
    is_errand,
    names_someone,
)
from langmem_tiers.language.word_lists import listed
from langmem_tiers.language.words import STOPWORDS, asks_about_oneself, is_trivial, searchable, words
from langmem_tiers.settings import RecallSettings, Settings

_LONGEST = 1000
# The share of the threshold that is enough for a question that only memory can answer.
_OWN_QUESTION = 0.6
# How much longer than the others the best item of a block may be; see docs/decisions.md.
_BEST_LENGTH = 2.5
# How much shorter what others said may be, where a question asks for what one of them said.
_OF_OTHERS = 0.5
_ASKING = listed("words", "asking")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class RecallRequest:
    """One recall, with all defaults filled in from the settings.

    `window` are the ids of the messages the model sees anyway; None means the session's last `window_turns`. `bare` are
    those of them it sees without the block recalled for them. With `until`, it is about that moment: what was said
    later does not count. `fade_days` is the half-life of inferred preferences. A reranker, if there is one, is only
    used if `rerank` is set. Of a `project` or a `task`, only messages are looked at that are about it. `limited` means
    that the caller gave the limit. Unless `selective` is set, everything that fits is shown, best first. `several`
    means that it is for a question that asks for several things. `repeats` is the number of the receipt of an earlier
    recall that is made again to explain it: what was shown since does not count as shown.
    """

    query: str
    now: datetime
    settings: RecallSettings
    window_turns: int
    fade_days: float
    limit: int
    threshold: float
    token_budget: int
    session: str | None = None
    message_id: str | None = None
    window: Collection[str] | None = None
    bare: Collection[str] = ()
    until: datetime | None = None
    project: str | None = None
    task: str | None = None
    keep_receipt: bool = False
    rerank: bool = False
    limited: bool = False
    selective: bool = True
    several: bool = False
    repeats: int | None = None

    @property
    def as_of(self) -> datetime:
        """The moment whose state is asked for: now, unless only what was said up to an earlier one counts."""
        return self.now if self.until is None else min(self.until, self.now)

    @classmethod
    def of(cls, settings: Settings, /, **asked: Any) -> RecallRequest:
        """A request, with the settings' defaults for everything not given, or None."""
        how: RecallSettings = asked.get("settings", settings.recall)
        defaults: dict[str, Any] = {
            "settings": how,
            "window_turns": settings.window.turns,
            "fade_days": settings.dream.fade_days,
            "limit": how.limit,
            "threshold": how.threshold * (_OWN_QUESTION if asks_about_oneself(asked["query"][:_LONGEST]) else 1),
            "token_budget": how.token_budget,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        # A threshold of 0 asks for whatever is found.
        given["selective"] = given.get("selective", True) and given.get("threshold", how.threshold) > 0
        return cls(**defaults | given, limited="limit" in given)

    def for_list(self) -> RecallRequest:
        """The same request for a question that asks for several things."""
        base, how = self.settings, self.settings.lists
        changed = {name: getattr(how, name) for name in ("best_share", "match_share", "spread")}
        changed["knowledge"] = how.knowledge if base.knowledge else 0
        limit = self.limit if self.limited else how.limit
        return replace(self, settings=base.model_copy(update=changed), limit=limit, several=True)

    @property
    def limits(self) -> dict[str, float]:
        """What it has to keep to, as its receipt says it."""
        return {
            "threshold": self.threshold,
            "limit": self.limit,
            "knowledge": self.settings.knowledge,
            "token_budget": self.token_budget,
            "selective": int(self.selective),
        }

    def item_characters(self, asked: Sequence[bool]) -> list[int]:
        """How long each of these messages may be, best first: less in a list of more than others have.

        Most answers stand in the best one, so it may be longer. What was not said by the one whose words are `asked`
        for may be half as long.
        """
        how = self.settings
        most = how.lists.item_characters if self.several and len(asked) > how.limit else how.item_characters
        lengths = [most if by_asked else int(most * _OF_OTHERS) for by_asked in asked]
        return [int(_BEST_LENGTH * how.item_characters), *lengths[1:]][: len(asked)]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A user message as a search query: `terms` are distinct, without function words unless there are no others.

    `several` means that it asks for a list or a count, `latest` for the latest of several; `needs` is what has to be
    known of the user to answer it, `about` whom or what it asks all about. What is `impersonal` is for anybody.
    """

    text: str
    content_hash: bytes
    terms: tuple[str, ...]
    trivial: bool
    several: bool
    latest: bool
    needs: tuple[Need, ...] = ()
    about: str | None = None
    impersonal: bool = False


def searched(text: str) -> str:
    """What of a user message is searched for."""
    return _SURROGATE.sub("\ufffd", text).strip()


def says_nothing(message: str, trivial_words: int) -> bool:
    """Whether there is nothing in a message to recall by; with 0 `trivial_words`, only if it is empty."""
    return is_trivial(message, trivial_words) or (trivial_words > 0 and is_of_agent(message))


def parse(text: str, trivial_words: int) -> Query:
    """Parse a user message into a search query; any text is accepted."""
    clean = searched(text)
    found = dict.fromkeys(words(searchable(clean[:_LONGEST])))
    telling, needs = [word for word in found if word not in STOPWORDS], needed_for(clean)
    errand = is_errand(clean[:_LONGEST])
    passed_over = _ASKING | ERRANDS if errand else _ASKING
    terms = [word for word in telling if word not in passed_over] or telling or found
    ahead = any(need.ahead for need in needs)
    # "Anything on in May?" is about no "in May".
    about = None if ahead else asked_about(clean)
    several = asks_for_several(clean) or (about is not None and names_someone(about))
    several = several or ahead or is_list(needs)
    return Query(
        text=clean,
        content_hash=content_hash(clean),
        terms=tuple(terms),
        trivial=not (needs or errand) and about is None and says_nothing(clean, trivial_words),
        several=several,
        # A list or a count needs the older ones as well.
        latest=not several and asks_for_latest(clean),
        needs=needs,
        about=about,
        impersonal=is_impersonal(clean),
    )
