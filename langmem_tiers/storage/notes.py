"""Notes: the searchable text of everything that is not a drawer, derived from its record and updated with it.

Notes belong to a record: `ref` is the id of an entry or episode, the path of a document, the place of a store
item, or the key of a working entry. Call these functions in the transaction that writes the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    not_,
    select,
    update,
)

from langmem_tiers.content import content_hash
from langmem_tiers.storage import change_log, embedding_cache, facts, keyword, purging
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.keyword import WordsRow
from langmem_tiers.storage.schema import chunks, embeddings, entries, notes
from langmem_tiers.storage.sealed_text import is_intact
from langmem_tiers.storage.statements import Prepared, among, batches, here, listed

NoteKind = Literal["entry", "episode", "document", "item", "value", "working"]
KINDS: frozenset[NoteKind] = frozenset(get_args(NoteKind))
RECALLED = KINDS - {"value", "working"}
"""What recall tells of; values of store items and working memory are found only by those who ask for them."""

# Numbers are never reused, even if the newest note is gone.
NEWEST = "note:newest"


@dataclass(frozen=True, slots=True)
class NoteText:
    """A searchable piece of a record: its text by words and by meaning, its tags and category by words only."""

    text: str
    tags: str = ""
    category: str = ""


class Note(NamedTuple):
    """A stored note; `text_hash` is the key of its vector."""

    number: int
    kind: NoteKind
    ref: str
    ordinal: int
    text: str
    tags: str
    category: str
    text_hash: bytes


class NewPiece(NamedTuple):
    """A piece to store: of which record, and at which place in it."""

    kind: NoteKind
    ref: str
    ordinal: int
    piece: NoteText


_EVERY = select(*(column for column in notes.c if column.name != "space"))
_OF_REFS = Prepared(
    _EVERY.where(*here(notes), notes.c.kind.in_(bindparam("kinds", expanding=True)), listed(notes.c.ref)).order_by(
        notes.c.ordinal
    )
)
_OF_NUMBERS = Prepared(_EVERY.where(*here(notes), listed(notes.c.number)))
_ADD = Prepared(insert(notes))
_DROP = Prepared(delete(notes).where(*here(notes), listed(notes.c.number)))


def put(
    connection: Connection, space: str, kind: NoteKind, ref: str, texts: Sequence[NoteText], at: int
) -> list[bytes]:
    """Set the notes of a record, in this order. Returns the hashes of the texts that it no longer contains.

    A piece whose text at its place is unchanged keeps its number; nothing is written if nothing differs. Words of
    former texts are left in the keyword index until a quiet moment, or until `forget_texts`.
    """
    written = put_all(connection, space, {(kind, ref): texts})
    change_log.append_all(connection, space, written.news, at=at)
    return written.gone


class NotesWritten(NamedTuple):
    """What changed: the hashes of the texts that records no longer contain, and of which; what to append to the log."""

    gone: list[bytes]
    refs: list[tuple[NoteKind, str]]
    news: list[change_log.News]


def put_all(
    connection: Connection, space: str, records: Mapping[tuple[NoteKind, str], Sequence[NoteText]]
) -> NotesWritten:
    """Like `put`, for several records by kind and ref; the caller appends the `news` to the log."""
    gone: list[Note] = []
    renamed: dict[int, NoteText] = {}
    new: list[NewPiece] = []
    before = of_refs(connection, space, records)
    for (kind, ref), texts in records.items():
        stay = set()
        for each in before.get((kind, ref), ()):
            if each.ordinal >= len(texts) or texts[each.ordinal].text != each.text:
                gone.append(each)
                continue
            stay.add(each.ordinal)
            if (each.tags, each.category) != (texts[each.ordinal].tags, texts[each.ordinal].category):
                renamed[each.number] = texts[each.ordinal]
        new += [NewPiece(kind, ref, place, text) for place, text in enumerate(texts) if place not in stay]
    old = [*(note.number for note in gone), *renamed]
    steps = ({NEWEST: len(new)} if new else {}) | ({purging.WORDS: 1} if old else {})
    counted = facts.count_up_all(connection, space, steps) if steps else {}
    if gone:
        for some in batches([note.number for note in gone]):
            _DROP.change(connection, space=space, among=some)
    for number, to in renamed.items():
        this = here(notes, space, number=number)
        connection.execute(update(notes).where(*this).values(tags=to.tags, category=to.category))
    keyword.notes.remove(connection, old)
    keyword.notes.add(connection, (words_row(number, to) for number, to in renamed.items()))
    added = add(connection, space, new, counted[NEWEST]) if new else []
    spans = change_log.ranges((number, number) for number in (*old, *added))
    dropped = [note for note in gone if all(note.text != each.text for each in records[note.kind, note.ref])]
    return NotesWritten(
        gone=list({note.text_hash: None for note in dropped}),
        refs=list({(note.kind, note.ref): None for note in dropped}),
        news=[("notes.changed", first, last) for first, last in spans],
    )


def drop(connection: Connection, space: str, kind: NoteKind, ref: str, at: int) -> list[bytes]:
    """Remove the notes of a record, if any. Returns the hashes of their texts."""
    return put(connection, space, kind, ref, (), at)


def of_refs(
    connection: Connection, space: str, records: Collection[tuple[NoteKind, str]]
) -> dict[tuple[NoteKind, str], list[Note]]:
    """The notes of records, by kind and ref, in order."""
    kinds, refs = sorted({kind for kind, _ in records}), {ref for _, ref in records}
    found: defaultdict[tuple[NoteKind, str], list[Note]] = defaultdict(list)
    for row in _OF_REFS.among(connection, refs, space=space, kinds=kinds):
        note = Note(*row)
        found[note.kind, note.ref].append(note)
    return found


def of_ref(connection: Connection, space: str, kind: NoteKind, ref: str) -> list[Note]:
    """The notes of a record, in order."""
    return of_refs(connection, space, [(kind, ref)])[kind, ref]


def forget_texts(connection: Connection, space: str, hashes: Collection[bytes]) -> int:
    """Erase deleted texts from the file, vectors and words. Returns the number of vectors removed."""
    if hashes:
        purging.purge_words(connection, space)
    return forget_vectors(connection, space, hashes)


_USED = (
    select(column).where(*here(column.table), listed(column))
    for column in (chunks.c.text_hash, notes.c.text_hash, entries.c.content_hash)
)
_FORGET_UNUSED = Prepared(
    delete(embeddings).where(
        *here(embeddings),
        listed(embeddings.c.text_hash),
        *(embeddings.c.text_hash.not_in(each) for each in _USED),
    )
)


def forget_vectors(connection: Connection, space: str, hashes: Collection[bytes]) -> int:
    """Remove the vectors of texts that are gone. Returns how many those were.

    Texts that a drawer, an entry or another note still contains keep theirs.
    """
    if not hashes:
        return 0
    embedding_cache.forget_refusals(connection, space, hashes)
    return sum(_FORGET_UNUSED.change(connection, space=space, among=some) for some in batches(list(hashes)))


def held(connection: Connection, space: str, hashes: Collection[bytes]) -> set[bytes]:
    """Those of these texts that some note has."""
    wanted = select(notes.c.text_hash).distinct().where(*here(notes, space), listed(notes.c.text_hash))
    return {row.text_hash for row in among(connection, wanted, hashes)}


def numbered_as(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, Note]:
    """The notes of these numbers; unknown ones are left out."""
    return {note.number: note for note in (Note(*row) for row in _OF_NUMBERS.among(connection, numbers, space=space))}


def newest(connection: Connection, space: str) -> int:
    """The highest note number ever used, 0 if there never was one."""
    return facts.newest(connection, space, NEWEST)


def between(connection: Connection, space: str, first: int, last: int) -> list[Note]:
    """The current notes in a range of numbers."""
    found = _EVERY.where(*here(notes, space), notes.c.number.between(first, last)).order_by(notes.c.number)
    return [Note(**row._mapping) for row in connection.execute(found)]


def altered(connection: Connection, space: str) -> list[Note]:
    """The notes whose text is not as it was stored, without that text."""
    found = _EVERY.where(*here(notes, space), not_(is_intact(notes.c.text))).order_by(notes.c.number)
    return [Note(**row._mapping) for row in connection.execute(found)]


def put_back(connection: Connection, space: str, note: Note, text: str) -> None:
    """Store the text of a note again, the one of its hash."""
    this = here(notes, space, number=note.number)
    connection.execute(update(notes).where(*this).values(text=text))


def without_vector(connection: Connection, space: str, model: str, spans: Iterable[tuple[int, int]]) -> list[Note]:
    """The notes in these ranges whose text has no vector from a model, one per distinct text."""
    distinct: dict[bytes, Note] = {}
    joined = _EVERY.select_from(notes.outerjoin(embeddings, same_text(model))).order_by(notes.c.number)
    without = joined.where(*here(notes, space), embeddings.c.text_hash.is_(None))
    for first, last in spans:
        for row in connection.execute(without.where(notes.c.number.between(first, last))):
            distinct.setdefault(row.text_hash, Note(**row._mapping))
    return list(distinct.values())


def counts(connection: Connection, space: str, model: str | None) -> tuple[int, int]:
    """How many notes there are, and how many of them have a vector from the model."""
    tables = notes.outerjoin(embeddings, same_text(bindparam("model")))
    counted = select(func.count(), func.count(embeddings.c.text_hash)).select_from(tables).where(*here(notes))
    total, embedded = connection.execute(counted, {"space": space, "model": model}).one()
    return total, embedded


def words_row(number: int, piece: NoteText | Note) -> WordsRow:
    """A note as the keyword index takes it."""
    return WordsRow(number=number, text=piece.text, tags=piece.tags, category=piece.category)


def same_text(model: str | BindParameter[str]) -> ColumnElement[bool]:
    """Joins notes with their vectors from a model."""
    return and_(
        embeddings.c.space == notes.c.space,
        embeddings.c.model == model,
        embeddings.c.text_hash == notes.c.text_hash,
    )


def vectors(
    connection: Connection, space: str, model: str, spans: Iterable[tuple[int, int]], dimension: int | None = None
) -> dict[int, Vectors]:
    """The usable vectors of the notes in these ranges, by number; of this dimension, if it is known."""
    found: dict[int, Vectors] = {}
    dimension = dimension or embedding_cache.known_dimension(connection, space, model)
    joined = select(notes.c.number, embeddings.c.vector).select_from(notes.join(embeddings, same_text(model)))
    for first, last in change_log.ranges(spans):
        within = (*here(notes, space), notes.c.number.between(first, last))
        rows = connection.execute(joined.where(*within).order_by(notes.c.number)).all()
        each = embedding_cache.each_unpacked([row.vector for row in rows], dimension)
        found |= {row.number: vector for row, vector in zip(rows, each, strict=True) if vector is not None}
    return found


def add(connection: Connection, space: str, new: Sequence[NewPiece], last: int) -> list[int]:
    """Store pieces; `last` is the last number of as many counted up under `NEWEST`.

    The caller notes them in the log. Returns their numbers.
    """
    numbers = list(range(last - len(new) + 1, last + 1))
    rows = [
        {
            "space": space,
            "number": number,
            "kind": each.kind,
            "ref": each.ref,
            "ordinal": each.ordinal,
            "text": each.piece.text,
            "tags": each.piece.tags,
            "category": each.piece.category,
            "text_hash": content_hash(each.piece.text),
        }
        for number, each in zip(numbers, new, strict=True)
    ]
    _ADD.insert(connection, rows)
    keyword.notes.add(connection, (words_row(number, each.piece) for number, each in zip(numbers, new, strict=True)))
    return numbers
