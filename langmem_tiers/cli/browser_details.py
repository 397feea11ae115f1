"""One memory in the browser: what it says, what it rests on and what came of it, and what may be done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from langmem_tiers.cli.terminal import shortened
from langmem_tiers.errors import MemoryTiersError, UnknownMemory
from langmem_tiers.forgetting.types import LISTS, ForgetPreview
from langmem_tiers.knowledge_graph.wording import relation_words
from langmem_tiers.recall import references
from langmem_tiers.records import Entry
from langmem_tiers.types import Drawer
from langmem_tiers.wording import counted, safe

if TYPE_CHECKING:
    from langmem_tiers.forgetting.types import ForgetReceipt
    from langmem_tiers.recall.references import NamedMemory
    from langmem_tiers.space import Space

_LINE = 200
_LISTED = 200


def shown(text: str) -> Content:
    """A text that is stored, as it may be shown: made safe, and no markup."""
    return Content(safe(text))


def label(text: str) -> Text:
    """The same for the label of a tree."""
    return Text(safe(text), no_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Detail:
    """What is shown of a memory: its head and text, and what stands beside it, as (kind, reference, line)."""

    head: Sequence[str]
    text: str
    beside: Sequence[tuple[str, str, str]] = ()
    entry: Entry | None = None
    drawer: Drawer | None = None


def opened(space: Space, kind: str, name: str) -> DetailScreen:
    """The screen of a memory by its kind and reference.

    Raises:
        UnknownMemory: it is gone.
    """
    if kind == "drawer":
        return describe_drawer(space, name)
    found = references.find(space.context, name)
    if found is None:
        raise UnknownMemory(f"{name} is not there any more.")
    if isinstance(found.record, Entry):
        return describe_entry(space, found.record.id)
    return DetailScreen(space, lambda: _other(found))


def describe_drawer(space: Space, which: int | str) -> DetailScreen:
    """The screen of a message."""
    return DetailScreen(space, lambda: _of_drawer(space, which))


def describe_entry(space: Space, entry_id: str) -> DetailScreen:
    """The screen of an entry."""
    return DetailScreen(space, lambda: _of_entry(space, entry_id))


def _of_drawer(space: Space, which: int | str) -> Detail:
    drawer = space.drawer(which)
    if drawer is None:
        raise UnknownMemory(f"The message {which} is not there any more.")
    derived = space.browse.derived(drawer.number)
    beside = [("entry", each.id, f"entry {each.id}: {each.content}") for each in derived.entries]
    beside += [("relation", each.id, f"relation {each.id}: {relation_words(each)}") for each in derived.relations]
    beside += [("entity", each.id, f"entity {each.id}: {each.name} ({each.type})") for each in derived.entities]
    beside += [("episode", each.id, f"episode {each.id}: {each.abstract}") for each in derived.episodes]
    head = [
        f"{drawer.pointer}  {drawer.said_at:%Y-%m-%d %H:%M} UTC  {drawer.speaker or drawer.role}",
        f"session {drawer.session}, wing {drawer.wing}, recalled {drawer.recall_count:,} times",
        *([f"tags: {', '.join(drawer.tags)}"] if drawer.tags else []),
        *(["edited since, or of a branch that was left"] if drawer.status != "active" else []),
    ]
    return Detail(head=head, text=drawer.content, beside=beside, drawer=drawer)


def _of_entry(space: Space, entry_id: str) -> Detail:
    entry = space.source(space.name).knowledge.get(entry_id) or space.knowledge.get(entry_id)
    if entry is None:
        raise UnknownMemory(f"The entry {entry_id} is not there any more.")
    beside = [("drawer", each.pointer, f"{each.pointer}: {each.quote}") for each in entry.evidence]
    beside += [("entry", each.id, f"before: {each.content}") for each in space.knowledge.history(entry.id)]
    marks = [*(["pinned"] if entry.pinned else []), *([] if entry.active else [f"put aside: {entry.reason}"])]
    head = [
        f"entry {entry.id}  {entry.said_at:%Y-%m-%d}  {entry.category}  version {entry.version}",
        f"by {entry.origin}, recalled {entry.recall_count:,} times",
        *([", ".join(marks)] if marks else []),
        *([f"tags: {', '.join(entry.tags)}"] if entry.tags else []),
    ]
    return Detail(head=head, text=entry.content, beside=beside, entry=entry)


def _other(found: NamedMemory) -> Detail:
    """A relation, an entity, a summary or a note: to be read, with the messages it rests on."""
    rests = getattr(found.record, "evidence", ())
    beside = [("drawer", each.pointer, f"{each.pointer}: {each.quote}") for each in rests if each.pointer]
    return Detail(head=[f"{found.kind} {found.ref}"], text=found.text, beside=beside)


class DetailScreen(Screen[bool]):
    """One memory; it leaves with whether anything was changed."""

    CSS = """
    #head { color: $text-muted; height: auto; }
    #text { height: auto; margin: 1 0; }
    #beside { height: auto; border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("p", "pin", "Pin"),
        Binding("d", "deactivate", "Put aside"),
        Binding("f", "forget", "Forget"),
        Binding("escape,backspace", "back", "Back"),
        Binding("q", "app.quit", "Quit", show=False),
    ]

    def __init__(self, space: Space, read: Callable[[], Detail]) -> None:
        super().__init__()
        self.space, self._read, self._changed = space, read, False
        self.detail = read()

    def compose(self) -> ComposeResult:
        """Head, text, and what stands beside it."""
        with VerticalScroll():
            yield Static(id="head", markup=False)
            yield Static(id="text", markup=False)
            yield OptionList(id="beside")
        yield Footer()

    def on_mount(self) -> None:
        """Show what was read."""
        self._show()
        self.query_one("#beside").focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what can be done with this memory has a key."""
        if action in {"edit", "pin", "deactivate"}:
            return self.detail.entry is not None
        return action != "forget" or self.detail.entry is not None or self.detail.drawer is not None

    def _show(self) -> None:
        detail, listed = self.detail, self.query_one("#beside", OptionList)
        self.query_one("#head", Static).update(shown("\n".join(detail.head)))
        self.query_one("#text", Static).update(shown(detail.text))
        listed.clear_options()
        for number, (kind, ref, line) in enumerate(detail.beside[:_LISTED]):
            listed.add_option(Option(shown(shortened(line, _LINE)), id=f"{number}:{kind}:{ref}"))
        if detail.beside:
            listed.highlighted = 0
        else:
            listed.add_option(Option("Nothing rests on it, and it rests on nothing.", disabled=True))

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Open what stands beside it."""
        event.stop()
        _, kind, ref = (event.option_id or "").split(":", 2)
        try:
            screen = opened(self.space, kind, ref)
        except MemoryTiersError as error:
            self.tell(error)
        else:
            self.app.push_screen(screen, self._read_again)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss(self._changed)

    def action_edit(self) -> None:
        """Edit the text of an entry, unless a terminal would obey it: it has to be edited, and saved, as it is."""
        entry = self.detail.entry
        if entry is None:
            return
        if safe(entry.content) != entry.content:
            told = f"It has characters that a terminal would obey: change it by `langmem-tiers edit {entry.id}`."
            self.notify(told, severity="warning", markup=False, timeout=10)
            return
        self.app.push_screen(EditScreen(entry.content, self._save), self._read_again)

    def _save(self, text: str) -> None:
        """Save a text on top of the version that was shown."""
        entry = self.detail.entry
        assert entry is not None
        self.space.knowledge.update(entry.id, content=text.strip(), version=entry.version, origin="user")

    def action_pin(self) -> None:
        """Pin an entry, or no longer."""
        self._change(lambda entry: self.space.knowledge.update(entry.id, pinned=not entry.pinned, origin="user"))

    def action_deactivate(self) -> None:
        """Put an entry aside, or have it hold again."""

        def change(entry: Entry) -> object:
            knowledge = self.space.knowledge
            return knowledge.deactivate(entry.id, origin="user") if entry.active else knowledge.reactivate(entry.id)

        self._change(change)

    def _change(self, change: Callable[[Entry], object]) -> None:
        if self.detail.entry is None:
            return
        try:
            change(self.detail.entry)
        except MemoryTiersError as error:
            self.tell(error)
        else:
            self._read_again(True)

    def action_forget(self) -> None:
        """Show what would go, before anything does."""
        try:
            preview = self._forget(None)
        except MemoryTiersError as error:
            self.tell(error)
            return
        if isinstance(preview, ForgetPreview):
            self.app.push_screen(ForgetScreen(preview, self._forget), self._forgotten)

    def _forget(self, token: str | None) -> ForgetPreview | ForgetReceipt:
        entry, drawer = self.detail.entry, self.detail.drawer
        if entry is not None:
            return self.space.forget(entries=[entry.id], confirm=token)
        return self.space.forget(messages=[] if drawer is None else [drawer.number], confirm=token)

    def _forgotten(self, gone: bool | None) -> None:
        if gone:
            self.dismiss(True)

    def _read_again(self, changed: bool | None) -> None:
        """Show it as it is now; leave where it is gone."""
        if not changed:
            return
        self._changed = True
        try:
            self.detail = self._read()
        except UnknownMemory:
            self.dismiss(True)
        except MemoryTiersError as error:
            self.tell(error)
        else:
            self._show()
            self.refresh_bindings()

    def tell(self, error: MemoryTiersError) -> None:
        """Say why something was refused."""
        self.notify(safe(str(error)), severity="error", markup=False, timeout=10)


