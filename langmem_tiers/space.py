"""A space: store what is said, recall it, and inspect what is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.palace import tree
from langmem_tiers.pointers import parse_pointer
from langmem_tiers.twins import twin
from langmem_tiers.types import (
    Drawer,
    Explanation,
    Finding,
    PalaceWing,
    Recalled,
    Receipt,
    Session,
    SpacePositions,
    SpaceStats,
    TrackReport,
    Turn,
)

if TYPE_CHECKING:
    from pathlib import Path

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.dream.golden import Golden
    from langmem_tiers.dream.signals import Signals
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.forgetting.types import ForgetPreview, ForgetReceipt
    from langmem_tiers.knowledge.documents import Documents
    from langmem_tiers.knowledge.episodes import Episodes
    from langmem_tiers.knowledge.identity import Identity
    from langmem_tiers.knowledge.knowledge import Knowledge
    from langmem_tiers.knowledge.profile import Profile
    from langmem_tiers.knowledge.reporting import Report, ReportKind
    from langmem_tiers.knowledge.tasks import Tasks
    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
    from langmem_tiers.language.periods import When
    from langmem_tiers.layers import Layer, LayerFound
    from langmem_tiers.models.usage import UsageLine
    from langmem_tiers.palace.browse import PalaceBrowser
    from langmem_tiers.records import MiningReport
    from langmem_tiers.runtime import Runtime
    from langmem_tiers.storage.usages import UsageBy
    from langmem_tiers.sync.types import Prefer, SyncReport
    from langmem_tiers.transfer.exporting import ExportFormat, ExportReport
    from langmem_tiers.working.working_memory import WorkingMemory

# How far `usage` looks back at most: a hundred years.
_MOST_DAYS = 36_500


class Space:
    """One isolated memory, such as `users/alice`. A cheap handle: make as many as you like.

    Every method may be called from any thread. The methods block, usually for a few milliseconds; where there is an
    async twin (`recall` and `arecall`), it runs the same code in a thread.
    """

    def __init__(self, memory: Runtime, context: SpaceContext) -> None:
        self.memory = memory
        self.name = context.name
        self.agent = context.agent
        self.fallbacks = tuple(each.name for each in context.fallbacks)
        self.context = context

    def __repr__(self) -> str:
        return f"Space({self.name!r})"

    def of_agent(self, agent: str | None) -> Space:
        """Return the same space as an agent uses it, with the settings of that agent; this one if none is named.

        Unless the handle was given fallbacks, they are those that the agent's settings name.

        Raises:
            InvalidInput: `agent` is not a text.
        """
        if arguments.optional_text(agent, "agent") in (None, self.agent):
            return self
        return Space(self.memory, self.context.of_agent(agent))

    @property
    def enabled(self) -> bool:
        """Whether the memory is on: if not, recall finds nothing, nothing is stored, and all else is refused."""
        return self.context.settings.enabled

    @property
    def knowledge(self) -> Knowledge:
        """What is known: facts, preferences and conventions, each with its evidence."""
        from langmem_tiers.knowledge.knowledge import Knowledge

        return Knowledge(self.context)

    @property
    def graph(self) -> KnowledgeGraph:
        """The people, places and things talked about, and how they relate: since when and until when."""
        from langmem_tiers.knowledge_graph.graph import KnowledgeGraph

        return KnowledgeGraph(self.context)

    @property
    def identity(self) -> Identity:
        """Who the user is: a short text that the model sees on every turn."""
        from langmem_tiers.knowledge.identity import Identity

        return Identity(self.context)

    @property
    def profile(self) -> Profile:
        """The standing facts about the user, such as home, diet and languages: before the model on every turn."""
        from langmem_tiers.knowledge.profile import Profile

        return Profile(self.context)

    @property
    def documents(self) -> Documents:
        """Files of notes, such as `MEMORY.md`."""
        from langmem_tiers.knowledge.documents import Documents

        return Documents(self.context)

    @property
    def working(self) -> WorkingMemory:
        """Scratch space with a time to live, shared by the sessions, patrols and subagents that work for the user."""
        from langmem_tiers.working.working_memory import WorkingMemory

        return WorkingMemory(self.context)

    @property
    def tasks(self) -> Tasks:
        """What is being done, with its working state; archived when it is over."""
        from langmem_tiers.knowledge.tasks import Tasks

        return Tasks(self.context)

    @property
    def signals(self) -> Signals:
        """Feedback on the assistant, heard in messages or recorded: `space.signals.record("wrong", message=7)`."""
        from langmem_tiers.dream.signals import Signals

        return Signals(self.context)

    @property
    def browse(self) -> PalaceBrowser:
        """The palace piece by piece, for large ones: wings, rooms, closets, drawers, and what came of a drawer."""
        from langmem_tiers.palace.browse import PalaceBrowser

        return PalaceBrowser(self.context)

    @property
    def golden(self) -> Golden:
        """Questions whose answers no dream may make worse."""
        from langmem_tiers.dream.golden import Golden

        return Golden(self.context)

    def track(
        self,
        turns: Sequence[Turn],
        *,
        session: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        task: str | None = None,
        history: bool = False,
    ) -> TrackReport:
        """Store the turns that are not stored yet: each verbatim, in its own drawer, all in one transaction.

        A turn is identified by session, message id and content. Storing it again does nothing; the same id with
        different content is a revision, which supersedes the old drawer. Turns that cannot be stored are listed in the
        report's `rejected`. Nothing is stored for an agent or a space whose settings turn tracking off.

        Args:
            turns: Messages in the order they were said.
            session: The conversation, such as a LangGraph thread_id; None for the current unnamed one.
            project: What it is about, if known. A session is filed in the wing of its first project, and its turns
                belong to that until another is named.
            agent: Which agent the user is talking to, if there are several; by default that of the space.
            task: Id of the task that these turns are part of; see `tasks`.
            history: True if the turns are the whole conversation so far, or its last part, and their message ids may
                be new on each call: turns already stored with the same role and content are then recognised.

        Raises:
            StorageError: Nothing was stored. It is safe to call again.
            InvalidInput: `turns` contains something other than turns, or another argument is not a text.
        """
        from langmem_tiers.writing.tracking import Conversation, track

        conversation = Conversation(
            session=arguments.optional_text(session, "session"),
            project=arguments.optional_name(project, "project"),
            agent=arguments.optional_text(agent, "agent") or self.agent,
            task=arguments.optional_name(task, "task"),
            history=arguments.flag(history, "history"),
        )
        context = self.context.of_agent(conversation.agent)
        if not context.settings.tracks:
            return TrackReport(session=conversation.session or "")
        return track(context, turns, conversation)

    atrack = twin(track)

    def recall(
        self,
        query: str,
        *,
        session: str | None = None,
        message_id: str | None = None,
        window: Collection[str] | None = None,
        bare: Collection[str] = (),
        now: datetime | None = None,
        as_of: When | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        token_budget: int | None = None,
        keep_receipt: bool = True,
    ) -> Recalled:
        """Find what the memory knows about a user message: a fenced block for the prompt, with a receipt.

        Within a session nothing is recalled twice. The same session, message id and text return the same block and
        count once, unless it shows a fallback that is no longer read. If nothing matches, the block is empty, on the
        first turn of a session as on any other.

        Args:
            query: The user message.
            session: The conversation it belongs to. What this session was already shown is not recalled again.
            message_id: Its id in the conversation.
            window: Ids of the messages that the model sees anyway; None means the last turns of the session
                (`Settings.window.turns`).
            bare: Ids from the window whose recalled blocks the model no longer sees.
            now: The moment to measure recency from; by default, `as_of` or the memory's clock.
            as_of: Recall what the memory knew at this moment, or at the end of this day, month or year ("2026-03"):
                nothing that was said later, and what held then even if it no longer does. What was deleted since does
                not come back.
            limit: The maximum number of items; overrides the setting.
            threshold: The score that the best item must reach, 0 to 1; overrides the setting. 0 shows whatever is
                found.
            token_budget: The maximum size of the block in tokens; overrides the setting.
            keep_receipt: False leaves no trace in the space.

        Raises:
            NaiveDatetime: `now` or `as_of` has no time zone.
            InvalidPeriod: `as_of` is no date.
            InvalidInput: `query` is not a text, or another argument has the wrong type or is out of range.
        """
        from langmem_tiers.language.periods import asked_moment
        from langmem_tiers.recall.pipeline import recall
        from langmem_tiers.recall.request import RecallRequest
        from langmem_tiers.trust import secrets

        said, settings = arguments.any_text(query, "query"), self.context.settings
        told_by = None if as_of is None else asked_moment(as_of, "as_of", now=self.context.now)
        request = RecallRequest.of(
            settings,
            query=said if settings.privacy.drawers == "keep" else secrets.mask(said),
            session=arguments.optional_text(session, "session"),
            message_id=arguments.optional_text(message_id, "message_id"),
            window=None if window is None else arguments.texts(window, "window"),
            bare=arguments.texts(bare, "bare"),
            now=arguments.optional_moment(now, "now") or told_by or self.context.now,
            until=told_by,
            limit=arguments.optional_whole(limit, "limit", least=1),
            threshold=None if threshold is None else arguments.share(threshold, "threshold"),
            token_budget=arguments.optional_whole(token_budget, "token_budget", least=1),
            keep_receipt=arguments.flag(keep_receipt, "keep_receipt"),
            rerank=True,
        )
        return recall(self.context, request)

    arecall = twin(recall)

    def search(
        self,
        query: str | None = None,
        *,
        layer: Layer | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        task: str | None = None,
        limit: int = 10,
    ) -> tuple[LayerFound, ...]:
        """Search the identity (L0), the knowledge (L1) and the archive (L2); the best results come first.

        Knowledge and archive are those of the space and of its fallbacks. Unlike `recall` this leaves no trace.
        `knowledge.search` and `archive.search` have more filters for their own layer. To find what was said word for
        word, use `recall`.

        Args:
            query: What to look for; without it, the results are the newest of each layer, layer by layer.
            layer: Search only this layer.
            since: Ignore what was last changed, or ended, before this. Also leaves out the identity: its lines have no
                dates.
            until: Ignore what was changed, or began, after this. Also leaves out the identity.
            project: Only what is of this project. Also leaves out the identity.
            task: Only what is of the task with this id. Also leaves out the identity.
            limit: The maximum number of results.

        Raises:
            NaiveDatetime: A time has no time zone.
            InvalidInput: Another argument is invalid.
        """
        from langmem_tiers import layers

        asked = "" if query is None else arguments.any_text(query, "query")
        only: Layer | None = None if layer is None else arguments.one_of(layer, "layer", get_args(layers.Layer))
        most = arguments.whole(limit, "limit", least=1)
        about = {"project": arguments.optional_name(project, "project"), "task": arguments.optional_name(task, "task")}
        return layers.search(self.context, asked, only, since=since, until=until, **about, limit=most)

    asearch = twin(search)

    def source(self, name: str) -> Space:
        """Return the space itself or one of its fallbacks by its name, such as the `space` of a search result.

        Raises:
            InvalidPointer: It is neither.
        """
        return Space(self.memory, self.context.source(arguments.text(name, "name")))

    def resolve_reference(self, reference: str) -> tuple[str, tuple[Space, ...]]:
        """Return an id or pointer without the name of a space, and where to look for it.

        `3f2a9c01d4e5@teams/research` is in that fallback, `3f2a9c01d4e5` in the space or else in one of its fallbacks,
        `§W-001/R-02/D-003` in the space.

        Raises:
            InvalidPointer: It names another space.
        """
        from langmem_tiers.knowledge.fallbacks import resolve_reference

        name, sources = resolve_reference(self.context, arguments.text(reference, "reference"))
        return name, tuple(Space(self.memory, each) for each in sources)

    def drawer(self, which: int | str) -> Drawer | None:
        """Return a drawer by its number or AAAK pointer (`§W-001/R-02/D-003`), or None.

        A pointer that names one of the fallbacks (`§W-001/R-02/D-003@teams/research`) leads there.

        Raises:
            InvalidPointer: `which` is a text but neither of these, it points to a room, or names another space.
            InvalidInput: `which` is neither a text nor a whole number.
        """
        from langmem_tiers.palace.lookup import look_up

        return look_up(self.context, which)

    def drawers(
        self, *, session: str | None = None, project: str | None = None, task: str | None = None
    ) -> tuple[Drawer, ...]:
        """Return all drawers of a session, a project or a task, or of the space, in the order they were stored."""
        from langmem_tiers.storage import drawers

        wanted = {
            "session": arguments.optional_text(session, "session"),
            "project": arguments.optional_name(project, "project"),
            "task": arguments.optional_name(task, "task"),
        }
        with self.context.open() as store, store.reading() as connection:
            return tuple(drawers.every(connection, store.key, **wanted))

    def ended(self, known: Iterable[Drawer]) -> dict[int, tuple[str, ...]]:
        """For each drawer by number, what says that it no longer holds, as blocks show it; empty if nothing does.

        Raises:
            InvalidInput: `known` holds something else, or a drawer of a fallback.
        """
        from langmem_tiers.knowledge import standing
        from langmem_tiers.storage.change_log import moment

        given = arguments.instances(known, "known", Drawer, "drawers")
        foreign = next((each.pointer for each in given if parse_pointer(each.pointer).space is not None), None)
        if foreign is not None:
            raise InvalidInput(
                f"{foreign} is in another space.", way_out="Ask the space that it is in: `source(name)`."
            )
        about = {each.number for each in given}
        with self.context.open() as store, store.reading() as connection:
            over = standing.in_drawers(store, moment(connection, store.key), about, self.context.clock())
        return {number: over.get(number, ()) for number in about}

    def sessions(self) -> tuple[Session, ...]:
        """Return all conversations, in the order they were opened."""
        from langmem_tiers.storage import rooms

        idle = self.context.settings.sessions.idle_minutes * 60_000
        now = to_millis(self.context.clock())
        with self.context.open() as store, store.reading() as connection:
            wings = {wing.number: wing.name for wing in rooms.every_wing(connection, store.key)}
            found = rooms.every(connection, store.key)
        return tuple(tree.session(room, wings[room.wing], idle_since=now - idle) for room in found)

    def end_session(self, session: str) -> None:
        """Mark a conversation as over; a later message reopens it. An unknown session is not an error."""
        from langmem_tiers.storage import change_log, rooms

        ended, now = arguments.text(session, "session"), to_millis(self.context.clock())
        with self.context.open() as store, store.writing() as connection:
            room = rooms.of_session(connection, store.key, ended)
            if room is not None and room.ended_at is None:
                rooms.end(connection, store.key, room.number, now)
                change_log.append(connection, store.key, "session.ended", room.number, at=now)

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
            project: Only messages of this project.
            query: Messages and entries that have all these words, or whose meaning is near (`QUERY_BAR`).
            entries: Ids of entries, by themselves.
            confirm: The token of a preview; True to delete without having seen one.

        Raises:
            ForgetChanged: What would go is no longer what the token stands for. Nothing was deleted.
            InvalidInput: No argument says what to forget, or one is invalid.
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
        return replace(receipt, backups=backups.holding(self.context.folder, self.name))

    aforget = twin(forget)

    @property
    def archive(self) -> Episodes:
        """Summaries of what each session and task was about."""
        from langmem_tiers.knowledge.episodes import Episodes

        return Episodes(self.context)

    def report(
        self,
        period: When | None = None,
        *,
        since: When | None = None,
        until: When | None = None,
        kind: ReportKind = "all",
        project: str | None = None,
        limit: int = 100,
    ) -> Report:
        """Say what happened in a period: its sessions and tasks with dates and abstracts, and what was decided.

        Sessions that go on or are not archived yet are in it, too, and are marked. No model is asked.

        Args:
            period: Words such as "last week", "this month" or "the last 3 days", or a date such as "2026-03".
            since: Instead of a period, where it begins: such words, a date, or a datetime with a zone.
            until: Where it ends, by default now; of a day, month or year, its end.
            kind: "tasks" leaves out sessions.
            project: Only sessions and tasks of this project.
            limit: The maximum number of sessions, and of tasks; older ones are counted in `left_out`.

        Raises:
            InvalidPeriod: It is no period, is given twice or not at all, or ends before it begins.
            NaiveDatetime: A time has no time zone.
            InvalidInput: Another argument is invalid.
        """
        from langmem_tiers.knowledge import reporting

        about = {"kind": kind, "project": project, "limit": limit}
        return reporting.report(self.context, period, since=since, until=until, **about)  # type: ignore[arg-type]

    areport = twin(report)

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
            arguments.path(folder, "folder"),
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

    def usage(self, *, days: int | None = None, by: UsageBy = "source") -> tuple[UsageLine, ...]:
        """Return what models used for this space: calls and tokens, by source, day, session or model.

        Args:
            days: Only the last so many days, counting today (UTC) as the first; None for all time.
            by: What each line adds up.

        Raises:
            InvalidInput: `days` is not a whole number from 1 to 36,500, or `by` is not one of these words.
        """
        from langmem_tiers.models.usage import UsageBook
        from langmem_tiers.storage.usages import UsageBy

        back = arguments.optional_whole(days, "days", least=1, most=_MOST_DAYS)
        since = None if back is None else (self.context.clock() - timedelta(days=back - 1)).date()
        known: UsageBy = arguments.one_of(by, "by", get_args(UsageBy))
        with self.context.open() as store:
            if store.writable:
                self.context.tally.book(self.name, store.database)
            return tuple(UsageBook(store.database).summary(since=since, by=known))

    def palace(self) -> tuple[PalaceWing, ...]:
        """Return the tree: wings, with their rooms, their closets and their drawers."""
        from langmem_tiers.storage import drawers, rooms

        with self.context.open() as store, store.reading() as connection:
            key = store.key
            wings, found = rooms.every_wing(connection, key), rooms.every(connection, key)
            held = drawers.every(connection, key)
        return tree.palace(wings, found, held)

    def receipts(
        self, *, session: str | None = None, before: int | None = None, limit: int = 20
    ) -> tuple[Receipt, ...]:
        """Return the receipts of the latest recalls, newest first.

        Args:
            session: Only those of this conversation.
            before: Only those older than the receipt with this number: the next piece of a long list.
            limit: The most receipts.

        Raises:
            InvalidInput: `limit` or `before` is below 1, or `session` is no text.
        """
        from langmem_tiers.storage import receipts

        most = arguments.whole(limit, "limit", least=1)
        of = arguments.optional_text(session, "session")
        older = arguments.optional_whole(before, "before", least=1)
        with self.context.open() as store, store.reading() as connection:
            return tuple(receipts.latest(connection, store.key, most, session=of, before=older))

    def receipt(self, number: int) -> Receipt | None:
        """Return the receipt of a recall by its number, or None if there is none, or no longer."""
        from langmem_tiers.storage import receipts

        wanted = arguments.whole(number, "number")
        with self.context.open() as store, store.reading() as connection:
            return receipts.one(connection, store.key, wanted)

    def receipt_block(self, number: int) -> str | None:
        """Return the block that a recall gave, as the model saw it, by the number of its receipt; None if that is gone.

        It is empty if nothing was shown.
        """
        from langmem_tiers.storage import receipts

        wanted = arguments.whole(number, "number")
        with self.context.open() as store, store.reading() as connection:
            return receipts.block(connection, store.key, wanted)

    def positions(self) -> SpacePositions:
        """Return how far the space has come; a fraction of a millisecond, to be asked every second or so.

        If a number differs from the last time, there is something new, also if another process wrote it.
        """
        from langmem_tiers.storage.positions import positions

        with self.context.open() as store, store.reading() as connection:
            return positions(connection, store.key)

    def why(self, receipt: int | None = None, of: int | str | None = None) -> Explanation:
        """Explain why a recall showed a memory, or why not; without `of`, why it showed what it did.

        What the receipt does not hold is looked for by making the recall again, on what was stored by then; that leaves
        no trace. The result says so (`repeated`), and what has changed since (`changed`).

        Args:
            receipt: The number of the recall, as `receipts` gives it; None for the last one.
            of: The memory: a pointer (`§W-001/R-02/D-003`), the number of a drawer, the id of an entry, a relation, an
                episode or an entity, the path of a document, or words of it.

        Raises:
            UnknownReceipt: There is no such recall, no longer, or none yet.
            UnknownMemory: Nothing is stored, nor was looked at, that `of` may mean.
            InvalidPointer: `of` points to a room, or into another space.
            InvalidInput: An argument has the wrong type, or is blank or below 1.
        """
        from langmem_tiers.recall import why

        number = arguments.optional_whole(receipt, "receipt", least=1)
        meant = of if of is None or isinstance(of, str) else arguments.whole(of, "of", least=1)
        return why.why(self.context, number, arguments.text(meant, "of") if isinstance(meant, str) else meant)

    awhy = twin(why)

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

    def stats(self) -> SpaceStats:
        """Return counts and sizes."""
        from langmem_tiers.maintenance.stats import stats

        with self.context.open() as store:
            return stats(store, self.context.embedding_model)

    def doctor(self) -> tuple[Finding, ...]:
        """Check every projection against the records. Each finding is fine, worth knowing, or a problem."""
        from langmem_tiers.maintenance.doctor import examine

        with self.context.open() as store:
            return examine(store, self.context.embedding_model)

    def rebuild(self) -> tuple[str, ...]:
        """Rebuild the keyword index and the Chroma folder from the records. Returns a line for each thing done.

        Vectors are taken from the embedding cache; any that are missing or unusable are embedded again later.
        """
        from langmem_tiers.maintenance.rebuild import rebuild

        with self.context.open() as store:
            chunk_characters = self.context.settings.text.chunk_characters
            lines = rebuild(store, self.context.embedding_model, chunk_characters=chunk_characters)
        self.context.wake()
        return lines

    def prompt_block(self, *, task: str | None = None) -> str:
        """Return the part for every system prompt: identity, profile and `MEMORY.md`, fenced; empty without any.

        `Settings.recall.layers` says which of them. With the id of an open `task`, it ends with how far that has come.
        """
        layers = self.context.settings.recall.layers if self.enabled else ()
        parts = (
            self.identity.prompt_block() if "identity" in layers else "",
            self.profile.prompt_block() if "profile" in layers else "",
            self.documents.prompt_block() if "documents" in layers else "",
            self.tasks.prompt_block(task) if self.enabled and task is not None else "",
        )
        return "\n\n".join(part for part in parts if part)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the background work of this space is done. See `Memory.flush`.

        Raises:
            AccessDenied: Whoever it is for has no role in the space.
            UnknownSpace: There is no such space, and whoever it is for may not make one.
        """
        if self.context.role() != "leader":
            with self.context.use():
                pass  # to be refused without a role, and where there is no such space
        return self.memory.finish({self.name}, arguments.seconds(timeout, "timeout"))
