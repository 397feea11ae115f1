"""On whose behalf a store is used, and which spaces that opens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langmem_tiers.space import Space

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.memory import Memory


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Whoever uses the store of a memory.

    Attributes:
        memory: The open memory.
        own_space: That of the user, whose role counts; None for the host itself.
        agent: The agent whose settings are in force, if the run names one.
    """

    memory: "Memory"
    own_space: str | None
    agent: str | None

    def context(self, name: str) -> "SpaceContext":
        """The context of a space."""
        return self.memory.context(name, agent=self.agent, caller=self.own_space)

    def space(self, name: str) -> Space:
        """A space, without its fallbacks."""
        return Space(self.memory, self.context(name))

    def readable(self, names: Sequence[str] | None) -> "list[SpaceContext]":
        """Those of these spaces, or of all, that are on, and in which there is a role.

        Raises:
            AccessDenied, MemoryOff: spaces are named, and none of them can be read.
        """
        wanted = self.memory.spaces() if names is None else tuple(dict.fromkeys(names))
        found = [each for each in map(self.context, wanted) if each.settings.enabled and each.role() is not None]
        if names and not found:
            self.require_readable(wanted[0])
        return found

    def require_readable(self, name: str) -> "SpaceContext":
        """The context of a space that can be read.

        Raises:
            AccessDenied: there is no role in it.
            MemoryOff: the settings turn it off.
        """
        context = self.context(name)
        context.require_role()
        context.require_enabled()
        return context

    def require_writable(self, name: str) -> None:
        """Refuse where nothing can be written to a space.

        Raises:
            ReadOnlyForMembers, AccessDenied: the role is that of a member, or there is none.
            MemoryOff: the settings turn it off.
        """
        self.memory.access.require_writable(self.own_space, name)
        self.context(name).require_enabled()
