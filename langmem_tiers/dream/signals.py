"""Feedback on the assistant: what the rules hear in messages, together with what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.dream import feedback
from langmem_tiers.dream.types import Signal
from langmem_tiers.errors import InvalidInput, InvalidPointer, TextTooLong
from langmem_tiers.knowledge import validation
from langmem_tiers.language.quotations import own_words
from langmem_tiers.palace.lookup import find_drawer
from langmem_tiers.records import SpokenTurn
from langmem_tiers.storage import drawers, dreams
from langmem_tiers.storage import feedback as rows
from langmem_tiers.storage.feedback import FeedbackRow
from langmem_tiers.trust import secrets
from langmem_tiers.trust.taint import holds_block
from langmem_tiers.twins import twin
from langmem_tiers.types import Drawer, FeedbackSignal, Sentiment, SignalKind, SignalOrigin, Turn
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext

_MOST_HEARD = 2000  # latest turns that are read for feedback
_LONGEST = 2000  # characters of words or a note that are recorded
_SHOWN = 300
_SESSION = "feedback"
_USUAL: Mapping[SignalKind, Sentiment] = {"irritation": "mildly_frustrated"}
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Signals:
    """Feedback on the assistant: corrections, "that was wrong", irritation and praise.

    The rules hear it in the messages of the last `Settings.dream.signal_days`; `record` adds what they cannot know,
    such as a click on a thumb. Dreams use both for preferences and anti-patterns.

    Each method has a twin named `a…` that does the same in a thread.

    Example:
        >>> space.signals.record("wrong", message=reply.drawer, note="thumbs down").kind  # doctest: +SKIP
        'wrong'
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Signals({self._context.name!r})"

    def record(
        self,
        kind: SignalKind,
        *,
        text: str | None = None,
        strength: Sentiment | None = None,
        session: str | None = None,
        message: int | str | None = None,
        note: str = "",
        origin: SignalOrigin = "user",
    ) -> FeedbackSignal:
        """Record feedback that a user gave, such as with a button or in a form.

        Args:
            kind: `correction`, `wrong`, `irritation` or `praise`.
            text: The user's words. If `message` does not hold them, they are kept as a message of the user, unless the
                settings say that nothing that is said is stored: then they are not kept.
            strength: `casual`, `mildly_frustrated` or `very_irritated`; by default the weakest that the kind has.
            session: The conversation; by default that of the message.
            message: The message that shows it or that it is about, by its drawer's number or pointer.
            note: What you want to say of it; it is listed, and shown to nobody else.
            origin: Who noticed it; `user` is also a host that passes a click on.

        Raises:
            InvalidInput: a kind or strength that there is not, praise that is annoyed, or a message of another session.
            InvalidPointer: `message` is none of this space.
            InvalidText: a text that is none.
            TextTooLong: `text` or `note` has more than 2,000 characters.
        """
        known = arguments.one_of(kind, "kind", get_args(SignalKind))
        felt = _strength(known, strength)
        said, noted = self._text(text or "", "text"), self._text(note, "note")
        by = arguments.one_of(origin, "origin", get_args(SignalOrigin))
        where = arguments.optional_text(session, "session")
        about = self._message(message, where)
        if said and not (about is not None and said in about.content):
            about = self._said(said, where or (about and about.session) or _SESSION)
        with self._context.open() as store, store.writing() as connection:
            row = rows.put(
                connection,
                store.key,
                FeedbackRow(
                    number=0,
                    kind=known,
                    strength=felt,
                    drawer=None if about is None else about.number,
                    session=where if about is None else about.session,
                    note=noted,
                    origin=by,
                    at=to_millis(self._context.clock()),
                ),
            )
        return _recorded(row, about)

    def list(
        self,
        *,
        kind: SignalKind | None = None,
        since: datetime | None = None,
        session: str | None = None,
        limit: int = 50,
    ) -> tuple[FeedbackSignal, ...]:
        """Feedback that was recorded or heard, newest first; what both have of a message is one signal.

        Args:
            kind: Only of this kind.
            since: Only from this moment on; by default the last `Settings.dream.signal_days`.
            session: Only of this conversation.
            limit: The most signals. The rules read the latest 2,000 messages.

        Raises:
            InvalidInput: `kind` is none, or `limit` is below 1.
            NaiveDatetime: `since` has no time zone.
        """
        wanted = None if kind is None else arguments.one_of(kind, "kind", get_args(SignalKind))
        where, most = arguments.optional_text(session, "session"), arguments.whole(limit, "limit", least=1)
        moment = to_millis(self._since(since))
        with self._context.open() as store, store.reading() as connection:
            turns = typed(dreams.spoken_since(connection, store.key, moment, _MOST_HEARD))
            heard = feedback.signals([turn for turn in turns if where in (None, turn.session)])
            recorded = rows.since(connection, store.key, moment, most=_MOST_HEARD, session=where)
            about = [signal.drawer for signal in heard] + [row.drawer for row in recorded if row.drawer is not None]
            messages = drawers.read(connection, store.key, set(about))
        found = _listed(heard, recorded, messages)
        chosen = (each for each in found if wanted in (None, each.kind))
        return tuple(sorted(chosen, key=lambda each: each.at, reverse=True)[:most])

    arecord = twin(record)
    alist = twin(list)

    def _since(self, given: datetime | None) -> datetime:
        if given is None:
            return self._context.clock() - timedelta(days=self._context.settings.dream.signal_days)
        return max(arguments.moment(given, "since"), _LONG_AGO)

    def _text(self, given: str, name: str) -> str:
        text = arguments.any_text(given, name).strip()
        if len(text) > _LONGEST:
            raise TextTooLong(f"The {name} has {len(text):,} characters; the limit is {_LONGEST:,}.")
        validation.require_unicode(text, name)
        return text if self._context.settings.privacy.drawers == "keep" else secrets.mask(text)

    def _message(self, which: int | str | None, session: str | None) -> Drawer | None:
        if which is None:
            return None
        if not isinstance(which, str):
            arguments.integer(which, "message", "the number or the pointer of a message")
        found = find_drawer(self._context, which)
        if found is None:
            raise InvalidPointer(f"{beginning(str(which), 80)!r} is no message of this space.")
        if session not in (None, found.session):
            raise InvalidInput(f"Message {found.pointer} is not of session {session!r}.", way_out="Leave session out.")
        return found

    def _said(self, text: str, session: str) -> Drawer | None:
        """The message of the user that has these words, stored here if the session has none and messages are stored."""
        from langmem_tiers.writing.tracking import Conversation, track

        found = self._spoken(text, session)
        if found is None and self._context.settings.tracks:
            track(self._context, [Turn(role="user", content=text)], Conversation(session=session)).raise_rejected()
            found = self._spoken(text, session)
        return None if found is None else find_drawer(self._context, found)

    def _spoken(self, text: str, session: str) -> int | None:
        with self._context.open() as store, store.reading() as connection:
            return drawers.find_said(connection, store.key, session, text)


