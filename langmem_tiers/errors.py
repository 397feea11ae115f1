"""Every error this package raises on purpose.

    MemoryTiersError
    ├── InvalidInput (ValueError)
    │   ├── InvalidSpace          a space name that cannot be one
    │   │   └── UnknownSpace      one that is not there, and is not made for what was asked
    │   ├── InvalidCategory       a category path that cannot be one
    │   ├── InvalidPointer        a text that is no AAAK pointer
    │   ├── InvalidText           a text that cannot be stored as it is
    │   │   ├── TextTooLong
    │   │   └── SecretRefused     a key, token, password or card number
    │   ├── InvalidPath           a path that no document can have
    │   ├── IdentityFull          more than the identity has room for
    │   ├── InvalidSettings
    │   ├── InvalidDirective      a file in place of a built-in prompt that cannot be used
    │   ├── NaiveDatetime         a time without a zone
    │   ├── InvalidRelation       a relation that cannot be, such as of something to itself
    │   ├── InvalidPeriod         a time that ends before it begins, or is none
    │   ├── AmbiguousEntity       a name that several entities have
    │   ├── MergeRefused          two entities that cannot be one
    │   └── InvalidVector         NaN, infinite or wrong-sized vectors from an embedder
    ├── MissingUser (ValueError)  nobody said whose memory it is
    ├── UnknownEntity (LookupError)   no entity of the graph has this id or name
    ├── UnknownRelation (LookupError) no relation has this id
    ├── UnknownDream (LookupError)    no dream has this id
    ├── DreamConflict (RuntimeError)  later changes touched what a dream is to be undone of
    ├── LeaseLost (RuntimeError)      somebody else took over what only one may do
    ├── UnknownEntry (LookupError)    no entry of the knowledge has this id
    ├── EntryChanged (RuntimeError)   somebody else changed the entry first
    ├── AuthorityTooLow (RuntimeError)   a higher authority stands behind the entry
    ├── TextChanged (RuntimeError)    somebody else wrote the identity or the document first
    ├── MemoryClosed (RuntimeError)
    ├── StorageError (OSError)
    │   ├── NotAMemoryFolder
    │   ├── FolderNotWritable (PermissionError)
    │   ├── DiskFull
    │   ├── DatabaseLocked (TimeoutError)
    │   ├── DatabaseDamaged
    │   ├── ProjectionDamaged     Chroma cannot go on with its files
    │   ├── NewerSchema           written by a newer version of this package
    │   └── MigrationFailed
    ├── EmbeddingUnavailable (RuntimeError)
    ├── DownloadFailed (OSError)  a file could not be fetched, or is not the one expected
    ├── UnreadableFile (ValueError)   a file that is not in the format named
    └── MissingExtra (ImportError)

Each also inherits the builtin a caller would expect, says what happened, and says the way out.
"""

from __future__ import annotations


class MemoryTiersError(Exception):
    """Base of all errors of this package.

    `way_out` is one sentence that says what the caller can do about it.
    """

    way_out = "See the message for what was refused."

    def __init__(self, message: str, *, way_out: str | None = None) -> None:
        self.message = message
        if way_out is not None:
            self.way_out = way_out
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message} {self.way_out}"


class InvalidInput(MemoryTiersError, ValueError):
    """A value that cannot be used."""


class InvalidSpace(InvalidInput):
    """A space name with an empty, over-long, relative, absolute or unprintable part."""

    way_out = "Use parts of 1 to 128 printable characters joined by '/', such as 'users/alice'."


class UnknownSpace(InvalidSpace, LookupError):
    """There is no such space, and none is made for what was asked; `space` is its name."""

    space = ""
    way_out = "`memory.spaces()` gives those there are."


class InvalidCategory(InvalidInput):
    """A category path that is absolute, climbs, or holds other than letters, digits, '-', '_' and '/'."""

    way_out = "Use letters, digits, '-' and '_' in parts joined by '/', such as 'user-preferences/timezone'."


class InvalidPointer(InvalidInput):
    """A text that is neither a drawer number nor an AAAK pointer."""

    way_out = "Write a pointer as §W-042/R-11/D-007, or give a drawer's number."


