"""Both sides of a sync in one form, in which they can be compared: what the memory holds, and what the files say.

What a file says is brought into the form in which it would be stored, so that blanks, line ends, upper case in
categories and secrets that are masked make no difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.knowledge import document_text, markdown_sections, validation
from langmem_tiers.storage import documents, drawers, entries, identities
from langmem_tiers.storage.entries import Filters
from langmem_tiers.sync import front_matter, paths
from langmem_tiers.sync.folder import Base, Files, mark
from langmem_tiers.sync.front_matter import EntryFile
from langmem_tiers.trust import secrets

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.records import Document, Entry
    from langmem_tiers.settings import Settings

_LONGEST_QUOTE = 300
_BYTES_A_CHARACTER = 4
# The sentence of an entry takes little of its file: front matter and quotes are the rest.
_BESIDE_THE_TEXT = 200_000


Fields = Mapping[str, Any]
"""What of an entry can be edited in its file, by name; a file may leave out some."""


def marks(held: Fields) -> dict[str, str]:
    """A hash of each field."""
    return {name: mark(value) for name, value in held.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldEntry:
    """An entry of the memory, and its file as it should be."""

    entry: Entry
    fields: Fields
    data: bytes

    @property
    def file(self) -> EntryFile:
        """What that file says."""
        return front_matter.parse(self.data.decode())


@dataclass(frozen=True, kw_only=True, slots=True)
class MemorySide:
    """What a memory holds: active entries by id, those put aside, the identity, and notes by their file's path."""

    entries: Mapping[str, HeldEntry]
    inactive: Mapping[str, Entry]
    identity: str
    identity_version: int
    identity_most: int
    notes: Mapping[str, Document]


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundEntry:
    """The file of an entry: its bytes, what it says, and that in the form in which it would be stored."""

    path: str
    data: bytes
    file: EntryFile
    fields: Fields


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundText:
    """The file of the identity or of a note: its bytes, and those in the form in which they would be stored."""

    data: bytes
    stored: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderSide:
    """What a folder holds: files of entries by id, those without one, identity, notes, and copies of conflicts."""

    entries: Mapping[str, FoundEntry]
    new: tuple[FoundEntry, ...]
    identity: FoundText | None
    notes: Mapping[str, FoundText]
    copies: Mapping[str, bytes]
    problems: Mapping[str, str]


def longest_file(settings: Settings) -> int:
    """The most bytes of the identity or of a note."""
    return settings.text.max_characters * _BYTES_A_CHARACTER


def longest_entry_file(settings: Settings) -> int:
    """The most bytes of the file of an entry."""
    return settings.knowledge.max_characters * _BYTES_A_CHARACTER + _BESIDE_THE_TEXT


def read_memory(context: SpaceContext, ids: Iterable[str]) -> MemorySide:
    """The memory as of one moment; `ids` are those of files, which may be of entries put aside."""
    with context.open() as store, store.reading() as connection:
        now = to_millis(context.clock())
        active = entries.find(connection, store.key, Filters(status="active", active_at=now), -1)
        known = {each.id for each in active}
        aside = entries.by_ids(connection, store.key, sorted(set(ids) - known))
        quotes = _quotes(connection, store.key, active)
        found = (documents.read(connection, store.key, path) for path in documents.paths(connection, store.key))
        notes = {paths.note_path(each.path): each for each in found if each is not None}
        identity = identities.newest(connection, store.key)
    return MemorySide(
        entries={each.id: _held(each, quotes) for each in active},
        inactive=aside,
        notes=notes,
        identity="" if identity is None else _uniform(identity.text),
        identity_version=0 if identity is None else identity.version,
        identity_most=context.settings.identity.max_characters,
    )


def read_folder(files: Files, bases: Mapping[str, Base], settings: Settings, renamed: Mapping[str, str]) -> FolderSide:
    """What the files of a folder say; which of them cannot be taken over, and why.

    `renamed` gives, by path, ids that count instead of those in the files, as entries were stored under new ones.
    """
    reader = _Reader(bases, settings, renamed, dict(files.problems))
    for path in sorted(files.data):
        reader.take(path, files.data[path])
    return reader.side()


