"""Taking in what another memory knew: under ids of its own, with its dates, once, and never over what is known here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import checks, forgetting, landing, nearby
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.storage import entries, tombstones
from langmem_tiers.storage.entries import NewEntry

if TYPE_CHECKING:
    from langmem_tiers.knowledge.nearby import Nearby
    from langmem_tiers.space import Space

Became = Literal["saved", "merged", "known", "deleted"]
"""What became of a fact: a new entry, another wording of one, nothing new, or one that was deleted here."""

_ID_CHARACTERS = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreign:
    """An entry of another memory. `key` names it: the same key and words are the same entry, whenever they come."""

    key: str
    content: str
    category: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    created_at: datetime | None
    updated_at: datetime | None
    expires_at: datetime | None


def take_in(space: Space, foreign: Foreign) -> Became:
    """Store an entry of another memory, unless it was stored before, is known in these words, or was deleted here.

    Nobody of this memory stands behind it: whatever user or agent say of it later holds instead.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it can not be stored like this.
    """
    memory = space.memory
    new = _new(space, foreign)
    with memory.use(space.name) as store:
        with store.reading() as connection:
            if _is_known(Ledger(connection, store.key, to_millis(memory.clock())), new):
                return "known"
        near = nearby.look(store, [new.content], nearby.by_words)
        with store.writing() as connection:
            ledger = Ledger(connection, store.key, to_millis(memory.clock()))
            became = _landed(ledger, new, near, memory.settings.knowledge.merge_similarity)
            if became in ("saved", "merged"):
                _date(ledger, new.id, foreign)
    if became in ("saved", "merged"):
        memory.wake(space.name)
    return became


def was_deleted(space: Space, foreign: Foreign) -> bool:
    """Whether `take_in` would find that it was deleted here.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it can not be stored like this.
    """
    new = _new(space, foreign)
    with space.memory.use(space.name) as store, store.reading() as connection:
        ledger = Ledger(connection, store.key, to_millis(space.memory.clock()))
        return not _is_known(ledger, new) and _is_buried(ledger, new)


def _new(space: Space, foreign: Foreign) -> NewEntry:
    settings = space.memory.settings
    content = checks.content(foreign.content, settings)
    named = "\0".join((foreign.key, foreign.content))
    return NewEntry(
        id=hashlib.sha256(named.encode()).hexdigest()[:_ID_CHARACTERS],
        content=content,
        category=checks.category(foreign.category, settings),
        tags=checks.tags(foreign.tags, settings),
        origin="import",
        path="rule",
        authority=Authority.SYSTEM,
        flags=checks.flags(content),
        metadata=checks.metadata(foreign.metadata, settings),
        expires_at=checks.moment(foreign.expires_at, "expires_at"),
    )


def _landed(ledger: Ledger, new: NewEntry, near: Nearby, least: float) -> Became:
    if _is_known(ledger, new):
        return "known"
    if _is_buried(ledger, new):
        return "deleted"
    landed = landing.settle(ledger, new, (), near.of(ledger, new.content), least=least)
    return "merged" if landed.outcome == "merged" else "saved"


def _is_known(ledger: Ledger, new: NewEntry) -> bool:
    """Whether it came before, whatever became of it, or an entry says the very same, whether it holds or not."""
    return ledger.read(new.id) is not None or landing.twin(ledger, new.content, project=None, agent=None) is not None


def _is_buried(ledger: Ledger, new: NewEntry) -> bool:
    return bool(tombstones.among(ledger.connection, ledger.space, "entry", {forgetting.key(new.content)}))


def _date(ledger: Ledger, entry_id: str, foreign: Foreign) -> None:
    """Let an entry that was just stored bear the dates it had."""
    stored = ledger.read(entry_id)
    created = foreign.created_at or foreign.updated_at
    if stored is None or created is None:
        return
    changed = max(created, foreign.updated_at or created)
    # Nothing that is still to come was known before.
    times = {"created_at": min(to_millis(created), ledger.now), "updated_at": min(to_millis(changed), ledger.now)}
    entries.change(ledger.connection, ledger.space, stored.number, times)
