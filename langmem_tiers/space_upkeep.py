"""What is done with a space as a whole: mining, dreams, forgetting, export, sync, checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from langmem_tiers import arguments
from langmem_tiers.twins import twin
from langmem_tiers.types import (
    Finding,
    SpaceStats,
)

if TYPE_CHECKING:
    from pathlib import Path

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.forgetting.types import ForgetPreview, ForgetReceipt
    from langmem_tiers.language.periods import When
    from langmem_tiers.records import MiningReport
    from langmem_tiers.sync.types import Prefer, SyncReport
    from langmem_tiers.transfer.exporting import ExportFormat, ExportReport


class SpaceUpkeep:
    """What is done with a space as a whole. The part of `Space` for it."""

    context: SpaceContext

    def forget(
        self,
        *,
        messages: int | str | Iterable[str | int] = (),
        session: str | None = None,
        since: When | None = None,
        until: When | None = None,
        speaker: str | None = None,
        person: str | None = None,
        project: str | None = None,
        query: str | None = None,
        entries: Iterable[str] = (),
        confirm: str | bool | None = None,
    ) -> ForgetPreview | ForgetReceipt:
        """Forget messages or entries with everything that rests on them: first a preview, then for good.

        Without `confirm` nothing changes; the preview lists what would go, and what stays because it also rests on
        something else. With `confirm=preview.token` exactly that is deleted in one transaction, and its bytes are
        erased from the files: this waits for it, unless another process is in the way (`receipt.bytes` says so). The
        same message is not stored again by a retry, a replay or an import. Several arguments narrow each other down.

        Args:
            messages: Numbers of drawers, pointers, or message ids.
            session: A conversation.
            since: Only what was said from this date or moment on, such as "2026-03", "yesterday" or a datetime.
            until: Only what was said until the end of this date, or until this moment.
            speaker: Only what this speaker said; also "user" or "assistant" where no speaker is named.
            person: Messages that name this person, place or thing, and all that is known of it, with the entity.
            project: Only messages that were tracked with this project; a wing is no project.
            query: Messages and entries that have all these words, or whose meaning is near (`QUERY_BAR`).
            entries: Ids of entries, by themselves.
            confirm: The token of a preview; True to delete without having seen one.

        Raises:
            ForgetChanged: What would go is no longer what the token stands for. Nothing was deleted.
            InvalidInput: No argument says what to forget, one is invalid, or an entry, message, session or project is
                not there; also a message id that several sessions have, without a session.
            EmbeddingUnavailable: What a query means cannot be looked up now.
            AmbiguousEntity: Several may be meant by `person`.
            InvalidPeriod, NaiveDatetime: `since` or `until` is no date.
            ReadOnlyForMembers: Whoever it is for may only read the space.
            StorageError: Nothing was deleted.
        """
        from langmem_tiers.forgetting import forget
        from langmem_tiers.forgetting.selection import Selection

        token = confirm if confirm is None or isinstance(confirm, bool) else arguments.text(confirm, "confirm")
        chosen = Selection.of(
            messages=messages,
            session=session,
            since=since,
            until=until,
            speaker=speaker,
            person=person,
            project=project,
            query=query,
            entries=entries,
        )
        if token is None or token is False:
            return forget.preview(self.context, chosen)
        from langmem_tiers.transfer import backups

        receipt = forget.forget(self.context, chosen, token)
        self.context.wake()
        return replace(receipt, backups=backups.holding(self.context.folder, self.context.name))

    aforget = twin(forget)

    def sync(
        self,
        folder: str | Path,
        *,
        init: bool = False,
        dry_run: bool = False,
        prefer: Prefer | None = None,
        confirm_deletions: bool = False,
    ) -> SyncReport:
        """Write identity, knowledge and notes into a folder as Markdown, and take over what was edited there.

        What changed on one side since the last sync is taken over by the other; what changed on both is a conflict,
        and stays as it is on both sides, with the memory's version below `conflicts/`. Syncing again without changes
        writes nothing.

        Args:
            folder: The folder; made if there is none.
            init: Use a folder that holds other things and was never synced.
            dry_run: Change nothing; only report what would change.
            prefer: Whose version is taken in conflicts; "memory" also brings back files that were deleted.
            confirm_deletions: Put entries aside, and delete notes, whose files were deleted; otherwise they wait.

        Raises:
            NotASyncFolder: The folder holds other things, or was synced with another space.
            SyncInProgress: Another sync of the folder goes on.
            StorageError: Something could not be read or written. Syncing again goes on from there.
            InvalidInput: An argument is of the wrong type.
        """
        from langmem_tiers.sync.intents import Choices
        from langmem_tiers.sync.run import sync
        from langmem_tiers.sync.types import Prefer

        known: Prefer | None = None if prefer is None else arguments.one_of(prefer, "prefer", get_args(Prefer))
        choices = Choices(prefer=known, confirm_deletions=arguments.flag(confirm_deletions, "confirm_deletions"))
        return sync(
            self.context,
            arguments.findable_path(folder, "folder"),
            choices,
            init=arguments.flag(init, "init"),
            dry_run=arguments.flag(dry_run, "dry_run"),
        )

    def mine(self, session: str | None = None) -> tuple[MiningReport, ...]:
        """Mine a session, or all, for what is worth keeping: now, rather than when the conversation pauses.

        What was mined before is not mined again. With a model, this waits for its replies.
        """
        from langmem_tiers.writing.mining import Miner, mine

        wanted = arguments.optional_text(session, "session")
        with self.context.open() as store:
            reports = mine(Miner.of(self.context, store), wanted)
        self.context.wake()
        return reports

    def dream(self, *, dry_run: bool = False) -> DreamReport:
        """Consolidate the space now: merge and retire entries, infer preferences, promote episodes, tidy the graph.

        Proposals of the rules and the model are checked, capped and applied in one transaction, unless recall would
        get worse. A space runs one dream at a time; a second one is `skipped`. With a model, this waits for its
        replies.

        Args:
            dry_run: Change nothing; only report what would change (`previewed`). The preview is kept until the next
                one, or a dream that changes something, so that `approve_dream` can apply it.

        Raises:
            LeaseLost: It took so long that another dream began. Nothing was written.
            StorageError: Nothing was written.
        """
        from langmem_tiers.dream import run

        return run.dream(self.context, dry_run=arguments.flag(dry_run, "dry_run"))

    def approve_dream(self, dream_id: str) -> DreamReport:
        """Apply a dream that was previewed (`dream(dry_run=True)`): exactly the rows that the preview showed, or none.

        Its proposals are judged once more, without asking a model, and recall is tested with them.

        Raises:
            UnknownDream: There is no dream with this id, or a newer preview has taken its place.
            InvalidInput: It is no preview, or would change nothing.
            DreamConflict: The memory has changed since so that it would not be the same, or another dream is under
                way. Nothing was changed.
        """
        from langmem_tiers.dream import approve

        return approve.approve(self.context, dream_id)

    def dreams(self, *, limit: int = 20) -> tuple[DreamReport, ...]:
        """Return the reports of the latest dreams, newest first: decisions, refusals with reasons, and cost.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        from langmem_tiers.dream import undo

        return undo.latest(self.context, limit=limit)

    def dream_report(self, dream_id: str) -> DreamReport | None:
        """Return the report of a dream by its id, or None if there is none."""
        from langmem_tiers.dream import undo

        return undo.one(self.context, dream_id)

    def undo_dream(self, dream_id: str) -> DreamReport:
        """Restore what a dream changed, byte for byte, in one transaction. Recall counts made since are kept.

        Raises:
            UnknownDream: There is no dream with this id.
            InvalidInput: It was already undone, or it changed nothing.
            DreamConflict: Later changes touched the same records. The error names them; nothing was restored.
        """
        from langmem_tiers.dream import undo

        return undo.undo(self.context, dream_id)

    def redo_dream(self, dream_id: str) -> DreamReport:
        """Apply a dream again that was undone, with the same ids and texts and without asking a model.

        Raises:
            UnknownDream: There is no dream with this id.
            InvalidInput: It was not undone.
            DreamConflict: Later changes touched the same records. The error names them; nothing was changed.
        """
        from langmem_tiers.dream import undo

        return undo.redo(self.context, dream_id)

    adream = twin(dream)
    aapprove_dream = twin(approve_dream)
    adreams = twin(dreams)
    aundo_dream = twin(undo_dream)
    aredo_dream = twin(redo_dream)

    def export(
        self,
        path: str | Path,
        *,
        format: ExportFormat | None = None,
        embeddings: bool = False,
        force: bool = False,
    ) -> ExportReport:
        """Write the space to a file or folder that only its owner can read; docs/export.md describes each format.

        Args:
            path: Ends with `.json` or `.json.gz` (everything; `Memory.import_file` reads it back), `.md` (to read) or
                `.graphml` (the graph); without an ending it is a folder of entries, `{category}/{id}.json`.
            format: "json", "markdown", "folder" or "graphml", whatever the path ends with.
            embeddings: Whether JSON holds the vectors, too. Without them they are made again after an import.
            force: Whether a file, or a folder of exported entries, may be replaced.

        Raises:
            AlreadyThere: Something is at `path`, and it is not forced; it is as it was.
            InvalidInput: The path says no format, or is in the folder of the memory.
            DiskFull, FolderNotWritable: It could not be written; nothing is left of it.
        """
        from langmem_tiers.transfer import exporting

        return exporting.export(self.context, path, format=format, embeddings=embeddings, force=force)

    aexport = twin(export)

    def fingerprint(self) -> str:
        """Return a hash of all records. It is equal for equal memories, such as one that was exported and imported.

        Everything counts that a user or agent put in or the memory made of it, recall counts and receipts too; not what
        belongs to one folder or one version, such as vectors, the log and search indexes.
        """
        from langmem_tiers.transfer import exporting

        return exporting.fingerprint(self.context)

    def stats(self, *, by_kind: bool = False) -> SpaceStats:
        """Return counts and sizes.

        Args:
            by_kind: Also say what the bytes are for; this reads the whole database, about a gigabyte a second.
        """
        from langmem_tiers.maintenance.stats import stats

        with self.context.open() as store:
            return stats(store, self.context.embedding_model, by_kind=arguments.flag(by_kind, "by_kind"))

    def doctor(self, *, deep: bool = False) -> tuple[Finding, ...]:
        """Check every projection against the records. Each finding is fine, worth knowing, or a problem.

        Args:
            deep: Also compare every stored text with the hash that it was stored with, and every index of the database
                with its table: about a second for 100,000 messages.
        """
        from langmem_tiers.maintenance.doctor import examine

        with self.context.open() as store:
            return examine(store, self.context.embedding_model, deep=arguments.flag(deep, "deep"))

    def rebuild(self) -> tuple[str, ...]:
        """Rebuild everything that is derived from the records. Returns a line for each thing done.

        Altered texts of the search index are put back from their records; altered blocks of receipts and changes of
        dreams, which are served to nobody, are deleted.

        Vectors are taken from the embedding cache; any that are missing or unusable are embedded again later.

        At the end the database file of a space in a folder is written anew, which gives its free pages back to the
        disk. Writes of others wait meanwhile. If there is no room for it on the disk, a line says so, and the file is
        as it was.
        """
        from langmem_tiers.maintenance.rebuild import rebuild

        with self.context.open() as store:
            lines = rebuild(store, self.context.embedding_model, self.context.settings)
        self.context.wake()
        return lines
