"""Every error this package raises on purpose.

    MemoryTiersError
    ├── InvalidInput (ValueError)
    │   ├── InvalidSpace          a text that is not a valid space name
    │   │   └── UnknownSpace      a space that does not exist, and is not created by this call
    │   ├── InvalidCategory       a text that is not a valid category path
    │   ├── InvalidPointer        a text that is not an AAAK pointer
    │   ├── InvalidText           a text that cannot be stored as it is
    │   │   ├── TextTooLong
    │   │   └── SecretRefused     a key, token, password or card number
    │   ├── InvalidPath           a path that a document cannot have
    │   ├── InvalidKey            a key of working memory that is no path, or in another namespace
    │   ├── IdentityFull          a text that does not fit into the identity
    │   ├── InvalidSettings
    │   │   └── UnreadableSettings    a settings file that cannot be read, or is no TOML
    │   ├── InvalidDirective      a file replacing a built-in prompt that cannot be used
    │   ├── NaiveDatetime         a time without a zone
    │   ├── InvalidRelation       an impossible relation, such as from something to itself
    │   ├── InvalidPeriod         a time that ends before it begins, or a text that is not a date
    │   ├── AmbiguousEntity       a name that several entities have
    │   ├── MergeRefused          two entities that cannot be merged
    │   └── InvalidVector         NaN, infinite or wrong-sized vectors from an embedder
    ├── MissingUser (ValueError)  no user was named
    ├── AccessDenied (PermissionError)   who calls has no role in the space
    │   └── ReadOnlyForMembers    who calls may read the space, and not write to it
    ├── UnknownEntity (LookupError)   no entity in the graph has this id or name
    ├── UnknownRelation (LookupError) no relation has this id
    ├── UnknownDream (LookupError)    no dream has this id
    ├── DreamConflict (RuntimeError)  later changes touched the records that a dream changed
    ├── LeaseLost (RuntimeError)      another process took over what only one may do
    ├── UnknownPiece (LookupError)    no wing, room or drawer has this number
    ├── UnknownEntry (LookupError)    no entry has this id
    ├── EntryChanged (RuntimeError)   somebody else changed the entry first
    ├── ForgetChanged (RuntimeError)  what is to be forgotten is no longer what the preview showed
    ├── UnknownTask (LookupError)     no task has this id
    ├── UnknownReceipt (LookupError)  no recall has this number, or none was made yet
    ├── UnknownMemory (LookupError)   nothing that is stored has this address, id or text
    ├── TaskChanged (RuntimeError)    somebody else changed the task first
    ├── AuthorityTooLow (RuntimeError)   the entry has a higher authority
    ├── TextChanged (RuntimeError)    somebody else wrote the identity or the document first
    ├── MemoryClosed (RuntimeError)
    ├── MemoryOff (RuntimeError)  the settings turn it off, for a space or an agent
    ├── StorageError (OSError)
    │   ├── NotAMemoryFolder
    │   ├── NotASyncFolder        a folder that was never synced with this space, and holds something
    │   ├── SyncInProgress (TimeoutError)    another sync of the folder goes on
    │   ├── FolderNotWritable (PermissionError)
    │   ├── LinkRefused           a symbolic link where the memory has a file or folder of its own
    │   ├── ForeignFolder (PermissionError)  a folder or file of another user, or that others may write to
    │   ├── DiskFull
    │   ├── TooManyFiles          the process may not open another one
    │   ├── DatabaseLocked (TimeoutError)
    │   ├── DatabaseDamaged
    │   ├── ServerUnreachable (ConnectionError)   the database or Chroma server does not answer
    │   ├── ServerRefused (PermissionError)   it does not let this user in, or do what is asked
    │   ├── OtherDatabases        a memory was divided among other databases than those that were given
    │   ├── NotInAFolder          it is on a server, and what was asked is done to a folder
    │   ├── ServerBusy (TimeoutError)     all connections are in use
    │   ├── ProjectionDamaged     Chroma cannot use its files
    │   ├── NewerSchema           written by a newer version of this package
    │   ├── BackupDamaged         a backup that is incomplete or changed, or none at all
    │   ├── AlreadyThere (FileExistsError)   a file or folder that would be overwritten
    │   └── MigrationFailed
    ├── EmbeddingUnavailable (RuntimeError)
    ├── DownloadFailed (OSError)  a file could not be downloaded, or is not the expected one
    ├── UnreadableFile (ValueError)   a file that is not in the given format
    └── MissingExtra (ImportError)

Each also inherits the builtin a caller would expect, says what happened, and says what to do.
"""

from __future__ import annotations

from langmem_tiers.wording import safe


