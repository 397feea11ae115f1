"""Changing entries that are there: what they say, whether they hold, and deleting them for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Any

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import EntryChanged, InvalidInput, UnknownEntry
from langmem_tiers.knowledge import authority, clearing, forgetting, landing
from langmem_tiers.knowledge.checks import new_id
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.types import Authority, Deleted, Entry
from langmem_tiers.settings import Settings
from langmem_tiers.storage import activities, dreams, entries, receipts
from langmem_tiers.storage.activities import ActivityRow
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.writing.proposals import Evidence

# Inactive entries that are other wordings of the one that succeeds them.
_OTHER_WORDINGS = ("merged", "consolidated", "updated", "enriched")
# Where the activity of an enrichment names what holds its facts.
_MADE = ("kept", "merged", "known")


def existing(ledger: Ledger, entry_id: str) -> Entry:
    """The entry of an id.

    Raises:
        UnknownEntry: there is none.
    """
    entry = ledger.read(entry_id)
    if entry is None:
        raise UnknownEntry(f"There is no entry {entry_id[:40]!r}.")
    return entry


def update(
    ledger: Ledger,
    entry: Entry,
    values: Mapping[str, Any],
    *,
    by: Authority,
    version: int | None,
    evidence: Sequence[Evidence] = (),
) -> Entry:
    """Set what an entry says or is; what it said before stays as an inactive one.

    Raises:
        EntryChanged: it is not at this version any more.
        AuthorityTooLow: somebody of higher authority stands behind what it says.
        InvalidInput: another entry says this already.
    """
    if version is not None and version != entry.version:
        raise EntryChanged(f"Entry {entry.id} is at version {entry.version}, not {version}.")
    changed = {name: value for name, value in values.items() if value != _now(entry, name)}
    if "content" in changed:
        authority.require(entry, by)
        _require_alone(ledger, entry, changed["content"])
        keep_former(ledger, entry, "updated")
        changed["authority"] = max(by, entry.authority)
    elif changed and by is Authority.SYSTEM:
        authority.require(entry, by)
    return ledger.join(ledger.change(entry, **changed) if changed else entry, evidence)


def deactivate(ledger: Ledger, entry: Entry, reason: str, successor: str | None, *, by: Authority) -> Entry:
    """Let an entry hold no longer. One that is inactive already stays as it is.

    Raises:
        AuthorityTooLow: somebody of higher authority stands behind it.
        UnknownEntry: there is no such successor.
    """
    if not entry.active:
        return entry
    authority.require(entry, by)
    if successor is not None:
        existing(ledger, successor)
    return ledger.retire(entry, reason, successor)


def reactivate(ledger: Ledger, entry: Entry, *, by: Authority) -> Entry:
    """Let an inactive entry hold again; one that was merged is taken out of the other.

    One that was enriched takes the place of what was made of it, but for what has been changed since.

    Raises:
        AuthorityTooLow: somebody of higher authority corrected it.
        InvalidInput: another entry says this already.
    """
    if entry.active:
        return entry
    if entry.reason == "merged" or (entry.reason == "consolidated" and entry.successor is not None):
        return landing.unmerge(ledger, entry)
    landing.require_may_return(ledger, entry, by)
    if entry.reason == "enriched":
        _take_apart(ledger, entry)
    _require_alone(ledger, entry, entry.content)
    expired = entry.reason == "expired"
    return ledger.revive(entry, **({"expires_at": None} if expired else {}))


def unmerge(ledger: Ledger, entry: Entry) -> Entry:
    """Take a merged entry out of the other, as it was before.

    Raises:
        InvalidInput: it was not merged.
    """
    if entry.reason not in {"merged", "consolidated"} or entry.successor is None:
        raise InvalidInput(f"Entry {entry.id} was not merged.", way_out="Give the id of the one that gave way.")
    return landing.unmerge(ledger, entry)


def delete(ledger: Ledger, entry_id: str, *, by: Authority, settings: Settings) -> Deleted:
    """Delete an entry and its other wordings for good, also from what was made of messages, leaving tombstones.

    Raises:
        AuthorityTooLow: the memory itself deletes nothing that somebody stands behind.
    """
    at = from_millis(ledger.now)
    entry = ledger.read(entry_id)
    if entry is None:
        return Deleted(id=entry_id, existed=False, at=at)
    if by is Authority.SYSTEM:
        authority.require(entry, by)
    gone = _with_other_wordings(ledger, entry)
    said = forgetting.unsaid(ledger, gone)
    stones = forgetting.bury(ledger, gone, said)
    clearing.clear(ledger, said, settings)
    receipts.forget(ledger.connection, ledger.space, [one.id for one in gone])
    dreams.forget(ledger.connection, ledger.space, [one.id for one in gone])
    for each in (each for one in gone for each in entries.succeeded_by(ledger.connection, ledger.space, one.id)):
        if each.id not in {one.id for one in gone}:
            ledger.change(each, successor=None)
    removed = ledger.remove(gone)
    with_it = tuple(each.id for each in gone if each.id != entry.id)
    counts = {"evidence": removed.evidence, "vectors": removed.vectors, "tombstones": stones}
    return Deleted(id=entry.id, existed=True, at=at, with_it=with_it, **counts)


def expire(ledger: Ledger) -> list[Entry]:
    """Let entries hold no longer that were expected to hold until now; those that are."""
    found = entries.expired(ledger.connection, ledger.space, ledger.now)
    return [ledger.retire(entry, "expired", None) for entry in found]


def keep_former(ledger: Ledger, entry: Entry, reason: str) -> Entry:
    """Keep what an entry says until now as an inactive one of its own."""
    kept = ("content", "category", "tags", "origin", "path", "authority", "flags", "project", "agent", "metadata")
    values = {name: getattr(entry, name) for name in kept}
    former = NewEntry(id=new_id(), status="inactive", reason=reason, successor=entry.id, **values)
    own = (each for each in entry.evidence if each.via is None)
    return ledger.add(former, [Evidence(drawer=each.drawer, quote=each.quote) for each in own])


def _take_apart(ledger: Ledger, entry: Entry) -> None:
    """Put aside what an entry was enriched to."""
    for activity in (each for each in _enrichments(ledger) if each.body.get("former") == entry.id):
        parts = filter(None, map(ledger.read, activity.body.get("kept", ())))
        for part in parts:
            if part.active and not part.pinned and to_millis(part.updated_at) == activity.at:
                ledger.retire(part, "removed", entry.id)


def _enrichments(ledger: Ledger) -> list[ActivityRow]:
    return activities.latest(ledger.connection, ledger.space, -1, kind="memory_enriched")


def _enriched_to(ledger: Ledger, gone: Set[str]) -> list[Entry]:
    """The entries put aside that one of these was made of, or that said what it says: they hold its words."""
    made = (each for each in _enrichments(ledger) if gone & _named(each))
    formers = (ledger.read(each.body.get("former") or "") for each in made)
    return [former for former in formers if former is not None and former.reason == "enriched"]


def _named(enrichment: ActivityRow) -> set[str]:
    """The ids of the entries that hold the facts of one that was enriched."""
    return {str(each) for name in _MADE for each in enrichment.body.get(name, ())}


def _now(entry: Entry, name: str) -> Any:
    """What an entry has, in the form in which it is written."""
    value = getattr(entry, name)
    return to_millis(value) if isinstance(value, datetime) else value


def _require_alone(ledger: Ledger, entry: Entry, content: str) -> None:
    twin = landing.twin(ledger, content, project=entry.project, agent=entry.agent)
    if twin is not None and twin.active and twin.id != entry.id:
        raise InvalidInput(
            f"Entry {twin.id} says this already.", way_out=f"Deactivate one of them, naming {twin.id} as successor."
        )


def _with_other_wordings(ledger: Ledger, entry: Entry) -> list[Entry]:
    """An entry and all that were merged into it, that it said before, or that it is a part of."""
    found = {entry.id: entry}
    waiting = [entry]
    while waiting:
        behind = entries.succeeded_by(ledger.connection, ledger.space, waiting.pop().id)
        news = [each for each in behind if each.reason in _OTHER_WORDINGS and each.id not in found]
        found |= {each.id: each for each in news}
        waiting += news
    formers = {each.id: each for each in _enriched_to(ledger, found.keys())}
    return list((found | formers).values())
