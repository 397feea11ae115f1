"""The methods of a store as callers use them: namespaces with ids of users as they are, e-mail addresses too.

`batch` takes labels as LangGraph has them. What these methods hand to it is escaped, and what comes back is not.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from langgraph.store.base import NOT_PROVIDED, BaseStore, Item, NotProvided, SearchItem

from langmem_tiers.integrations.store.naming import Namespace, Places, part, told

_Item = TypeVar("_Item", bound=Item)
Index = Literal[False] | list[str] | None
Ttl = float | NotProvided | None


class FrontDoor(BaseStore):
    """A store whose callers write the ids of users as they are; each method is as in `BaseStore`."""

    places: Places

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item of a key, None where there is none."""
        return self._item(super().get(self._whole(namespace), key, refresh_ttl=refresh_ttl))

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """`get` in a thread."""
        return self._item(await super().aget(self._whole(namespace), key, refresh_ttl=refresh_ttl))

    def search(self, namespace_prefix: Namespace, /, **asked: Any) -> list[SearchItem]:
        """The items in a namespace and below it that fit, best first; without a query, those changed last."""
        return [self._named(each) for each in super().search(self._prefix(namespace_prefix), **asked)]

    async def asearch(self, namespace_prefix: Namespace, /, **asked: Any) -> list[SearchItem]:
        """`search` in a thread."""
        return [self._named(each) for each in await super().asearch(self._prefix(namespace_prefix), **asked)]

    def put(
        self, namespace: Namespace, key: str, value: Mapping[str, Any], index: Index = None, *, ttl: Ttl = NOT_PROVIDED
    ) -> None:
        """Store an item, in place of what the key held."""
        super().put(self._whole(namespace), key, value, index, ttl=ttl)

    async def aput(
        self, namespace: Namespace, key: str, value: Mapping[str, Any], index: Index = None, *, ttl: Ttl = NOT_PROVIDED
    ) -> None:
        """`put` in a thread."""
        await super().aput(self._whole(namespace), key, value, index, ttl=ttl)

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item; there need not be one."""
        super().delete(self._whole(namespace), key)

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """`delete` in a thread."""
        await super().adelete(self._whole(namespace), key)

    def list_namespaces(
        self, *, prefix: Namespace | None = None, suffix: Namespace | None = None, **asked: Any
    ) -> list[Namespace]:
        """The namespaces that hold anything, in order."""
        ends: dict[str, Any] = {"prefix": prefix and self._prefix(prefix), "suffix": suffix and part(suffix)}
        return [told(each) for each in super().list_namespaces(**ends, **asked)]

    async def alist_namespaces(
        self, *, prefix: Namespace | None = None, suffix: Namespace | None = None, **asked: Any
    ) -> list[Namespace]:
        """`list_namespaces` in a thread."""
        ends: dict[str, Any] = {"prefix": prefix and self._prefix(prefix), "suffix": suffix and part(suffix)}
        return [told(each) for each in await super().alist_namespaces(**ends, **asked)]

    def _whole(self, namespace: Iterable[Any]) -> Namespace:
        return self.places.labelled(namespace, whole=True)

    def _prefix(self, prefix: Iterable[Any]) -> Namespace:
        return self.places.labelled(prefix, whole=False)

    def _item(self, item: Item | None) -> Item | None:
        return None if item is None else self._named(item)

    def _named(self, item: _Item) -> _Item:
        item.namespace = told(item.namespace)
        return item