class MemoryTiersError(Exception):
    """Base of all errors of this package.

    `way_out` is one sentence that says what the caller can do about it. Messages often quote what was given, and end up
    in logs and traces: secrets in them are masked, and what a terminal would obey is written as escapes.
    """

    way_out = "See the message for what was refused."

    def __init__(self, message: str, *, way_out: str | None = None) -> None:
        from langmem_tiers.trust.secrets import mask

        self.message = safe(mask(message))
        if way_out is not None:
            self.way_out = safe(mask(way_out))
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.way_out}"


class InvalidInput(MemoryTiersError, ValueError):
    """A value that cannot be used."""


class InvalidSpace(InvalidInput):
    """A space name with an empty, over-long, relative, absolute or unprintable part."""

    way_out = "Use parts of 1 to 128 printable characters joined by '/', such as 'users/alice'."


class UnknownSpace(InvalidSpace, LookupError):
    """There is no such space, and this call does not create one; `space` is its name."""

    way_out = "`memory.spaces()` lists the spaces."

    def __init__(self, message: str, *, space: str = "", way_out: str | None = None) -> None:
        self.space = space
        super().__init__(message, way_out=way_out)


class InvalidCategory(InvalidInput):
    """A category path that is absolute, contains '..', or has characters besides letters, digits, '-', '_' and '/'."""

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
    """A text that contains a secret; secrets are kept out of everything derived from conversations."""

    way_out = "Leave the secret out, and say where it is kept instead."


class InvalidPath(InvalidInput):
    """A path that is absolute, hidden or too long, contains '..', or has characters that no file name should."""

    way_out = "Use a relative path of printable names joined by '/', such as 'memory/2026-03-02.md'."


class InvalidKey(InvalidInput):
    """A key of working memory that is no path, or one to write to that is in another namespace than the own."""

    way_out = "Write a key as 'inbox', or with its namespace as 'session/abc123/inbox' or 'patrol/heartbeat/alerts'."


class IdentityFull(InvalidInput):
    """The identity would be longer than it may be; it stays as it was.

    `text` is the current identity, `overflow` the number of characters, as users see them, by which the new one is too
    long: enough for an agent to merge or remove lines and try again.
    """

    way_out = "Merge or remove what matters least, and write again."

    def __init__(self, message: str, *, text: str = "", overflow: int = 0, way_out: str | None = None) -> None:
        self.text = text
        self.overflow = overflow
        super().__init__(message, way_out=way_out)


class InvalidSettings(InvalidInput):
    """A setting outside its range."""

    way_out = "Correct this setting."


class UnreadableSettings(InvalidSettings):
    """A settings file that cannot be read: half written, no text, or not for this user."""

    way_out = "Repair it, or move it away to go without; `langmem-tiers config check` reads it again."


class InvalidDirective(InvalidInput):
    """A file replacing a built-in prompt that is unreadable, empty, too long or not a text."""

    way_out = "Repair the file, or delete it to go back to the built-in prompt."


class NaiveDatetime(InvalidInput):
    """A datetime without a time zone, which is not a definite moment."""

    way_out = "Add one, for example value.replace(tzinfo=datetime.timezone.utc)."


class InvalidVector(InvalidInput):
    """An embedder returned NaN, infinite, empty or wrong-sized vectors, or the wrong number of them."""

    way_out = "The texts stay stored and are embedded again once the embedder is repaired."


class MissingUser(MemoryTiersError, ValueError):
    """No user id reached the memory; there is no shared default."""

    way_out = "Pass context={'user_id': ...} or config={'configurable': {'user_id': ...}}, or name a fixed space."


class AccessDenied(MemoryTiersError, PermissionError):
    """Who calls has no role in the space: nothing was read or written."""

    way_out = "Give them a role with Memory.open(roles=…), or name a space of their own."


READ_ONLY = "memory is read-only for team members."
"""What members are told who write."""


class ReadOnlyForMembers(AccessDenied):
    """Who calls is a member and no leader: nothing was written."""

    way_out = "Save it in the own memory, or have a leader of the team save it there."


class InvalidRelation(InvalidInput):
    """An impossible relation: from something to itself, without an object or a value, or with both."""

    way_out = "Give a subject, a predicate, and either an object or a value."


class InvalidPeriod(InvalidInput):
    """A time that ends before it begins, or a text that is not a date."""

    way_out = "Write a date as 2024, 2024-05, 2024-05-17 or a time with its zone; the end must be after the beginning."


