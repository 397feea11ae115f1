"""The knowledge of a space: saving, finding, correcting and deleting entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput, InvalidPointer, UnknownEntry
from langmem_tiers.knowledge import decide, deletion, lifecycle, search, standing, validation
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.fallbacks import first_of, search_all
from langmem_tiers.knowledge.likeness import same_by_words
from langmem_tiers.knowledge.preferences import PERMISSION, confirmed, waits
from langmem_tiers.knowledge.relations_of_entries import end_with, revive_with
from langmem_tiers.knowledge.results import CategoryCount, Deleted, EntryFound, EntryPage, Saved
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language.periods import When, asked_moment
from langmem_tiers.language.words import occurs
from langmem_tiers.naming import new_id
from langmem_tiers.palace.lookup import find_drawer
from langmem_tiers.pointers import find_pointers
from langmem_tiers.records import Activity, Authority, Entry, EntryPath, Evidence, NewEntry
from langmem_tiers.storage import activities, drawers, entries
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.entries import Filters
from langmem_tiers.twins import twin
from langmem_tiers.types import Drawer, Origin
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

Cited = int | str | Evidence
"""A drawer's number, its AAAK pointer, or one of its passages."""

Status = Literal["active", "inactive", "all"]
"""Entries that hold, those put aside, or both."""

_PATHS: dict[Origin, EntryPath] = {"user": "user", "assistant": "tool", "tool": "tool"}
_LONGEST_REASON = 200


