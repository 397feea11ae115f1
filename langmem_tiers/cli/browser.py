"""The browser of a memory: palace, memories and search, each with keys at the bottom. Needs Textual.

Every text that is stored goes through `shown`: what a terminal would obey is an escape, and nothing is markup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Input, OptionList, Static, TabbedContent, TabPane, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from langmem_tiers.cli.browser_details import DetailScreen, describe_drawer, label, opened, shown
from langmem_tiers.cli.terminal import shortened
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.palace.browse import ClosetShelf, DrawerPreview, RoomShelf, WingShelf
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.records import Entry
    from langmem_tiers.space import Space
    from langmem_tiers.types import Recalled

_PAGE = 50
_LINE = 200
_MORE = "more"


class Browser(App[None]):
    """The whole application on one space."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #hint { height: auto; color: $text-muted; }
    OptionList, Tree { height: 1fr; border: none; }
    Input { border: none; height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "tab('palace')", "Palace", show=False),
        Binding("2", "tab('memories')", "Memories", show=False),
        Binding("3", "tab('search')", "Search", show=False),
        Binding("slash", "search", "Find"),
        Binding("i", "inactive", "Put aside"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space
        self._inactive = False

    def compose(self) -> ComposeResult:
        """Three tabs, and the keys below them."""
        with TabbedContent(initial="palace"):
            with TabPane("1 Palace", id="palace"):
                yield Tree[object](label(self.space.name), id="tree")
            with TabPane("2 Memories", id="memories"):
                yield Input(placeholder="Words of a memory; Enter filters, i shows what was put aside", id="filter")
                yield OptionList(id="entries")
            with TabPane("3 Search", id="search"):
                yield Input(placeholder="What an agent would ask; Enter searches", id="query")
                yield OptionList(id="found")
        yield Static("", id="hint", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Fill the palace's first level and the memories."""
        tree = self.query_one("#tree", Tree)
        tree.root.expand()
        self._fill(tree.root)
        self.list_entries()
        tree.focus()

    # The palace

    @on(Tree.NodeExpanded)
    def expand(self, event: Tree.NodeExpanded[object]) -> None:
        """Load what is below a node when it is opened for the first time."""
        if not event.node.children:
            self._fill(event.node)

    @on(Tree.NodeSelected)
    def select(self, event: Tree.NodeSelected[object]) -> None:
        """Open a message, or the next page of a long list."""
        data = event.node.data
        if isinstance(data, DrawerPreview):
            self._open(lambda: describe_drawer(self.space, data.number))
        elif isinstance(data, tuple) and data[0] == _MORE and event.node.parent is not None:
            parent = event.node.parent
            event.node.remove()
            self._fill(parent, after=data[1])

    def _fill(self, node: TreeNode[object], after: int | None = None) -> None:
        """Put what belongs below a node there: a page of it, and a line that leads to the next."""
        try:
            self._fill_with(node, node.data, after)
        except MemoryTiersError as error:
            self.tell(error)

    def _fill_with(self, node: TreeNode[object], data: object, after: int | None) -> None:
        browse = self.space.browse
        if data is None:
            wings = browse.wings()
            for wing in wings:
                node.add(label(f"{wing.name} ({counted(wing.drawers, 'message')})"), data=wing)
            if not wings:
                node.add_leaf(label("Nothing yet: `langmem-tiers chat` or `import` begins it."))
        elif isinstance(data, WingShelf):
            rooms = browse.rooms(data.number, after=after, limit=_PAGE)
            for room in rooms:
                line = f"{room.pointer} {room.opened_at:%Y-%m-%d} {room.session} ({room.drawers:,})"
                node.add(label(line), data=room)
            _lead_on(node, len(rooms), rooms[-1].number if rooms else 0)
        elif isinstance(data, RoomShelf):
            for closet in browse.closets(data.number):
                line = f"{closet.name or 'not filed yet'} ({closet.drawers:,})"
                node.add(label(line), data=(data.number, closet))
        elif isinstance(data, tuple) and isinstance(data[1], ClosetShelf):
            drawers = browse.drawers(data[0], closet=data[1].number, after=after, limit=_PAGE)
            for drawer in drawers:
                node.add_leaf(label(_drawer_line(drawer)), data=drawer)
            _lead_on(node, len(drawers), drawers[-1].number if drawers else 0)

    # The memories

    @on(Input.Submitted, "#filter")
    def filter_entries(self) -> None:
        """Show the entries with these words."""
        self.list_entries()
        self.query_one("#entries", OptionList).focus()

    def action_inactive(self) -> None:
        """Show what was put aside as well, or no longer."""
        self._inactive = not self._inactive
        self.list_entries()
        self.hint("Also what was put aside." if self._inactive else "Only what holds.")

    def list_entries(self, after: str | None = None) -> None:
        """Fill the list with a page of entries."""
        wanted, listed = self.query_one("#filter", Input).value, self.query_one("#entries", OptionList)
        try:
            page = self.space.knowledge.page(
                substring=wanted.strip() or None,
                status="all" if self._inactive else "active",
                after=after,
                limit=_PAGE,
            )
        except MemoryTiersError as error:
            self.tell(error)
            return
        if after is None:
            listed.clear_options()
        listed.add_options([Option(shown(_entry_line(each)), id=f"entry:{each.id}") for each in page.entries])
        if len(page.entries) == _PAGE:
            listed.add_option(Option("… more", id=f"{_MORE}:{page.entries[-1].id}"))
        if not listed.option_count:
            listed.add_option(Option("Nothing is known yet, or nothing has these words.", disabled=True))
        elif after is None:
            listed.highlighted = 0

    # The search

    @on(Input.Submitted, "#query")
    def search(self, event: Input.Submitted) -> None:
        """Ask as an agent would, without a trace, and list what is shown and what is not."""
        listed = self.query_one("#found", OptionList)
        listed.clear_options()
        if not event.value.strip():
            return
        try:
            recalled = self.space.recall(event.value, keep_receipt=False)
        except MemoryTiersError as error:
            self.tell(error)
            return
        listed.add_options(_found(recalled, self.space))
        if not listed.option_count:
            listed.add_option(Option("Nothing in this memory comes close to this.", disabled=True))
        else:
            listed.highlighted = 0
        listed.focus()

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Open what was chosen in a list, or its next page."""
        kind, _, name = (event.option_id or "").partition(":")
        if kind == _MORE:
            event.option_list.remove_option(event.option_id or "")
            self.list_entries(after=name)
        elif kind:
            self._open(lambda: opened(self.space, kind, name))

    # What all share

    def action_tab(self, name: str) -> None:
        """Go to a tab, and to what is in it."""
        self.query_one(TabbedContent).active = name
        focus = {"palace": "#tree", "memories": "#entries", "search": "#query"}[name]
        self.call_after_refresh(lambda: self.query_one(focus).focus())

    def action_search(self) -> None:
        """Go to the line for words: that of the memories where these are shown, else that of the search."""
        tabs = self.query_one(TabbedContent)
        if tabs.active == "memories":
            self.query_one("#filter").focus()
        else:
            self.action_tab("search")

    def _open(self, describe: Callable[[], DetailScreen]) -> None:
        try:
            screen = describe()
        except MemoryTiersError as error:
            self.tell(error)
        else:
            self.push_screen(screen, self._refreshed)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of the lists are no keys of what is opened from them."""
        return len(self.screen_stack) <= 1 or action not in {"tab", "search", "inactive"}

    def _refreshed(self, changed: bool | None) -> None:
        """Read the lists again where something in them was changed."""
        if changed:
            self.list_entries()
            tree = self.query_one("#tree", Tree)
            tree.clear()
            self._fill(tree.root)

    def hint(self, text: str) -> None:
        """Say something above the keys."""
        self.query_one("#hint", Static).update(shown(text))

    def tell(self, error: MemoryTiersError) -> None:
        """Say why something was refused."""
        self.notify(shown(str(error)).plain, severity="error", markup=False, timeout=10)


def _lead_on(node: TreeNode[object], count: int, last: int) -> None:
    if count == _PAGE:
        node.add_leaf("… more", data=(_MORE, last))


def _drawer_line(drawer: DrawerPreview) -> str:
    """A message in the tree, where the address of its room stands above it."""
    return f"{drawer.pointer.rpartition('/')[2]} {drawer.speaker or drawer.role}: {drawer.beginning}"


def _entry_line(entry: Entry) -> str:
    marks = f"{'* ' if entry.pinned else ''}{'' if entry.active else '(put aside) '}"
    return f"{entry.id} {entry.said_at:%Y-%m-%d} {entry.category}\n  {marks}{shortened(entry.content, _LINE)}"


def _found(recalled: Recalled, space: Space) -> list[Option]:
    """What a recall shows, and then what it looked at and did not show, with the reason; each once."""
    from langmem_tiers.recall.why_words import VERDICTS

    found = [(f"{each.kind}:{each.ref}", each.ref, each.score, "", each.text) for each in recalled.known]
    found += [
        (f"drawer:{each.drawer.pointer}", each.drawer.pointer, each.score, "", each.drawer.content)
        for each in recalled.items
    ]
    for each in recalled.receipt.candidates[:_PAGE]:
        if each.verdict != "shown":
            drawer = space.drawer(each.pointer)
            said = "" if drawer is None else drawer.content
            found.append((f"drawer:{each.pointer}", each.pointer, each.score, f"  {VERDICTS[each.verdict]}", said))
    once = {name: (ref, score, why, text) for name, ref, score, why, text in reversed(found)}
    return [
        Option(shown(f"{ref}  {score:.2f}{why}\n  {shortened(text, _LINE)}"), id=name)
        for name, (ref, score, why, text) in reversed(once.items())
    ]
