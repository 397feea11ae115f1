"""A space: store what is said, recall it, and all that is kept of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from langmem_tiers import arguments, replies
from langmem_tiers.space_records import SpaceRecords
from langmem_tiers.space_upkeep import SpaceUpkeep
from langmem_tiers.twins import twin
from langmem_tiers.types import (
    Recalled,
    TrackReport,
    Turn,
)

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.dream.golden import Golden
    from langmem_tiers.dream.signals import Signals
    from langmem_tiers.knowledge.documents import Documents
    from langmem_tiers.knowledge.identity import Identity
    from langmem_tiers.knowledge.knowledge import Knowledge
    from langmem_tiers.knowledge.profile import Profile
    from langmem_tiers.knowledge.tasks import Tasks
    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
    from langmem_tiers.language.periods import When
    from langmem_tiers.layers import Layer, LayerFound
    from langmem_tiers.runtime import Runtime
    from langmem_tiers.working.working_memory import WorkingMemory

# Turns that are stored after a reply; more of them are brought from elsewhere, and nobody waits for them.
_OF_A_REPLY = 4


class Space(SpaceRecords, SpaceUpkeep):
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
        seen: int | None = None,
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
            seen: With `history`, the number of the session's last drawer when the history was read, 0 for none: what
                was stored since then was said meanwhile, and is no branch that the conversation has left.

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
            seen=arguments.optional_whole(seen, "seen", least=0),
        )
        context = self.context.of_agent(conversation.agent)
        if not context.settings.tracks:
            return TrackReport(session=conversation.session or "")
        many = isinstance(turns, Sized) and len(turns) > _OF_A_REPLY and not conversation.history
        with nullcontext() if many else replies.running():
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
        first turn of a session as on any other. No recall waits for whoever writes in the space: its receipt is
        stored behind it then, and reading `receipt` waits for that.

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

    def prompt_block(self, *, task: str | None = None) -> str:
        """Return the part for every system prompt: identity, profile and `MEMORY.md`, fenced; empty without any.

        `Settings.recall.layers` says which of them. With the id of an open `task`, it ends with how far that has come.
        """
        from langmem_tiers.knowledge.system_prompt import blocks

        if not self.enabled:
            return ""
        layers = {"identity", "profile", "documents"}.intersection(self.context.settings.recall.layers)
        parts = blocks(self.context, layers) if layers else ()
        of_task = "" if task is None else self.tasks.prompt_block(task)
        return "\n\n".join(part for part in (*parts, of_task) if part)

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

    aflush = twin(flush)
