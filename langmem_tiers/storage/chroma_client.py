"""Chroma servers: their collections of vectors, and which of several servers a collection is on."""

from __future__ import annotations

import logging
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np

from langmem_tiers.errors import InvalidInput, ServerUnreachable
from langmem_tiers.paths import is_web_address
from langmem_tiers.storage.chroma_queries import Queries
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.spread import chosen
from langmem_tiers.telemetry.logs import Sparing, say

log = logging.getLogger(__name__)
T = TypeVar("T")
Found = list[tuple[str, float]]
"""The names of vectors, each with its distance, nearest first."""
# Seconds that a search waits for the server, and for which it is left alone when it did not answer.
_PATIENCE, _REST = 2.0, 5.0
# Seconds that the background waits for it.
_LONGEST = 60.0
# Vectors sent at once, and looked for.
_BATCH, _LOOKED_FOR = 500, 100
# How often those that no search finds are sent again, and how far what is found for them is at least.
_AGAIN, _APART = 8, 1e-5
# Metadata of a collection from which vectors were deleted.
_DELETED_FROM = "deleted_from"
_SEARCHES = 32
# Collections that are known without asking the server, 10 KB each: those that were looked up last.
_MOST_KNOWN = 2_000
# What the paths of all requests begin with, behind that of the address.
_API = "/api/v2"


class Place(NamedTuple):
    """The collection that a space is in, by name and id; the id is empty before the first vector."""

    name: str
    id: str

    @classmethod
    def read(cls, held: str) -> Place:
        """The place that a fact names."""
        return cls(*held.split(" ", 1))

    @property
    def shared(self) -> bool:
        """Whether other spaces may be in it."""
        return ".of." not in self.name


class Named(NamedTuple):
    """Vectors as rows, and the name of each in its space."""

    names: Sequence[str]
    matrix: Vectors


class Known(Generic[T]):
    """What was last noted of so many collections; of the others, nothing is known. Thread-safe."""

    def __init__(self) -> None:
        self._noted: dict[str, T] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        """What was noted, None if nothing is known."""
        return self._noted.get(key)

    def note(self, key: str, value: T) -> None:
        """Note it, and forget what was noted longest ago where that is too much."""
        with self._lock:
            self._noted.pop(key, None)
            self._noted[key] = value
            if len(self._noted) > _MOST_KNOWN:
                del self._noted[next(iter(self._noted))]

    def forget(self, key: str) -> None:
        """Forget what was noted of one."""
        with self._lock:
            self._noted.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._noted.clear()


