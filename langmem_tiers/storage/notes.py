"""Notes: the searchable text of everything that is not a drawer, derived from its record and updated with it.

Notes belong to a record: `ref` is the id of an entry or episode, the path of a document, or the place of a store
item. Call these functions in the transaction that writes the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Delete,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from langmem_tiers.content import content_hash
from langmem_tiers.storage import change_log, embedding_cache, facts, keyword
from langmem_tiers.storage.database import batches
from langmem_tiers.storage.keyword import WordsRow
from langmem_tiers.storage.schema import chunks, embeddings, notes

NoteKind = Literal["entry", "episode", "document", "item", "value"]
KINDS: frozenset[NoteKind] = frozenset(get_args(NoteKind))
RECALLED = KINDS - {"value"}
"""What recall tells of; a value is found by those who ask for store items only."""

# Numbers are never reused, even if the newest note is gone.
NEWEST = "note:newest"


@dataclass(frozen=True, slots=True)
class NoteText:
    """A searchable piece of a record: its text by words and by meaning, its tags and category by words only."""

    text: str
    tags: str = ""
    category: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A stored note; `text_hash` is the key of its vector."""

    number: int
    kind: NoteKind
    ref: str
    ordinal: int
    text: str
    tags: str
    category: str
    text_hash: bytes


def put(
    connection: Connection, space: str, kind: NoteKind, ref: str, texts: Sequence[NoteText], at: int
) -> list[bytes]:
    """Set the notes of a record, in this order. Returns the hashes of the texts that it no longer contains.

    A piece whose text at its place is unchanged keeps its number; nothing is written if nothing differs.
    """
    before = of_ref(connection, space, kind, ref)
    gone = [note for note in before if not _says(texts, note)]
    stay = {note.ordinal: note for note in before if _says(texts, note)}
    renamed = {note.number: texts[place] for place, note in stay.items() if _names(note) != _names(texts[place])}
    _remove(connection, space, gone)
    _rename(connection, space, renamed)
    new = [each for each in enumerate(texts) if each[0] not in stay]
    added = add(connection, space, kind, ref, new, facts.count_up(connection, space, NEWEST, len(new))) if new else []
    _log(connection, space, [*(note.number for note in gone), *renamed, *added], at)
    said = {piece.text for piece in texts}
    return list({note.text_hash: None for note in gone if note.text not in said})


def drop(connection: Connection, space: str, kind: NoteKind, ref: str, at: int) -> list[bytes]:
    """Remove the notes of a record, if any. Returns the hashes of their texts."""
    return put(connection, space, kind, ref, (), at)


def of_ref(connection: Connection, space: str, kind: NoteKind, ref: str) -> list[Note]:
    """The notes of a record, in order."""
    found = connection.execute(_of_ref(), {"space": space, "kind": kind, "ref": ref})
    return [Note(**row._mapping) for row in found]


def forget_vectors(connection: Connection, space: str, hashes: Collection[bytes]) -> int:
    """Erase dropped texts from the file, vectors and words. Returns the number of vectors removed.

    Texts that a drawer or another note still contains keep theirs.
    """
    if not hashes:
        return 0
    keyword.notes.purge(connection)
    embedding_cache.forget_refusals(connection, space, hashes)
    return sum(
        connection.execute(_unused(), {"of": space, "these": list(these)}).rowcount for these in batches(list(hashes))
    )


def held(connection: Connection, space: str, hashes: Collection[bytes]) -> set[bytes]:
    """Those of these texts that some note has."""
    return {
        each
        for these in batches(list(hashes))
        for each in connection.execute(_held(), {"space": space, "these": list(these)}).scalars()
    }


def newest(connection: Connection, space: str) -> int:
    """The highest note number ever used, 0 if there never was one."""
    return int(facts.get(connection, space, NEWEST) or 0)


def between(connection: Connection, space: str, first: int, last: int) -> list[Note]:
    """The current notes in a range of numbers."""
    found = connection.execute(_between(), {"space": space, "first": first, "last": last})
    return [Note(**row._mapping) for row in found]


def without_vector(connection: Connection, space: str, model: str, spans: Iterable[tuple[int, int]]) -> list[Note]:
    """The notes in these ranges whose text has no vector from a model, one per distinct text."""
    distinct: dict[bytes, Note] = {}
    for first, last in spans:
        values = {"space": space, "model": model, "first": first, "last": last}
        for row in connection.execute(_without_vector(), values):
            distinct.setdefault(row.text_hash, Note(**row._mapping))
    return list(distinct.values())


def counts(connection: Connection, space: str, model: str | None) -> tuple[int, int]:
    """How many notes there are, and how many of them have a vector from the model."""
    total = connection.execute(select(func.count()).where(notes.c.space == space)).scalar_one()
    if model is None:
        return total, 0
    with_vector = select(func.count()).select_from(notes.join(embeddings, same_text(model)))
    return total, connection.execute(with_vector.where(notes.c.space == space)).scalar_one()


