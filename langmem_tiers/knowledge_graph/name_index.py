"""An immutable index of all entity names, for looking up mentions and finding names in texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from langmem_tiers.language.name_matching import shape
from langmem_tiers.language.slugs import name_key as slug_of
from langmem_tiers.language.spelling import Spellings
from langmem_tiers.language.words import words

Numbers = tuple[int, ...]
_NO_NAMES: Mapping[str, Numbers] = {}


class Naming(NamedTuple):
    """An entity's name as written, and as compared: as a whole, and as words."""

    entity: int
    name: str
    slug: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, entity: int, name: str) -> Naming:
        """A name of an entity."""
        return cls(entity, name, slug_of(name), tuple(words(name)))


class NameSpan(NamedTuple):
    """A name found in a text: the words from `start` to `stop`, and the entities with that name."""

    start: int
    stop: int
    entities: Numbers


@dataclass(frozen=True, kw_only=True)
class NameIndex:
    """Maps names to entities.

    `by_slug` holds whole names, `by_words` the same as words joined by blanks, `by_word` each word of multi-word names;
    `sizes` is a bit set, for the first word of a name, of the numbers of words such names have. `by_shape` holds names
    with letters that look like Latin ones, by the Latin letters they resemble.
    """

    by_slug: Mapping[str, Numbers] = field(default_factory=dict)
    by_words: Mapping[str, Numbers] = field(default_factory=dict)
    by_word: Mapping[str, Numbers] = field(default_factory=dict)
    by_shape: Mapping[str, Numbers] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    spellings: Spellings = field(default_factory=lambda: Spellings(_NO_NAMES))

    def changed(self, gone: Iterable[Naming], news: Iterable[Naming]) -> NameIndex:
        """The index with some names removed and others added."""
        left, come = list(gone), list(news)
        by_slug = _changed(self.by_slug, *([(each.slug, each.entity) for each in names] for names in (left, come)))
        sizes = dict(self.sizes)
        for naming in come:
            if naming.words:
                sizes[naming.words[0]] = sizes.get(naming.words[0], 0) | 1 << len(naming.words)
        return NameIndex(
            by_slug=by_slug,
            by_words=_changed(self.by_words, _joined(left), _joined(come)),
            by_word=_changed(self.by_word, _single(left), _single(come)),
            by_shape=_changed(self.by_shape, _shapes(left), _shapes(come)),
            sizes=sizes,
            spellings=Spellings(by_slug, self.spellings, {naming.slug for naming in come}),
        )

    def twins(self, name: str) -> set[int]:
        """Entities whose name looks the same but is written with letters of another script."""
        looks, slug = shape(name), slug_of(name)
        alike = {*self.by_slug.get(looks, ()), *self.by_shape.get(looks, ())}
        return alike - set(self.by_slug.get(slug, ()))

    def span_at(self, said: Sequence[str], start: int) -> NameSpan | None:
        """The longest name that begins at this word of a text."""
        sizes = self.sizes.get(said[start], 0)
        for size in range(min(sizes.bit_length() - 1, len(said) - start), 0, -1):
            if sizes >> size & 1:
                held = self.by_words.get(" ".join(said[start : start + size]))
                if held:
                    return NameSpan(start, start + size, held)
        return None


def _shapes(namings: Sequence[Naming]) -> Iterator[tuple[str, int]]:
    for naming in namings:
        if not naming.name.isascii() and (looks := shape(naming.name)) != naming.slug:
            yield looks, naming.entity


def _joined(namings: Sequence[Naming]) -> Iterator[tuple[str, int]]:
    return ((" ".join(naming.words), naming.entity) for naming in namings)


def _single(namings: Sequence[Naming]) -> Iterator[tuple[str, int]]:
    for naming in namings:
        if len(naming.words) > 1:
            yield from ((word, naming.entity) for word in naming.words)


def _changed(
    held: Mapping[str, Numbers], gone: Iterable[tuple[str, int]], news: Iterable[tuple[str, int]]
) -> dict[str, Numbers]:
    """The mapping with some entities removed and others added; an entity in both stays."""
    out, into = _gathered(gone), _gathered(news)
    fresh = dict(held)
    for key in out.keys() | into.keys():
        stay = [number for number in held.get(key, ()) if number not in out.get(key, ())]
        # In the order of an index that is built anew, whatever changed before.
        entities = tuple(sorted({*stay, *into.get(key, ())}))
        if entities:
            fresh[key] = entities
        else:
            fresh.pop(key, None)
    fresh.pop("", None)
    return fresh


def _gathered(pairs: Iterable[tuple[str, int]]) -> dict[str, dict[int, None]]:
    gathered: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for key, number in pairs:
        gathered[key][number] = None
    return gathered
