"""The deep part of the doctor: every stored text against its hash, every index against its table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from langmem_tiers.storage import inspection, seals
from langmem_tiers.store import SpaceStore
from langmem_tiers.types import Finding
from langmem_tiers.wording import counted

_NAMED = 20
_RESTORE = "Restore a backup (`langmem-tiers restore`)"
_FORGET_ENTRY = "`langmem-tiers forget --entry ID`"
_RELATION, _ENTITY = "`langmem-tiers relations delete ID`", "`langmem-tiers entities delete ID`"
_NOTES = (
    "run `langmem-tiers rebuild`, which takes its text from what it was made from; save that again, or delete it, if "
    "it is listed still"
)
_IDENTITY = (
    "delete earlier versions with `langmem-tiers identity forget-history`; if the current one is altered, write it "
    "again before, with `langmem-tiers identity edit`"
)


class _Kind(NamedTuple):
    """What a table holds, in words, and what there is to do besides restoring a backup."""

    one: str
    many: str
    otherwise: str


_KINDS: Mapping[str, _Kind] = {
    "drawers": _Kind("message", "messages", "delete each with `langmem-tiers forget --message NUMBER`"),
    "entries": _Kind("entry", "entries", f"delete each with {_FORGET_ENTRY}"),
    "entry_evidence": _Kind("quote of an entry", "quotes of entries", f"delete the entry with {_FORGET_ENTRY}"),
    "relation_evidence": _Kind("quote of a relation", "quotes of relations", f"delete the relation with {_RELATION}"),
    "entity_evidence": _Kind("quote of an entity", "quotes of entities", f"delete the entity with {_ENTITY}"),
    "relations": _Kind("relation", "relations", f"delete it with {_RELATION}"),
    "entities": _Kind("entity", "entities", f"delete it with {_ENTITY}"),
    "entity_aliases": _Kind("name of an entity", "names of entities", f"delete the entity with {_ENTITY}"),
    "episodes": _Kind("summary", "summaries", "delete it with `langmem-tiers episodes delete ID`"),
    "tasks": _Kind("task", "tasks", "delete it with `langmem-tiers tasks delete ID`"),
    "identities": _Kind("version of the identity", "versions of the identity", _IDENTITY),
    "documents": _Kind("document", "documents", "delete it with `langmem-tiers notes delete PATH`"),
    "working_entries": _Kind(
        "value in working memory", "values in working memory", "delete it with `langmem-tiers working delete KEY`"
    ),
    "store_items": _Kind("item of a store", "items of a store", "put it again or delete it, with the store"),
    "notes": _Kind("note of the search index", "notes of the search index", _NOTES),
    "changesets": _Kind(
        "change of a dream", "changes of dreams", "delete them, so that the dream stays, with `langmem-tiers rebuild`"
    ),
    "receipts": _Kind("block of a receipt", "blocks of receipts", "delete it with `langmem-tiers rebuild`"),
}


def altered_words(store: SpaceStore) -> Iterator[Finding]:
    """The texts that are not as they were stored, by what they belong to; each is withheld from whoever asks."""
    with store.reading() as connection:
        found: dict[str, list[str]] = defaultdict(list)
        for each in seals.altered(connection, store.key):
            found[each.table].append(each.key)
        missing = seals.unsealed(connection, store.key)
    for table, keys in found.items():
        yield _altered(_KINDS[table], list(dict.fromkeys(keys)))
    if missing:
        message = f"{counted(missing, 'text has', 'texts have')} no hash: another program wrote or removed them"
        yield Finding(check="words", level="note", message=message, way_out="Compare them with a backup.")
    if not found:
        yield Finding(check="words", level="ok", message="every text is as it was stored")


def _altered(kind: _Kind, names: list[str]) -> Finding:
    told = ", ".join(" ".join(name.split()) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    are = counted(len(names), f"{kind.one} is", f"{kind.many} are")
    message = f"{are} not as stored, and withheld: {told}{more}"
    return Finding(check="words", level="problem", message=message, way_out=f"{_RESTORE}, or {kind.otherwise}.")


def indexes(store: SpaceStore) -> Iterator[Finding]:
    """Whether every index of the database says what its table says."""
    with store.reading() as connection:
        faults = inspection.index_faults(connection)
    if faults:
        told = f"The database contradicts itself: {'; '.join(faults)}"
        yield Finding(check="records", level="problem", message=told, way_out=f"{_RESTORE}.")
