"""The memory as a LangChain retriever."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, get_args

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from pydantic import Field

from langmem_tiers import arguments
from langmem_tiers.graphs.runs import described
from langmem_tiers.integrations.inputs import FallbacksField, SpaceField, UserField, scope_of
from langmem_tiers.knowledge.results import EntryFound, EpisodeFound
from langmem_tiers.memory import Memory
from langmem_tiers.pointers import beside
from langmem_tiers.recall.message_search import search_messages
from langmem_tiers.space import Space
from langmem_tiers.threads import to_thread
from langmem_tiers.types import Drawer

Tier = Literal["drawers", "entries", "episodes", "all"]

_WAY_OUT = (
    "Pass config={'configurable': {'user_id': ...}} to the retriever or its chain, or give the retriever its user: "
    "TieredRetriever(memory=memory, user_id=…)."
)


class TieredRetriever(BaseRetriever):
    """The messages, entries and episodes that fit a query best, as documents.

    A document has the text verbatim, the pointer or id as its `id`, and as `metadata` always `tier`, `space`, `score`
    (0 to 1), `date` (ISO 8601, UTC), `pointer`, `session` and `role`, of which the last three can be None: an entry
    has the pointer and session of the message that it rests on, if there is one. Ids and pointers of a fallback end
    with its name, as `§W-001/R-02/D-003@teams/research`. Nothing is noted of a retrieval.

    Attributes:
        memory: the open memory.
        user_id: whose it is; a function is asked each time. By default the run says, as for `recall_node`.
        space: instead of the user's own one.
        fallbacks: further spaces to search; by default those of the settings.
        k: most documents; `retriever.invoke(query, k=3)` asks for another number once.
        tier: where to look; for one call `retriever.invoke(query, tier="entries")`.
        threshold: leave out what scores less; by default the best `k` are given, whatever they score.
        project: only what is of this project.
        task: only what is of the task with this id.
        keep_receipt: leave a receipt of what was looked at among the messages, and count what was found as recalled.

    Example:
        >>> retriever = TieredRetriever(memory=memory, user_id="alice", k=3)  # doctest: +SKIP
    """

    memory: Memory = Field(exclude=True, repr=False)
    user_id: UserField = None
    space: SpaceField = None
    fallbacks: FallbacksField = None
    k: int = Field(default=4, ge=1)
    tier: Tier = "drawers"
    threshold: float = Field(default=0.0, ge=0, le=1)
    project: str | None = None
    task: str | None = None
    keep_receipt: bool = False
    tags: list[str] | None = Field(default_factory=lambda: ["langmem-tiers", "memory"])

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents, best first.

        Raises:
            MissingUser: no user is named.
            InvalidInput: `k` or `tier` cannot be used.
        """
        of = self._space_of(config)
        return super().invoke(input, described(self.memory, "retrieve", config, space=of.name), of=of, **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """`invoke` in a thread."""
        of = self._space_of(config)
        return await super().ainvoke(input, described(self.memory, "retrieve", config, space=of.name), of=of, **kwargs)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        of: Space | None = None,
        k: int | None = None,
        tier: Tier | None = None,
    ) -> list[Document]:
        most = self.k if k is None else arguments.whole(k, "k", least=1)
        where: Tier = self.tier if tier is None else arguments.one_of(tier, "tier", get_args(Tier))
        found = self._found(of or self._space_of(None), arguments.any_text(query, "query"), most, where)
        fit = [each for each in found if each.metadata["score"] >= self.threshold]
        return sorted(fit, key=lambda each: -each.metadata["score"])[:most]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        return await to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **asked)

    def _space_of(self, config: RunnableConfig | None) -> Space:
        scope = scope_of(config, space=self.space, user_id=self.user_id, way_out=_WAY_OUT)
        return self.memory.space(scope.space, agent=scope.agent, fallbacks=self.fallbacks, caller=scope.caller)

    def _found(self, space: Space, query: str, most: int, tier: Tier) -> Iterator[Document]:
        if not (query.strip() and space.enabled):
            return
        about: dict[str, Any] = {"project": self.project, "task": self.task}
        if tier in ("drawers", "all"):
            how: dict[str, Any] = {"threshold": self.threshold, "keep_receipt": self.keep_receipt, **about}
            found = search_messages(space.context, query, limit=most, **how)
            for item in found:
                drawer, score = item.drawer, item.score
                made = _document(item.space, "drawers", drawer.pointer, drawer.content, score, drawer.said_at, drawer)
                made.metadata |= {"role": drawer.role, "ended": list(item.ended)}
                yield made
        if tier in ("entries", "all"):
            yield from (_of_entry(space, each) for each in space.knowledge.search(query, limit=most, **about))
        if tier in ("episodes", "all"):
            yield from (_of_episode(space, each) for each in space.archive.search(query, limit=most, **about))


def _source(space: Space, found: EntryFound | EpisodeFound, number: int | None) -> Drawer | None:
    """The message that something rests on, with its pointer as the space asked is to write it."""
    drawer = None if number is None else space.source(found.space).drawer(number)
    if drawer is None or found.space == space.name:
        return drawer
    return replace(drawer, pointer=beside(drawer.pointer, found.space))


def _id(space: Space, found: EntryFound | EpisodeFound, name: str) -> str:
    return name if found.space == space.name else beside(name, found.space)


def _of_entry(space: Space, found: EntryFound) -> Document:
    entry = found.entry
    source = _source(space, found, entry.evidence[0].drawer if entry.evidence else None)
    name = _id(space, found, entry.id)
    made = _document(found.space, "entries", name, entry.content, found.score, entry.updated_at, source)
    made.metadata |= {"category": entry.category, "tags": list(entry.tags), "ended": list(found.ended)}
    return made


def _of_episode(space: Space, found: EpisodeFound) -> Document:
    episode = found.episode
    first = _source(space, found, episode.first_drawer)
    text, name = episode.summary or episode.abstract, _id(space, found, episode.id)
    made = _document(found.space, "episodes", name, text, found.score, episode.ended_at, first)
    made.metadata |= {"session": episode.session, "abstract": episode.abstract, "topics": list(episode.topics)}
    made.metadata["ended"] = list(found.ended)
    return made


def _document(
    space: str, tier: Tier, name: str, text: str, score: float, at: datetime, drawer: Drawer | None
) -> Document:
    metadata = {
        "tier": tier,
        "space": space,
        "score": score,
        "date": at.isoformat(),
        "pointer": None if drawer is None else drawer.pointer,
        "session": None if drawer is None else drawer.session,
        "role": None,
    }
    return Document(text, id=name, metadata=metadata)
