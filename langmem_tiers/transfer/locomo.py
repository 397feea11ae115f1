"""Reading LoCoMo: a JSON list of samples, each one long conversation of two people in dated sessions.

Format: https://github.com/snap-research/locomo (`data/locomo10.json`). The first speaker is imported as the user,
the second as the assistant. Dates carry no zone and are taken as UTC; messages of a session follow each other by a
second, which keeps their order. What was shown in a photo is kept as a line of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langmem_tiers.transfer import checks
from langmem_tiers.transfer.entries import entries
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.records import Entry, ImportedMessage, ImportedRole, ImportedSession, LineProblem

EXPECTED = "LoCoMo JSON"
_SESSION = re.compile(r"session_(\d+)")
_DATE = re.compile(r"(\d{1,2}):(\d\d) *([ap]m) on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LocomoSample:
    """One conversation with its questions, still in the words of the file. `position` counts from 1."""

    position: int
    sample_id: str
    conversation: Mapping[str, object]
    questions: tuple[Mapping[str, object], ...]


def read_locomo(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of all conversations, in order.

    Raises:
        UnreadableFile: the file can not be read, or is no LoCoMo JSON.
    """
    for sample in read_samples(path):
        if isinstance(sample, LineProblem):
            yield sample
        else:
            yield from sample_sessions(sample)


def read_samples(path: Path) -> Iterator[LocomoSample | LineProblem]:
    """The samples of a LoCoMo file, read one at a time.

    Raises:
        UnreadableFile: the file can not be read, or is no JSON list.
    """
    for position, element in entries(path, EXPECTED):
        yield element if isinstance(element, LineProblem) else _sample(position, element)


def sample_sessions(sample: LocomoSample) -> Iterator[Entry]:
    """The sessions of one sample by number, and the problems met."""
    numbers = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        yield from _session(sample, number)


def _sample(position: int, element: object) -> LocomoSample | LineProblem:
    try:
        entry = checks.mapping(element, "the sample")
        return LocomoSample(
            position=position,
            sample_id=checks.text(entry, "sample_id"),
            conversation=checks.mapping(entry.get("conversation"), "'conversation'"),
            questions=tuple(checks.mapping(q, "a question") for q in checks.sequence(entry.get("qa", []), "'qa'")),
        )
    except Malformed as error:
        return LineProblem(line=position, reason=str(error))


def _session(sample: LocomoSample, number: int) -> Iterator[Entry]:
    name = f"{sample.sample_id}/session_{number}"
    messages: list[ImportedMessage] = []
    try:
        opened = _opened(sample.conversation, number)
        for place, turn in enumerate(checks.sequence(sample.conversation[f"session_{number}"], "the session")):
            try:
                at = opened and opened + timedelta(seconds=place)
                messages.append(_message(sample, name, checks.mapping(turn, "the turn"), at))
            except Malformed as error:
                yield LineProblem(line=sample.position, reason=f"{name}, turn {place + 1}: {error}")
    except Malformed as error:
        yield LineProblem(line=sample.position, reason=f"{name}: {error}")
    if messages:
        yield ImportedSession(session=name, messages=tuple(messages), conversation=sample.sample_id)


def _message(sample: LocomoSample, session: str, turn: Mapping[str, object], at: datetime | None) -> ImportedMessage:
    speaker = checks.text(turn, "speaker")
    return ImportedMessage(
        session=session,
        role=_role(sample.conversation, speaker),
        content=_content(turn),
        at=at,
        speaker=speaker,
        message_id=checks.text(turn, "dia_id"),
    )


def _role(conversation: Mapping[str, object], speaker: str) -> ImportedRole:
    if speaker == conversation.get("speaker_a"):
        return "user"
    if speaker == conversation.get("speaker_b"):
        return "assistant"
    raise Malformed(f"'speaker' is {speaker[:40]!r}, who is neither speaker_a nor speaker_b")


def _content(turn: Mapping[str, object]) -> str:
    caption = checks.optional_text(turn, "blip_caption")
    if caption is None:
        return checks.text(turn, "text")
    photo = f"[shared a photo: {caption}]"
    said = turn.get("text")
    return photo if not said else f"{checks.text(turn, 'text')}\n{photo}"


def _opened(conversation: Mapping[str, object], number: int) -> datetime | None:
    told = checks.optional_text(conversation, f"session_{number}_date_time")
    return None if told is None else locomo_time(told)


def locomo_time(told: str) -> datetime:
    """The moment of a date such as '1:56 pm on 8 May, 2023', taken as UTC.

    Raises:
        Malformed: it is no such date.
    """
    found = _DATE.fullmatch(told.strip())
    if found is None or found[5].lower() not in _MONTHS:
        raise Malformed(f"the date {told[:40]!r} is not like '1:56 pm on 8 May, 2023'")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
    month = _MONTHS.index(found[5].lower()) + 1
    try:
        return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"the date {told[:40]!r} does not exist") from error
