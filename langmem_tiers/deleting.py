"""Deletes a whole space: all that is kept of it, its settings, and what other spaces show of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import ForgetChanged
from langmem_tiers.forgetting import traces
from langmem_tiers.forgetting.types import ForgetReceipt, SpacePreview
from langmem_tiers.settings_file import has_value, require_removable, unset_value
from langmem_tiers.storage import change_log, inspection
from langmem_tiers.transfer import backups

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.runtime import Runtime

_TOKEN = 16  # bytes
_ELSEWHERE = (
    "LangGraph checkpoints of its sessions still hold the messages: checkpointer.delete_thread(thread_id) for each",
    "logs of the host program, and what its model provider keeps",
)


def preview(runtime: Runtime, name: str) -> SpacePreview:
    """What deleting a space would delete; nothing changes, and a space that is not there is not made."""
    exists, counts, head = runtime.backend.has(name), dict[str, int](), 0
    if exists:
        with runtime.use(name) as store, store.reading() as connection:
            counts = _counts(connection, store.key)
            head = change_log.head(connection, store.key)
    return SpacePreview(
        token=_token(name, exists, head),
        space=name,
        exists=exists,
        counts=counts,
        traces=traces.count(runtime.backend, name),
        settings=has_value(runtime.path, ("spaces", name)),
    )


def _counts(connection: Connection, space: str) -> dict[str, int]:
    return dict(inspection.counts(connection, space)._asdict())


def _token(name: str, exists: bool, head: int) -> str:
    return hashlib.blake2b(f"{name} {exists} {head}".encode(), digest_size=_TOKEN).hexdigest()


def _token_when_closed(runtime: Runtime, name: str) -> str:
    """The token of a space that is kept closed: nothing can change it any more."""
    if not runtime.backend.has(name):
        return _token(name, False, 0)
    with runtime.backend.records(name) as database, database.reading() as connection:
        return _token(name, True, change_log.head(connection, database.space))


def delete(runtime: Runtime, name: str, confirm: str | bool) -> ForgetReceipt:
    """Delete a space, while the memory stays open; whoever wants it meanwhile waits, and finds an empty one.

    Raises:
        ForgetChanged: `confirm` is a token, and the space has changed since it was given.
        DatabaseLocked: another process has the space open, or somebody in this one goes on working with it.
        StorageError: it could not be deleted.
    """
    exists, counts = runtime.backend.has(name), dict[str, int]()
    if exists:  # not a preview: that looks into all other spaces, and so does what is deleted there
        with runtime.use(name) as store, store.reading() as connection:
            counts = _counts(connection, store.key)
    has_settings = has_value(runtime.path, ("spaces", name))
    with runtime.keep_closed(name):
        if confirm is not True and confirm != _token_when_closed(runtime, name):
            raise ForgetChanged(f"The space {name!a} has changed since this token was given.")
        _remove(runtime, name)
    at = runtime.clock()
    others = traces.clear_others(runtime.backend, name, None, to_millis(at))
    return ForgetReceipt(
        id=0,
        at=at,
        space=name,
        counts={"spaces": int(exists), **counts, "receipts": others.receipts, "settings": int(has_settings)},
        stays=0,
        bytes="pending" if others.unreached else "gone",
        backups=backups.holding(runtime.path, name),
        elsewhere=(*_ELSEWHERE, *runtime.backend.unerased, *others.named("then repeat this call")),
    )


def _remove(runtime: Runtime, name: str) -> None:
    """Delete a space that is kept closed, and then its settings: what cannot be deleted keeps them."""
    has_settings = has_value(runtime.path, ("spaces", name))
    if has_settings:
        require_removable(runtime.path, ("spaces", name))
    runtime.backend.delete(name)
    if has_settings:
        unset_value(runtime.path, ("spaces", name))
        runtime.layered = runtime.layered.without_space(name)
        runtime.settings = runtime.layered.whole
