"""The formats: conversations read here, exports of other memories in `readers`, and telling one from another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, cast, get_args

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.language.calendar import MONTHS
from langmem_tiers.transfer.databases import collections, is_sqlite, tables
from langmem_tiers.transfer.files import (
    CONVERSATIONS,
    LIMITS,
    Export,
    Malformed,
    entries,
    head,
    is_zip,
    json_files,
    json_lines,
    reading,
    require_bounded,
    unreadable,
)
from langmem_tiers.transfer.readers import chatgpt, claude, langgraph, letta, mem0, mempalace, rockbot, values
from langmem_tiers.transfer.records import (
    Entry,
    ImportedMessage,
    ImportedSession,
    LineProblem,
    Record,
    pieces,
)
from langmem_tiers.types import ConversationFormat, Format
from langmem_tiers.wording import beginning

JSONL_LINES = "JSONL of {session, role or speaker, content, at}"
# Room for a message of a million characters in the longest way to write them, twelve bytes each (\ud83d\ude00).
_LINE_BYTES = 16_000_000


def read_jsonl(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of the file, in its order.

    Raises:
        UnreadableFile: the file cannot be opened or read.
    """
    return pieces(_messages(path))


def _messages(path: Path) -> Iterator[ImportedMessage | LineProblem]:
    with reading(path, JSONL_LINES) as stream:
        for number, held in json_lines(stream, _LINE_BYTES):
            yield held if isinstance(held, LineProblem) else values.tried(number, _jsonl_message, held, unit="line")


def _jsonl_message(line: object) -> ImportedMessage:
    entry = values.mapping(line, "the line")
    speaker = values.optional_text(entry, "speaker")
    by_name = speaker is not None and "role" not in entry
    return ImportedMessage(
        session=values.text(entry, "session"),
        role="user" if by_name else values.role(entry),
        content=values.text(entry, "content"),
        at=values.when(entry.get("at"), "at"),
        speaker=speaker,
        by_name=by_name,
        message_id=values.optional_text(entry, "id") or "",
    )


