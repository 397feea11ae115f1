"""Which space a namespace belongs to, and ids of users as labels of namespaces.

A label of LangGraph holds no "." and no NUL. Where a namespace names a user, these are escaped, and "%" with them: no
two ids have the same label.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langgraph.store.base import InvalidNamespaceError

from langmem_tiers.errors import InvalidSettings, InvalidSpace
from langmem_tiers.naming import check_space, user_space

Namespace = tuple[str, ...]
SpaceOf = Namespace | Sequence[Namespace] | Callable[[Namespace], str | None]
"""A template such as `("memories", "{user}")`, several, or a function from the namespace to the name of a space."""

TIERS = "tiers"
"""The first label of the namespaces that show the tiers."""
USERS: tuple[Namespace, ...] = (("memories", "{user}"), ("users", "{user}"), ("{user}", "memories"))
"""How langmem's tools and LangGraph's guides name users."""
ANY = "*"

_ESCAPES = {"%": "%25", ".": "%2E", "\0": "%00"}
_ESCAPED = re.compile("|".join(_ESCAPES.values()))
_RESTORED = {escape: sign for sign, escape in _ESCAPES.items()}


class Label(str):
    """An id that is escaped already."""

    __slots__ = ()


def user_label(user_id: str | int | UUID) -> Label:
    """A user id as a namespace label that LangGraph accepts everywhere, not only in this store.

    Example:
        >>> user_label("alice@example.com")
        'alice@example%2Ecom'
    """
    return Label("".join(_ESCAPES.get(sign, sign) for sign in str(user_id)))


def user_id(label: str) -> str:
    """The id that `user_label` was given."""
    return _ESCAPED.sub(lambda escape: _RESTORED[escape[0]], label)


@dataclass(frozen=True)
class Template:
    """The beginning of a namespace that names a user, at index `place`."""

    labels: Namespace
    place: int

    def fits(self, namespace: Namespace) -> bool:
        """Whether a namespace begins like this."""
        return len(namespace) >= len(self.labels) and self.may_fit(namespace)

    def may_fit(self, prefix: Namespace) -> bool:
        """Whether a namespace with this prefix may begin like this."""
        pairs = enumerate(zip(self.labels, prefix, strict=False))
        return all(place == self.place or ANY in (mine, other) or mine == other for place, (mine, other) in pairs)

    def names(self, prefix: Namespace) -> bool:
        """Whether the user is named in this part of the namespace already."""
        return len(prefix) > self.place


_OF_TIERS = Template((TIERS, "{user}"), 1)


class Places:
    """Where the items of namespaces live: in the space of the user that they name, else in a shared one."""

    def __init__(self, space_of: SpaceOf, shared: str) -> None:
        self._choose = space_of if callable(space_of) else None
        self._templates = () if callable(space_of) else tuple(map(_template, _several(space_of)))
        self.shared = check_space(shared)

    def space(self, namespace: Namespace) -> str:
        """The space of a namespace, its labels as they are stored.

        Raises:
            MissingUser, InvalidSpace: what it names cannot be a user, or the function named no space.
        """
        if self._choose is not None:
            return self._chosen(self._choose, namespace)
        template = next((each for each in self._templates if each.fits(namespace)), None)
        return self.shared if template is None else user_space(user_id(namespace[template.place]))

    def _chosen(self, choose: Callable[[Namespace], str | None], namespace: Namespace) -> str:
        try:
            name = choose(namespace)
        except Exception as error:
            raise InvalidSpace(
                f"`space_of` failed for {namespace!r}: {type(error).__name__}: {error}",
                way_out="Let it return the name of a space, or None for the shared one.",
            ) from error
        return self.shared if name is None else check_space(name)

    def spaces(self, prefix: Namespace) -> list[str] | None:
        """The spaces that may hold namespaces with this prefix; None if any space may."""
        if self._choose is not None:
            return None
        found: list[str] = []
        for template in self._templates:
            if not template.may_fit(prefix):
                continue
            if not template.names(prefix) or prefix[template.place] == ANY:
                return None
            found.append(user_space(user_id(prefix[template.place])))
            if template.fits(prefix) and ANY not in prefix[: len(template.labels)]:
                return found
        return [*found, self.shared]

    def labelled(self, namespace: Iterable[Any], *, whole: bool) -> Namespace:
        """A namespace as callers write it, with the id that it names as a label.

        `whole` is false for the beginning of one, which may end before all labels of a template are there.
        """
        given = tuple(several(namespace))
        fitting = (each for each in (_OF_TIERS, *self._templates) if each.names(given))
        named = next((each for each in fitting if (each.fits(given) if whole else each.may_fit(given))), None)
        place = None if named is None else named.place
        return tuple(_labelled(label) if here == place else _marked(label) for here, label in enumerate(given))


def told(namespace: Namespace) -> Namespace:
    """A namespace as it is stored, in the words of callers."""
    return tuple(map(user_id, namespace))


def part(labels: Iterable[Any]) -> Namespace:
    """Labels that may include a user id: characters that no label can hold mean that it is one."""
    return tuple(_labelled(label) if isinstance(label, str) else label for label in several(labels))


def several(labels: Iterable[Any]) -> Iterable[Any]:
    """The labels; a single string is refused, since its letters would be taken for labels.

    Raises:
        InvalidNamespaceError: it is one text.
    """
    if isinstance(labels, str):
        raise InvalidNamespaceError(f"A namespace is a tuple of texts: give ({labels!r},) instead of {labels!r}.")
    return labels


def _labelled(given: Any) -> Any:
    if isinstance(given, Label | bool) or given == ANY or not isinstance(given, str | int | UUID):
        return given
    return user_label(given)


def _marked(given: Any) -> Any:
    """Any other label: what looks like an escape in it is not one."""
    return given.replace("%", "%25") if isinstance(given, str) and not isinstance(given, Label) else given


def _several(space_of: Any) -> Iterable[Any]:
    if isinstance(space_of, str) or not isinstance(space_of, Sequence):
        raise _refused(space_of)
    return [space_of] if all(isinstance(each, str) for each in space_of) and space_of else space_of


def _template(labels: Any) -> Template:
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        raise _refused(labels)
    if not all(isinstance(label, str) and label for label in labels):
        raise _refused(labels)
    places = [place for place, label in enumerate(labels) if label.startswith("{") and label.endswith("}")]
    if len(places) != 1:
        raise _refused(labels)
    return Template(tuple(labels), places[0])


def _refused(given: Any) -> InvalidSettings:
    return InvalidSettings(
        f"{given!r} does not say where a namespace names its user.",
        way_out='Give labels of which one is "{user}", such as ("memories", "{user}"), or a function.',
    )
