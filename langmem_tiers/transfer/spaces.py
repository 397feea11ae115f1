"""Whose a record is: the space that it goes into."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from langmem_tiers.errors import InvalidSpace, MissingUser
from langmem_tiers.naming import user_space
from langmem_tiers.transfer.records import ImportedDocument, ImportedFact, ImportedSession

Keepable = ImportedSession | ImportedFact | ImportedDocument
SpaceOf = Callable[[Keepable], str]
"""Names the space of a record; raises InvalidSpace for one that belongs nowhere."""

# Sets of conversations that are nobody's: a space for each.
OWN_SPACES = frozenset({"locomo", "longmemeval"})
# Formats that say whose each of their records is.
NAME_USERS = frozenset({"langmem", "langgraph", "mem0", "claude"})
_NO_USER = "It names no user, and none was given."


class Spaces:
    """Names the space of each record, and remembers which were named.

    Args:
        format: what the records were read from.
        user: whose they all are; None for the users that they name themselves.
        own_spaces: a space for each conversation of a set, such as `locomo/conv-1`; by default where no user is given.

    Raises:
        MissingUser: no user was given, and the format names none.
    """

    def __init__(self, format: str, user: str | int | UUID | None, *, own_spaces: bool | None = None) -> None:
        self._format = format
        self._own = format in OWN_SPACES and (user is None if own_spaces is None else own_spaces)
        self._only = None if user is None or self._own else user_space(user)
        if user is None and not self._own and format not in NAME_USERS:
            raise MissingUser(
                f"A file of {format} does not say whose memory it is.",
                way_out="Name a user: langmem-tiers --user ID import …, or import_file(…, user=ID).",
            )
        self.used: dict[str, None] = {}

    def __call__(self, record: Keepable) -> str:
        """The name of the space.

        Raises:
            InvalidSpace: the record names nobody, or somebody who can not be named so.
        """
        name = self._only or self._named(record)
        self.used[name] = None
        return name

    def _named(self, record: Keepable) -> str:
        if self._own and isinstance(record, ImportedSession):
            return f"{self._format}/{record.conversation}"
        if record.user is None:
            raise InvalidSpace(_NO_USER)
        return user_space(record.user)
