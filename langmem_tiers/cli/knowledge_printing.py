"""How entries of the knowledge are printed. No business logic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langmem_tiers.cli.hanging import hanging
from langmem_tiers.cli.terminal import as_data, print_rich, print_text, safe, shortened

if TYPE_CHECKING:
    from rich.tree import Tree

    from langmem_tiers.knowledge.types import CategoryCount, Deleted, Entry, EntryEvidence, EntryFound, Saved
    from langmem_tiers.types import Drawer

# Characters of a text in a list; `show` prints the whole.
_SHOWN = 300
_AUTHORITY = ("the memory itself", "the agent", "the user", "a correction by the user")
_PATH = {
    "user": "entered by the user",
    "tool": "saved by the agent",
    "rule": "found by rules",
    "model": "found by a model",
}
_OUTCOME = {
    "saved": "Saved.",
    "merged": "Merged with another wording of it.",
    "known": "It was known already.",
    "reactivated": "It was known before, and holds again.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """An entry and all around it: the drawers it rests on, those it took the place of, the one that holds instead."""

    entry: Entry
    drawers: tuple[Drawer, ...]
    history: tuple[Entry, ...]
    successor: Entry | None

    def data(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "entry": entry_data(self.entry),
            "drawers": as_data(self.drawers),
            "history": [entry_data(each) for each in self.history],
            "successor": None if self.successor is None else entry_data(self.successor),
        }


def entry_data(entry: Entry) -> dict[str, Any]:
    """An entry as plain JSON data, its authority by name."""
    return {**as_data(entry), "authority": entry.authority.name.lower()}


def print_entries(entries: Sequence[Entry], *, more: bool = False) -> None:
    """Print entries, each with its text below what it is called by."""
    _print_list([_entry(each) for each in entries], more)


def print_found(found: Sequence[EntryFound], *, more: bool) -> None:
    """Print what a search found, with the scores where there is something to score by."""
    _print_list([_entry(each.entry, score=each.score if each.channels else None) for each in found], more)


def print_known(known: Known) -> None:
    """Print an entry and all around it."""
    print_text(f"{known.entry.content}\n")
    for name, value in _fields(known.entry):
        if value:
            print_text(hanging(f"{name:>20}  ", value))
    pieces = [piece for each in known.entry.evidence for piece in _piece(each, known.drawers)]
    _print_section("Rests on" if pieces else "Rests on no message.", pieces)
    if known.history:
        _print_section("Took the place of", [line for each in known.history for line in _entry(each, indent=2)])
    if known.successor is not None:
        _print_section("Holds instead", _entry(known.successor, indent=2))


def print_saved(saved: Saved) -> None:
    """Say what became of a save."""
    print_text(_OUTCOME[saved.outcome])
    print_entries([saved.entry])
    if saved.merged is not None:
        print_text(f"`langmem-tiers knowledge unmerge {saved.merged}` tells the two apart again.")
    if saved.corrected is not None:
        print_text(f"{saved.corrected} is corrected, and holds no longer.")


def print_deleted(deleted: Deleted) -> None:
    """Say what went."""
    wordings = len(deleted.with_it)
    others = f", with {wordings} other wording{'s' if wordings > 1 else ''} of it" if wordings else ""
    print_text(f"{deleted.id} is deleted{others}.")


def print_categories(name: str, found: Sequence[CategoryCount]) -> None:
    """Print categories as a tree."""
    from rich.tree import Tree

    tree = Tree(safe(name) if found else f"{safe(name)}: nothing yet")
    for each in found:
        _add_category(tree, each)
    print_rich(tree)


def _print_list(listed: Sequence[Sequence[str]], more: bool) -> None:
    for lines in listed:
        print_text("\n".join(lines))
    if not listed:
        print_text("No entry fits.")
    if more:
        print_text("There are more: --limit says how many to show.")


def _print_section(title: str, lines: Sequence[str]) -> None:
    print_text("\n".join(("", title, *lines)))


def _entry(entry: Entry, *, score: float | None = None, indent: int = 0) -> list[str]:
    """What an entry is called by, what it says, and what is particular about it."""
    head = [entry.id, f"{entry.updated_at:%Y-%m-%d}", entry.category]
    if score is not None:
        head.insert(0, f"{score:.3f}")
    below = " " * (indent + 4)
    marks = "; ".join(_marks(entry))
    lines = [hanging(" " * indent, "  ".join(head)), hanging(below, shortened(entry.content, _SHOWN))]
    return [*lines, hanging(below, marks)] if marks else lines


def _marks(entry: Entry) -> Iterator[str]:
    if not entry.active:
        yield _why_inactive(entry)
    if entry.pinned:
        yield "pinned"
    if entry.flags:
        yield _flagged(entry)
    if entry.tags:
        yield f"tags: {', '.join(entry.tags)}"


def _why_inactive(entry: Entry) -> str:
    instead = f", {entry.successor} holds instead" if entry.successor else ""
    return f"inactive: {entry.reason or 'removed'}{instead}"


def _flagged(entry: Entry) -> str:
    return f"reads like an {', '.join(entry.flags)}"


def _fields(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is to be told of an entry beside its text, by name."""
    yield "id", entry.id
    yield "category", entry.category
    yield "tags", ", ".join(entry.tags)
    yield "status", "active" if entry.active else _why_inactive(entry)
    yield "origin", f"{entry.origin}, {_PATH[entry.path]}"
    yield "who stands behind it", _AUTHORITY[entry.authority]
    yield "pinned", "yes" if entry.pinned else ""
    yield "warning", _flagged(entry) if entry.flags else ""
    yield "project", entry.project or ""
    yield "agent", entry.agent or ""
    yield "metadata", json.dumps(as_data(entry.metadata), ensure_ascii=False) if entry.metadata else ""
    yield "created", _minute(entry.created_at)
    yield "changed", _minute(entry.updated_at)
    yield "expected until", _minute(entry.expires_at)
    yield "version", str(entry.version)
    yield "recalled", _times_recalled(entry)


def _times_recalled(entry: Entry) -> str:
    if not entry.recall_count:
        return "never"
    return f"{entry.recall_count:,} times, last {_minute(entry.last_recalled_at)}"


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _piece(evidence: EntryEvidence, drawers: Sequence[Drawer]) -> list[str]:
    """A drawer that an entry rests on, and its words that say so."""
    drawer = next(each for each in drawers if each.number == evidence.drawer)
    head = [evidence.pointer, _minute(drawer.said_at), drawer.speaker or drawer.role]
    if drawer.status != "active":
        head.append("edited later")
    if evidence.via is not None:
        head.append(f"brought by {evidence.via}")
    words = f"“{evidence.quote}”" if evidence.quote else drawer.content
    return [hanging("  ", "  ".join(head)), hanging(" " * 6, shortened(words, _SHOWN))]


def _add_category(tree: Tree, category: CategoryCount) -> None:
    here = f", {category.entries:,} of them here" if category.children and category.entries else ""
    branch = tree.add(safe(f"{category.name} ({category.total:,}{here})"))
    for each in category.children:
        _add_category(branch, each)
