"""Dreams: their material, what each decided and cost, and the golden questions that none may make worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, delete, func, insert, not_, or_, select, update

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.records import Entry, Episode, GoldenQuestion, SpokenTurn
from langmem_tiers.storage import change_log, changesets, embedding_cache, facts
from langmem_tiers.storage import entries as entry_rows
from langmem_tiers.storage import episodes as episode_rows
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.notes import same_text
from langmem_tiers.storage.schema import changesets as changed_rows
from langmem_tiers.storage.schema import (
    drawers,
    dreams,
    embeddings,
    entries,
    episodes,
    golden_questions,
    notes,
    rooms,
)
from langmem_tiers.storage.sealed_text import is_intact
from langmem_tiers.storage.statements import Prepared, here, numbered

TURNS = "dream:turns"
"""The cursor of the conversation log: the last drawer that a dream has read."""
# The last numbers assigned: a question that was removed and added again gets a new one.
_NEWEST, _NEWEST_QUESTION = "newest_dream", "newest_golden_question"
SEEN = "dream:seen"
"""The follower of the log that is the last dream: how far its material went."""
_SOME_GONE = "Not all that it decided is kept: some of its words were deleted."
_NOTHING: Mapping[str, Any] = {"decision": {"accepted": [], "rejected": []}, "diff": "", "golden": [], "notes": []}
# The columns of changed rows that contain text.
_WORDS = ("content", "text", "summary", "abstract", "topics", "quote", "value", "said", "name")

Without = Callable[[str], str]
"""Gives a text without the passages that say what is deleted."""


Report = Mapping[str, Any]
"""What became of a dream, as JSON."""


class Seen(NamedTuple):
    """What a dream saw: its lease, the position in the change log, and the last turn."""

    fence: int
    position: int
    turns_upto: int


class DreamRow(NamedTuple):
    """A stored dream; `ended_at` is in UTC milliseconds, `saw` is kept of a preview only."""

    number: int
    ended_at: int
    report: Report
    saw: Seen | None = None


def put(connection: Connection, space: str, report: Report, saw: Seen) -> int:
    """Store the outcome of a dream. Returns its number. The turns it read are not read again, whatever the outcome."""
    number = facts.count_up(connection, space, _NEWEST)
    connection.execute(insert(dreams).values(space=space, number=number, fence=saw.fence, **_columns(report)))
    change_log.reset_cursor(connection, space, SEEN, saw.position)
    _pass_turns(connection, space, saw)
    return number


def _pass_turns(connection: Connection, space: str, saw: Seen) -> None:
    if saw.turns_upto > change_log.cursor(connection, space, TURNS):
        change_log.reset_cursor(connection, space, TURNS, saw.turns_upto)


def put_preview(connection: Connection, space: str, report: Report, saw: Seen) -> int:
    """Store the preview of a dream in place of the last one. Returns its number. The next dream sees what it saw."""
    drop_preview(connection, space)
    number = facts.count_up(connection, space, _NEWEST)
    kept = {"saw": saw.position, "turns_upto": saw.turns_upto, "fence": saw.fence}
    connection.execute(insert(dreams).values(space=space, number=number, **kept, **_columns(report)))
    return number


def drop_preview(connection: Connection, space: str) -> None:
    """Delete the preview, if there is one."""
    wanted = (*here(dreams, space), _PREVIEWED)
    changesets.drop(connection, space, connection.execute(select(dreams.c.number).where(*wanted)).scalars())
    connection.execute(delete(dreams).where(*wanted))


def approve(connection: Connection, space: str, row: DreamRow, report: Report, *, fence: int) -> None:
    """Make a preview a dream like others, dreamt under this lease; the turns it read are not read again."""
    assert row.saw is not None
    columns = {**_columns(report), "saw": None, "turns_upto": None, "fence": fence}
    connection.execute(update(dreams).where(*here(dreams, space, number=row.number)).values(**columns))
    change_log.reset_cursor(connection, space, SEEN, max(row.saw.position, seen(connection, space)))
    _pass_turns(connection, space, row.saw)


def seen(connection: Connection, space: str) -> int:
    """The log position up to which the last dream has seen the space, 0 if there was none."""
    return change_log.cursor(connection, space, SEEN)


def change(connection: Connection, space: str, number: int, report: Report) -> None:
    """Replace what is stored of a dream."""
    connection.execute(update(dreams).where(*here(dreams, space, number=number)).values(**_columns(report)))


def one(connection: Connection, space: str, dream_id: str) -> DreamRow | None:
    """The dream with an id, None if there is none."""
    row = connection.execute(_EVERY.where(*here(dreams, space, id=dream_id))).first()
    return None if row is None else _read(row)


def last(connection: Connection, space: str) -> DreamRow | None:
    """The last dream that was no preview."""
    row = connection.execute(_LAST, {"space": space}).first()
    return None if row is None else _read(row)


def latest(connection: Connection, space: str, most: int) -> list[DreamRow]:
    """The latest dreams and the preview, newest first."""
    wanted = _EVERY.where(*here(dreams, space)).order_by(dreams.c.number.desc()).limit(most)
    return [_read(row) for row in connection.execute(wanted)]


def forget(connection: Connection, space: str, names: Iterable[str]) -> None:
    """Redact the dreams that name these records, by id or path, because their content was deleted for good.

    Such a dream stays in the list without its decisions; if it changed one of the records, it can no longer be
    undone.
    """
    wanted = list(names)
    changed = {number for name in wanted for number in changesets.naming(connection, space, name)}
    told: set[int] = set()
    for name in wanted:
        in_report = func.instr(dreams.c.report, json.dumps(name).strip('"')) > 0
        told.update(connection.execute(select(dreams.c.number).where(*here(dreams, space), in_report)).scalars())
    changesets.drop(connection, space, changed)
    for row in _of_numbers(connection, space, changed | told):
        kept = "forgotten" if row.number in changed else row.report["changes"]
        _change_words(connection, space, row, {**_NOTHING, "changes": kept})


def unsay(connection: Connection, space: str, without: Without) -> None:
    """Remove permanently deleted content from everything stored about dreams, including rejected proposals.

    `without` returns a text without the passages in question. A dream whose changes contain such words can no longer
    be undone; all others can. A preview whose report contains them can no longer be approved: that would apply what it
    no longer lists. Golden questions that contain or ask for them are deleted.
    """
    rows = [(row, _left(row.report, without)) for row in latest(connection, space, -1)]
    held = {number for number, row in changesets.rows(connection, space) if _says(row, without)}
    held |= {row.number for row, left in rows if left and row.saw is not None}
    changesets.drop(connection, space, held)
    for row, left in rows:
        if row.number in held:
            left |= {"changes": "forgotten", "diff": ""}
        if left:
            _change_words(connection, space, row, left)
    for question in questions(connection, space):
        if any(without(text) != text for text in _asked(question)):
            remove_question(connection, space, question.number or 0)


def forget_drawers(connection: Connection, space: str, gone: Collection[int]) -> None:
    """Drop the changesets that would put back what rests on deleted messages."""
    if not gone:
        return
    held = {number for number, row in changesets.rows(connection, space) if row.get("drawer") in gone}
    changesets.drop(connection, space, held)
    for row in _of_numbers(connection, space, held):
        _change_words(connection, space, row, {"changes": "forgotten", "diff": ""})


def naming(connection: Connection, space: str, without: Without, gone: Collection[int]) -> set[int]:
    """The dreams whose changes or reports contain words that `without` removes, or rest on these drawers."""
    rows = changesets.rows(connection, space)
    held = {number for number, row in rows if row.get("drawer") in gone or _says(row, without)}
    return held | {row.number for row in latest(connection, space, -1) if _left(row.report, without)}


def prune(connection: Connection, space: str, before: int) -> int:
    """Delete the changesets of dreams that ended before a moment (UTC milliseconds); those cannot be undone any more.

    Returns how many there were. Their reports stay.
    """
    old = select(dreams.c.number).where(*here(dreams, space), dreams.c.finished_at < before)
    with_changes = select(changed_rows.c.dream).distinct().where(*here(changed_rows, space))
    gone = set(connection.execute(old.where(dreams.c.number.in_(with_changes))).scalars())
    changesets.drop(connection, space, gone)
    for row in _of_numbers(connection, space, gone):
        change(connection, space, row.number, {**row.report, "changes": "pruned"})
    return len(gone)


def drop_altered(connection: Connection, space: str) -> int:
    """Delete the changesets that are not as they were stored; those dreams cannot be undone any more.

    Returns of how many dreams they were. Their reports stay.
    """
    altered = [not_(is_intact(column)) for column in (changed_rows.c.before, changed_rows.c.after)]
    wanted = select(changed_rows.c.dream).distinct().where(*here(changed_rows, space), or_(*altered))
    gone = set(connection.execute(wanted).scalars())
    changesets.drop(connection, space, gone)
    for row in _of_numbers(connection, space, gone):
        change(connection, space, row.number, {**row.report, "changes": "altered"})
    return len(gone)


_WITH_CHANGES = select(changed_rows.c.dream).where(*here(changed_rows))
OLDEST_KEPT = (
    select(func.min(dreams.c.finished_at)).where(*here(dreams), dreams.c.number.in_(_WITH_CHANGES)).scalar_subquery()
)
"""As part of a statement: when the oldest dream with a changeset ended, NULL if there is none."""


def _of_numbers(connection: Connection, space: str, numbers: Iterable[int]) -> list[DreamRow]:
    wanted = _EVERY.where(*here(dreams, space), dreams.c.number.in_(list(numbers))).order_by(dreams.c.number)
    return [_read(row) for row in connection.execute(wanted)]


def _says(row: Mapping[str, Any], without: Without) -> bool:
    """Whether a row contains words that `without` removes."""
    texts = (text for name in _WORDS if isinstance(text := row.get(name), str))
    return any(without(text) != text for text in texts)


def _left(report: Report, without: Without) -> dict[str, Any]:
    """The parts of a report, without those that contain words that `without` removes."""

    def staying(parts: Iterable[Any]) -> list[Any]:
        return [part for part in parts if all(without(text) == text for text in _texts(part))]

    lines = report["diff"].splitlines()
    left = {
        "decision": {name: staying(proposals) for name, proposals in report["decision"].items()},
        "diff": "\n".join(staying(lines)),
        "golden": staying(report["golden"]),
        "notes": staying(report["notes"]),
    }
    return {} if left == {**{name: report[name] for name in left}, "diff": "\n".join(lines)} else left


def _texts(value: Any) -> Iterator[str]:
    """All strings inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in _texts(each))