LOCOMO_LINES = "LoCoMo JSON"
_SESSION = re.compile(r"session_(\d+)")
_LOCOMO_DATE = re.compile(r"(\d{1,2}):(\d\d) *([ap]m) on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)


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
        UnreadableFile: the file cannot be read, or is no LoCoMo JSON.
    """
    for sample in read_samples(path):
        if isinstance(sample, LineProblem):
            yield sample
        else:
            yield from sample_sessions(sample)


def read_samples(path: Path) -> Iterator[LocomoSample | LineProblem]:
    """The samples of a LoCoMo file, read one at a time.

    Raises:
        UnreadableFile: the file cannot be read, or is no JSON list.
    """
    for position, element in entries(path, LOCOMO_LINES):
        yield element if isinstance(element, LineProblem) else values.tried(position, _sample, position, element)


def sample_sessions(sample: LocomoSample) -> Iterator[Entry]:
    """The sessions of one sample by number, and the problems met."""
    numbers = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        yield from _locomo_session(sample, number)


def _sample(position: int, element: object) -> LocomoSample:
    entry = values.mapping(element, "the sample")
    return LocomoSample(
        position=position,
        sample_id=values.text(entry, "sample_id"),
        conversation=values.mapping(entry.get("conversation"), "'conversation'"),
        questions=tuple(values.mapping(q, "a question") for q in values.sequence(entry.get("qa", []), "'qa'")),
    )


def _locomo_session(sample: LocomoSample, number: int) -> Iterator[Entry]:
    name = f"{sample.sample_id}/session_{number}"

    def message(place: int, turn: object) -> ImportedMessage:
        held = values.mapping(turn, "the turn")
        speaker = values.text(held, "speaker")
        return ImportedMessage(
            session=name,
            role="user",
            content=_content(held),
            at=opened and opened + timedelta(seconds=place),
            speaker=_one_of_both(sample.conversation, speaker),
            by_name=True,
            message_id=values.text(held, "dia_id"),
        )

    try:
        told = values.optional_text(sample.conversation, f"session_{number}_date_time")
        opened = None if told is None else locomo_time(told)
        turns = values.sequence(sample.conversation[f"session_{number}"], "the session")
    except Malformed as error:
        yield LineProblem(line=sample.position, reason=f"{name}: {error}")
    else:
        yield from _session(sample.position, name, 1, turns, message, sample.sample_id)


def _session(
    position: int,
    name: str,
    first: int,
    turns: Sequence[object],
    message: Callable[[int, object], ImportedMessage],
    conversation: str,
) -> Iterator[Entry]:
    """The problems with the turns of a session, counted from `first`, and the session of all others."""
    messages: list[ImportedMessage] = []
    for place, turn in enumerate(turns):
        read = values.tried(position, message, place, turn, where=f"{name}, turn {first + place}")
        if isinstance(read, LineProblem):
            yield read
        else:
            messages.append(read)
    if messages:
        yield ImportedSession(session=messages[0].session, messages=tuple(messages), conversation=conversation)


def _one_of_both(conversation: Mapping[str, object], speaker: str) -> str:
    if speaker not in (conversation.get("speaker_a"), conversation.get("speaker_b")):
        raise Malformed(f"'speaker' is {beginning(speaker, 40)!r}, who is neither speaker_a nor speaker_b")
    return speaker


def _content(turn: Mapping[str, object]) -> str:
    caption = values.optional_text(turn, "blip_caption")
    if caption is None:
        return values.text(turn, "text")
    photo = f"[shared a photo: {caption}]"
    said = turn.get("text")
    return photo if not said else f"{values.text(turn, 'text')}\n{photo}"


def locomo_time(told: str) -> datetime:
    """The moment of a date such as '4:07 pm on 8 May, 2023', taken as UTC.

    Raises:
        Malformed: it is no such date.
    """
    found = _LOCOMO_DATE.fullmatch(told.strip())
    if found is None or found[5].lower() not in MONTHS:
        raise Malformed(f"the date {beginning(told, 40)!r} is not like '4:07 pm on 8 May, 2023'")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
    return _utc(told, int(found[6]), MONTHS.index(found[5].lower()) + 1, int(found[4]), hour, int(found[2]))


def _utc(told: str, year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"the date {beginning(told, 40)!r} does not exist") from error


LONGMEMEVAL_LINES = "LongMemEval JSON or JSONL"
_DATE = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?: \([a-z]+\))?(?: (\d\d?):(\d\d))?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class LongMemEvalQuestion:
    """One question with its haystack, still in the words of the file.

    `position` is its line, or its place in the list counted from 1. `raw` holds the fields not needed for an import.
    """

    position: int
    question_id: str
    sessions: tuple[object, ...]
    dates: tuple[object, ...]
    raw: Mapping[str, object]


def read_longmemeval(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of all questions, in order.

    Raises:
        UnreadableFile: the file cannot be read, or is no LongMemEval file.
    """
    for question in read_questions(path):
        if isinstance(question, LineProblem):
            yield question
        else:
            yield from haystack(question)


def read_questions(path: Path) -> Iterator[LongMemEvalQuestion | LineProblem]:
    """The questions of a LongMemEval file, read one at a time.

    Raises:
        UnreadableFile: the file cannot be read, or is neither a JSON list nor JSONL.
    """
    for position, element in entries(path, LONGMEMEVAL_LINES):
        yield element if isinstance(element, LineProblem) else values.tried(position, _question, position, element)


def haystack(question: LongMemEvalQuestion) -> Iterator[Entry]:
    """The sessions of one question in the order of the file (often not that of their dates), and the problems met."""
    for index, turns in enumerate(question.sessions):
        yield from _haystack_session(question, index, turns)


def longmemeval_time(told: str) -> datetime:
    """The moment of a date such as '2023/05/20 (Sat) 04:48', taken as UTC.

    Raises:
        Malformed: it is no such date.
    """
    found = _DATE.fullmatch(told.strip())
    if found is None:
        raise Malformed(f"the date {beginning(told, 40)!r} is not like '2023/05/20 (Sat) 04:48'")
    return _utc(told, *(int(part or 0) for part in found.groups()))


def _question(position: int, element: object) -> LongMemEvalQuestion:
    entry = values.mapping(element, "the question")
    sessions = values.sequence(entry.get("haystack_sessions"), "'haystack_sessions'")
    dates = values.sequence(entry.get("haystack_dates"), "'haystack_dates'")
    if len(sessions) != len(dates):
        raise Malformed(f"{len(sessions)} haystack_sessions, but {len(dates)} haystack_dates")
    return LongMemEvalQuestion(
        position=position,
        question_id=values.text(entry, "question_id"),
        sessions=tuple(sessions),
        dates=tuple(dates),
        raw=entry,
    )


def _haystack_session(question: LongMemEvalQuestion, index: int, told: object) -> Iterator[Entry]:
    where = f"{question.question_id}, session {index}"

    def message(place: int, turn: object) -> ImportedMessage:
        held = values.mapping(turn, "the turn")
        return ImportedMessage(
            session=str(index),
            role=values.role(held),
            content=values.text(held, "content"),
            at=opened + timedelta(seconds=place),
            message_id=f"{index}:{place}",
        )

    try:
        opened = longmemeval_time(values.text({"date": question.dates[index]}, "date"))
        turns = values.sequence(told, "the session")
    except Malformed as error:
        yield LineProblem(line=question.position, reason=f"{where}: {error}")
    else:
        yield from _session(question.position, where, 0, turns, message, question.question_id)


FORMATS: tuple[Format, ...] = get_args(Format)
EXPECTED = "something to import"
_LOOKED_AT = 20
_HEAD_BYTES = 65_536


WHOLE: Final = "langmem-tiers"
"""An export of a whole space: taken over by `whole_import`, not record by record."""


def _no_records(path: Path) -> Iterator[Record]:
    raise unreadable(path, "conversations or facts", "it is an export of a whole space", way_out="Import it whole.")


class _Format(NamedTuple):
    """How a format is read and recognised, and whose its records are.

    `marks` give a file away within its first 64 KB. `folder` says whether it may be a folder, `names_users` whether
    each record says whose it is, `own_spaces` whether each conversation is somebody else's. `looks_like` is the format
    it is taken for if nobody says which it is.
    """

    read: Callable[[Path], Iterator[Record]]
    expected: str
    marks: re.Pattern[str] | None = None
    folder: bool = False
    names_users: bool = False
    own_spaces: bool = False
    looks_like: Format | None = None


# In the order in which their marks are looked for. LoCoMo puts its questions first, the conversation behind them.
_FORMATS: Mapping[Format, _Format] = {
    WHOLE: _Format(
        _no_records,
        "an export of a whole space",
        marks=re.compile(r'\A\s*\{\s*"format"\s*:\s*"langmem-tiers"\s*,'),
        names_users=True,
    ),
    "longmemeval": _Format(
        read_longmemeval,
        LONGMEMEVAL_LINES,
        marks=re.compile(r'"(haystack_\w+|answer_session_ids)"\s*:'),
        own_spaces=True,
    ),
    "chatgpt": _Format(
        chatgpt.read_chatgpt, chatgpt.EXPECTED, marks=re.compile(r'(?<!\\)"mapping"\s*:\s*\{'), folder=True
    ),
    "claude": _Format(
        claude.read_claude,
        claude.EXPECTED,
        marks=re.compile(r'"(chat_messages|conversations_memory|project_memories|prompt_template)"\s*:'),
        folder=True,
        names_users=True,
    ),
    "letta": _Format(
        letta.read_letta,
        letta.EXPECTED,
        marks=re.compile(r'\A\s*\{\s*"agents"\s*:\s*\[|"(core_memory|in_context_message_(id|indice)s|archive_id)"\s*:'),
    ),
    "locomo": _Format(
        read_locomo,
        LOCOMO_LINES,
        marks=re.compile(r'\A\s*\[.*?"(dia_id|evidence|session_\d+)"\s*:', re.DOTALL),
        own_spaces=True,
    ),
    "langmem": _Format(
        langgraph.read_store,
        langgraph.EXPECTED,
        marks=re.compile(r'\A\s*+(?:\[\s*+)?\{(?=.*?"namespace"\s*:)(?=.*?"key"\s*:)(?=.*?"value"\s*:)', re.DOTALL),
        names_users=True,
    ),
    # The same under another name: who comes from langmem looks for it under that one.
    "langgraph": _Format(langgraph.read_store, langgraph.EXPECTED, names_users=True, looks_like="langmem"),
    "mem0": _Format(
        mem0.read_mem0,
        mem0.EXPECTED,
        marks=re.compile(r'\A\s*[\[{](?=.*?"memory"\s*:)(?=.*?"(hash|user_id|agent_id|run_id)"\s*:)', re.DOTALL),
        folder=True,
        names_users=True,
    ),
    "mempalace": _Format(mempalace.read_mempalace, mempalace.EXPECTED, folder=True),
    "rockbot": _Format(rockbot.read_rockbot, rockbot.EXPECTED, folder=True),
    "jsonl": _Format(
        read_jsonl,
        JSONL_LINES,
        marks=re.compile(r'\A\s*\{(?=[^\n]*"(?:role|speaker)"\s*:)(?=[^\n]*"content"\s*:)'),
    ),
}
NAME_USERS = frozenset(name for name, each in _FORMATS.items() if each.names_users)
"""Formats that say whose each of their records is."""
OWN_SPACES = frozenset(name for name, each in _FORMATS.items() if each.own_spaces)
"""Sets of conversations that are nobody's: a space for each."""


def read_conversations(path: Path, format: ConversationFormat) -> Iterator[Entry]:
    """The sessions of a file, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: the file cannot be read, or is plainly in another format; at once, before anything is read.
    """
    return cast("Iterator[Entry]", read_records(path, format))


def read_records(path: Path, format: Format) -> Iterator[Record]:
    """Everything to be remembered of a file or folder, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: as for `read_conversations`.
    """
    require_format(path, format)
    require_bounded(path, _FORMATS[format].expected)
    return _few(_FORMATS[format].read(path), path, _FORMATS[format].expected)


def _few(records: Iterator[Record], path: Path, expected: str) -> Iterator[Record]:
    """The same records, as long as they are not too many."""
    most = LIMITS.get().max_records
    for place, record in enumerate(records):
        if place >= most:
            raise unreadable(path, expected, f"it holds more than {most:,} records")
        yield record


def require_format(path: Path, format: Format) -> None:
    """Refuse a file that is plainly in another format.

    Raises:
        UnreadableFile: it looks like another format; the way out names that one.
    """
    wanted = _FORMATS[format]
    if path.is_dir() and not wanted.folder:
        raise unreadable(path, wanted.expected, "it is no regular file")
    looks_like = _guessed(path, wanted.expected)
    if looks_like not in (None, wanted.looks_like or format):
        raise UnreadableFile(
            f"{path} looks like {looks_like}, and {wanted.expected} was expected.",
            way_out=f"Say --format {looks_like}.",
        )


def guess_format(path: Path) -> Format | None:
    """The format that a file or folder looks like; None if it looks like none of them.

    Raises:
        UnreadableFile: it is missing, not permitted, damaged or binary.
    """
    return _guessed(path, EXPECTED)


def _guessed(path: Path, expected: str) -> Format | None:
    if path.is_dir():
        require_bounded(path, expected)
        return _of_folder(path, expected)
    if is_zip(path):
        return _of_export(path, expected)
    if not is_sqlite(path):
        return _of_text(head(path, expected))
    if tables(path, expected).get(langgraph.TABLE, frozenset()) >= langgraph.COLUMNS:
        return "langmem"
    return "mem0" if mem0.is_history(path) else None


def _of_text(start: str) -> Format | None:
    return next((name for name, each in _FORMATS.items() if each.marks and each.marks.search(start)), None)


def _of_folder(path: Path, expected: str) -> Format | None:
    held = collections(path, expected)
    if held:
        return "mempalace" if mempalace.DRAWERS in held else "mem0"
    if mem0.qdrant_files(path) or mem0.is_history(path / mem0.HISTORY):
        return "mem0"
    found = _of_export(path, expected)
    if found is None and any(rockbot.looks_like_entry(file) for file in islice(json_files(path), _LOOKED_AT)):
        return "rockbot"
    return found


def _of_export(path: Path, expected: str) -> Format | None:
    with Export(path, expected) as export:
        for name in (export.named(CONVERSATIONS) or export.named(claude.OTHERS))[:1]:
            with export.open(name) as stream:
                return _of_text(stream.read(_HEAD_BYTES).decode("utf-8", "replace"))
    return None
