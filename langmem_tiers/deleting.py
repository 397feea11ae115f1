"""Deletes a whole space: its folder, its settings, and what other spaces show of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import ForgetChanged
from langmem_tiers.forgetting import traces
from langmem_tiers.forgetting.types import ForgetReceipt, SpacePreview
from langmem_tiers.settings_file import has_value, require_removable, unset_value
from langmem_tiers.storage import change_log, inspection
from langmem_tiers.storage.folder import delete_space, has_space
from langmem_tiers.transfer import backups

if TYPE_CHECKING:
    from langmem_tiers.runtime import Runtime

_TOKEN = 16  # bytes
_ELSEWHERE = (
    "LangGraph checkpoints of its sessions still hold the messages: checkpointer.delete_thread(thread_id) for each",
    "logs of the host program, and what its model provider keeps",
)


def preview(runtime: Runtime, name: str) -> SpacePreview:
    """What deleting a space would delete; nothing changes, and a space that is not there is not made."""
    exists, counts, head = has_space(runtime.path, name), dict[str, int](), 0
    if exists:
        with runtime.use(name) as store, store.reading() as connection:
            counts = dict(inspection.counts(connection, store.key)._asdict())
            head = change_log.head(connection, store.key)
    storage = runtime.settings.storage
    return SpacePreview(
        token=hashlib.blake2b(f"{name} {exists} {head}".encode(), digest_size=_TOKEN).hexdigest(),
        space=name,
        exists=exists,
        counts=counts,
        traces=traces.count(runtime.path, name, storage),
        settings=has_value(runtime.path, ("spaces", name)),
    )


def delete(runtime: Runtime, name: str, confirm: str | bool) -> ForgetReceipt:
    """Delete a space, while the memory stays open; whoever wants it meanwhile waits, and finds an empty one.

    Raises:
        ForgetChanged: `confirm` is a token, and the space has changed since it was given.
        DatabaseLocked: another process has the space open, or somebody in this one goes on working with it.
        StorageError: it could not be deleted.
    """
    seen = preview(runtime, name)
    if confirm is not True and confirm != seen.token:
        raise ForgetChanged(f"The space {name!a} has changed since this token was given.")
    with runtime.keep_closed(name):
        if seen.settings:
            require_removable(runtime.path, ("spaces", name))
        delete_space(runtime.path, name)
        if seen.settings:
            unset_value(runtime.path, ("spaces", name))
            runtime.layered = runtime.layered.without_space(name)
            runtime.settings = runtime.layered.whole
    at = runtime.clock()
    others = traces.clear_others(runtime.path, name, None, runtime.settings.storage, to_millis(at))
    return ForgetReceipt(
        id=0,
        at=at,
        space=name,
        counts={"spaces": int(seen.exists), **seen.counts, "receipts": others.receipts, "settings": int(seen.settings)},
        stays=0,
        bytes="pending" if others.unreached else "gone",
        backups=backups.holding(runtime.path, name),
        elsewhere=(*_ELSEWHERE, *others.named("then repeat this call")),
    )
