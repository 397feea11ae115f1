"""Packing: what was chosen becomes lines of a block, each as short as says what was asked for, while they fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from langmem_tiers.recall import rendering
from langmem_tiers.recall.candidates import Found
from langmem_tiers.recall.selection import key
from langmem_tiers.recall.sources import Snapshot
from langmem_tiers.storage import drawers
from langmem_tiers.types import Drawer, RecalledItem

if TYPE_CHECKING:
    from langmem_tiers.storage.embedding_cache import Vectors

Key = tuple[str, int]
Span = tuple[int, int]
# What does not fit whole is tried at these shares of its length before it is left out.
_SHARES = (1.0, 0.5)


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Items in a block, best first, and its lines in order of time; `left_out` did not fit."""

    items: list[RecalledItem]
    lines: list[str]
    left_out: list[Key]


@dataclass(frozen=True, kw_only=True)
class Packer:
    """Packs what was chosen into `budget` tokens; an item longer than `most` characters is shown as an excerpt."""

    terms: Sequence[str]
    vector: Vectors | None
    budget: int
    most: int
    count: Callable[[str], int]
    ended: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    """What drawers say that holds no longer."""

    def pack(self, sources: Sequence[Snapshot], chosen: Sequence[Found]) -> Packed:
        """Best first, while they fit."""
        whole = read(sources, [key(found) for found in chosen])
        spans = hits(sources, whole, self.vector, self.most)
        left = self.budget
        packed: list[tuple[RecalledItem, str]] = []
        left_out: list[Key] = []
        for found in chosen:
            # Caches may be a moment ahead of these snapshots: what is not in them yet is for the next recall.
            drawer = whole.get(key(found))
            over = self.ended.get(key(found), ())
            line = None if drawer is None else self._line(drawer, spans.get(key(found)), over, left)
            if drawer is None or line is None:
                left_out.append(key(found))
                continue
            tokens = self.count(line + "\n")
            left -= tokens
            packed.append((RecalledItem(space=found.space, drawer=drawer, score=found.score, tokens=tokens), line))
        by_time = sorted(packed, key=lambda item: (item[0].drawer.said_at, item[0].drawer.number))
        return Packed(items=[item for item, _ in packed], lines=[line for _, line in by_time], left_out=left_out)

    def _line(self, drawer: Drawer, hit: Span | None, ended: Sequence[str], left: int) -> str | None:
        """The drawer as a line that fits, None if there is no room even for a short excerpt."""
        for share in _SHARES:
            shown = rendering.excerpt(drawer.content, self.terms, int(self.most * share), hit=hit)
            line = rendering.render_item(drawer, shown, ended)
            if self.count(line + "\n") <= left:
                return line
        return None


def hits(
    sources: Sequence[Snapshot], whole: Mapping[Key, Drawer], vector: Vectors | None, most: int
) -> dict[Key, Span]:
    """Where in the drawers of more than `most` characters the piece stands that is nearest to the query."""
    long = [name for name, drawer in whole.items() if len(drawer.content) > most]
    found: dict[Key, Span] = {}
    for source in sources:
        numbers = [number for space, number in long if space == source.name]
        if numbers and vector is not None and source.vectors is not None:
            spans = source.vectors.nearest_pieces(source.moment, vector, numbers)
            found |= {(source.name, number): span for number, span in spans.items()}
    return found


def read(sources: Sequence[Snapshot], wanted: Sequence[Key]) -> dict[Key, Drawer]:
    """Whole drawers by space and number."""
    whole: dict[Key, Drawer] = {}
    for source in sources:
        numbers = [number for space, number in wanted if space == source.name]
        if numbers:
            found = drawers.read(source.connection, source.key, numbers)
            whole |= {(source.name, number): drawer for number, drawer in found.items()}
    return whole
