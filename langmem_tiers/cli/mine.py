"""`langmem-tiers mine`: look for what is worth knowing in messages, now; `import` ends with it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import Shown, Target, command_of_space
from langmem_tiers.cli.terminal import print_error, progress
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space

_SHOWN_SPEAKERS = 10
_TOPICS_TRIED = 5


@dataclass(frozen=True, kw_only=True)
class Found:
    """What mining found that was not known before, in all and by speaker, and commands to try on it."""

    entries: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    tries: tuple[str, ...] = ()

    def as_fields(self) -> dict[str, object]:
        """As JSON data."""
        found = {"entries": self.entries.total(), "relations": self.relations.total(), "by_speaker": self._by_speaker()}
        return {"found": found, "try": [*self.tries]}

    def lines(self, *, mined: bool = True) -> Iterator[str]:
        """As text; `mined` says whether anything was looked for."""
        speakers = self._by_speaker()
        if mined:
            yield f"Found in them: {_counts(self.entries.total(), self.relations.total())}."
        if len(speakers) > 1:
            yield from (f"  {who}: {_counts(**counts)}" for who, counts in [*speakers.items()][:_SHOWN_SPEAKERS])
        if self.tries:
            yield from ("Try:", *(f"  {line}" for line in self.tries))

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
    return Shown(found.as_fields()["found"], found.lines())


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
                again = shlex.join(_command(target, space.name, "mine"))
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


def commands_to_try(memory: Memory, spaces: Sequence[str], target: Target) -> tuple[str, ...]:
    """Commands that show something of the first of these spaces."""
    if not spaces:
        return ()
    space = memory.space(spaces[0])
    commands = []
    if (question := _question(space)) is not None:
        commands.append(_command(target, space.name, "recall", question))
    if space.stats().entries:
        commands.append(_command(target, space.name, "knowledge", "list"))
    commands.append(_command(target, space.name, *(["graph"] if space.graph.stats().relations else ["palace"])))
    return tuple(map(shlex.join, commands))


def _question(space: Space) -> str | None:
    """A question about something that was talked of, which a recall answers."""
    from langmem_tiers.language.summaries import key_topics

    said = [drawer.content for session in space.sessions()[:1] for drawer in space.drawers(session=session.session)]
    for topic in key_topics(said, _TOPICS_TRIED):
        asked = f"What was said about {topic}?"
        if space.recall(asked, keep_receipt=False).block:
            return asked
    return None


def _command(target: Target, space: str, *words: str) -> list[str]:
    """A command line about a space, with the options that were given before this command."""
    from langmem_tiers.naming import user_of

    where = [] if target.path is None else ["--path", str(target.path)]
    embedder = [] if target.embedder == "minilm" else ["--embedder", target.embedder]
    user = user_of(space)
    whose = [] if user is None else ["--user", user]
    named = ["--space", space] if user is None else []
    return ["langmem-tiers", *where, *whose, *embedder, *words, *named]