class AmbiguousEntity(InvalidInput):
    """A name that several entities have; `ids` are their ids."""

    way_out = "Use the id of the one you mean."

    def __init__(self, message: str, *, ids: tuple[str, ...] = (), way_out: str | None = None) -> None:
        self.ids = ids
        super().__init__(message, way_out=way_out)


class MergeRefused(InvalidInput):
    """Two entities that cannot be merged: already the same, kept apart by the user, or with conflicting facts."""

    way_out = "See `space.graph.entity` for what each is, and choose two others."


class UnknownDream(MemoryTiersError, LookupError):
    """No dream has this id."""

    way_out = "`langmem-tiers dreams` lists them."


class DreamConflict(MemoryTiersError, RuntimeError):
    """A dream cannot be undone or redone: later changes touched the same records; `records` names them."""

    way_out = "Undo the later changes first, or correct these records by hand."

    def __init__(self, message: str, *, records: tuple[str, ...] = (), way_out: str | None = None) -> None:
        self.records = records
        super().__init__(message, way_out=way_out)


class LeaseLost(MemoryTiersError, RuntimeError):
    """Another process took over this work; nothing was written here."""

    way_out = "Check what the other one did, and try again."


class UnknownEntity(MemoryTiersError, LookupError):
    """No entity has this id or name."""

    way_out = "space.graph.resolve(name) shows similar entities."


class UnknownRelation(MemoryTiersError, LookupError):
    """No relation has this id: there never was one, or it was deleted."""

    way_out = "The timeline of its entity shows its id."


class UnknownPiece(MemoryTiersError, LookupError):
    """No wing, room or drawer has this number: there never was one, or it was deleted."""

    way_out = "`space.browse` lists those there are."


class UnknownEntry(MemoryTiersError, LookupError):
    """No entry has this id: there never was one, or it was deleted."""

    way_out = "Search for the entry to find its id."


class EntryChanged(MemoryTiersError, RuntimeError):
    """The entry has changed since it was read: overwriting it would lose a change."""

    way_out = "Read the entry again, and repeat the change with its version."


class ForgetChanged(MemoryTiersError, RuntimeError):
    """What is to be forgotten is no longer what the preview showed. Nothing was deleted."""

    way_out = "Look at a new preview, and confirm that."


class UnknownTask(MemoryTiersError, LookupError):
    """There is no task with this id."""

    way_out = "`space.tasks.list()` shows those there are; `start(title, id=…)` begins one."


class UnknownReceipt(MemoryTiersError, LookupError):
    """There is no receipt with this number, no longer, or none at all yet."""

    way_out = "`space.receipts()` returns those there are."


class UnknownMemory(MemoryTiersError, LookupError):
    """Nothing that is stored, nor anything that the recall looked at, has this address or id, or these words."""

    way_out = "Give a pointer such as §W-001/R-02/D-003, an id, a drawer's number, or words of it."


class TaskChanged(MemoryTiersError, RuntimeError):
    """The task was changed by somebody else since it was read."""

    way_out = "Read the task again, and repeat the change with its version."


class AuthorityTooLow(MemoryTiersError, RuntimeError):
    """The entry has a higher authority, such as the user's."""

    way_out = "Give the user's message that says so as evidence, or leave the change to the user."


class TextChanged(MemoryTiersError, RuntimeError):
    """The identity or a document has changed since it was read: overwriting it would lose a change.

    `version` is the current one, 0 if there is none.
    """

    way_out = "Read it again, and repeat the change with its version."

    def __init__(self, message: str, *, version: int = 0, way_out: str | None = None) -> None:
        self.version = version
        super().__init__(message, way_out=way_out)


class MemoryClosed(MemoryTiersError, RuntimeError):
    """The memory was closed before this call."""

    way_out = "Open it again with Memory.open(path)."


class MemoryOff(MemoryTiersError, RuntimeError):
    """The settings turn the memory off, altogether, for this space or for this agent: nothing is read or stored."""

    way_out = (
        "Set `enabled` to true in the settings to turn it on; `langmem-tiers config show --all enabled` says where it"
        " is off."
    )


class StorageError(MemoryTiersError, OSError):
    """The records could not be read or written; what was acknowledged before is not affected."""

    way_out = "See the cause below; acknowledged memories are not affected."


class NotAMemoryFolder(StorageError):
    """The folder contains something else."""

    way_out = "Name an empty or new folder, or one that langmem-tiers made."


class NotASyncFolder(StorageError):
    """The folder was never synced with this space, and holds something else."""

    way_out = "Name an empty or new folder, or the one that this space was synced with."


class SyncInProgress(StorageError, TimeoutError):
    """Another process is syncing the same folder, and took longer than one waits for it."""

    way_out = "Try again once the other sync is done."