class InvalidText(InvalidInput):
    """A text that cannot be stored verbatim."""

    way_out = "Repair it first, for example text.encode('utf-8', 'replace').decode('utf-8')."


class TextTooLong(InvalidText):
    """A message over the size limit of one drawer."""

    way_out = "Store it as a file and remember where it is, or raise Settings.text.max_characters."


class SecretRefused(InvalidText):
    """A text with a secret in it, which is kept out of what is derived from conversations."""

    way_out = "Leave the secret out, and say where it is kept instead."


class InvalidPath(InvalidInput):
    """A path that is absolute, hidden, climbs, is over-long, or holds what no file name should."""

    way_out = "Use a relative path of printable names joined by '/', such as 'memory/2026-03-02.md'."


class IdentityFull(InvalidInput):
    """The identity would be longer than it may be; it stays as it was.

    `text` is the identity that stands, `overflow` by how many characters, as users see them, the new one is too long:
    enough for an agent to merge lines or take some out and try again.
    """

    way_out = "Merge or remove what matters least, and write again."

    def __init__(self, message: str, *, text: str = "", overflow: int = 0, way_out: str | None = None) -> None:
        self.text = text
        self.overflow = overflow
        super().__init__(message, way_out=way_out)


class InvalidSettings(InvalidInput):
    """A setting outside its range."""

    way_out = "Correct the setting named."


class InvalidDirective(InvalidInput):
    """A file in place of a built-in prompt that is unreadable, empty, too long or no text."""

    way_out = "Mend the file, or delete it to have the built-in prompt back."


class NaiveDatetime(InvalidInput):
    """A datetime without a time zone: two readers would take it for two different moments."""

    way_out = "Add one, for example value.replace(tzinfo=datetime.timezone.utc)."


class InvalidVector(InvalidInput):
    """An embedder gave NaN, infinite, empty or wrong-sized vectors, or the wrong number of them."""

    way_out = "The texts stay stored and are embedded again once the embedder is repaired."


class MissingUser(MemoryTiersError, ValueError):
    """No user id reached the memory: there is no default pool that strangers share."""

    way_out = "Pass context={'user_id': ...} or config={'configurable': {'user_id': ...}}, or name a fixed space."


class InvalidRelation(InvalidInput):
    """A relation that cannot be: of something to itself, without an object or a value, or with both."""

    way_out = "Give a subject, a predicate, and either an object or a value."


class InvalidPeriod(InvalidInput):
    """A time that ends before it begins, or a text that is no date."""

    way_out = "Write a date as 2024, 2024-05, 2024-05-17 or a time with its zone; what ends does so after it began."


class AmbiguousEntity(InvalidInput):
    """A name that several entities have; `ids` are theirs."""

    way_out = "Name the one that is meant by its id."

    def __init__(self, message: str, *, ids: tuple[str, ...] = (), way_out: str | None = None) -> None:
        self.ids = ids
        super().__init__(message, way_out=way_out)


class MergeRefused(InvalidInput):
    """Two entities that cannot be one: the same already, kept apart by the user, or of conflicting facts."""

    way_out = "See `space.graph.entity` for what each is, and name two others."


class UnknownDream(MemoryTiersError, LookupError):
    """No dream has this id."""

    way_out = "`langmem-tiers dreams` lists them."


class DreamConflict(MemoryTiersError, RuntimeError):
    """A dream cannot be undone, or done again: later changes touched the same records; `records` names them."""

    way_out = "Undo what came later first, or mend the records named by hand."

    def __init__(self, message: str, *, records: tuple[str, ...] = (), way_out: str | None = None) -> None:
        self.records = records
        super().__init__(message, way_out=way_out)


class LeaseLost(MemoryTiersError, RuntimeError):
    """Somebody else took over what this was doing; nothing of it was written."""

    way_out = "Look at what the other one did, and try again."


class UnknownEntity(MemoryTiersError, LookupError):
    """No entity has this id or name."""

    way_out = "Ask space.graph.resolve(name) what there is."


