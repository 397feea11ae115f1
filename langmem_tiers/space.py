"""One space: storing turns, recalling them, and looking at what is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.palace import tree
from langmem_tiers.twins import twin
from langmem_tiers.types import (
    Drawer,
    Finding,
    PalaceWing,
    Recalled,
    Receipt,
    Session,
    SpaceStats,
    TrackReport,
    Turn,
)

if TYPE_CHECKING:
    from langmem_tiers.dream.golden import Golden
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.knowledge.documents import Documents
    from langmem_tiers.knowledge.episodes import Episodes
    from langmem_tiers.knowledge.identity import Identity
    from langmem_tiers.knowledge.knowledge import Knowledge
    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
    from langmem_tiers.layers import Layer, LayerFound
    from langmem_tiers.models.usage import UsageLine
    from langmem_tiers.records import MiningReport
    from langmem_tiers.runtime import Runtime
    from langmem_tiers.storage.usages import UsageBy

# How far `usage` looks back at most: a hundred years.
_MOST_DAYS = 36_500


class Space:
    """One isolated memory, such as `users/alice`; a light handle, of which there may be many.

    All methods may be called from any thread. Those with a twin named `a…` block for a few milliseconds; the twin does
    the same in a thread.
    """

    def __init__(self, memory: Runtime, name: str, *, fallbacks: tuple[str, ...] = ()) -> None:
        self.memory = memory
        self.name = name
        self.fallbacks = fallbacks
        self.context = memory.context(name, fallbacks=fallbacks)

    def __repr__(self) -> str:
        return f"Space({self.name!r})"

    @property
    def knowledge(self) -> Knowledge:
        """What is known: facts, preferences and conventions, each with what it rests on."""
        from langmem_tiers.knowledge.knowledge import Knowledge

        return Knowledge(self.context)

    @property
    def graph(self) -> KnowledgeGraph:
        """Who and what is spoken of, how they relate, since when and until when."""
        from langmem_tiers.knowledge_graph.graph import KnowledgeGraph

        return KnowledgeGraph(self.context)

    @property
    def identity(self) -> Identity:
        """Who the user is: a short text that is always before the model."""
        from langmem_tiers.knowledge.identity import Identity

        return Identity(self.context)

    @property
    def documents(self) -> Documents:
        """Notes as in an agent's folder, such as `MEMORY.md`."""
        from langmem_tiers.knowledge.documents import Documents

        return Documents(self.context)

    @property
    def golden(self) -> Golden:
        """Questions that a dream must not make worse."""
        from langmem_tiers.dream.golden import Golden

        return Golden(self.context)

    def track(
        self,
        turns: Sequence[Turn],
        *,
        session: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        history: bool = False,
    ) -> TrackReport:
        """Store every turn that is not stored yet, each verbatim in a drawer of its own, in one transaction.

        A turn is known by session, message id and content: repeating it does nothing, the same id with other content
        is a revision that supersedes the old drawer. Turns that can not be stored are in the report's `rejected`.

        Args:
            turns: Messages in the order they were said.
            session: The conversation, such as a LangGraph thread_id; None for the current unnamed one.
            project: What it is about, if known: the wing it is filed in.
            agent: Who the user talks to, if there are several.
            history: The turns are the conversation as its host holds it, or its end, whose message ids may be new each
                time: what is stored by role and content at that place is not stored again.

        Raises:
            StorageError: nothing was stored; calling again stores nothing twice.
            InvalidInput: `turns` holds something else than turns, or another argument is no text.
        """
        from langmem_tiers.writing.tracking import Conversation, track

        conversation = Conversation(
            session=arguments.optional_text(session, "session"),
            project=arguments.optional_text(project, "project"),
            agent=arguments.optional_text(agent, "agent"),
            history=arguments.flag(history, "history"),
        )
        return track(self.context, turns, conversation)

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
        until: datetime | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        token_budget: int | None = None,
        fallback: bool = True,
        keep_receipt: bool = True,
    ) -> Recalled:
        """What the memory holds on a user message, as a fenced block, with a receipt.

        Within a session nothing is recalled twice. The same session, message id and text give the same block again,
        and count once. On the first turn of a session, when nothing matches, the user's latest words elsewhere are
        given instead (`Settings.recall.first_turn_fallback`), and the block says so.

        Args:
            query: The user message.
            session: The conversation it belongs to; what this session has before it already is not recalled again.
            message_id: Its id in the conversation.
            window: Ids of the messages that the model sees anyway; None means the last turns of the session
                (`Settings.window.turns`).
            bare: Those of the window that the model sees without what was recalled for them.
            now: The moment that recency counts from; the memory's clock by default.
            until: Leave out what was said later.
            limit: Most items, instead of the setting.
            threshold: What the best item has to score, 0 to 1, instead of the setting; 0 shows whatever is found.
            token_budget: Most tokens of the block, instead of the setting.
            fallback: False recalls nothing on a session's first turn when nothing matches.
            keep_receipt: False leaves no trace in the space.

        Raises:
            NaiveDatetime: `now` or `until` has no time zone.
            InvalidInput: `query` is no text, or another argument is of another type or out of range.
        """
        from langmem_tiers.recall.pipeline import recall
        from langmem_tiers.recall.request import RecallRequest
        from langmem_tiers.trust import secrets

        said, settings = arguments.any_text(query, "query"), self.context.settings
        request = RecallRequest.of(
            settings,
            query=said if settings.privacy.drawers == "keep" else secrets.mask(said),
            session=arguments.optional_text(session, "session"),
            message_id=arguments.optional_text(message_id, "message_id"),
            window=None if window is None else arguments.texts(window, "window"),
            bare=arguments.texts(bare, "bare"),
            now=arguments.optional_moment(now, "now") or self.context.now,
            until=arguments.optional_moment(until, "until"),
            limit=arguments.optional_whole(limit, "limit", least=1),
            threshold=None if threshold is None else arguments.share(threshold, "threshold"),
            token_budget=arguments.optional_whole(token_budget, "token_budget", least=1),
            fallback=arguments.flag(fallback, "fallback"),
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
        limit: int = 10,
    ) -> tuple[LayerFound, ...]:
        """What is known that fits a query, best first: in the identity (L0), the knowledge (L1) and the archive (L2).

        Nothing is noted of it, as of a recall. `knowledge.search` and `archive.search` have more filters for their
        layer; what was said word for word is found by `recall`.

        Args:
            query: What is asked; without it, layer by layer, the newest of each come first.
            layer: The one layer to look into.
            since: Leave out what was changed, or ended, before; the identity is left out, as its lines have no dates.
            until: Leave out what was changed, or began, later; the identity likewise.
            limit: Most results.

        Raises:
            NaiveDatetime: a time has no zone.
            InvalidInput: an argument can not be used.
        """
        from langmem_tiers import layers

        asked = "" if query is None else arguments.any_text(query, "query")
        only: Layer | None = None if layer is None else arguments.one_of(layer, "layer", get_args(layers.Layer))
        most = arguments.whole(limit, "limit", least=1)
        return layers.search(self.context, asked, only, since=since, until=until, limit=most)

    asearch = twin(search)

    def drawer(self, which: int | str) -> Drawer | None:
        """A drawer by number or AAAK pointer (`§W-001/R-02/D-003`), None when there is none.

        Raises:
            InvalidPointer: `which` is a text that is neither, or the pointer of a room.
            InvalidInput: it is neither text nor whole number.
        """
        from langmem_tiers.palace.lookup import find_drawer

        return find_drawer(self.context, which)

    def drawers(self, *, session: str | None = None) -> tuple[Drawer, ...]:
        """All drawers of a session, or of the space, in the order they were stored."""
        from langmem_tiers.storage import drawers

        wanted = arguments.optional_text(session, "session")
        with self.context.open() as store, store.reading() as connection:
            return tuple(drawers.of_session(connection, store.key, wanted))

    def sessions(self) -> tuple[Session, ...]:
        """All conversations, in the order they were opened."""
        from langmem_tiers.storage import rooms

        idle = self.context.settings.sessions.idle_minutes * 60_000
        now = to_millis(self.context.clock())
        with self.context.open() as store, store.reading() as connection:
            wings = {wing.number: wing.name for wing in rooms.every_wing(connection, store.key)}
            found = rooms.every(connection, store.key)
        return tuple(tree.session(room, wings[room.wing], idle_since=now - idle) for room in found)

    def end_session(self, session: str) -> None:
        """Note that a conversation is over; a later message opens it again. An unknown one is no error."""
        from langmem_tiers.storage import change_log, rooms

        ended, now = arguments.text(session, "session"), to_millis(self.context.clock())
        with self.context.open() as store, store.writing() as connection:
            room = rooms.of_session(connection, store.key, ended)
            if room is not None and room.ended_at is None:
                rooms.end(connection, store.key, room.number, now)
                change_log.append(connection, store.key, "session.ended", room.number, at=now)

    @property
    def archive(self) -> Episodes:
        """What sessions and tasks were about: a summary of each."""
        from langmem_tiers.knowledge.episodes import Episodes

        return Episodes(self.context)

    def mine(self, session: str | None = None) -> tuple[MiningReport, ...]:
        """Look now for what is worth keeping, in a session or in all, instead of when conversations pause.

        What was looked at before is not looked at again. With a model this waits for it.
        """
        from langmem_tiers.writing.mining import Miner, mine

        wanted = arguments.optional_text(session, "session")
        with self.context.open() as store:
            reports = mine(Miner.of(self.context, store), wanted)
        self.context.wake()
        return reports

    def dream(self, *, dry_run: bool = False) -> DreamReport:
        """Consolidate the space now: merge and retire entries, infer preferences, take up episodes, tend the graph.

        What a model or rules propose is judged, capped and applied in one transaction, unless recall would become
        worse by it. Only one dream is under way in a space at a time: another one is `skipped`. With a model this
        waits for it.

        Args:
            dry_run: Change nothing, and report what would change (`previewed`).

        Raises:
            LeaseLost: it took so long that another dream began; nothing was written.
            StorageError: nothing was written.
        """
        from langmem_tiers.dream import run

        return run.dream(self.context, dry_run=arguments.flag(dry_run, "dry_run"))

    def dreams(self, *, limit: int = 20) -> tuple[DreamReport, ...]:
        """What became of the last dreams, newest first: what each decided, refused and why, and what it cost.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        from langmem_tiers.dream import undo

        return undo.latest(self.context, limit=limit)

    def undo_dream(self, dream_id: str) -> DreamReport:
        """Put back what a dream changed, byte for byte, in one transaction; what recalls have counted since stays.

        Raises:
            UnknownDream: there is none of this id.
            InvalidInput: it was undone already, or changed nothing.
            DreamConflict: later changes touched the same records; it names them, and nothing was put back.
        """
        from langmem_tiers.dream import undo

        return undo.undo(self.context, dream_id)

    def redo_dream(self, dream_id: str) -> DreamReport:
        """Let a dream that was undone hold again, with the same ids and words; no model is asked.

        Raises:
            UnknownDream: there is none of this id.
            InvalidInput: it was not undone.
            DreamConflict: later changes touched the same records; it names them, and nothing was changed.
        """
        from langmem_tiers.dream import undo

        return undo.redo(self.context, dream_id)

    adream = twin(dream)
    adreams = twin(dreams)
    aundo_dream = twin(undo_dream)
    aredo_dream = twin(redo_dream)

    def usage(self, *, days: int | None = None, by: UsageBy = "source") -> tuple[UsageLine, ...]:
        """What models took for this space, in the last `days` days or ever, by source, day, session or model.

        Today (UTC) is the first of the days.

        Raises:
            InvalidInput: `days` is no whole number from 1 to 36,500, or `by` is none of these words.
        """
        from langmem_tiers.models.usage import UsageBook
        from langmem_tiers.storage.usages import UsageBy

        back = arguments.optional_whole(days, "days", least=1, most=_MOST_DAYS)
        since = None if back is None else (self.context.clock() - timedelta(days=back - 1)).date()
        known: UsageBy = arguments.one_of(by, "by", get_args(UsageBy))
        with self.context.open() as store:
            self.context.tally.book(self.name, store.database)
            return tuple(UsageBook(store.database).summary(since=since, by=known))

    def palace(self) -> tuple[PalaceWing, ...]:
        """The tree: wings, their rooms, their closets, their drawers."""
        from langmem_tiers.storage import drawers, rooms

        with self.context.open() as store, store.reading() as connection:
            key = store.key
            wings, found = rooms.every_wing(connection, key), rooms.every(connection, key)
            held = drawers.of_session(connection, key, None)
        return tree.palace(wings, found, held)

    def receipts(self, *, limit: int = 20) -> tuple[Receipt, ...]:
        """The receipts of the last recalls, newest first.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        from langmem_tiers.storage import receipts

        most = arguments.whole(limit, "limit", least=1)
        with self.context.open() as store, store.reading() as connection:
            return tuple(receipts.latest(connection, store.key, most))

    def receipt(self, number: int) -> Receipt | None:
        """The receipt of a recall, None when there is none of this number (any more)."""
        from langmem_tiers.storage import receipts

        wanted = arguments.whole(number, "number")
        with self.context.open() as store, store.reading() as connection:
            return receipts.one(connection, store.key, wanted)

    def stats(self) -> SpaceStats:
        """Counts and sizes."""
        from langmem_tiers.maintenance.stats import stats

        with self.context.open() as store:
            return stats(store, self.context.embedding_model)

    def doctor(self) -> tuple[Finding, ...]:
        """Check every projection against the records: what is well, what is worth knowing, what is off."""
        from langmem_tiers.maintenance.doctor import examine

        with self.context.open() as store:
            return examine(store, self.context.embedding_model)

    def rebuild(self) -> tuple[str, ...]:
        """Build the keyword index and the Chroma folder anew from the records; a line for each thing done.

        Vectors come from the embedding cache; those that are missing or unusable there are embedded again later.
        """
        from langmem_tiers.maintenance.rebuild import rebuild

        with self.context.open() as store:
            chunk_characters = self.context.settings.text.chunk_characters
            lines = rebuild(store, self.context.embedding_model, chunk_characters=chunk_characters)
        self.context.wake()
        return lines

    def profile(self) -> str:
        """What belongs into every system prompt: the identity and `MEMORY.md`, fenced; empty where there is neither."""
        return "\n\n".join(part for part in (self.identity.prompt_block(), self.documents.prompt_block()) if part)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the background work of this space is done; see `Memory.flush`."""
        return self.memory.finish({self.name}, arguments.seconds(timeout, "timeout"))