def _change_words(connection: Connection, space: str, row: DreamRow, left: Mapping[str, Any]) -> None:
    """Replace the report, marking that some of its words were removed."""
    notes = dict.fromkeys((*left.get("notes", row.report["notes"]), _SOME_GONE))
    change(connection, space, row.number, {**row.report, **left, "notes": [*notes]})


def _columns(report: Report) -> dict[str, Any]:
    moments = ("started_at", "finished_at", "undone_at")
    return {
        "id": report["id"],
        "status": report["status"],
        **{name: None if report[name] is None else to_millis(datetime.fromisoformat(report[name])) for name in moments},
        # As ASCII: what a model proposed and was refused may contain lone surrogates, which UTF-8 cannot encode.
        "report": json.dumps(report, ensure_ascii=True),
    }


_EVERY = select(
    dreams.c.number,
    dreams.c.started_at,
    dreams.c.finished_at,
    dreams.c.report,
    dreams.c.fence,
    dreams.c.saw,
    dreams.c.turns_upto,
)
_PREVIEWED = dreams.c.saw.is_not(None)
_LAST = _EVERY.where(*here(dreams), ~_PREVIEWED).order_by(dreams.c.number.desc()).limit(1)


def _read(row: Any) -> DreamRow:
    ended_at = row.started_at if row.finished_at is None else row.finished_at
    saw = None if row.saw is None else Seen(row.fence, row.saw, row.turns_upto)
    return DreamRow(row.number, ended_at, json.loads(row.report), saw)


