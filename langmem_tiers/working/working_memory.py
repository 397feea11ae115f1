"""Working memory: saving, reading, listing and searching entries that expire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidKey, InvalidText, SecretRefused, TextTooLong
from langmem_tiers.knowledge import validation
from langmem_tiers.records import WorkingEntry, WorkingSummary
from langmem_tiers.storage import change_log, purging, working_entries
from langmem_tiers.storage.working_entries import WorkingHead, WorkingRow
from langmem_tiers.trust import secrets
from langmem_tiers.twins import twin
from langmem_tiers.wording import beginning, type_of
from langmem_tiers.working import keys
from langmem_tiers.working.inventory import inventory
from langmem_tiers.working.outline import cuts, outline

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.settings import WorkingSettings
    from langmem_tiers.working.keys import NamespaceKind

RESULT = "tool-result"
"""The category of what a tool has answered."""
_MINUTE, _DAY = 60_000, 86_400_000  # milliseconds
_OWN = "Your own entries (get_from_working_memory reads one):"
_OF_PATROLS = "Findings of patrols (get_from_working_memory reads one by its full key):"
_OUTLINES = "Outlines of what subagents have found (get_from_working_memory reads one by its full key):"
# How many pieces are searched before the filters, so that they leave some.
_SEARCHED = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkingSaved:
    """What a save did: the entry, and the keys of those that had to leave as its namespace was full."""

    entry: WorkingSummary
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkingHit:
    """An entry found by a search, with its score from 0 to 1 (0 without a query).

    Of a long value, `key` names the best part, as in `inbox-3`, and `text` is that part.
    """

    key: str
    text: str
    score: float
    entry: WorkingSummary


class WorkingMemory:
    """Scratch space with a time to live: large tool results, partial results, handoffs between agents.

    Keys are paths: `session/abc123/inbox` is the entry `inbox` of the namespace `session/abc123`; the other kinds of
    namespaces are `patrol/<task>` and `subagent/<id>`. `within` gives the working memory as one of them sees it: it
    writes to its own namespace only, may leave that out in keys, and reads all others. A value longer than
    `Settings.working.part_characters` is kept in parts: `inbox-index` is its outline, `inbox-1` the first part,
    `inbox` the whole. Entries stay for `Settings.working.ttl_minutes` (5) unless they say otherwise, also over a
    restart, and a namespace holds 50 of them: a further one takes the place of the one that expires first.

    Each method has a twin named `a…` that does the same in a thread.

    Example:
        >>> scratch = space.working.within("session/abc123")
        >>> scratch.save("inbox", "3 unread: Ana, Ben, the bank", ttl_minutes=30).entry.key
        'session/abc123/inbox'
    """

    def __init__(self, context: SpaceContext, namespace: str = "") -> None:
        self._context = context
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"WorkingMemory({self._context.name!r}, {self.namespace!r})"

    def within(self, namespace: str) -> WorkingMemory:
        """The working memory as `namespace` sees it, such as `session/abc123` or `patrol/heartbeat`.

        Raises:
            InvalidKey: it is no namespace.
        """
        return WorkingMemory(self._context, keys.namespace(namespace))

    def of(self, kind: NamespaceKind, name: str) -> WorkingMemory:
        """The working memory as a session, patrol or subagent sees it, whatever characters its name has.

        Raises:
            InvalidKey: the kind is none of these, or the name is empty or too long.
        """
        return self.within(keys.namespace_of(kind, name))

    def save(
        self,
        key: str,
        value: str,
        *,
        ttl_minutes: float | None = None,
        category: str | None = None,
        tags: Iterable[str] = (),
    ) -> WorkingSaved:
        """Save a value under a key, in the place of one that is there.

        Secrets in it are masked, unless `Settings.privacy.drawers` keeps them.

        Args:
            key: In the own namespace, or a full path in it.
            value: The text, word for word.
            ttl_minutes: How long it stays; by default `Settings.working.ttl_minutes`.
            category: Such as `email`.
            tags: A few words to find it by.

        Raises:
            InvalidKey: it is no key, or in another namespace than the own.
            SecretRefused: the key holds a secret, and secrets are masked.
            InvalidText: the value is no text, or empty.
            TextTooLong: the value is longer than `Settings.working.max_characters`.
            InvalidInput: the time to live is not more than 0, or longer than `Settings.working.longest_ttl_days`.
        """
        where, text, kept_for = self._named(key), self._text(value), self._milliseconds(ttl_minutes)
        filed, labels = self._category(category), self._tags(tags)
        with self._context.open() as store, store.writing() as connection:
            now = to_millis(self._context.clock())
            row = WorkingRow(
                key=where,
                namespace=keys.namespace_in(where),
                value=text,
                characters=len(text),
                cuts=cuts(text, self._settings.part_characters),
                category=filed,
                tags=labels,
                stored_at=now,
                expires_at=now + kept_for,
            )
            dropped = self._make_room(connection, store.key, row)
            working_entries.put(connection, store.key, row)
        self._context.wake()
        return WorkingSaved(entry=_summary(row), dropped=tuple(dropped))

    def get(self, key: str) -> WorkingEntry | None:
        """An entry by its key, None if there is none (any more).

        Of a long value, `inbox` is the whole, `inbox-index` its outline and `inbox-2` its second part.

        Raises:
            InvalidKey: it is no key.
        """
        where = keys.full(key, self.namespace)
        within = keys.part_of(where)
        with self._context.open() as store, store.reading() as connection:
            wanted = {where} if within is None else {where, within.key}
            found = working_entries.read(connection, store.key, wanted, to_millis(self._context.clock()))
        if where in found:
            return _entry(found[where], where, found[where].value)
        long = None if within is None else found.get(within.key)
        if within is None or long is None or not long.cuts:
            return None
        if within.part is None:
            return _entry(long, where, outline(long.key, long.parts))
        return _entry(long, where, long.parts[within.part - 1]) if within.part <= len(long.parts) else None

    def list(self, prefix: str | None = None) -> tuple[WorkingSummary, ...]:
        """What is there, in the order of the keys, without the values.

        Args:
            prefix: Only what is below this path, such as `patrol` or `subagent/t1`; "" for everything. By default,
                the own namespace.

        Raises:
            InvalidKey: `prefix` is no path.
        """
        with self._context.open() as store, store.reading() as connection:
            rows = working_entries.under(connection, store.key, self._prefix(prefix), to_millis(self._context.clock()))
            return tuple(_summary(row) for row in rows)

    def search(
        self,
        query: str = "",
        *,
        category: str | None = None,
        tags: Iterable[str] = (),
        prefix: str | None = None,
        limit: int = 10,
    ) -> tuple[WorkingHit, ...]:
        """The entries that best match a query, by words and, once they are embedded, by meaning; best first.

        Without a query, those with the category and all of the tags, the latest saved first.

        Args:
            query: What to look for.
            category: Only entries of this category.
            tags: Only entries with all of these tags.
            prefix: As for `list`.
            limit: The most entries.

        Raises:
            InvalidKey: `prefix` is no path.
            InvalidInput: `query` is not a text, or `limit` is below 1.
            InvalidVector: the embedder's vectors have another length than the stored ones.
        """
        from langmem_tiers.recall.request import parse

        asked, most = parse(arguments.any_text(query, "query"), 0), arguments.whole(limit, "limit", least=1)
        filed, labels, below = self._category(category), set(self._tags(tags)), self._prefix(prefix)
        vector, _ = self._context.embedder.query(asked.text) if asked.text else (None, None)
        with self._context.open() as store, store.reading() as connection:
            now = to_millis(self._context.clock())
            heads = {
                head.key: head
                for head in working_entries.under(connection, store.key, below, now)
                if filed in (None, head.category) and labels.issubset(head.tags)
            }
            if not asked.text:
                latest = sorted(heads.values(), key=lambda head: head.stored_at, reverse=True)[:most]
                rows = working_entries.read(connection, store.key, [head.key for head in latest], now)
                return tuple(_hit(head, 0, rows[head.key].parts[0], 0.0) for head in latest)
            moment = change_log.moment(connection, store.key)
            settings = self._context.settings.recall
            hits = store.search_notes(moment, asked.terms, vector, _SEARCHED, {"working"}, settings=settings)
        rising = sorted(hits, key=lambda hit: (hit.score, -hit.ordinal))
        best = {hit.ref: hit for hit in rising if hit.ref in heads}
        ranked = sorted(best.values(), key=lambda hit: -hit.score)[:most]
        return tuple(_hit(heads[hit.ref], hit.ordinal, hit.text, hit.score) for hit in ranked)

    def delete(self, key: str) -> bool:
        """Delete an entry of the own namespace, of a long value all parts; False if there was none.

        Raises:
            InvalidKey: it is no key, or in another namespace than the own.
        """
        where = self._own(key)
        within = keys.part_of(where)
        with self._context.open() as store, store.writing() as connection:
            now = to_millis(self._context.clock())
            found = working_entries.read(connection, store.key, {where, *((within.key,) if within else ())}, now)
            these = {where} & found.keys() or {row.key for row in found.values() if row.cuts}
            removed = working_entries.remove(connection, store.key, these, now)
            if removed:
                purging.request(connection, store.key, at=now)
            return bool(removed)

    def prompt_block(self) -> str:
        """What there is, for a prompt: keys with how long they stay, never the contents. Empty if there is nothing.

        A session sees its own entries, what patrols have found, and the outlines that subagents left; a patrol or a
        subagent its own entries only. Put it at the end of a prompt, as it changes with every call.
        """
        sections: dict[str, Sequence[WorkingSummary]] = {_OWN: self.list(self.namespace or "session")}
        if not self.namespace.startswith(("patrol/", "subagent/")):
            sections[_OF_PATROLS] = self.list("patrol")
            sections[_OUTLINES] = [each for each in self.list("subagent") if each.key.endswith(f"-{keys.INDEX}")]
        return inventory(sections, self._context.now, self._settings.inventory)

    asave = twin(save)
    aget = twin(get)
    alist = twin(list)
    asearch = twin(search)
    adelete = twin(delete)
    aprompt_block = twin(prompt_block)

    @property
    def _settings(self) -> WorkingSettings:
        return self._context.settings.working

    def _own(self, key: str) -> str:
        """The full key of what is to be written."""
        where = keys.full(key, self.namespace)
        if len(where) > keys.LONGEST:
            raise InvalidKey(f"{beginning(where, 80)!a}… is longer than {keys.LONGEST} characters.")
        if self.namespace and keys.namespace_in(where) != self.namespace:
            raise InvalidKey(
                f"{beginning(key, 80)!a} is in another namespace than {self.namespace}, and can only be read.",
                way_out="Write to a key of your own, such as 'inbox'.",
            )
        return where

    def _prefix(self, prefix: str | None) -> str:
        return self.namespace if prefix is None else keys.prefix(prefix)

    def _named(self, key: str) -> str:
        """A key to save under: one with a secret could not be found again if that was masked."""
        where = self._own(key)
        if self._context.settings.privacy.drawers != "keep" and secrets.find(where):
            raise SecretRefused("The key holds a secret.", way_out="Give another key, and keep the secret elsewhere.")
        return where

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise InvalidText(f"{type_of(value)} is no text for working memory.", way_out="Give a str, such as JSON.")
        if not value.strip():
            raise InvalidText("There is nothing to keep.", way_out="Give a text, or delete the key.")
        if len(value) > self._settings.max_characters:
            raise TextTooLong(
                f"The value has {len(value):,} characters; the limit is {self._settings.max_characters:,}.",
                way_out="Keep what matters of it, split it, or raise Settings.working.max_characters.",
            )
        validation.require_unicode(value, "value")
        return value if self._context.settings.privacy.drawers == "keep" else secrets.mask(value)

    def _milliseconds(self, minutes: Any) -> int:
        given = self._settings.ttl_minutes if minutes is None else arguments.number(minutes, "ttl_minutes")
        longest = self._settings.longest_ttl_days * _DAY
        if not 0 < given * _MINUTE <= longest:
            raise arguments.refused(given, "ttl_minutes", f"more than 0, and at most {longest / _MINUTE:,.0f} minutes")
        return max(1, round(given * _MINUTE))

    def _make_room(self, connection: Connection, space: str, new: WorkingRow) -> Sequence[str]:
        """Let those leave that expire first, so that there is room for one more. Returns their keys."""
        at, room = new.stored_at, self._settings.entries
        if not working_entries.read(connection, space, {new.key}, at):
            room -= 1
        gone = working_entries.first_to_expire(connection, space, new.namespace, room, at)
        working_entries.remove(connection, space, gone, at)
        return gone

    def _category(self, given: str | None) -> str | None:
        named = arguments.optional_text(given, "category")
        return None if named is None else validation.category(named, self._context.settings)

    def _tags(self, given: Iterable[str]) -> tuple[str, ...]:
        return validation.tags(given, self._context.settings)


def _described(head: WorkingHead, key: str) -> dict[str, Any]:
    return {
        "key": key,
        "characters": head.characters,
        "parts": len(head.cuts) + 1,
        "category": head.category,
        "tags": head.tags,
        "stored_at": from_millis(head.stored_at),
        "expires_at": from_millis(head.expires_at),
    }


def _summary(head: WorkingHead) -> WorkingSummary:
    """An entry as lists name it: a long value by the key of its outline."""
    return WorkingSummary(**_described(head, f"{head.key}-{keys.INDEX}" if head.cuts else head.key))


def _entry(row: WorkingRow, key: str, value: str) -> WorkingEntry:
    return WorkingEntry(value=value, **_described(row, key))


def _hit(head: WorkingHead, part: int, text: str, score: float) -> WorkingHit:
    key = f"{head.key}-{part + 1}" if head.cuts else head.key
    return WorkingHit(key=key, text=text, score=score, entry=_summary(head))
