"""`langmem-tiers recall` and `palace`: what was said, and what a model would be given of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.chat import RerankOption, reranking_model
from langmem_tiers.cli.maintenance import place_of
from langmem_tiers.cli.receipts import explanation
from langmem_tiers.cli.target import AsOf, Shown, Target, command_of_space, space_command
from langmem_tiers.cli.terminal import leave, shortened
from langmem_tiers.wording import counted, safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree

    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space
    from langmem_tiers.types import PalaceWing, Receipt, SpaceStats


@command_of_space
def recall(
    target: Target,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show all candidates, their scores and verdicts.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, max=10_000, help="Most items in the block.")] = None,
    session: Annotated[
        str | None, typer.Option(help="Ask within this session: what it has before it is left out.")
    ] = None,
    as_of: AsOf = None,
    rerank: RerankOption = None,
) -> Shown:
    """Print the block that a model would be given for QUERY.

    Asking here leaves no trace: nothing is counted as recalled, and no receipt is kept.
    """
    if not query.strip():
        leave("The query is empty. Say what to look for.")
    reranker = reranking_model(rerank)
    with target.existing_memory(settings=asked_on_purpose(), reranker=reranker) as memory:
        space = target.one_space(memory)
        recalled = space.recall(query, session=session, limit=limit, as_of=as_of, keep_receipt=False)
        lines: list[RenderableType] = [recalled.block or _why_nothing(recalled.receipt, target)]
        lines += [f"Note: {note}" for note in recalled.receipt.notes]
        if explain and not target.json:
            lines += explanation(recalled.receipt, space)
    return Shown(recalled, lines)


def asked_on_purpose() -> Settings:
    """The default settings, but even short queries are looked up, which an agent ignores ("ok", "thanks")."""
    from langmem_tiers.settings import Settings

    settings = Settings()
    return settings.model_copy(update={"recall": settings.recall.model_copy(update={"trivial_words": 0})})


def _why_nothing(receipt: Receipt, target: Target) -> str:
    if receipt.verdict == "nothing_new":
        return f"Nothing new: what matches was said or shown in session {receipt.session} already."
    if receipt.verdict == "disabled":
        return "Recall is off here: see `langmem-tiers config show recall.enabled` and `enabled`, also with --space."
    return f"Nothing in the memory of {target.space or target.user} comes close to this."


_TEXT_WIDTH = 70


@space_command()
def palace(
    space: Space,
    *,
    depth: Annotated[int, typer.Option(min=1, max=4, help="1: wings, 2: rooms, 3: closets, 4: drawers.")] = 4,
) -> Shown:
    """Print what is remembered as a tree of wings (subjects), rooms (sessions), closets (topics) and drawers."""
    wings = space.palace()
    stats = space.stats()
    return Shown(wings, [_tree(space.name, wings, depth), _beside(stats), place_of(stats)])


def _beside(stats: SpaceStats) -> str:
    """How many entries, episodes, notes and items there are besides messages."""
    entries, episodes = counted(stats.entries, "entry", "entries"), counted(stats.episodes, "episode")
    aside = f" ({stats.inactive_entries:,} more put aside)" if stats.inactive_entries else ""
    items = f", {counted(stats.items, 'store item')}" if stats.items else ""
    return f"Besides: {entries}{aside}, {episodes}, {counted(stats.documents, 'note')}{items}"


def _tree(name: str, wings: tuple[PalaceWing, ...], depth: int) -> Tree:
    """The palace down to a depth."""
    from rich.tree import Tree

    tree = Tree(safe(name) if wings else f"{safe(name)}: nothing yet")
    for wing in wings:
        also = f", also {', '.join(wing.aliases)}" if wing.aliases else ""
        rooms = tree.add(safe(f"{wing.name} ({wing.kind}{also})"))
        for room in wing.rooms if depth > 1 else ():
            closets = rooms.add(safe(f"{room.pointer}  {room.opened_at:%Y-%m-%d}  session {room.session}"))
            for closet in room.closets if depth > 2 else ():
                drawers = closets.add(safe(f"{closet.name or 'not filed yet'} ({len(closet.drawers)})"))
                for drawer in closet.drawers if depth > 3 else ():
                    said = f"{drawer.speaker or drawer.role}: {drawer.content}"
                    drawers.add(f"{drawer.pointer}  {shortened(said, _TEXT_WIDTH)}")
    return tree