def put_question(
    connection: Connection, space: str, question: str, *, words: Sequence[str], drawers: Sequence[int], at: int
) -> GoldenQuestion:
    """Store a golden question."""
    number = facts.count_up(connection, space, _NEWEST_QUESTION)
    expects = orjson.dumps({"words": list(words), "drawers": list(drawers)}).decode()
    row = {"number": number, "question": question, "expects": expects, "at": at}
    connection.execute(insert(golden_questions).values(space=space, **row))
    kept: dict[str, Any] = {"question": question, "number": number, "kept_at": from_millis(at)}
    return GoldenQuestion(**kept, words=tuple(words), drawers=tuple(drawers))


def questions(connection: Connection, space: str) -> list[GoldenQuestion]:
    """All golden questions, in the order they were added."""
    wanted = select(golden_questions).where(*here(golden_questions, space)).order_by(golden_questions.c.number)
    found = []
    for row in connection.execute(wanted):
        kept = {"question": row.question, "number": row.number, "kept_at": from_millis(row.at)}
        expects = orjson.loads(row.expects)
        found.append(GoldenQuestion(**kept, words=tuple(expects["words"]), drawers=tuple(expects["drawers"])))
    return found


def remove_question(connection: Connection, space: str, number: int) -> bool:
    """Remove a golden question; False if there is none with this number."""
    this = here(golden_questions, space, number=number)
    return connection.execute(delete(golden_questions).where(*this)).rowcount == 1