class EditScreen(Screen[bool]):
    """A text to edit; what is refused stays in the editor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("escape", "cancel", "Leave it as it was", priority=True),
    ]

    def __init__(self, text: str, save: Callable[[str], None]) -> None:
        super().__init__()
        self._text, self._save = text, save

    def compose(self) -> ComposeResult:
        """An area for the text, and the two keys."""
        yield TextArea(self._text)
        yield Footer()

    def action_save(self) -> None:
        """Save, or say why not."""
        text = self.query_one(TextArea).text
        if text == self._text:
            self.dismiss(False)
            return
        try:
            self._save(text)
        except MemoryTiersError as error:
            self.notify(safe(str(error)), severity="error", markup=False, timeout=10)
        else:
            self.dismiss(True)

    def action_cancel(self) -> None:
        """Leave without saving."""
        self.dismiss(False)


class ForgetScreen(Screen[bool]):
    """What would be forgotten; it leaves with whether it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "forget", "Forget all of this for good"),
        Binding("n,escape", "cancel", "Keep it"),
    ]

    def __init__(self, preview: ForgetPreview, forget: Callable[[str], object]) -> None:
        super().__init__()
        self._preview, self._forget = preview, forget

    def compose(self) -> ComposeResult:
        """The list, and the two keys."""
        with VerticalScroll():
            yield Static(shown("\n".join(_preview_lines(self._preview))), markup=False)
        yield Footer()

    def action_forget(self) -> None:
        """Delete exactly what is listed."""
        try:
            self._forget(self._preview.token)
        except MemoryTiersError as error:
            self.notify(safe(str(error)), severity="error", markup=False, timeout=10)
        else:
            self.dismiss(True)

    def action_cancel(self) -> None:
        """Leave everything as it is."""
        self.dismiss(False)


def _preview_lines(preview: ForgetPreview) -> Iterator[str]:
    """What goes, list by list, what goes with it, and what stays."""
    yield "This would be forgotten, and cannot be brought back:"
    for name in LISTS:
        items = getattr(preview, name)
        if items:
            yield f"\n{name.replace('_', ' ')}"
        yield from (f"  {each.ref}  {shortened(each.text, _LINE)}" for each in items)
    with_it = {"receipt": preview.receipts, "dream": preview.dreams, "vector": preview.vectors}
    if told := [counted(number, name) for name, number in with_it.items() if number]:
        yield f"\nWith it: {', '.join(told)}."
    if preview.stays:
        yield "\nThis stays, as it rests on something else as well"
    yield from (f"  {each.ref}  {shortened(each.text, _LINE)}" for each in preview.stays)
