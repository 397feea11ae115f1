"""`langmem-tiers mine`: look for what is worth knowing in messages, now; `import` ends with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import Shown, Target, command_of_space
from langmem_tiers.cli.terminal import print_error, progress
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.space import Space

SHOWN_SPEAKERS = 10


@dataclass(frozen=True, kw_only=True)
class Found:
    """What mining found that was not known before, in all and by speaker."""

    entries: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)

    def as_fields(self) -> dict[str, object]:
        """As JSON data."""
        return {
            "entries": self.entries.total(),
            "relations": self.relations.total(),
            "by_speaker": self._by_speaker(),
        }

    def lines(self) -> Iterator[str]:
        """As text."""
        yield f"Found in them: {_counts(self.entries.total(), self.relations.total())}."
        speakers = self._by_speaker()
        if len(speakers) > 1:
            yield from (f"  {who}: {_counts(**counts)}" for who, counts in [*speakers.items()][:SHOWN_SPEAKERS])

    def _by_speaker(self) -> dict[str, dict[str, int]]:
        both = self.entries + self.relations
        return {who: {"entries": self.entries[who], "relations": self.relations[who]} for who, _ in both.most_common()}


def _counts(entries: int, relations: int) -> str:
    return f"{counted(entries, 'entry', 'entries')}, {counted(relations, 'relation')}"


@command_of_space
def mine(
    target: Target,
    *,
    session: Annotated[str | None, typer.Option(help="Only this session. Default: all of them.")] = None,
) -> Shown:
    """Look now for what is worth knowing in messages, instead of when a conversation has paused.

    Each message is read once: after Ctrl-C, or where `import --no-mine` left it, this goes on from there.
    """
    with target.existing_memory() as memory:
        found = mined([target.one_space(memory)], target, session=session)
    return Shown(found.as_fields(), found.lines())


def mined(spaces: Sequence[Space], target: Target, *, session: str | None = None) -> Found:
    """Mine spaces with a progress bar; after Ctrl-C, what was found is kept, and it says how to go on."""
    from langmem_tiers.writing.mining import Miner, mine_by_window, unmined

    found = Found()
    for space in spaces:
        with space.context.open() as store, progress("Mined", shown=not target.json) as advance:
            before, total = _known(space), unmined(store, session)
            try:
                for _ in mine_by_window(Miner.of(space.context, store), session):
                    advance(total - unmined(store, session), total)
                space.flush()
            except KeyboardInterrupt:
                left = f"{unmined(store, session):,} messages are not mined yet"
                again = target.command_line(space.name, "mine")
                print_error(f"Stopped: all messages are stored; {left}. `{again}` goes on from there.")
                raise
        known = _known(space)
        found.entries.update(known.entries - before.entries)
        found.relations.update(known.relations - before.relations)
    return found


def _known(space: Space) -> Found:
    """What is known of each speaker's words; those of nobody by name are the user's."""
    from langmem_tiers.storage.inspection import found_by_speaker

    with space.context.open() as store, store.reading() as connection:
        rows = found_by_speaker(connection, store.key)
    names = [row.speaker or "the user" for row in rows]
    return Found(
        entries=Counter(dict(zip(names, (row.entries for row in rows), strict=True))),
        relations=Counter(dict(zip(names, (row.relations for row in rows), strict=True))),
    )