class ChromaServer:
    """A Chroma server, connected to when it is first needed; thread-safe."""

    def __init__(self, address: str) -> None:
        if not is_web_address(address):
            raise InvalidInput(
                "The address of the Chroma server cannot be read.", way_out="Give one such as http://host:8000."
            )
        parts = urlsplit(address)
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        # Chroma's client adds the last part of the path by itself.
        path = parts.path.rstrip("/").removesuffix(_API)
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
        self.where = f"{parts.scheme}://{host}:{self._port}{path}"
        self._headers = _credentials(parts)
        self._client: Any = None
        self._queries: Any = None
        self._collections = Known[Any]()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_SEARCHES, thread_name_prefix="langmem-tiers-chroma")
        self._away_until = 0.0
        self._silent_until = 0.0

    def query(self, place: Place, queries: Vectors, most: int) -> list[Found] | None:
        """For each query the nearest vectors of a collection; None if the one that is meant is not here.

        Raises:
            ServerUnreachable: the server does not answer in time.
        """
        collection = self._at_hand(place) or self._in_time(lambda: self._looked_up(place))
        if collection is None:
            return None
        wanted = {"query_embeddings": [*queries], "n_results": most, "include": ["distances"]}
        try:
            with self._waiting():
                answer = self._queries.ask(collection, wanted)
        except ServerUnreachable as error:
            if error.__cause__ is not None and _is_missing(error.__cause__):  # removed since it was looked up
                return None
            raise
        each = zip(answer["ids"], answer["distances"], strict=True)
        return [list(zip(names, distances, strict=True)) for names, distances in each]

    def ask(self) -> None:
        """Check that the server answers.

        Raises:
            ServerUnreachable: it does not, in time.
        """
        self._in_time(lambda: self._connected().heartbeat())

    def holds(self, place: Place) -> bool:
        """Whether the collection that was filled is here; the server is asked each time.

        Raises:
            ServerUnreachable: it does not answer.
        """
        with self._at_length():
            return self._looked_up(place) is not None

    def begin(self, name: str) -> Place:
        """A collection of this name, which is made if there is none."""
        with self._at_length():
            configuration: Any = {"hnsw": {"space": "cosine", "ef_search": 200, "ef_construction": 200}}
            made = self._connected().get_or_create_collection(
                name, embedding_function=None, configuration=configuration
            )
        self._collections.note(name, made)
        return Place(name, str(made.id))

    def upsert(self, place: Place, mark: str, vectors: Named | None) -> None:
        """Add vectors of a space, replacing those of the same name; those that no search finds are sent again."""
        if vectors is None:
            return
        with self._at_length():
            # As it was looked up a moment ago: for each visit, it is.
            collection = self._at_hand(place) or self._as_it_is(place)
            sent = Named([f"{mark}:{name}" for name in vectors.names], vectors.matrix)
            _send(collection, mark, sent)
            if _DELETED_FROM in (collection.metadata or {}):
                _link_anew(collection, mark, sent)

    def delete(self, place: Place, names: Sequence[str]) -> None:
        """Remove vectors; unknown names are ignored."""
        if names:
            with self._at_length():
                # It refuses one that is named twice.
                self._to_delete_from(place).delete(ids=[*dict.fromkeys(names)])

    def clear(self, place: Place, mark: str) -> None:
        """Remove all vectors of a space, or its collection."""
        with self._at_length():
            if place.shared:
                self._to_delete_from(place).delete(where={"space": mark})
            else:
                self._connected().delete_collection(place.name)
        self._collections.forget(place.name)

    def ids(self, place: Place, mark: str) -> set[str]:
        """The names of all vectors of a space."""
        with self._at_length():
            found = self._as_it_is(place).get(where={"space": mark}, include=[])["ids"]
        return {each.partition(":")[2] for each in found}

    def close(self) -> None:
        """End its threads, and close its connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        # Without the lock: who holds it may wait for a server that hangs.
        client, self._client = self._client, None
        if client is not None:
            _close(client)
            self._queries.close()
        self._collections.clear()

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                import chromadb
                import httpx
                from chromadb.config import Settings

                # Chroma's client waits for ever, without a setting for that: so it is asked first here.
                httpx.get(f"{self.where}{_API}/heartbeat", timeout=_LONGEST, headers=self._headers)
                client: Any = chromadb.HttpClient(
                    unquote(self.where),  # a whole address, which may have a path; it is quoted there
                    self._port,
                    ssl=self.where.startswith("https:"),
                    headers=dict(self._headers),
                    settings=Settings(anonymized_telemetry=False),
                )
                client._server._session.timeout = _LONGEST
                self._client, self._queries = client, Queries(client, timeout=_PATIENCE)
            return self._client

    def _as_it_is(self, place: Place) -> Any:
        """The collection that is meant, as the server has it now.

        Raises:
            ServerUnreachable: there is none, or another one of this name.
        """
        found = self._looked_up(place)
        if found is None:
            raise _missing(place, self.where)
        return found

    def _to_delete_from(self, place: Place) -> Any:
        """The collection that is meant, which says from then on that vectors were deleted from it."""
        collection = self._as_it_is(place)
        if _DELETED_FROM not in (collection.metadata or {}):
            collection.modify(metadata={**(collection.metadata or {}), _DELETED_FROM: True})
        return collection

    def _at_hand(self, place: Place) -> Any | None:
        """The collection that is meant, if it was looked up before."""
        known = self._collections.get(place.name)
        return known if known is not None and str(known.id) == place.id else None

    def _looked_up(self, place: Place) -> Any | None:
        """The collection as the server has it, None if there is none or another one of this name."""
        from chromadb.errors import NotFoundError

        try:
            found = self._connected().get_collection(place.name, embedding_function=None)
        except NotFoundError:
            return None
        if str(found.id) != place.id:
            return None
        self._collections.note(place.name, found)
        return found

    def _in_time(self, call: Callable[[], T]) -> T:
        """The answer of the server, unless it takes too long, or did a moment ago."""
        import chromadb  # noqa: F401 - loading the package is none of the server's time

        with self._waiting():
            return self._threads.submit(call).result(_PATIENCE)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Wait for the server, unless it took too long a moment ago, and note if it does now."""
        if monotonic() < self._away_until:
            raise ServerUnreachable(f"The Chroma server {self.where} did not answer a moment ago.")
        with self._translated():
            try:
                yield
                self._silent_until = 0.0
            except TimeoutError:
                self._away_until = monotonic() + _REST
                raise ServerUnreachable(
                    f"The Chroma server {self.where} did not answer within {_PATIENCE:g} s."
                ) from None

    @contextmanager
    def _at_length(self) -> Iterator[None]:
        """Wait for the server as long as the background may, unless that was in vain a moment ago.

        Each visit of a space asks it, and all spaces would wait for one another.
        """
        if monotonic() < self._silent_until:
            raise ServerUnreachable(f"The Chroma server {self.where} did not answer a moment ago.")
        began = monotonic()
        try:
            with self._translated():
                yield
        except ServerUnreachable:
            if monotonic() - began >= _LONGEST:
                self._silent_until = monotonic() + _LONGEST
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise `ServerUnreachable` for whatever goes wrong between here and the server."""
        try:
            yield
        except ServerUnreachable:
            raise
        except Exception as error:
            if not _is_missing(error):
                self._away_until = monotonic() + _REST
            self._collections.clear()
            raise ServerUnreachable(
                f"The Chroma server {self.where} failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}."
            ) from error


class ChromaServers:
    """Several Chroma servers as one: a collection is on the one that the shard in its name says, its home.

    Where it is elsewhere, from before there were more or fewer servers, it is searched and cleared there.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        self._servers = tuple(map(ChromaServer, addresses))
        self._holders = Known[ChromaServer]()
        self._threads = ThreadPoolExecutor(_SEARCHES, thread_name_prefix="langmem-tiers-search")
        self._failures = Sparing()

    def begin(self, name: str) -> Place:
        """A collection of this name at its home, which is made if there is none."""
        return self._home(name).begin(name)

    def is_at_home(self, place: Place) -> bool:
        """Whether the collection that was filled is where it belongs.

        Raises:
            ServerUnreachable: its home does not answer.
        """
        return self._home(place.name).holds(place)

    def is_anywhere(self, place: Place) -> bool:
        """Whether a server has the collection that was filled.

        Raises:
            ServerUnreachable: one that may have it does not answer.
        """
        return self._found(place) is not None

    def meanwhile(self, search: Callable[[], T]) -> Future[T]:
        """A search in a thread of its own; cancelled, for the caller to do it, once the memory or the process ends."""
        try:
            return self._threads.submit(copy_context().run, search)
        except RuntimeError:
            cancelled = Future[T]()
            cancelled.cancel()
            return cancelled

    def query(self, place: Place, queries: Vectors, most: int) -> list[Found] | None:
        """For each query, a row of these, the nearest vectors of a collection; None if no server has that.

        Raises:
            ServerUnreachable: one that may have it does not answer in time.
        """
        for each in self._by_chance(place):
            if (found := each.query(place, queries, most)) is not None:
                if each is not self._holders.get(place.id):
                    self._holders.note(place.id, each)
                return found
        return None

    def upsert(self, place: Place, mark: str, vectors: Named | None) -> None:
        """Add vectors of a space at home, replacing those of the same name."""
        self._home(place.name).upsert(place, mark, vectors)

    def delete(self, place: Place, names: Sequence[str]) -> None:
        """Remove vectors at home; unknown names are ignored."""
        self._home(place.name).delete(place, names)

    def withdraw(self, place: Place, mark: str, names: Sequence[str]) -> None:
        """Remove vectors of a space wherever their collection is; one that is gone is ignored.

        Raises:
            ServerUnreachable: a server that may have it does not answer.
        """
        if (holder := self._found(place)) is not None:
            holder.delete(place, [f"{mark}:{name}" for name in names])

    def clear(self, place: Place, mark: str) -> None:
        """Remove all vectors of a space, or its collection, wherever it is; a collection that is gone is ignored.

        Raises:
            ServerUnreachable: a server that may have it does not answer.
        """
        if (holder := self._found(place)) is not None:
            holder.clear(place, mark)

    def ids(self, place: Place, mark: str) -> set[str]:
        """The names of all vectors of a space."""
        holder = self._found(place) or self._home(place.name)
        return holder.ids(place, mark)

    def asking(self) -> Sequence[Callable[[], None]]:
        """For each, what checks that it answers, and raises `ServerUnreachable` if it does not."""
        return [each.ask for each in self._servers]

    def level_of(self, failure: ServerUnreachable) -> int:
        """The level to log a failure at: of all spaces that wait for a server, one in a minute is worth a warning."""
        return self._failures.level(failure.message)

    def close(self) -> None:
        """End their threads, and close their connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for each in self._servers:
            each.close()

    def _home(self, name: str) -> ChromaServer:
        # All collections of a shard, of whatever model and kind.
        return chosen(name.partition(".")[0], self._servers)

    def _by_chance(self, place: Place) -> list[ChromaServer]:
        """The servers, first the one that had the collection when it was last searched, else its home."""
        likely = self._holders.get(place.id) or self._home(place.name)
        return [likely, *(each for each in self._servers if each is not likely)]

    def _found(self, place: Place) -> ChromaServer | None:
        """The server that has a collection."""
        return next((each for each in self._by_chance(place) if each.holds(place)), None)


def _credentials(parts: SplitResult) -> dict[str, str]:
    """The header with the user and password that an address names, if it does."""
    if parts.username is None:
        return {}
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"authorization": f"Basic {b64encode(both.encode()).decode()}"}


def _close(client: Any) -> None:
    """Close a client with its connections, which Chroma leaves open, and drop what it would keep of it for ever."""
    from chromadb.api.shared_system_client import SharedSystemClient

    own, systems = client._system, SharedSystemClient._identifier_to_system
    for each in (client, client._admin_client):
        each._server._session.close()
    client.close()
    for kept in [kept for kept, system in list(systems.items()) if system is own]:
        del systems[kept]


def _send(collection: Any, mark: str, vectors: Named) -> None:
    for start in range(0, len(vectors.names), _BATCH):
        some = slice(start, start + _BATCH)
        names = [*vectors.names[some]]
        collection.upsert(ids=names, embeddings=vectors.matrix[some], metadatas=[{"space": mark}] * len(names))


def _link_anew(collection: Any, mark: str, sent: Named) -> None:
    """Send again what no search finds.

    Chroma gives the places of deleted vectors to new ones, of which HNSW then may not reach some; sent again, they are
    linked anew (docs/scaling.md#what-is-found). All are looked for each time, and some that the space had before:
    linking one anew may cut others off.
    """
    left = _not_found(collection, sent)
    if not left.names:
        return
    looked_for = _with_some_before(collection, mark, sent)
    for _ in range(_AGAIN):
        _send(collection, mark, left)
        left = _not_found(collection, looked_for)
        if not left.names:
            return
    say(log, logging.WARNING, "vectors_not_reached", collection=collection.name, count=len(left.names))


def _with_some_before(collection: Any, mark: str, sent: Named) -> Named:
    """These vectors and the oldest ones of their space."""
    held = collection.get(where={"space": mark}, limit=_LOOKED_FOR, include=["embeddings"])
    new = set(sent.names)
    rows = [row for row, name in enumerate(held["ids"]) if name not in new]
    names = [*sent.names, *(held["ids"][row] for row in rows)]
    return Named(names, np.concatenate([sent.matrix, held["embeddings"][rows]], dtype=sent.matrix.dtype))


def _not_found(collection: Any, vectors: Named) -> Named:
    """Those that a search for them does not find; one that finds an equal one will do."""
    lost: list[int] = []
    for start in range(0, len(vectors.names), _LOOKED_FOR):
        some = slice(start, start + _LOOKED_FOR)
        found = collection.query(query_embeddings=vectors.matrix[some], n_results=1, include=["distances"])
        for place, (ids, far) in enumerate(zip(found["ids"], found["distances"], strict=True), start):
            if ids != [vectors.names[place]] and not (far and far[0] < _APART) and vectors.matrix[place].any():
                lost.append(place)
    return Named([vectors.names[place] for place in lost], vectors.matrix[lost])


def _missing(place: Place, where: str) -> ServerUnreachable:
    return ServerUnreachable(f"The collection {place.name} that was filled is not on {where}.")


def _is_missing(error: BaseException) -> bool:
    """Whether the server answered that there is no such collection."""
    from chromadb.errors import NotFoundError

    return isinstance(error, NotFoundError)
