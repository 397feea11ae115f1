"""What errors advise, in words of the command line where they speak to whoever writes a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from langmem_tiers.errors import (
    MemoryTiersError,
    MergeRefused,
    NaiveDatetime,
    StorageError,
    UnknownEntity,
    UnknownRelation,
)

_ENTITIES = "`langmem-tiers entities list` shows those there are."


@contextmanager
def in_words_of_commands() -> Iterator[None]:
    """Errors of the block name commands, where they would name functions and classes."""
    try:
        yield
    except MemoryTiersError as error:
        error.way_out = _ways_out().get(error.way_out, error.way_out)
        raise


def _ways_out() -> dict[str, str]:
    """By the advice of an error, what is said instead of it."""
    from langmem_tiers.knowledge_graph import importing, merging, resolving
    from langmem_tiers.language import predicates

    return {
        StorageError.way_out: "The cause is in brackets; what is stored already is safe.",
        UnknownEntity.way_out: _ENTITIES,
        resolving.NONE_LIKE: f"No name is like it: {_ENTITIES}",
        UnknownRelation.way_out: "`langmem-tiers timeline ENTITY` shows the ids of its relations.",
        MergeRefused.way_out: "`langmem-tiers entities show ID` says what each is.",
        NaiveDatetime.way_out: "Add one, such as 2024-05-17T10:00+02:00, or Z for UTC.",
        merging.NO_MERGE: "`langmem-tiers entities merges` lists those that stand.",
        merging.UNDO: "`langmem-tiers entities unmerge NUMBER` undoes a merge, if they are two.",
        merging.KEPT_APART: "If they are one, `langmem-tiers entities allow-merge ID ID` takes that back.",
        predicates.OVER: "Say what held, such as 'lives in', with --to; `relations end ID` ends what is known.",
        predicates.NOT_SO: (
            "`relations withdraw ID` takes back what was never so, `relations end ID` ends what is over."
        ),
        importing.WAY_OUT: "Give a file that `langmem-tiers graph --out FILE.json` wrote.",
    }