def _asked(row: GoldenQuestion) -> tuple[str, ...]:
    """The texts of a question: alone, and combined with the words that it expects."""
    bare = row.question.rstrip("?")
    return (row.question, *row.words, " ".join((bare, *row.words)), *(f"{bare} {each}" for each in row.words))


_SPOKEN = (
    select(drawers.c.number.label("drawer"), rooms.c.session, drawers.c.role, drawers.c.content, drawers.c.said_at)
    .select_from(drawers.join(rooms, numbered(rooms, drawers.c.room)))
    .where(drawers.c.superseded_by.is_(None), drawers.c.role.in_(("user", "assistant")))
    .where(drawers.c.origin.in_(("user", "import", "assistant")))
)


def _turns(rows: Iterable[Any]) -> list[SpokenTurn]:
    return [SpokenTurn(**{**row._mapping, "said_at": from_millis(row.said_at)}) for row in rows]


def spoken_behind(connection: Connection, space: str, drawer: int, most: int) -> list[SpokenTurn]:
    """The first current user and assistant turns after a drawer, in order."""
    wanted = _SPOKEN.where(*here(drawers, space), drawers.c.number > drawer).order_by(drawers.c.number).limit(most)
    return _turns(connection.execute(wanted).all())


def spoken_since(connection: Connection, space: str, since: int, most: int) -> list[SpokenTurn]:
    """The latest turns since a moment, in order."""
    latest = _SPOKEN.where(*here(drawers, space), drawers.c.said_at >= since).order_by(drawers.c.number.desc())
    return _turns(connection.execute(latest.limit(most)).all()[::-1])


def count_active(connection: Connection, space: str) -> int:
    """How many entries are active."""
    return connection.execute(select(func.count()).where(*here(entries, space, status="active"))).scalar_one()


def active_in_turn(connection: Connection, space: str, most: int) -> list[Entry]:
    """As many active entries as a dream takes, oldest first; each dream continues where the last one stopped."""
    active = select(entries.c.number).where(*here(entries, space, status="active")).order_by(entries.c.number)
    every: Sequence[int] = connection.execute(active).scalars().all()
    dreamt = connection.execute(select(func.count()).where(*here(dreams, space), ~_PREVIEWED)).scalar_one()
    start = 0 if len(every) <= most else dreamt * most % len(every)
    wanted = (*every[start : start + most], *every[: max(0, start + most - len(every))])
    found = entry_rows.by_numbers(connection, space, dict.fromkeys(wanted))
    return [found[number] for number in sorted(found)]


def vectors(connection: Connection, space: str, model: str, ids: Iterable[str]) -> dict[str, Vectors]:
    """The vectors of entries by id, for those that have one from this model."""
    wanted = set(ids)
    found = select(notes.c.ref, embeddings.c.vector).select_from(notes.join(embeddings, same_text(model)))
    every = connection.execute(found.where(*here(notes, space, kind="entry")))
    rows = [row for row in every if row.ref in wanted]
    dimension = embedding_cache.known_dimension(connection, space, model)
    stored = embedding_cache.each_unpacked([row.vector for row in rows], dimension)
    return {row.ref: vector for row, vector in zip(rows, stored, strict=True) if vector is not None}


_LEFT = select(drawers.c.number).where(
    numbered(drawers, episodes.c.last_drawer), drawers.c.superseded_by.is_not(None), episodes.c.compaction >= 0
)
_UNPROMOTED = Prepared(
    select(episodes.c.number)
    .where(
        *here(episodes),
        episodes.c.promoted_at.is_(None),
        episodes.c.summary != "",
        or_(episodes.c.expires_at.is_(None), episodes.c.expires_at > bindparam("at")),
        ~_LEFT.exists(),
    )
    .order_by(episodes.c.number)
    .limit(bindparam("most"))
)


def unpromoted_numbers(connection: Connection, space: str, most: int, *, at: int) -> list[int]:
    """The numbers of the current episodes with a summary that no dream has processed, oldest first."""
    return [number for (number,) in _UNPROMOTED.rows(connection, space=space, at=at, most=most)]


def unpromoted(connection: Connection, space: str, most: int, *, at: int) -> list[Episode]:
    """The same episodes."""
    return episode_rows.by_numbers(connection, space, unpromoted_numbers(connection, space, most, at=at))
