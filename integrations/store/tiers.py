"""The tiers of a user as namespaces of a store: `("tiers", user, "knowledge")` and so on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langgraph.store.base import Item, PutOp, SearchItem, SearchOp

from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.store import checks, filters, known
from langmem_tiers.integrations.store.naming import TIERS, Namespace, user_id
from langmem_tiers.integrations.store.tier_readers import READERS
from langmem_tiers.naming import user_space
from langmem_tiers.storage.folder import has_space

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space

WRITABLE = "knowledge"
# Looked at where a filter may leave things out.
_LOOKED_AT = 1000


class Tiers:
    """Searches and reads the tiers, and writes what is known."""

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """What a tier holds under an id, None where there is nothing.

        Raises:
            InvalidInput: there is no such tier.
        """
        user, tier = _parts(namespace)
        space = self._existing(user)
        shown = None if space is None else READERS[tier].get(space, key)
        return None if shown is None else Item(namespace=namespace, **shown.columns())

    def search(self, op: SearchOp) -> list[SearchItem]:
        """What fits a query in a tier, or in all of a user, best first; without one, the newest of each tier.

        Raises:
            InvalidInput: there is no such tier, or no user is named.
        """
        user, tiers = _reach(tuple(op.namespace_prefix))
        space = self._existing(user)
        if space is None:
            return []
        most = max(op.offset + op.limit, _LOOKED_AT if op.filter else 1)
        found = [(tier, each) for tier in tiers for each in READERS[tier].search(space, op.query or "", most)]
        fitting = [(tier, each) for tier, each in found if filters.fits(each.value, op.filter)]
        newest = sorted(fitting, key=lambda one: one[1].updated_at, reverse=True)
        ranked = sorted(newest, key=lambda one: -(one[1].score or 0.0))[op.offset : op.offset + op.limit]
        name = tuple(op.namespace_prefix[:2])
        return [SearchItem(namespace=(*name, tier), score=each.score, **each.columns()) for tier, each in ranked]

    def require_writable(self, op: PutOp) -> None:
        """Nothing, if this can be written.

        Raises:
            InvalidInput: there is no such tier, it is read only, or an entry can not be this.
        """
        _, tier = _parts(op.namespace)
        if tier != WRITABLE:
            raise InvalidInput(
                f"The tier {tier!r} can be read through a store, and not written.",
                way_out=f'Write to (…, "{WRITABLE}"), or to a namespace such as ("memories", user).',
            )
        if op.value is not None:
            known.require(op, self._memory.settings)

    def put(self, op: PutOp) -> None:
        """Save an entry, or delete the one of this key."""
        user, _ = _parts(op.namespace)
        if op.value is not None:
            known.save(self._memory.space(user), op.key, op.value, checks.milliseconds(op.ttl))
        elif (space := self._existing(user)) is not None:
            known.delete(space, op.key)

    def _existing(self, name: str) -> "Space | None":
        return self._memory.space(name) if has_space(self._memory.path, name) else None


def _parts(namespace: Namespace) -> tuple[str, str]:
    """The space and the tier that a namespace names."""
    space, tiers = _reach(tuple(namespace))
    if len(tiers) != 1:
        raise _unknown(namespace)
    return space, tiers[0]


def _reach(prefix: Namespace) -> tuple[str, Sequence[str]]:
    """The space and the tiers below a prefix."""
    if len(prefix) == 1:
        raise InvalidInput("Whose tiers? The namespace names no user.", way_out=f'Give ("{TIERS}", user).')
    if len(prefix) > 3 or (len(prefix) == 3 and prefix[2] not in READERS):
        raise _unknown(prefix)
    return user_space(user_id(prefix[1])), prefix[2:] or tuple(READERS)


def _unknown(namespace: Namespace) -> InvalidInput:
    return InvalidInput(
        f"{namespace!r} is no tier.", way_out=f'Give ("{TIERS}", user, tier); tiers are {", ".join(READERS)}.'
    )
