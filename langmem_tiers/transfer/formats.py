"""The formats: conversations read here, exports of other memories in `readers`, and telling one from another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Literal, cast, get_args

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.language.calendar import MONTHS
from langmem_tiers.transfer.databases import collections, is_sqlite, tables
from langmem_tiers.transfer.files import (
    Export,
    Malformed,
    decoded,
    entries,
    head,
    is_zip,
    json_files,
    lines,
    parse,
    reading,
    unreadable,
)
from langmem_tiers.transfer.readers import chatgpt, claude, langgraph, letta, mem0, mempalace, rockbot, values
from langmem_tiers.transfer.records import (
    Entry,
    ImportedMessage,
    ImportedRole,
    ImportedSession,
    LineProblem,
    Names,
    Record,
    pieces,
)

JSONL_LINES = "JSONL of {session, role, content, at}"
# Room for a message of a million characters in the longest way to write them, twelve bytes each (\ud83d\ude00).
_LINE_BYTES = 16_000_000


def read_jsonl(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of the file, in its order.

    Raises:
        UnreadableFile: the file can not be opened or read.
    """
    return pieces(_messages(path))


def _messages(path: Path) -> Iterator[ImportedMessage | LineProblem]:
    names = Names()
    with reading(path, JSONL_LINES) as stream:
        for number, line in lines(stream, _LINE_BYTES):
            if line is not None and not line.strip():
                continue
            try:
                yield _jsonl_message(line, names)
            except Malformed as error:
                yield LineProblem(line=number, reason=str(error), unit="line")


def _jsonl_message(line: bytes | None, names: Names) -> ImportedMessage:
    entry = values.mapping(parse(decoded(line, _LINE_BYTES)), "the line")
    at = values.optional_text(entry, "at")
    message = ImportedMessage(
        session=values.text(entry, "session"),
        role=values.role(entry),
        content=values.text(entry, "content"),
        at=None if at is None else values.iso_time(at, "at"),
        speaker=values.optional_text(entry, "speaker"),
        message_id=values.optional_text(entry, "id") or "",
    )
    return message if message.message_id else names.named(message)


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
    for position, element in entries(path, LOCOMO_LINES):
        yield element if isinstance(element, LineProblem) else _sample(position, element)


def sample_sessions(sample: LocomoSample) -> Iterator[Entry]:
    """The sessions of one sample by number, and the problems met."""
    numbers = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        yield from _locomo_session(sample, number)


def _sample(position: int, element: object) -> LocomoSample | LineProblem:
    try:
        entry = values.mapping(element, "the sample")
        return LocomoSample(
            position=position,
            sample_id=values.text(entry, "sample_id"),
            conversation=values.mapping(entry.get("conversation"), "'conversation'"),
            questions=tuple(values.mapping(q, "a question") for q in values.sequence(entry.get("qa", []), "'qa'")),
        )
    except Malformed as error:
        return LineProblem(line=position, reason=str(error))


def _locomo_session(sample: LocomoSample, number: int) -> Iterator[Entry]:
    name = f"{sample.sample_id}/session_{number}"
    messages: list[ImportedMessage] = []
    try:
        opened = _opened(sample.conversation, number)
        for place, turn in enumerate(values.sequence(sample.conversation[f"session_{number}"], "the session")):
            try:
                at = opened and opened + timedelta(seconds=place)
                messages.append(_locomo_message(sample, name, values.mapping(turn, "the turn"), at))
            except Malformed as error:
                yield LineProblem(line=sample.position, reason=f"{name}, turn {place + 1}: {error}")
    except Malformed as error:
        yield LineProblem(line=sample.position, reason=f"{name}: {error}")
    if messages:
        yield ImportedSession(session=name, messages=tuple(messages), conversation=sample.sample_id)


def _locomo_message(
    sample: LocomoSample, session: str, turn: Mapping[str, object], at: datetime | None
) -> ImportedMessage:
    speaker = values.text(turn, "speaker")
    return ImportedMessage(
        session=session,
        role=_role(sample.conversation, speaker),
        content=_content(turn),
        at=at,
        speaker=speaker,
        message_id=values.text(turn, "dia_id"),
    )


def _role(conversation: Mapping[str, object], speaker: str) -> ImportedRole:
    if speaker == conversation.get("speaker_a"):
        return "user"
    if speaker == conversation.get("speaker_b"):
        return "assistant"
    raise Malformed(f"'speaker' is {speaker[:40]!r}, who is neither speaker_a nor speaker_b")


def _content(turn: Mapping[str, object]) -> str:
    caption = values.optional_text(turn, "blip_caption")
    if caption is None:
        return values.text(turn, "text")
    photo = f"[shared a photo: {caption}]"
    said = turn.get("text")
    return photo if not said else f"{values.text(turn, 'text')}\n{photo}"


def _opened(conversation: Mapping[str, object], number: int) -> datetime | None:
    told = values.optional_text(conversation, f"session_{number}_date_time")
    return None if told is None else locomo_time(told)


