"""Explicit changes to entries: saving, correcting, updating, deactivating, reactivating, expiring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import EntryChanged, InvalidInput
from langmem_tiers.knowledge import decide, tombstones
from langmem_tiers.knowledge.entry_writer import Cited, EntryWriter
from langmem_tiers.knowledge.neighbours import Neighbours
from langmem_tiers.knowledge.results import Saved
from langmem_tiers.naming import new_id
from langmem_tiers.records import GAVE_WAY, Activity, Authority, Entry, NewEntry
from langmem_tiers.storage import activities, entries


def save(
    writer: EntryWriter,
    new: NewEntry,
    evidence: Cited,
    neighbours: Neighbours,
    *,
    corrects: str | None,
    least: float,
) -> Saved:
    """Store an entry, and deactivate the one it corrects.

    Raises:
        UnknownEntry: there is no entry to correct.
        AuthorityTooLow: that entry was stated, or this one was corrected, with higher authority.
    """
    wrong = None if corrects is None else writer.existing(corrects)
    if wrong is not None:
        # What was corrected or merged meanwhile is corrected in the entry that took its place.
        line = list(writer.succession(wrong))
        wrong = next((each for each in line if each.active), line[-1])
        decide.require(wrong, new.authority, by_tool=new.origin == "tool")
    tombstones.lift(writer, new.content)
    known = writer.known(new.content, project=new.project, agent=new.agent, neighbours=neighbours)
    put_aside = known.twin if known.holder is None else None
    if put_aside is not None and (wrong is None or put_aside.successor != wrong.id):
        _require_may_return(writer, put_aside, new.authority, by_tool=new.origin == "tool")
    saved = writer.place(new, evidence, known, least=least, wrong=() if wrong is None else {wrong.id})
    if wrong is None or wrong.id == saved.entry.id:
        return saved
    if wrong.active:
        writer.retire(wrong, "corrected", saved.entry.id)
    return replace(saved, corrected=wrong.id)


def update(
    writer: EntryWriter,
    entry: Entry,
    values: Mapping[str, Any],
    *,
    by: Authority,
    version: int | None,
    evidence: Cited = (),
) -> Entry:
    """Change the content or fields of an entry; its former content is kept as an inactive entry.

    Raises:
        EntryChanged: it is no longer at this version.
        AuthorityTooLow: its content was stated with higher authority.
        InvalidInput: another entry already says this.
    """
    require_version(entry, version)
    held = {name: getattr(entry, name) for name in values}
    held = {name: to_millis(value) if isinstance(value, datetime) else value for name, value in held.items()}
    changed = {name: value for name, value in values.items() if value != held[name]}
    if "content" in changed:
        decide.require(entry, by, by_tool=values.get("origin") == "tool")
        _require_alone(writer, entry, changed["content"])
        keep_former(writer, entry, "updated")
        changed["authority"] = max(by, entry.authority)
        if entry.from_tool and by >= Authority.USER:
            changed["origin"] = "user"
    elif changed and by is Authority.SYSTEM:
        decide.require(entry, by)
    return writer.join(writer.change(entry, **changed) if changed else entry, evidence)


def require_version(entry: Entry, version: int | None) -> None:
    """Check that an entry is still at the version that was read, if one is given.

    Raises:
        EntryChanged: it is not.
    """
    if version is not None and version != entry.version:
        raise EntryChanged(f"Entry {entry.id} is at version {entry.version}, not {version}.")


def deactivate(
    writer: EntryWriter, entry: Entry, reason: str, successor: str | None, *, by: Authority, by_tool: bool = False
) -> Entry:
    """Deactivate an entry. An inactive one stays as it is.

    Raises:
        AuthorityTooLow: it was stated with higher authority.
        UnknownEntry: there is no such successor.
    """
    if not entry.active:
        return entry
    decide.require(entry, by, by_tool=by_tool)
    if successor is not None:
        writer.existing(successor)
    return writer.retire(entry, reason, successor)


def reactivate(writer: EntryWriter, entry: Entry, *, by: Authority) -> Entry:
    """Reactivate an entry; a merged one is separated from the other.

    An enriched one replaces the entries made from it, except those changed since.

    Raises:
        AuthorityTooLow: it was corrected with higher authority.
        InvalidInput: another entry already says this.
    """
    if entry.active:
        return entry
    if entry.reason == "merged" or (entry.reason == "consolidated" and entry.successor is not None):
        return unmerge(writer, entry)
    _require_may_return(writer, entry, by)
    if entry.reason == "enriched":
        _take_apart(writer, entry)
    _require_alone(writer, entry, entry.content)
    expired = entry.reason == "expired"
    return writer.revive(entry, **({"expires_at": None} if expired else {}))


def unmerge(writer: EntryWriter, entry: Entry) -> Entry:
    """Separate a merged entry from the other, restoring both, and remove its evidence from all it was merged into.

    Raises:
        InvalidInput: it was not merged.
    """
    if entry.reason not in GAVE_WAY or entry.successor is None:
        raise InvalidInput(f"Entry {entry.id} was not merged.", way_out="Give the id of the one that gave way.")
    revived = writer.revive(entry)
    child, above = entry, writer.read(entry.successor)
    while above is not None:
        above = writer.take_back(above, via=entry)
        if child is not entry:
            above = writer.join(writer.take_back(above, via=child), child.evidence, via=child)
        child, above = above, writer.read(above.successor) if above.reason in GAVE_WAY else None
    return revived


def expire(writer: EntryWriter) -> list[Entry]:
    """Deactivate expired entries; returns them."""
    found = entries.expired(writer.connection, writer.space, writer.now)
    return [writer.retire(entry, "expired", None) for entry in found]


def keep_former(writer: EntryWriter, entry: Entry, reason: str) -> Entry:
    """Keep the present content of an entry as a separate inactive entry."""
    inactive = {"status": "inactive", "reason": reason, "successor": entry.id, "pinned": False, "expires_at": None}
    return writer.add(entry.copy(id=new_id(), **inactive), [each for each in entry.evidence if each.via is None])


def enrichments(writer: EntryWriter) -> list[Activity]:
    """Enriched entries, newest first."""
    return activities.latest(writer.connection, writer.space, -1, kind="memory_enriched")


def _require_may_return(writer: EntryWriter, entry: Entry, by: Authority, *, by_tool: bool = False) -> None:
    """Check that a call of this authority may bring back a corrected statement."""
    instead = writer.read(entry.successor) if entry.reason == "corrected" else None
    if instead is not None and instead.active:
        decide.require(instead, by, by_tool=by_tool)


def _require_alone(writer: EntryWriter, entry: Entry, content: str) -> None:
    twin = writer.known(content, project=entry.project, agent=entry.agent).twin
    if twin is not None and twin.active and twin.id != entry.id:
        raise InvalidInput(
            f"Entry {twin.id} says this already.", way_out=f"Deactivate one of them, naming {twin.id} as successor."
        )


def _take_apart(writer: EntryWriter, entry: Entry) -> None:
    """Deactivate the entries that an entry was enriched to."""
    for activity in (each for each in enrichments(writer) if each.body.get("former") == entry.id):
        for part in filter(None, map(writer.read, activity.body.get("kept", ()))):
            if part.active and not part.pinned and part.updated_at == activity.at:
                writer.retire(part, "removed", entry.id)