class UnknownRelation(MemoryTiersError, LookupError):
    """No relation has this id: it never had, or was deleted."""

    way_out = "Look at the timeline of its entity to learn its id."


class UnknownEntry(MemoryTiersError, LookupError):
    """No entry has this id: it never had, or was deleted."""

    way_out = "Search for the entry to learn its id."


class EntryChanged(MemoryTiersError, RuntimeError):
    """The entry is not as it was when it was read: writing over it would lose a change."""

    way_out = "Read the entry again, and repeat the change with its version."


class AuthorityTooLow(MemoryTiersError, RuntimeError):
    """Somebody of higher authority, such as the user, stands behind the entry."""

    way_out = "Give the user's message that says so as evidence, or leave it to the user."


class TextChanged(MemoryTiersError, RuntimeError):
    """The identity or a document is not as it was when it was read: writing over it would lose a change.

    `version` is the one that stands, 0 where there is none.
    """

    way_out = "Read it again, and repeat the change with its version."

    def __init__(self, message: str, *, version: int = 0, way_out: str | None = None) -> None:
        self.version = version
        super().__init__(message, way_out=way_out)


class MemoryClosed(MemoryTiersError, RuntimeError):
    """The memory was closed before this call."""

    way_out = "Open it again with Memory.open(path)."


class StorageError(MemoryTiersError, OSError):
    """The records could not be read or written; what was acknowledged before stays whole."""

    way_out = "Look at the cause below; acknowledged memories are not affected."


class NotAMemoryFolder(StorageError):
    """The folder holds something else."""

    way_out = "Name an empty or new folder, or one that langmem-tiers made."


class FolderNotWritable(StorageError, PermissionError):
    """The folder or a file in it is read-only."""

    way_out = "Make the folder writable, or name another one."


class DiskFull(StorageError):
    """No space is left on the device; nothing of this call was stored."""

    way_out = "Free some space and repeat the call: repeating stores nothing twice."


class DatabaseLocked(StorageError, TimeoutError):
    """Another process held the database for longer than the busy timeout."""

    way_out = "Repeat the call: repeating stores nothing twice. Settings.storage.busy_timeout says how long to wait."


class DatabaseDamaged(StorageError):
    """The database file is not readable as one."""

    way_out = "Put a backup in its place; `langmem-tiers doctor` says what else is off."


class ProjectionDamaged(StorageError):
    """Chroma cannot go on with its files, and a fresh folder could not be built either."""

    way_out = (
        "Nothing is lost and recall goes on by exact search; see whether the disk is full or the folder read-only."
    )


class NewerSchema(StorageError):
    """The memory was written by a newer version of this package."""

    way_out = "Install the newer version: pip install --upgrade langmem-tiers."


class MigrationFailed(StorageError):
    """A migration did not finish; the file is as it was before, and so is its backup."""

    way_out = "Report it with the cause below; the older version of the package still opens the file."


class EmbeddingUnavailable(MemoryTiersError, RuntimeError):
    """The embedding model cannot be loaded or reached now."""

    way_out = "Recall goes on by keywords; vectors are filled in once the model can be reached."

    def __init__(
        self, message: str, *, way_out: str | None = None, loggable: str | None = None, away: bool = True
    ) -> None:
        super().__init__(message, way_out=way_out)
        self.loggable = loggable
        """What a log may say of it, where the message has words of a provider."""
        self.away = away
        """Whether nothing can be embedded now; False where it may be the text that the provider refuses."""


class DownloadFailed(MemoryTiersError, OSError):
    """A file could not be fetched, or what came is not the file expected."""

    way_out = "Run the command again: it goes on where it stopped."


class UnreadableFile(MemoryTiersError, ValueError):
    """A file to import or to measure with is missing or not in the format named."""

    way_out = "Check the path, and what is in the file."


class MissingExtra(MemoryTiersError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str | None) -> None:
        wanted = package if extra is None else f"'langmem-tiers[{extra}]'"
        super().__init__(
            f"This needs the package {package!r}, which is not installed.",
            way_out=f"Install it with: pip install {wanted}.",
        )