class _Reader:
    """Takes files one by one, and sorts them by what they are."""

    def __init__(
        self, bases: Mapping[str, Base], settings: Settings, renamed: Mapping[str, str], problems: dict[str, str]
    ) -> None:
        self._settings = settings
        self._renamed = renamed
        self._problems = problems
        self._bases = bases
        self._ids = {base.path: key.partition(":")[2] for key, base in bases.items() if key.startswith("entry:")}
        self._places = {entry: path for path, entry in self._ids.items()}
        self._entries: defaultdict[str, list[FoundEntry]] = defaultdict(list)
        self._new: list[FoundEntry] = []
        self._texts: dict[str, FoundText] = {}
        self._copies: dict[str, bytes] = {}

    def take(self, path: str, data: bytes) -> None:
        """Take one file; why it cannot be taken over is a problem."""
        try:
            if path.startswith(f"{paths.CONFLICTS}/"):
                self._copies[path] = data
            elif reason := paths.fault(path):
                self._problems[path] = reason
            elif path.startswith(f"{paths.KNOWLEDGE}/"):
                self._take_entry(path, data)
            else:
                self._texts[path] = FoundText(data=data, stored=self._stored(path, data))
        except (InvalidInput, UnreadableFile) as error:
            self._problems[path] = str(error)

    def side(self) -> FolderSide:
        """What was taken."""
        single = {entry: one for entry, found in self._entries.items() if (one := self._one(entry, found))}
        self._problems |= paths.colliding(self._texts)
        notes = {path: text for path, text in self._texts.items() if path not in self._problems}
        identity = notes.pop(paths.IDENTITY, None)
        return FolderSide(
            entries=single,
            new=tuple(self._new),
            identity=identity,
            notes=notes,
            copies=self._copies,
            problems=self._problems,
        )

    def _take_entry(self, path: str, data: bytes) -> None:
        if not paths.is_entry(path):
            self._problems[path] = "only Markdown files (.md) are entries; other files belong below notes/"
            return
        file = front_matter.parse(_text(data))
        known = self._renamed.get(path) or file.id or self._ids.get(path)
        found = FoundEntry(path=path, data=data, file=file, fields=self._fields(path, file))
        base = self._bases.get(f"entry:{known.lower()}") if known else None
        if base is None or base.marks.get("content") != mark(found.fields["content"]):
            # What the memory said at the last sync is no merge, whatever it looks like.
            front_matter.require_merged(file.body)
        if known is None:
            self._new.append(found)
        else:
            self._entries[known.lower()].append(found)

    def _fields(self, path: str, file: EntryFile) -> Fields:
        """What the file says, in the form in which it would be stored."""
        settings = self._settings
        said = {
            "content": front_matter.plain_text(validation.content(file.body, settings)),
            "category": self._category(path, file),
            "tags": None if file.tags is None else validation.tags(file.tags, settings),
            "pinned": file.pinned,
        }
        return {name: value for name, value in said.items() if value is not None}

    def _category(self, path: str, file: EntryFile) -> str | None:
        """The category: that of the folder where the file is new or was moved, else that of the front matter."""
        here = paths.category_of(path)
        of_folder = None if here is None else validation.category(here, self._settings)
        said = None if file.category is None else validation.category(file.category, self._settings)
        known = None if file.id is None else self._places.get(file.id.lower(), path)
        return (said or of_folder) if known == path else (of_folder or said)

    def _one(self, entry: str, found: list[FoundEntry]) -> FoundEntry | None:
        """The file of an entry; of several with its id, the one that was its file before."""
        if len(found) == 1:
            return found[0]
        before = next((each for each in found if each.path == self._places.get(entry)), None)
        for each in found:
            if each is not before:
                others = ", ".join(other.path for other in found if other is not each)
                self._problems[each.path] = f"{others} has the same id: remove the id to have it taken for a new entry"
        return before

    def _stored(self, path: str, data: bytes) -> bytes:
        if path == paths.IDENTITY:
            return _uniform(validation.text(_text(data), "identity", self._settings)).encode()
        where = path.removeprefix(f"{paths.NOTES}/")
        if document_text.path(where, self._settings) != where:
            raise InvalidInput("Its name would be stored otherwise.", way_out="Rename it.")
        return documents.decoded_bytes(document_text.of_file(where, data, None, "user", self._settings).content)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"It is no UTF-8 (byte {error.start:,}).", way_out="Save it as UTF-8.") from error


def _held(entry: Entry, quotes: Mapping[int, str]) -> HeldEntry:
    fields = {
        "content": front_matter.plain_text(entry.content),
        "category": entry.category,
        "tags": entry.tags,
        "pinned": entry.pinned,
    }
    said = {each.drawer: _line(each.quote) if each.quote else quotes.get(each.drawer, "") for each in entry.evidence}
    return HeldEntry(entry=entry, fields=fields, data=front_matter.render(entry, said).encode())


def _quotes(connection: Connection, space: str, known: Iterable[Entry]) -> dict[int, str]:
    """The words of the drawers that entries rest on as a whole, on one line each."""
    whole = {each.drawer for entry in known for each in entry.evidence if not each.quote}
    found = drawers.read(connection, space, whole) if whole else {}
    return {number: _line(drawer.content) for number, drawer in found.items()}


def _line(text: str) -> str:
    """A text on one short line that no Markdown reader takes for HTML."""
    said = " ".join(secrets.mask(text[: 4 * _LONGEST_QUOTE]).split())
    short = said if len(said) <= _LONGEST_QUOTE else f"{said[:_LONGEST_QUOTE].rstrip()} […]"
    return "".join(sign if sign.isprintable() else " " for sign in short).replace("<", "\\<")


def _uniform(text: str) -> str:
    """The identity as it is stored, whatever the editor made of its blanks and line ends."""
    return markdown_sections.normalised(text.removeprefix("\ufeff"))