def gathered(connection: Connection, space: str, since: int, most: int) -> list[Signal]:
    """What a dream knows of feedback since a moment: what is heard and recorded, the latest `most`, oldest first."""
    turns = typed(dreams.spoken_since(connection, space, since, _MOST_HEARD))
    recorded = rows.since(connection, space, since, most=_MOST_HEARD)
    found = united(feedback.signals(turns), recorded, turns)
    return found[len(found) - min(most, len(found)) :]


def typed(turns: Iterable[SpokenTurn]) -> list[SpokenTurn]:
    """The turns that are somebody's own words, with blanks for what a user only quotes.

    A user who pasted a recalled block did not say what is in it, and such a turn is left out.
    """
    mine = (turn for turn in turns if turn.role != "user" or not holds_block(turn.content))
    return [replace(turn, content=own_words(turn.content)) if turn.role == "user" else turn for turn in mine]


def united(heard: Iterable[Signal], recorded: Iterable[FeedbackRow], turns: Sequence[SpokenTurn]) -> list[Signal]:
    """One signal for each turn of the user that was heard or recorded, in order.

    What was recorded of a reply strengthens the complaint that follows it: by itself it has no words to learn from.
    """
    found = {signal.drawer: signal for signal in heard}
    said = {turn.drawer: turn for turn in turns}
    answers = _answers(turns)
    for row in recorded:
        about = None if row.drawer is None else said.get(row.drawer)
        if about is not None and about.role == "user":
            found[about.drawer] = _with(found.get(about.drawer) or _of_turn(about, row), row)
        elif about is not None and (after := found.get(answers.get(about.drawer, 0))) and after.kind != "praise":
            strongest = max(after.sentiment, row.strength, key=feedback.LEVELS.index)
            found[after.drawer] = after.model_copy(update={"sentiment": strongest})
    return [found[drawer] for drawer in sorted(found)]