def words_row(note: Note) -> WordsRow:
    """A note as the keyword index takes it."""
    return WordsRow(number=note.number, text=note.text, tags=note.tags, category=note.category)


def ranges(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same numbers in as few ranges as possible, ascending, each number once.

    Example:
        >>> ranges([(7, 7), (3, 4), (4, 5)])
        [(3, 5), (7, 7)]
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def same_text(model: str | BindParameter[str]) -> ColumnElement[bool]:
    """Joins notes with their vectors from a model."""
    return and_(
        embeddings.c.space == notes.c.space,
        embeddings.c.model == model,
        embeddings.c.text_hash == notes.c.text_hash,
    )


def _says(texts: Sequence[NoteText], note: Note) -> bool:
    return note.ordinal < len(texts) and texts[note.ordinal].text == note.text


def _names(piece: NoteText | Note) -> tuple[str, str]:
    return piece.tags, piece.category


def _remove(connection: Connection, space: str, gone: Sequence[Note]) -> None:
    numbers = [note.number for note in gone]
    for these in batches(numbers):
        connection.execute(_delete(), {"of": space, "these": list(these)})
    keyword.notes.remove(connection, numbers)


def _rename(connection: Connection, space: str, names: Mapping[int, NoteText]) -> None:
    """Give notes other tags and another category."""
    if not names:
        return
    rows = [{"of": space, "this": number, "tags": to.tags, "category": to.category} for number, to in names.items()]
    connection.execute(_update(), rows)
    keyword.notes.remove(connection, names)
    keyword.notes.add(connection, (_row(number, to) for number, to in names.items()))


def add(
    connection: Connection, space: str, kind: NoteKind, ref: str, new: Sequence[tuple[int, NoteText]], last: int
) -> list[int]:
    """Store pieces of a record, each with its ordinal; `last` is the last number of as many counted up under `NEWEST`.

    The caller notes them in the log. Returns their numbers.
    """
    numbers = list(range(last - len(new) + 1, last + 1))
    rows = [
        {
            "space": space,
            "number": number,
            "kind": kind,
            "ref": ref,
            "ordinal": ordinal,
            "text": piece.text,
            "tags": piece.tags,
            "category": piece.category,
            "text_hash": content_hash(piece.text),
        }
        for number, (ordinal, piece) in zip(numbers, new, strict=True)
    ]
    connection.execute(insert(notes), rows)
    keyword.notes.add(connection, (_row(number, piece) for number, (_, piece) in zip(numbers, new, strict=True)))
    return numbers


def _row(number: int, piece: NoteText) -> WordsRow:
    return WordsRow(number=number, text=piece.text, tags=piece.tags, category=piece.category)


def _log(connection: Connection, space: str, changed: Collection[int], at: int) -> None:
    for first, last in ranges((number, number) for number in changed):
        change_log.append(connection, space, "notes.changed", first, until=last, at=at)


# Statements are built once: building one takes longer than running it.
@cache
def _all() -> Select[Any]:
    columns = (
        notes.c.number,
        notes.c.kind,
        notes.c.ref,
        notes.c.ordinal,
        notes.c.text,
        notes.c.tags,
        notes.c.category,
        notes.c.text_hash,
    )
    return select(*columns).where(notes.c.space == bindparam("space")).order_by(notes.c.number)


@cache
def _between() -> Select[Any]:
    return _all().where(notes.c.number.between(bindparam("first"), bindparam("last")))


@cache
def _without_vector() -> Select[Any]:
    joined = notes.outerjoin(embeddings, same_text(bindparam("model")))
    return _between().select_from(joined).where(embeddings.c.text_hash.is_(None))


@cache
def _of_ref() -> Select[Any]:
    this = (notes.c.kind == bindparam("kind"), notes.c.ref == bindparam("ref"))
    return _all().where(*this).order_by(None).order_by(notes.c.ordinal)


@cache
def _held() -> Select[Any]:
    this = (notes.c.space == bindparam("space"), notes.c.text_hash.in_(_these()))
    return select(notes.c.text_hash).distinct().where(*this)


@cache
def _delete() -> Delete:
    return delete(notes).where(notes.c.space == bindparam("of"), notes.c.number.in_(_these()))


@cache
def _update() -> Update:
    this = (notes.c.space == bindparam("of"), notes.c.number == bindparam("this"))
    return update(notes).where(*this).values(tags=bindparam("tags"), category=bindparam("category"))


@cache
def _unused() -> Delete:
    these = (embeddings.c.space == bindparam("of"), embeddings.c.text_hash.in_(_these()))
    in_chunks = select(chunks.c.text_hash).where(chunks.c.space == bindparam("of"), chunks.c.text_hash.in_(_these()))
    in_notes = select(notes.c.text_hash).where(notes.c.space == bindparam("of"), notes.c.text_hash.in_(_these()))
    return delete(embeddings).where(
        *these, embeddings.c.text_hash.not_in(in_chunks), embeddings.c.text_hash.not_in(in_notes)
    )


def _these() -> BindParameter[Any]:
    return bindparam("these", expanding=True)
