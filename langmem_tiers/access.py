"""Who may read and write a space: the roles that the host declares, looked up each time a space is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from langmem_tiers import arguments
from langmem_tiers.errors import READ_ONLY, AccessDenied, InvalidSettings, ReadOnlyForMembers
from langmem_tiers.naming import caller_space, check_space, is_personal

Role = Literal["leader", "member"]
Roles = Mapping[str, Mapping[str, Role]] | Callable[[str, str], Role | None]
"""The roles in each space by user id or name of the caller's own space, or a function of caller and space."""

NOBODY = ""
"""The caller of a run that names no user: without a space of its own and without a role."""


class Access:
    """What the callers of a memory may do.

    Raises:
        InvalidSettings: `roles` is neither a table of roles nor a function.
    """

    def __init__(self, roles: Roles | None) -> None:
        self._ask = roles if callable(roles) else None
        self._table = None if roles is None or callable(roles) else _checked(roles)

    def role(self, caller: str | None, space: str) -> Role | None:
        """What a caller may do in a space: a leader everything, a member read; None: neither.

        The host itself, which is no caller, may do everything, and so may everybody in their own space and below it.
        """
        if caller is None or (self._ask is None and self._table is None) or _is_own(caller, space):
            return "leader"
        if self._ask is not None:
            return None if caller == NOBODY else _role(self._ask(caller, space), space)
        return self._declared(caller, space)

    def require(self, caller: str | None, space: str) -> Role:
        """The role of a caller in a space.

        Raises:
            AccessDenied: they have none.
        """
        role = self.role(caller, space)
        if role is None:
            who = f"{caller!a}" if caller else "A run that names no user"
            raise AccessDenied(f"{who} has no role in {space!a}.")
        return role

    def require_writable(self, caller: str | None, space: str) -> None:
        """Refuse whoever may not write to a space.

        Raises:
            ReadOnlyForMembers: they are a member.
            AccessDenied: they have no role in it.
        """
        if self.require(caller, space) != "leader":
            raise ReadOnlyForMembers(READ_ONLY)

    def _declared(self, caller: str, space: str) -> Role | None:
        """By the table: what holds for a space holds for those below it; where nothing does, it is open to all.

        Except those of users and agents.
        """
        name, table = space, self._table or {}
        while name:
            if name in table:
                return table[name].get(caller)
            name = name.rpartition("/")[0]
        return None if is_personal(space) else "leader"


def _is_own(caller: str, space: str) -> bool:
    return is_personal(caller) and (space == caller or space.startswith(f"{caller}/"))


def _checked(roles: Any) -> dict[str, dict[str, Role]]:
    if not isinstance(roles, Mapping) or not all(isinstance(each, Mapping) for each in roles.values()):
        raise InvalidSettings(
            "The argument `roles` is no table of roles and no function.",
            way_out="Write it as {'teams/research': {'ana': 'leader', 'ben': 'member'}}, or give a function of caller "
            "and space.",
        )
    return {
        check_space(space): {caller_space(who): _known(role, space) for who, role in declared.items()}
        for space, declared in roles.items()
    }


def _role(answer: Any, space: str) -> Role | None:
    return None if answer is None else _known(answer, space)


def _known(role: Any, space: str) -> Role:
    if role not in get_args(Role):
        raise InvalidSettings(
            f"{role!a} is no role in {space!a}.",
            way_out="Give 'leader' or 'member'; who has no role is left out of a table, and None from a function.",
        )
    return arguments.one_of(role, "roles", get_args(Role))  # type: ignore[no-any-return]
