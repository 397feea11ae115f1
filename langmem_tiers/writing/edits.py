"""Handles messages that no longer stand, since they were edited or their branch of the conversation was left.

Facts mined only from them are retired, and what these had corrected holds again; when the messages stand again, it is
the other way round. Entries saved by others stay: they may have been based on more than the message.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.records import FOUND, Entry
from langmem_tiers.storage import change_log, drawers, entries
from langmem_tiers.storage.change_log import Change
from langmem_tiers.store import SpaceStore

CURSOR = "mine:edits"
_REASON, _CORRECTED = "edited", "corrected"
# Drawers examined per transaction.
_AT_ONCE = 1000


def follow(store: SpaceStore, now: int) -> bool:
    """Process the next superseded or reinstated drawers in the log; False if there were none.

    Raises:
        StorageError: they are processed later.
    """
    with store.reading() as connection:
        kinds: set[change_log.Kind] = {"drawer.superseded", "drawers.added"}
        old, unread = change_log.unread(connection, store.key, CURSOR, kinds=kinds, most=_AT_ONCE)
        news = _first(unread)
        if not news:
            return False
        resting = bool(_resting(connection, store.key, news))
    with store.writing(durable=resting) as connection:
        if change_log.move_cursor(connection, store.key, CURSOR, old=old, new=news[-1].position):
            for entry in _resting(connection, store.key, news):
                _settle(EntryWriter(connection, store.key, now), entry)
    return True


def _first(news: Sequence[Change]) -> list[Change]:
    """The first changes, at least one, that cover a bounded number of drawers."""
    taken: list[Change] = []
    left = _AT_ONCE
    for change in news:
        taken.append(change)
        left -= len(_drawers(change))
        if left <= 0:
            break
    return taken


def _drawers(change: Change) -> Collection[int]:
    """The drawers of a change; for a superseded one `until` is the number of its chunks."""
    last = change.subject if change.kind == "drawer.superseded" else change.until
    return range(change.subject, last + 1)


def _resting(connection: Connection, space: str, news: Sequence[Change]) -> list[Entry]:
    """The mined entries based on these drawers."""
    numbers = {number for change in news for number in _drawers(change)}
    return [entry for entry in entries.resting_on(connection, space, numbers) if entry.path in FOUND]


def _settle(ledger: EntryWriter, entry: Entry) -> None:
    """Keep an entry active exactly if some of its evidence is still current."""
    stands = _stands(ledger, entry)
    if entry.active and not stands and not entry.pinned:
        _retire(ledger, entry)
    elif stands and entry.reason == _REASON:
        _revive(ledger, entry)


def _retire(ledger: EntryWriter, entry: Entry) -> None:
    """Put an entry aside; the entry that it had corrected takes its place."""
    corrected = entries.succeeded_by(ledger.connection, ledger.space, entry.id, _CORRECTED)
    back = [ledger.revive(each) for each in corrected if _stands(ledger, each)]
    ledger.retire(entry, _REASON, back[0].id if back else None)


def _revive(ledger: EntryWriter, entry: Entry) -> None:
    """Let an entry hold again, and correct again what it had corrected."""
    wrong = ledger.read(entry.successor)
    revived = ledger.revive(entry)
    if wrong is not None and wrong.active and not wrong.pinned:
        ledger.retire(wrong, _CORRECTED, revived.id)


def _stands(ledger: EntryWriter, entry: Entry) -> bool:
    """Whether some evidence of an entry is still current, or it has none."""
    cited = drawers.read(ledger.connection, ledger.space, {each.drawer for each in entry.evidence})
    return not cited or any(drawer.status == "active" for drawer in cited.values())