class FolderNotWritable(StorageError, PermissionError):
    """The folder or a file in it is read-only."""

    way_out = "Make the folder writable, or name another one."


class LinkRefused(StorageError):
    """A symbolic link stands where a file or folder of the memory belongs; nothing was read or written through it."""

    way_out = "Remove the link, or put what it leads to in its place. The memory as a whole may be reached by a link."


class ForeignFolder(StorageError, PermissionError):
    """A folder or file of the memory belongs to another user, or others may write to it."""

    way_out = (
        "Run it as the owner, give the folder to this user (chown -R), or name another one; on a volume of a"
        " container, a folder below it that does not exist yet."
    )


class DiskFull(StorageError):
    """No space is left on the device; nothing of this call was stored."""

    way_out = "Free some space and repeat the call: nothing is stored twice."


class TooManyFiles(StorageError):
    """The process has as many files open as it may; nothing of this call was stored."""

    way_out = "Raise the limit (`ulimit -n`), or use fewer spaces at the same time, and repeat the call."


class DatabaseLocked(StorageError, TimeoutError):
    """Another process locked the database for longer than the busy timeout."""

    way_out = "Repeat the call: nothing is stored twice. Settings.storage.busy_timeout sets how long to wait."


class DatabaseDamaged(StorageError):
    """The file cannot be read as a database."""

    way_out = "Put a backup in its place; `langmem-tiers doctor` shows other problems."


class ServerUnreachable(StorageError, ConnectionError):
    """The server does not answer, or went away: what was not acknowledged is not stored."""

    way_out = "Check that it runs and can be reached from here; the next call tries again."


class ServerRefused(StorageError, PermissionError):
    """The server does not let this user in, or do what was asked."""

    way_out = "Check user, password and database in the address, and what the user may do in the schema."


class OtherDatabases(StorageError):
    """The memory was divided among other databases than those that were given, or in another order."""

    way_out = (
        "Give those that it was begun with, in the same order. To divide it among others, move it into empty ones: "
        "`langmem-tiers move`; see docs/scaling.md."
    )


class NotInAFolder(StorageError):
    """The memory is on a server, and what was asked is done to a folder with its files."""

    way_out = "Use the means of the server, such as pg_dump for copies; see docs/scaling.md."


class ServerBusy(StorageError, TimeoutError):
    """All connections are in use."""

    way_out = "Try again; if it comes often, allow more connections, or put a pool such as PgBouncer between."


class ProjectionDamaged(StorageError):
    """Chroma cannot use its files, and a fresh folder could not be built either."""

    way_out = (
        "Nothing is lost and recall uses exact search; check whether the disk or the temporary directory "
        "(TMPDIR) is full, or the folder is read-only."
    )


class NewerSchema(StorageError):
    """The memory was written by a newer version of this package."""

    way_out = "Install the newer version: pip install --upgrade langmem-tiers."


class BackupDamaged(StorageError):
    """A backup that is incomplete, was changed since it was made, or is none at all; nothing was restored."""

    way_out = "Use another backup: `langmem-tiers backup --list` names those that were made."


class AlreadyThere(StorageError, FileExistsError):
    """A file or folder that would be overwritten; it is as it was."""

    way_out = "Name another one, or say that it may be replaced."


class MigrationFailed(StorageError):
    """A migration did not finish; what is stored is as it was before, and so is the backup of a file."""

    way_out = "Report it with the cause below; the older version of the package can still open what is stored."


class EmbeddingUnavailable(MemoryTiersError, RuntimeError):
    """The embedding model cannot be loaded or reached at the moment."""

    way_out = "Recall uses keywords; vectors are filled in once the model can be reached."

    def __init__(
        self, message: str, *, way_out: str | None = None, loggable: str | None = None, away: bool = True
    ) -> None:
        super().__init__(message, way_out=way_out)
        self.loggable = loggable
        """What a log may say instead, if the message has a provider's words."""
        self.away = away
        """Whether nothing can be embedded now; False if the provider may have refused only this text."""


class DownloadFailed(MemoryTiersError, OSError):
    """A file could not be downloaded, or the downloaded file is not the expected one."""

    way_out = "Run the command again: it continues where it stopped."


class UnreadableFile(MemoryTiersError, ValueError):
    """A file to import or to measure with is missing or not in the given format."""

    way_out = "Check the path, and what is in the file."


class MissingExtra(MemoryTiersError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str | None) -> None:
        wanted = package if extra is None else f"'langmem-tiers[{extra}]'"
        super().__init__(
            f"This needs the package {package!r}, which is not installed.",
            way_out=f"Install it with: pip install {wanted}.",
        )
