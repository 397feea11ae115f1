"""`langmem-tiers palace` and `show`: the palace as a tree, and one drawer as it was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import as_data, print_error, print_json, print_rich, print_text, safe, shortened

if TYPE_CHECKING:
    from rich.tree import Tree

    from langmem_tiers.types import Drawer, PalaceCloset, PalaceRoom, PalaceWing, SpaceStats

_TEXT_WIDTH = 70


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(palace)
    app.command()(show)


def palace(
    context: typer.Context,
    *,
    depth: Annotated[int, typer.Option(min=1, max=4, help="1: wings, 2: rooms, 3: closets, 4: drawers.")] = 4,
    json: JsonFlag = False,
) -> None:
    """Print what is remembered as a tree of wings (subjects), rooms (sessions), closets (topics) and drawers."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        space = target.space(memory)
        wings = space.palace()
        if target.json:
            print_json(wings)
        else:
            stats = space.stats()
            print_rich(_tree(space.name, wings, depth))
            print_text(_beside(stats))
            print_text(f"Folder: {stats.folder}")


def show(
    context: typer.Context,
    which: Annotated[str, typer.Argument(metavar="ID|POINTER", help="A drawer's number, or §W-001/R-02/D-003.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Print one drawer exactly as it was said, and everything known about it."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        space = target.space(memory)
        drawer = space.drawer(which)
        if drawer is None:
            print_error(f"There is no drawer {which} in {space.name}. `langmem-tiers palace` shows those there are.")
            raise typer.Exit(1)
        if target.json:
            print_json(drawer)
        else:
            _print_drawer(drawer)


def _beside(stats: SpaceStats) -> str:
    """How much is known beside the messages."""
    entries, episodes = _counted(stats.entries, "entry", "entries"), _counted(stats.episodes, "episode", "episodes")
    aside = f" ({stats.inactive_entries:,} more put aside)" if stats.inactive_entries else ""
    items = f", {_counted(stats.items, 'store item', 'store items')}" if stats.items else ""
    return f"Besides: {entries}{aside}, {episodes}, {_counted(stats.documents, 'note', 'notes')}{items}"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _tree(name: str, wings: tuple[PalaceWing, ...], depth: int) -> Tree:
    from rich.tree import Tree

    tree = Tree(safe(name) if wings else f"{safe(name)}: nothing yet")
    for wing in wings:
        _add_wing(tree, wing, depth)
    return tree


def _add_wing(tree: Tree, wing: PalaceWing, depth: int) -> None:
    also = f", also {', '.join(wing.aliases)}" if wing.aliases else ""
    branch = tree.add(safe(f"{wing.name} ({wing.kind}{also})"))
    if depth > 1:
        for room in wing.rooms:
            _add_room(branch, room, depth)


def _add_room(tree: Tree, room: PalaceRoom, depth: int) -> None:
    branch = tree.add(safe(f"{room.pointer}  {room.opened_at:%Y-%m-%d}  session {room.session}"))
    if depth > 2:
        for closet in room.closets:
            _add_closet(branch, closet, depth)


def _add_closet(tree: Tree, closet: PalaceCloset, depth: int) -> None:
    branch = tree.add(safe(f"{closet.name or 'not filed yet'} ({len(closet.drawers)})"))
    if depth > 3:
        for drawer in closet.drawers:
            said = f"{drawer.speaker or drawer.role}: {drawer.content}"
            branch.add(f"{drawer.pointer}  {shortened(said, _TEXT_WIDTH)}")


def _print_drawer(drawer: Drawer) -> None:
    for name, value in as_data(drawer).items():
        if name != "content" and value not in (None, []):
            shown = ", ".join(value) if isinstance(value, list) else value
            print_text(f"{name.replace('_', ' '):>18}  {shown}")
    print_text("")
    print_text(drawer.content)
