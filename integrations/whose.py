"""Whose memory a chain works on: what it was made for, else what its run says."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import AfterValidator, BeforeValidator

from langmem_tiers import arguments
from langmem_tiers.errors import MissingUser
from langmem_tiers.graphs.identity import Scope, SpaceChoice, current_runtime, resolve_scope
from langmem_tiers.graphs.options import space_of
from langmem_tiers.naming import user_space

if TYPE_CHECKING:
    from langmem_tiers.space import Space

UserId = str | int | UUID


def _no_flag(given: Any) -> Any:
    if isinstance(given, bool):
        raise arguments.refused(given, "user_id", "a text, a number, a UUID, or a function that gives one")
    return given


# The fields of those doors that are pydantic models.
UserField = Annotated[UserId | Callable[[], UserId | None] | None, BeforeValidator(_no_flag)]
SpaceField = Annotated[str | Callable[..., str | None] | None, AfterValidator(space_of)]


def scope_of(
    config: RunnableConfig | None = None,
    *,
    way_out: str,
    space: SpaceChoice | None = None,
    user_id: "UserId | Callable[[], UserId | None] | None" = None,
) -> Scope:
    """The space and the session of the run that is going on, or of `config`.

    `space` goes before `user_id`, and both before what the run says.

    Raises:
        MissingUser: nobody says whose memory it is; `way_out` is how to at this door.
        InvalidSpace: what was said can not name a space.
    """
    user = user_id() if callable(user_id) else user_id
    try:
        choice = user_space(user) if space is None and user is not None else space
        return resolve_scope(ensure_config(config), current_runtime(), remembered=None, space=choice)
    except MissingUser as error:
        raise MissingUser(error.message, way_out=way_out) from error


def with_profile(space: "Space", block: str, *, profile: bool) -> str:
    """A recalled block behind what is always known of the user, where that is wanted."""
    parts = (space.profile() if profile else "", block)
    return "\n\n".join(part for part in parts if part)