class Knowledge:
    """What a space knows: declarative sentences with category, tags and evidence.

    A change is stored when its call returns. `origin` is the author: `user`, `assistant` (the default), `tool` for what
    an agent read in a tool's result, or code (`system`, `dream`, `import`); a call of lower authority never overwrites
    what a higher one stated. What the agent saves counts as said by the user if it cites, as evidence, a message of the
    user that says so.

    Every method has an asynchronous twin: `asave`, `asearch` and so on.

    Example:
        >>> knowledge = memory.user("alice").knowledge
        >>> tea = knowledge.save("The user prefers tea.", category="preferences/drinks").entry
        >>> knowledge.save("The user prefers coffee.", category="preferences/drinks", corrects=tea.id).outcome
        'saved'
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Knowledge({self._context.name!r})"

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
        task: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> Saved:
        """Remember a fact, a preference or a convention, as one declarative sentence.

        The same sentence is stored only once; another wording of it is merged, but never one with other values.

        Args:
            content: The sentence, at most `Settings.knowledge.max_characters`.
            category: A path such as `work/habits`, of any depth; `general` by default.
            tags: Further words to find it by.
            origin: The author.
            evidence: Drawers that it rests on.
            pinned: Protect it from all automatic changes.
            corrects: Id of the wrong entry, which is deactivated in the same transaction.
            project: The project it is about, if known.
            agent: The agent whose knowledge it is, if there are several.
            task: Id of the task in which it became known.
            metadata: The caller's own values, as JSON allows.
            expires_at: When it is expected to become outdated.

        Raises:
            InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it cannot be stored.
            UnknownEntry: the entry `corrects` does not exist.
            AuthorityTooLow: what it would change was stated with higher authority.
        """
        settings = self._context.settings
        content = validation.content(content, settings)
        cited = self._cited(evidence)
        said = self._drawers(cited) if cited else ()
        by = decide.authority_of_call(origin, corrects=corrects is not None, content=content, evidence=said)
        new = NewEntry(
            id=new_id(),
            content=content,
            category=validation.category(category, settings),
            tags=validation.tags(tags, settings),
            origin="user" if by > Authority.AGENT else origin,
            path=_PATHS.get(origin, "rule"),
            authority=by,
            pinned=arguments.flag(pinned, "pinned"),
            flags=validation.flags(content),
            project=arguments.optional_name(project, "project"),
            agent=arguments.optional_name(agent, "agent"),
            task=arguments.optional_name(task, "task"),
            metadata=validation.metadata(metadata, settings),
            expires_at=validation.moment(expires_at, "expires_at"),
        )
        wrong = arguments.optional_text(corrects, "corrects")
        least = settings.knowledge.merge_similarity
        with self._context.open() as store, store.writing() as connection:
            now = to_millis(self._context.clock())
            neighbours = same_by_words(connection, store.key, [content], least=least, at=now)
            writer = EntryWriter(connection, store.key, now)
            saved = lifecycle.save(writer, new, cited, neighbours, corrects=wrong, least=least)
            if saved.corrected is not None:
                with self._graph(writer) as graph:
                    end_with(graph, writer.existing(saved.corrected), saved.entry.content)
        self._context.wake()
        return saved

    def get(self, which: str) -> Entry | None:
        """The entry with this id, or the newest entry based on the drawer of a pointer; None if there is none.

        It is looked for in the space itself, then in its fallbacks; either may name the one that it is in
        (`3f2a9c01d4e5@teams/research`).

        Raises:
            InvalidPointer: `which` names a space that is neither.
            InvalidInput: `which` is not a string.
        """
        return first_of(self._context, arguments.text(which, "which"), _entry)

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
        task: str | None = None,
        status: Status = "active",
        as_of: When | None = None,
        limit: int = 10,
    ) -> tuple[EntryFound, ...]:
        """The entries that match a query by words and meaning, best first; without one, the latest changed first.

        They are those of the space and of its fallbacks, of which the own count more; `EntryFound.space` tells them
        apart.

        Args:
            query: The search text.
            substring: Text the entry must contain, ignoring case.
            category: A category, including everything below it.
            tags: Tags the entry must all have.
            since: Earliest time of the last change.
            until: Latest time of the last change.
            project: The entry's project.
            agent: The entry's agent.
            task: Id of a task: only what became known in it, or rests on what was said in it.
            status: Active entries, inactive ones, or both. Expired entries count as inactive.
            as_of: Search the entries that held at this moment, or at the end of this day, month or year, as they were
                then; without a query, those said last come first.
            limit: Maximum number of entries.

        Raises:
            InvalidPeriod: `since` is after `until`.
            InvalidInput: a filter is invalid, or `as_of` is given with a `status`.
        """
        asked = "" if query is None else arguments.any_text(query, "query")
        wanted: Status = arguments.one_of(status, "status", get_args(Status))
        most = arguments.whole(limit, "limit", least=1)
        now = self._context.clock()
        then = None if as_of is None else asked_moment(as_of, "as_of", now=now)
        if then is not None and wanted != "active":
            raise InvalidInput("What held at a moment has no status.", way_out="Leave out `status`, or `as_of`.")
        first, last = validation.period(since, until)
        filters = Filters(
            substring=arguments.optional_text(substring, "substring"),
            category=None if category is None or category == "" else validation.category(category),
            tags=validation.tags(tags),
            since=first,
            until=last,
            project=arguments.optional_name(project, "project"),
            agent=arguments.optional_name(agent, "agent"),
            task=arguments.optional_name(task, "task"),
            status=None if wanted == "all" or then is not None else wanted,
            active_at=to_millis(now) if wanted == "active" and then is None else None,
        )
        vector = self._context.embedder.query(asked)[0] if asked.strip() else None
        told_by = None if then is None else to_millis(then)

        def found_in(source: SpaceContext) -> list[EntryFound]:
            with source.open() as store:
                return search.find(store, asked, vector, filters, most, at=then or now, until=told_by)

        order = search.best_first if asked.strip() else search.newest_first
        return search_all(self._context, found_in, text=lambda each: each.entry.content, order=order, limit=most)

    def page(
        self,
        *,
        substring: str | None = None,
        category: str | None = None,
        tags: Iterable[str] = (),
        origin: Origin | None = None,
        project: str | None = None,
        agent: str | None = None,
        status: Status = "active",
        pinned: bool | None = None,
        unconfirmed: bool = False,
        after: str | None = None,
        limit: int = 50,
    ) -> EntryPage:
        """Entries of the space itself, page by page, the last changed first.

        Args:
            substring: Text the entry must contain, ignoring case.
            category: A category, including everything below it.
            tags: Tags the entry must all have.
            origin: The author.
            project: The entry's project.
            agent: The entry's agent.
            status: Active entries, inactive ones, or both. Expired entries count as inactive.
            pinned: Only pinned entries, or only others.
            unconfirmed: Only entries that wait for the user's word.
            after: Id of the last entry of the page before.
            limit: Maximum number of entries, up to 1,000.

        Raises:
            InvalidInput: a filter is invalid.
            UnknownEntry: the entry `after` has gone.
        """
        wanted: Status = arguments.one_of(status, "status", get_args(Status))
        most = arguments.whole(limit, "limit", least=1, most=1_000)
        filters = Filters(
            substring=arguments.optional_text(substring, "substring"),
            category=None if category is None or category == "" else validation.category(category),
            tags=validation.tags(tags),
            origin=None if origin is None else validation.origin(origin),
            project=arguments.optional_name(project, "project"),
            agent=arguments.optional_name(agent, "agent"),
            status=None if wanted == "all" else wanted,
            active_at=to_millis(self._context.clock()) if wanted == "active" else None,
            pinned=None if pinned is None else arguments.flag(pinned, "pinned"),
            true=PERMISSION if arguments.flag(unconfirmed, "unconfirmed") else None,
        )
        last = arguments.optional_text(after, "after")
        with self._context.open() as store, store.reading() as connection:
            if last is not None and entries.one(connection, store.key, last) is None:
                raise UnknownEntry(f"There is no entry {last!a}, or no longer.", way_out="Load the list again.")
            total = entries.count(connection, store.key, filters)
            found = entries.find(connection, store.key, replace(filters, after=last), most + 1)
        return EntryPage(entries=tuple(found[:most]), total=total, more=len(found) > most)

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
        """Change the given fields of an entry; its former content is kept as an inactive entry.

        `version` is the version that was read: if the entry has changed since, that raises, and no change is lost.
        `expires_at=None` removes the expiry. `evidence` is added.

        Raises:
            UnknownEntry: there is no entry with this id.
            EntryChanged: it is no longer at this version.
            AuthorityTooLow: its content was stated with higher authority.
            InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it cannot be stored.
        """
        values: dict[str, Any] = {}
        if content is not None:
            values["content"] = validation.content(content, self._context.settings)
            values["flags"] = validation.flags(values["content"])
            if origin == "tool":
                values["origin"] = origin
        if category is not None:
            values["category"] = validation.category(category, self._context.settings)
        if tags is not None:
            values["tags"] = validation.tags(tags, self._context.settings)
        if pinned is not None:
            values["pinned"] = arguments.flag(pinned, "pinned")
        if metadata is not None:
            values["metadata"] = validation.metadata(metadata, self._context.settings)
        if not isinstance(expires_at, EllipsisType):
            values["expires_at"] = validation.moment(expires_at, "expires_at")
        read = arguments.optional_whole(version, "version", least=0)
        cited = self._cited(evidence)
        said = self._drawers(cited)
        by = decide.authority_of_call(origin, corrects=True, content=values.get("content"), evidence=said)
        with self._writing() as writer:
            entry = writer.existing(arguments.text(entry_id, "entry_id"))
            changed = lifecycle.update(writer, entry, values, by=by, version=read, evidence=cited)
            if changed.content != entry.content:
                with self._graph(writer) as graph:
                    end_with(graph, entry, changed.content)
            return changed

    def deactivate(
        self, entry_id: str, reason: str = "removed", *, successor: str | None = None, origin: Origin = "assistant"
    ) -> Entry:
        """Deactivate an entry: it is kept, but no longer found or shown. `successor` is the entry that replaces it.

        Raises:
            UnknownEntry: there is no entry with this id, or no such successor.
            AuthorityTooLow: it was stated with higher authority.
        """
        told = " ".join(arguments.text(reason, "reason").split())[:_LONGEST_REASON] or "removed"
        instead = arguments.optional_text(successor, "successor")
        by = decide.authority_of_call(origin, corrects=True)
        with self._writing() as writer:
            entry = writer.existing(arguments.text(entry_id, "entry_id"))
            gone = lifecycle.deactivate(writer, entry, told, instead, by=by, by_tool=origin == "tool")
            if entry.active:
                with self._graph(writer) as graph:
                    end_with(graph, entry, "" if instead is None else writer.existing(instead).content)
            return gone

    def reactivate(self, entry_id: str, *, origin: Origin = "assistant") -> Entry:
        """Reactivate an entry; a merged one is separated from the other.

        Raises:
            UnknownEntry: there is no entry with this id.
            AuthorityTooLow: it was corrected with higher authority.
            InvalidInput: another entry already says this.
        """
        by = decide.authority_of_call(origin, corrects=True)
        with self._writing() as writer:
            entry = writer.existing(arguments.text(entry_id, "entry_id"))
            back = lifecycle.reactivate(writer, entry, by=by)
            with self._graph(writer) as graph:
                revive_with(graph, back, to_millis(entry.updated_at))
            return back

    def delete(self, entry_id: str, *, origin: Origin = "assistant") -> Deleted:
        """Delete an entry for good, with all its wordings, evidence and vectors; an unknown one is not an error.

        Session summaries and flushed notes no longer mention it, and tombstones keep mining, flushes and later
        summaries from bringing it back. The drawers it rests on are kept. User and agent may delete any entry they
        name.

        Raises:
            AuthorityTooLow: the memory (`system`, `dream`) may not delete what a user or agent stated, nor a tool's
                result (`tool`) what is known from what was said.
        """
        by, which = decide.authority_of_call(origin, corrects=False), arguments.text(entry_id, "entry_id")
        with self._writing() as writer:
            return deletion.delete(writer, which, by=by, settings=self._context.settings, by_tool=origin == "tool")

    def unconfirmed(self) -> tuple[Entry, ...]:
        """The active entries that wait for the user's word, the last changed first.

        They are shown with "(ask the user before acting on this)", and are no rules for the agent: what would make it
        less careful ("never ask me before …", "always recommend …"), whoever said it, and what dreams found about
        security, credentials and money.
        """
        with self._context.open() as store, store.reading() as connection:
            return tuple(entries.find(connection, store.key, Filters(status="active", true=PERMISSION), -1))

    def confirm(self, entry_id: str, *, version: int | None = None) -> Entry:
        """Put an entry in force that waits for the user's word; to be called when the user themselves said so.

        It holds for these words only: changed to another instruction, it waits again. An entry that is inactive or does
        not wait stays as it is. `version` is the version that the user read: if it has changed since, that raises.

        Raises:
            UnknownEntry: there is no entry with this id.
            EntryChanged: it is no longer at this version.
        """
        read = arguments.optional_whole(version, "version", least=0)
        with self._writing() as writer:
            entry = writer.existing(arguments.text(entry_id, "entry_id"))
            lifecycle.require_version(entry, read)
            if not waits(entry):
                return entry
            by = max(entry.authority, Authority.USER)
            return writer.change(entry, metadata=confirmed(entry.content, entry.metadata), authority=by)

    def unmerge(self, entry_id: str) -> Entry:
        """Separate an entry from the one it was merged into: both become what they were before.

        Raises:
            UnknownEntry: there is no entry with this id.
            InvalidInput: it was not merged.
        """
        with self._writing() as writer:
            return lifecycle.unmerge(writer, writer.existing(arguments.text(entry_id, "entry_id")))

    def expire(self) -> tuple[Entry, ...]:
        """Deactivate entries that have expired."""
        with self._writing() as writer:
            return tuple(lifecycle.expire(writer))

    def categories(self) -> tuple[CategoryCount, ...]:
        """The category tree, with the number of active entries in each."""
        now = to_millis(self._context.clock())
        with self._context.open() as store, store.reading() as connection:
            return search.tree(entries.categories(connection, store.key, now))

    def evidence(self, entry_id: str) -> tuple[Drawer, ...]:
        """The drawers an entry is based on, in the order they were stored; none for an unknown entry."""
        entry = self.get(arguments.text(entry_id, "entry_id"))
        return () if entry is None else self._drawers(entry.evidence)

    def resting_on(self, which: int | str) -> tuple[Entry, ...]:
        """All entries, active or not, based on a drawer, which is given by number or AAAK pointer.

        Raises:
            InvalidPointer: it is neither.
        """
        drawer = find_drawer(self._context, which)
        if drawer is None:
            return ()
        with self._context.open() as store, store.reading() as connection:
            return tuple(entries.resting_on(connection, store.key, [drawer.number]))

    def ended(self, known: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
        """For each entry by id, what says that it no longer holds, as in `EntryFound.ended`; empty if nothing does.

        Raises:
            InvalidInput: `known` holds something else.
        """
        about = {each.id: each for each in arguments.instances(known, "known", Entry, "entries")}
        with self._context.open() as store, store.reading() as connection:
            return standing.in_entries(store, moment(connection, store.key), about, self._context.clock())

    def history(self, entry_id: str) -> tuple[Entry, ...]:
        """The inactive entries that this one replaced: corrected, merged, or former versions; oldest first."""
        successor = arguments.text(entry_id, "entry_id")
        with self._context.open() as store, store.reading() as connection:
            return tuple(entries.succeeded_by(connection, store.key, successor))

    def activity(self, *, kind: str | None = None, session: str | None = None, limit: int = 20) -> tuple[Activity, ...]:
        """What the memory did on its own, newest first, such as `memory_mined`.

        Raises:
            InvalidInput: `limit` is below 1, or another argument is not a string.
        """
        about = {
            "kind": arguments.optional_text(kind, "kind"),
            "session": arguments.optional_text(session, "session"),
        }
        most = arguments.whole(limit, "limit", least=1)
        with self._context.open() as store, store.reading() as connection:
            return tuple(activities.latest(connection, store.key, most, **about))

    asave = twin(save)
    aget = twin(get)
    asearch = twin(search)
    apage = twin(page)
    aupdate = twin(update)
    adeactivate = twin(deactivate)
    areactivate = twin(reactivate)
    adelete = twin(delete)
    aunmerge = twin(unmerge)
    aunconfirmed = twin(unconfirmed)
    aconfirm = twin(confirm)
    aexpire = twin(expire)
    acategories = twin(categories)
    aevidence = twin(evidence)
    aresting_on = twin(resting_on)
    aended = twin(ended)
    ahistory = twin(history)
    aactivity = twin(activity)

    @contextmanager
    def _writing(self) -> Iterator[EntryWriter]:
        """Write entries in one transaction; the background then processes what is new."""
        context = self._context
        with context.open() as store, store.writing() as connection:
            yield EntryWriter(connection, store.key, to_millis(context.clock()))
        context.wake()

    def _graph(self, writer: EntryWriter) -> GraphTransaction:
        """The graph within the transaction of a writer."""
        return GraphTransaction(writer.connection, writer.space, writer.now, self._context.settings)

    def _cited(self, evidence: Iterable[Cited]) -> tuple[Evidence, ...]:
        """The cited drawers, without repetitions.

        Raises:
            InvalidPointer: one of them is not a drawer of this space.
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
        drawer = find_drawer(self._context, which)
        if drawer is None:
            raise InvalidPointer(f"{beginning(str(cited), 80)!r} is no drawer of this space.")
        if not occurs(quote, drawer.content):
            raise InvalidInput(
                f"Drawer {drawer.pointer} does not hold {beginning(quote, 80)!r}.", way_out="Quote it verbatim."
            )
        return Evidence(drawer=drawer.number, quote=quote)

    def _drawers(self, rests: Iterable[Any]) -> tuple[Drawer, ...]:
        numbers = {each.drawer for each in rests}
        if not numbers:
            return ()
        with self._context.open() as store, store.reading() as connection:
            found = drawers.read(connection, store.key, numbers)
        return tuple(found[number] for number in sorted(found))


def _entry(source: SpaceContext, which: str) -> Entry | None:
    if find_pointers(which):
        resting = Knowledge(source).resting_on(which)
        return max(resting, key=lambda entry: (entry.active, entry.updated_at), default=None)
    with source.open() as store, store.reading() as connection:
        return entries.one(connection, store.key, which.lower())
