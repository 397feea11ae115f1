"""How long the vectors of a model are: what it gave first is written down, and holds for ever."""

from __future__ import annotations

from sqlalchemy import Connection

from langmem_tiers.errors import InvalidVector
from langmem_tiers.storage import facts


def known(connection: Connection, space: str, model: str) -> int | None:
    """The length of a model's vectors, None while it has given none."""
    found = facts.get(connection, space, _name(model))
    return None if found is None else int(found)


def require(connection: Connection, space: str, model: str, dimension: int) -> None:
    """Nothing, if a model's vectors always had this length.

    Raises:
        InvalidVector: they had another.
    """
    before = known(connection, space, model)
    if before is None:
        facts.put(connection, space, _name(model), str(dimension))
    elif before != dimension:
        raise InvalidVector(
            f"The model {model!r} gave vectors of length {before} before and {dimension} now.",
            way_out="Give the embedder another name if it is another model: its texts are then embedded anew.",
        )


def _name(model: str) -> str:
    return f"dimension:{model}"
