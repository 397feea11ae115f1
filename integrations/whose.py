"""Whose memory a chain works on: what it was made for, else what its run says."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from langmem_tiers.graphs.identity import Scope, SpaceChoice, current_runtime, resolve_scope
from langmem_tiers.naming import user_space

if TYPE_CHECKING:
    from langmem_tiers.space import Space

UserId = str | int | UUID


def scope_of(
    config: RunnableConfig | None = None,
    *,
    space: SpaceChoice | None = None,
    user_id: "UserId | Callable[[], UserId | None] | None" = None,
) -> Scope:
    """The space and the session of the run that is going on, or of `config`.

    `space` goes before `user_id`, and both before what the run says.

    Raises:
        MissingUser: nobody says whose memory it is.
        InvalidSpace: what was said can not name a space.
    """
    user = user_id() if callable(user_id) else user_id
    choice = user_space(user) if space is None and user is not None else space
    return resolve_scope(ensure_config(config), current_runtime(), remembered=None, space=choice)


def with_profile(space: "Space", block: str, *, profile: bool) -> str:
    """A recalled block behind what is always known of the user, where that is wanted."""
    parts = (space.profile() if profile else "", block)
    return "\n\n".join(part for part in parts if part)
