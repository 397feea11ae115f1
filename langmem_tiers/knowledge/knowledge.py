"""The knowledge of a space: saving entries, finding them, correcting and deleting them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidInput, InvalidPointer
from langmem_tiers.knowledge import authority, changing, checks, finding, nearby, saving
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import (
    Activity,
    Authority,
    CategoryCount,
    Deleted,
    Entry,
    EntryFound,
    EntryPath,
    Saved,
)
from langmem_tiers.palace.pointers import find_pointers
from langmem_tiers.storage import activities, drawers, entries
from langmem_tiers.storage.entries import Filters, NewEntry
from langmem_tiers.twins import twin
from langmem_tiers.types import Drawer, Origin
from langmem_tiers.writing.proposals import Evidence

if TYPE_CHECKING:
    from langmem_tiers.space import Space

Cited = int | str | Evidence
"""A drawer's number, its AAAK pointer, or one of its passages."""

Status = Literal["active", "inactive", "all"]
"""Entries that hold, those put aside, or both."""

_PATHS: dict[Origin, EntryPath] = {"user": "user", "assistant": "tool", "tool": "tool"}
_LONGEST_REASON = 200


class Knowledge:
    """What a space knows: declarative sentences with category, tags and evidence.

    A change is stored when its call returns. `origin` says who makes it: `user`, `assistant` (the default), or code
    (`system`, `dream`, `import`); a call of less authority never overwrites what a higher one stands behind. What the
    agent saves counts as said by the user where it cites, as evidence, a message of the user that says so.

    Every method has an asynchronous twin: `asave`, `asearch` and so on.

    Example:
        >>> knowledge = Knowledge(memory.user("alice"))
        >>> tea = knowledge.save("The user prefers tea.", category="preferences/drinks").entry
        >>> knowledge.save("The user prefers coffee.", category="preferences/drinks", corrects=tea.id).outcome
        'saved'
    """

    def __init__(self, space: Space) -> None:
        self.space = space

    def __repr__(self) -> str:
        return f"Knowledge({self.space.name!r})"

    def save(
        self,
        content: str,
        *,
        category: str | None = None,
        tags: Iterable[str] = (),
        origin: Origin = "assistant",
        evidence: Iterable[Cited] = (),
        pinned: bool = False,
        corrects: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> Saved:
        """Remember a fact, a preference or a convention, as one declarative sentence.

        The very same sentence is stored once; another wording of it is merged, never one with other values.

        Args:
            content: What is to be known, at most `Settings.knowledge.max_characters`.
            category: Where it belongs, such as `work/habits`, as deep as wanted; `general` by default.
            tags: Further words to find it by.
            origin: Who says so.
            evidence: Drawers that it rests on.
            pinned: True protects it from all that the memory does by itself.
            corrects: Id of the entry that is wrong: it is made inactive in the same transaction.
            project: What it is about, if that is known.
            agent: Whose knowledge it is, if there are several agents.
            metadata: The caller's own values, as JSON can hold them.
            expires_at: When it is expected to hold no longer.

        Raises:
            InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it can not be stored like this.
            UnknownEntry: there is no entry `corrects`.
            AuthorityTooLow: somebody of higher authority stands behind what it would change.
        """
        settings = self.space.memory.settings
        content = checks.content(content, settings)
        cited = self._cited(evidence)
        by = authority.of_call(checks.origin(origin), content, self._drawers(cited), corrects=corrects is not None)
        new = NewEntry(
            id=checks.new_id(),
            content=content,
            category=checks.category(category, settings),
            tags=checks.tags(tags, settings),
            origin="user" if by > Authority.AGENT else origin,
            path=_PATHS.get(origin, "rule"),
            authority=by,
            pinned=arguments.flag(pinned, "pinned"),
            flags=checks.flags(content),
            project=checks.name(project, "project"),
            agent=checks.name(agent, "agent"),
            metadata=checks.metadata(metadata, settings),
            expires_at=checks.moment(expires_at, "expires_at"),
        )
        wrong = arguments.optional_text(corrects, "corrects")
        with self.space.memory.use(self.space.name) as store:
            near = nearby.look(store, [content], nearby.by_words)
        with self._ledger() as ledger:
            least = settings.knowledge.merge_similarity
            return saving.save(ledger, new, cited, near, corrects=wrong, least=least)

    def get(self, which: str) -> Entry | None:
        """The entry of an id, or the newest one that rests on the drawer of a pointer; None when there is none.

        Raises:
            InvalidInput: `which` is no text.
        """
        wanted = arguments.text(which, "which")
        if find_pointers(wanted):
            resting = self.resting_on(wanted)
            return max(resting, key=lambda entry: (entry.active, entry.updated_at), default=None)
        with self.space.memory.use(self.space.name) as store, store.reading() as connection:
            return entries.one(connection, store.key, wanted.strip().lower())

    def search(
        self,
        query: str | None = None,
        *,
        substring: str | None = None,
        category: str | None = None,
        tags: Iterable[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        agent: str | None = None,
        status: Status = "active",
        limit: int = 10,
    ) -> tuple[EntryFound, ...]:
        """The entries that fit a query by words and meaning, best first; without one, those changed last.

        Args:
            query: What is asked.
            substring: A text that the entry holds, in whatever case.
            category: It and all below it.
            tags: All of these.
            since: The first moment of the last change.
            until: The last one.
            project: That of the entry.
            agent: That of the entry.
            status: Active entries, those put aside, or both. What was expected to hold no longer by now is not active.
            limit: Most entries.

        Raises:
            InvalidInput: a filter can not be used.
        """
        asked = "" if query is None else arguments.any_text(query, "query")
        wanted: Status = arguments.one_of(status, "status", get_args(Status))
        most = arguments.whole(limit, "limit", least=1)
        now = to_millis(self.space.memory.clock())
        filters = Filters(
            substring=arguments.optional_text(substring, "substring"),
            category=None if category is None or category == "" else checks.category(category),
            tags=checks.tags(tags),
            since=checks.moment(since, "since"),
            until=checks.moment(until, "until"),
            project=arguments.optional_text(project, "project"),
            agent=arguments.optional_text(agent, "agent"),
            status=None if wanted == "all" else wanted,
            active_at=now if wanted == "active" else None,
        )
        vector = self.space.memory.embedder_of(self.space.name).query(asked)[0] if asked.strip() else None
        with self.space.memory.use(self.space.name) as store:
            return tuple(finding.find(store, asked, vector, filters, most))

    def update(
        self,
        entry_id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        pinned: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | EllipsisType | None = ...,
        version: int | None = None,
        origin: Origin = "assistant",
        evidence: Iterable[Cited] = (),
    ) -> Entry:
        """Change what is given of an entry, and leave the rest; what it said before stays as an inactive entry.

        `version` is the one that was read: if the entry has changed since, that is an error and not a lost change.
        `expires_at=None` takes the expected end away. `evidence` is added.

        Raises:
            UnknownEntry: there is none of this id.
            EntryChanged: it is not at this version any more.
            AuthorityTooLow: somebody of higher authority stands behind what it says.
            InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it can not be stored like this.
        """
        values: dict[str, Any] = {}
        if content is not None:
            values["content"] = checks.content(content, self.space.memory.settings)
            values["flags"] = checks.flags(values["content"])
        if category is not None:
            values["category"] = checks.category(category, self.space.memory.settings)
        if tags is not None:
            values["tags"] = checks.tags(tags, self.space.memory.settings)
        if pinned is not None:
            values["pinned"] = arguments.flag(pinned, "pinned")
        if metadata is not None:
            values["metadata"] = checks.metadata(metadata, self.space.memory.settings)
        if not isinstance(expires_at, EllipsisType):
            values["expires_at"] = checks.moment(expires_at, "expires_at")
        read = arguments.optional_whole(version, "version", least=0)
        cited = self._cited(evidence)
        by = authority.of_call(checks.origin(origin), values.get("content"), self._drawers(cited), corrects=True)
        with self._ledger() as ledger:
            entry = changing.existing(ledger, arguments.text(entry_id, "entry_id"))
            return changing.update(ledger, entry, values, by=by, version=read, evidence=cited)

    def deactivate(
        self, entry_id: str, reason: str = "removed", *, successor: str | None = None, origin: Origin = "assistant"
    ) -> Entry:
        """Put an entry aside: it is kept, and found and shown no more. `successor` is the one that holds instead.

        Raises:
            UnknownEntry: there is none of this id, or no such successor.
            AuthorityTooLow: somebody of higher authority stands behind it.
        """
        told = " ".join(arguments.text(reason, "reason").split())[:_LONGEST_REASON] or "removed"
        instead = arguments.optional_text(successor, "successor")
        by = authority.of_call(checks.origin(origin), None, (), corrects=True)
        with self._ledger() as ledger:
            entry = changing.existing(ledger, arguments.text(entry_id, "entry_id"))
            return changing.deactivate(ledger, entry, told, instead, by=by)

    def reactivate(self, entry_id: str, *, origin: Origin = "assistant") -> Entry:
        """Let an entry hold again; one that was merged is taken out of the other.

        Raises:
            UnknownEntry: there is none of this id.
            AuthorityTooLow: somebody of higher authority corrected it.
            InvalidInput: another entry says this already.
        """
        by = authority.of_call(checks.origin(origin), None, (), corrects=True)
        with self._ledger() as ledger:
            entry = changing.existing(ledger, arguments.text(entry_id, "entry_id"))
            return changing.reactivate(ledger, entry, by=by)

    def delete(self, entry_id: str, *, origin: Origin = "assistant") -> Deleted:
        """Delete an entry for good, with all its wordings, evidence and vectors; an unknown one is no error.

        Summaries of sessions and the lines of flushes stop saying it, and tombstones keep mining, flushes and further
        summaries from bringing it back. The drawers that it rested on stay. User and agent may delete whatever they
        name.

        Raises:
            AuthorityTooLow: the memory by itself (`system`, `dream`) deletes nothing that somebody stands behind.
        """
        by = authority.of_call(checks.origin(origin), None, (), corrects=False)
        with self._ledger() as ledger:
            return changing.delete(
                ledger, arguments.text(entry_id, "entry_id"), by=by, settings=self.space.memory.settings
            )

    def unmerge(self, entry_id: str) -> Entry:
        """Take an entry out of the one that it was merged into: both are as they were before.

        Raises:
            UnknownEntry: there is none of this id.
            InvalidInput: it was not merged.
        """
        with self._ledger() as ledger:
            return changing.unmerge(ledger, changing.existing(ledger, arguments.text(entry_id, "entry_id")))

    def expire(self) -> tuple[Entry, ...]:
        """Put aside what was expected to hold until now."""
        with self._ledger() as ledger:
            return tuple(changing.expire(ledger))

    def categories(self) -> tuple[CategoryCount, ...]:
        """The tree of categories, with how many active entries are in each."""
        now = to_millis(self.space.memory.clock())
        with self.space.memory.use(self.space.name) as store, store.reading() as connection:
            return finding.tree(entries.categories(connection, store.key, now))

    def evidence(self, entry_id: str) -> tuple[Drawer, ...]:
        """The drawers that an entry rests on, in the order they were stored; none for an unknown entry."""
        entry = self.get(arguments.text(entry_id, "entry_id"))
        return () if entry is None else self._drawers(entry.evidence)

    def resting_on(self, which: int | str) -> tuple[Entry, ...]:
        """The entries, active or not, that rest on a drawer, given by number or AAAK pointer.

        Raises:
            InvalidPointer: it is neither.
        """
        drawer = self.space.drawer(which)
        if drawer is None:
            return ()
        with self.space.memory.use(self.space.name) as store, store.reading() as connection:
            return tuple(entries.resting_on(connection, store.key, [drawer.number]))

    def history(self, entry_id: str) -> tuple[Entry, ...]:
        """The inactive entries that this one took the place of: corrected, merged, or said before; oldest first."""
        successor = arguments.text(entry_id, "entry_id")
        with self.space.memory.use(self.space.name) as store, store.reading() as connection:
            return tuple(entries.succeeded_by(connection, store.key, successor))

    def activity(self, *, kind: str | None = None, session: str | None = None, limit: int = 20) -> tuple[Activity, ...]:
        """What the memory did by itself, newest first, such as `memory_mined`.

        Raises:
            InvalidInput: `limit` is below 1, or another argument no text.
        """
        about = {
            "kind": arguments.optional_text(kind, "kind"),
            "session": arguments.optional_text(session, "session"),
        }
        most = arguments.whole(limit, "limit", least=1)
        with self.space.memory.use(self.space.name) as store, store.reading() as connection:
            rows = activities.latest(connection, store.key, most, **about)
        return tuple(
            Activity(number=row.number, at=from_millis(row.at), kind=row.kind, session=row.session, body=row.body)
            for row in rows
        )

    asave = twin(save)
    aget = twin(get)
    asearch = twin(search)
    aupdate = twin(update)
    adeactivate = twin(deactivate)
    areactivate = twin(reactivate)
    adelete = twin(delete)
    aunmerge = twin(unmerge)
    aexpire = twin(expire)
    acategories = twin(categories)
    aevidence = twin(evidence)
    aresting_on = twin(resting_on)
    ahistory = twin(history)
    aactivity = twin(activity)

    @contextmanager
    def _ledger(self) -> Iterator[Ledger]:
        """Entries to be written in one transaction; the background then looks at what is new."""
        memory = self.space.memory
        with memory.use(self.space.name) as store, store.writing() as connection:
            yield Ledger(connection, store.key, to_millis(memory.clock()))
        memory.wake(self.space.name)

    def _cited(self, evidence: Iterable[Cited]) -> tuple[Evidence, ...]:
        """The drawers cited, each once.

        Raises:
            InvalidPointer: one is no drawer of this space.
            InvalidInput: a passage does not occur in its drawer.
        """
        if isinstance(evidence, int | str | Evidence):
            evidence = (evidence,)
        given = arguments.several(evidence, "evidence", "drawers")
        return tuple({each.drawer: each for each in map(self._resolved, given)}.values())

    def _resolved(self, cited: Cited) -> Evidence:
        quote = arguments.any_text(cited.quote, "evidence.quote") if isinstance(cited, Evidence) else ""
        which = cited.drawer if isinstance(cited, Evidence) else cited
        if not isinstance(which, str):
            arguments.integer(which, "evidence", "numbers or pointers of drawers, or passages of them")
        drawer = self.space.drawer(which)
        if drawer is None:
            raise InvalidPointer(f"{str(cited)[:80]!r} is no drawer of this space.")
        if not occurs(quote, drawer.content):
            raise InvalidInput(f"Drawer {drawer.pointer} does not hold {quote[:80]!r}.", way_out="Quote it verbatim.")
        return Evidence(drawer=drawer.number, quote=quote)

    def _drawers(self, rests: Iterable[Any]) -> tuple[Drawer, ...]:
        numbers = {each.drawer for each in rests}
        if not numbers:
            return ()
        with self.space.memory.use(self.space.name) as store, store.reading() as connection:
            found = drawers.read(connection, store.key, numbers)
        return tuple(found[number] for number in sorted(found))