def _answers(turns: Iterable[SpokenTurn]) -> dict[int, int]:
    """For each turn of the assistant, the next one of the user in its session."""
    open_turns: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    for turn in turns:
        if turn.role == "user":
            found.update(dict.fromkeys(open_turns.pop(turn.session, ()), turn.drawer))
        else:
            open_turns.setdefault(turn.session, []).append(turn.drawer)
    return found


def _of_turn(turn: SpokenTurn, row: FeedbackRow) -> Signal:
    return Signal(
        drawer=turn.drawer,
        session=turn.session,
        kind=row.kind,
        sentiment=row.strength,
        quote=turn.content[:_SHOWN].strip(),
        at=turn.said_at,
    )


def _with(signal: Signal, row: FeedbackRow) -> Signal:
    """A signal with what was recorded of the same turn: the user's word counts, of others the more telling one."""
    kind = row.kind if row.origin == "user" else max(signal.kind, row.kind, key=feedback.RANKS.index)
    both = (row.strength,) if row.origin == "user" else (signal.sentiment, row.strength)
    strongest = max(both, key=feedback.LEVELS.index)
    return signal.model_copy(update={"kind": kind, "sentiment": "casual" if kind == "praise" else strongest})


def _listed(
    heard: Iterable[Signal], recorded: Iterable[FeedbackRow], messages: Mapping[int, Drawer]
) -> Iterable[FeedbackSignal]:
    """Each signal once, for whoever lists them."""
    left = {signal.drawer: signal for signal in heard}
    for row in recorded:
        about = None if row.drawer is None else messages.get(row.drawer)
        same = None if row.drawer is None else left.pop(row.drawer, None)
        if same is None:
            yield _recorded(row, about)
        else:
            one = _with(same, row)
            told = row._replace(kind=one.kind, strength=one.sentiment)
            yield _recorded(told, about, text=_words(one, about), before=one.before)
    for signal in left.values():
        yield FeedbackSignal(
            kind=signal.kind,
            strength=signal.sentiment,
            text=_words(signal, messages[signal.drawer]),
            before=signal.before,
            note="",
            session=signal.session,
            drawer=signal.drawer,
            pointer=messages[signal.drawer].pointer,
            origin="rules",
            at=signal.at,
        )


def _words(signal: Signal, message: Drawer | None) -> str:
    """What the user said: a short message as a whole, of a longer one what shows the feedback."""
    return message.content if message is not None and len(message.content) <= _SHOWN else signal.quote


def _recorded(row: FeedbackRow, about: Drawer | None, *, text: str | None = None, before: str = "") -> FeedbackSignal:
    return FeedbackSignal(
        kind=row.kind,
        strength=row.strength,
        text=text if text is not None else "" if about is None else about.content[:_SHOWN],
        before=before,
        note=row.note,
        session=row.session,
        drawer=row.drawer,
        pointer=None if about is None else about.pointer,
        origin=row.origin,
        at=from_millis(row.at),
        number=row.number,
    )


def _strength(kind: SignalKind, given: Sentiment | None) -> Sentiment:
    if given is None:
        return _USUAL.get(kind, "casual")
    known: Sentiment = arguments.one_of(given, "strength", get_args(Sentiment))
    if kind == "praise" and known != "casual":
        raise InvalidInput("Praise is not annoyed.", way_out="Leave strength out, or record another kind.")
    return known