def locomo_time(told: str) -> datetime:
    """The moment of a date such as '1:56 pm on 8 May, 2023', taken as UTC.

    Raises:
        Malformed: it is no such date.
    """
    found = _LOCOMO_DATE.fullmatch(told.strip())
    if found is None or found[5].lower() not in MONTHS:
        raise Malformed(f"the date {told[:40]!r} is not like '1:56 pm on 8 May, 2023'")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
    month = MONTHS.index(found[5].lower()) + 1
    try:
        return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"the date {told[:40]!r} does not exist") from error


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
        UnreadableFile: the file can not be read, or is no LongMemEval file.
    """
    for question in read_questions(path):
        if isinstance(question, LineProblem):
            yield question
        else:
            yield from haystack(question)


def read_questions(path: Path) -> Iterator[LongMemEvalQuestion | LineProblem]:
    """The questions of a LongMemEval file, read one at a time.

    Raises:
        UnreadableFile: the file can not be read, or is neither a JSON list nor JSONL.
    """
    for position, element in entries(path, LONGMEMEVAL_LINES):
        yield element if isinstance(element, LineProblem) else _question(position, element)


def haystack(question: LongMemEvalQuestion) -> Iterator[Entry]:
    """The sessions of one question in the order of the file (often not that of their dates), and the problems met."""
    for index, turns in enumerate(question.sessions):
        yield from _session(question, index, turns)


def longmemeval_time(told: str) -> datetime:
    """The moment of a date such as '2023/05/20 (Sat) 04:48', taken as UTC.

    Raises:
        Malformed: it is no such date.
    """
    found = _DATE.fullmatch(told.strip())
    if found is None:
        raise Malformed(f"the date {told[:40]!r} is not like '2023/05/20 (Sat) 04:48'")
    year, month, day, hour, minute = (int(part or 0) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"the date {told[:40]!r} does not exist") from error


def _question(position: int, element: object) -> LongMemEvalQuestion | LineProblem:
    try:
        entry = values.mapping(element, "the question")
        sessions = values.sequence(entry.get("haystack_sessions"), "'haystack_sessions'")
        dates = values.sequence(entry.get("haystack_dates"), "'haystack_dates'")
        _require_equal(len(sessions), len(dates))
        return LongMemEvalQuestion(
            position=position,
            question_id=values.text(entry, "question_id"),
            sessions=tuple(sessions),
            dates=tuple(dates),
            raw=entry,
        )
    except Malformed as error:
        return LineProblem(line=position, reason=str(error))


def _require_equal(sessions: int, dates: int) -> None:
    if sessions != dates:
        raise Malformed(f"{sessions} haystack_sessions, but {dates} haystack_dates")


def _session(question: LongMemEvalQuestion, index: int, turns: object) -> Iterator[Entry]:
    messages: list[ImportedMessage] = []
    where = f"{question.question_id}, session {index}"
    try:
        opened = longmemeval_time(values.text({"date": question.dates[index]}, "date"))
        for place, turn in enumerate(values.sequence(turns, "the session")):
            try:
                at = opened + timedelta(seconds=place)
                messages.append(_message(index, place, values.mapping(turn, "the turn"), at))
            except Malformed as error:
                yield LineProblem(line=question.position, reason=f"{where}, turn {place}: {error}")
    except Malformed as error:
        yield LineProblem(line=question.position, reason=f"{where}: {error}")
    if messages:
        yield ImportedSession(session=str(index), messages=tuple(messages), conversation=question.question_id)


def _message(index: int, place: int, turn: Mapping[str, object], at: datetime) -> ImportedMessage:
    return ImportedMessage(
        session=str(index),
        role=values.role(turn),
        content=values.text(turn, "content"),
        at=at,
        speaker=None,
        message_id=f"{index}:{place}",
    )


EXPECTED = "something to import"
_LOOKED_AT = 20
_HEAD_BYTES = 65_536
# What gives a format away within the first 64 KB. LoCoMo puts its questions first, the conversation behind them.
_MARKS: Mapping[str, re.Pattern[str]] = {
    "longmemeval": re.compile(r'"(haystack_\w+|answer_session_ids)"\s*:'),
    "chatgpt": re.compile(r'(?<!\\)"mapping"\s*:\s*\{'),
    "claude": re.compile(r'"(chat_messages|conversations_memory|project_memories|prompt_template)"\s*:'),
    "letta": re.compile(r'\A\s*\{\s*"agents"\s*:\s*\[|"(core_memory|in_context_message_(id|indice)s|archive_id)"\s*:'),
    "locomo": re.compile(r'\A\s*\[.*?"(dia_id|evidence|session_\d+)"\s*:', re.DOTALL),
    "langmem": re.compile(r'\A\s*+(?:\[\s*+)?\{(?=.*?"namespace"\s*:)(?=.*?"key"\s*:)(?=.*?"value"\s*:)', re.DOTALL),
    "mem0": re.compile(r'\A\s*[\[{](?=.*?"memory"\s*:)(?=.*?"(hash|user_id|agent_id|run_id)"\s*:)', re.DOTALL),
    "jsonl": re.compile(r'\A\s*\{(?=[^\n]*"role"\s*:)(?=[^\n]*"content"\s*:)'),
}


def looks_like(path: Path) -> str | None:
    """The name of the format, None where it looks like none.

    Raises:
        UnreadableFile: it is missing, not permitted, damaged or binary.
    """
    if path.is_dir():
        return _folder(path)
    if is_zip(path):
        return _export(path)
    if is_sqlite(path):
        return _database(path)
    return _text(head(path, EXPECTED))


def _text(start: str) -> str | None:
    return next((name for name, marks in _MARKS.items() if marks.search(start)), None)


def _database(path: Path) -> str | None:
    found = tables(path, EXPECTED)
    if found.get(langgraph.TABLE, frozenset()) >= langgraph.COLUMNS:
        return "langmem"
    return "mem0" if mem0.is_history(path) else None


def _folder(path: Path) -> str | None:
    held = collections(path, EXPECTED)
    if held:
        return "mempalace" if mempalace.DRAWERS in held else "mem0"
    if mem0.qdrant_files(path) or mem0.is_history(path / mem0.HISTORY):
        return "mem0"
    return _export(path) or _tree(path)


def _export(path: Path) -> str | None:
    with Export(path, EXPECTED) as export:
        members = export.named(claude.CONVERSATIONS) or export.named(claude.OTHERS)
        for name in members[:1]:
            with export.open(name) as stream:
                return _text(stream.read(_HEAD_BYTES).decode("utf-8", "replace"))
    return None


def _tree(path: Path) -> str | None:
    some = islice(json_files(path), _LOOKED_AT)
    return "rockbot" if any(rockbot.looks_like_entry(file) for file in some) else None


ConversationFormat = Literal["locomo", "longmemeval", "jsonl"]
Format = Literal[
    "locomo",
    "longmemeval",
    "jsonl",
    "langmem",
    "langgraph",
    "mem0",
    "mempalace",
    "rockbot",
    "letta",
    "claude",
    "chatgpt",
]
FORMATS: tuple[Format, ...] = get_args(Format)

_CONVERSATIONS: Mapping[ConversationFormat, Callable[[Path], Iterator[Entry]]] = {
    "locomo": read_locomo,
    "longmemeval": read_longmemeval,
    "jsonl": read_jsonl,
}
_READERS: Mapping[Format, Callable[[Path], Iterator[Record]]] = {
    "locomo": read_locomo,
    "longmemeval": read_longmemeval,
    "jsonl": read_jsonl,
    "langmem": langgraph.read_store,
    "langgraph": langgraph.read_store,
    "mem0": mem0.read_mem0,
    "mempalace": mempalace.read_mempalace,
    "rockbot": rockbot.read_rockbot,
    "letta": letta.read_letta,
    "claude": claude.read_claude,
    "chatgpt": chatgpt.read_chatgpt,
}
_EXPECTED: Mapping[Format, str] = {
    "locomo": LOCOMO_LINES,
    "longmemeval": LONGMEMEVAL_LINES,
    "jsonl": JSONL_LINES,
    "langmem": langgraph.EXPECTED,
    "langgraph": langgraph.EXPECTED,
    "mem0": mem0.EXPECTED,
    "mempalace": mempalace.EXPECTED,
    "rockbot": rockbot.EXPECTED,
    "letta": letta.EXPECTED,
    "claude": claude.EXPECTED,
    "chatgpt": chatgpt.EXPECTED,
}
_FOLDERS = frozenset({"mem0", "mempalace", "rockbot", "claude", "chatgpt"})
# Two names for one format: who comes from langmem looks for it under that one.
_SAME: Mapping[str, str] = {"langgraph": "langmem"}


def guess_format(path: Path) -> Format | None:
    """The format that a file or folder looks like; None where it looks like none of them.

    Raises:
        UnreadableFile: it is missing, not permitted, damaged or binary.
    """
    return cast("Format | None", looks_like(path))


def read_conversations(path: Path, format: ConversationFormat) -> Iterator[Entry]:
    """The sessions of a file, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: the file can not be read, or is plainly in another format; at once, before anything is read.
    """
    require_format(path, format)
    return _CONVERSATIONS[format](path)


def read_records(path: Path, format: Format) -> Iterator[Record]:
    """Everything to be remembered of a file or folder, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: as for `read_conversations`.
    """
    require_format(path, format)
    return _READERS[format](path)


def require_format(path: Path, format: Format) -> None:
    """Refuse a file that is plainly in another format.

    Raises:
        UnreadableFile: it looks like another format; the way out names that one.
    """
    if path.is_dir() and format not in _FOLDERS:
        raise unreadable(path, _EXPECTED[format], "it is no regular file")
    looks_like = guess_format(path)
    if looks_like not in (None, _SAME.get(format, format)):
        raise UnreadableFile(
            f"{path} looks like {looks_like}, and {_EXPECTED[format]} was expected.",
            way_out=f"Say --format {looks_like}.",
        )
