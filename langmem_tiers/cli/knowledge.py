"""`langmem-tiers knowledge`: what is known of a user."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import (
    agreed,
    as_data,
    hanging,
    print_error,
    print_json,
    print_rich,
    print_text,
    safe,
    shortened,
)
from langmem_tiers.clock import utc_now

if TYPE_CHECKING:
    from rich.tree import Tree

    from langmem_tiers.knowledge.knowledge import Knowledge
    from langmem_tiers.knowledge.types import CategoryCount, Deleted, EntryFound, Saved
    from langmem_tiers.records import Entry, EntryEvidence
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


class StatusChoice(StrEnum):
    """Which entries are listed and searched."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    ALL = "all"


Id = Annotated[str, typer.Argument(metavar="ID", help="The entry's id, as `knowledge list` prints it.")]
Within = Annotated[
    str | None, typer.Option("--category", metavar="PATH", help="Only this category and those below it.")
]
WithTags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; several times: with all of them.")
]
Since = Annotated[
    str | None, typer.Option(metavar="DATE", help="Not changed before this day: 2026-03-02, 2026-03 or 2026 (UTC).")
]
Until = Annotated[str | None, typer.Option(metavar="DATE", help="Not changed after this day.")]
OfStatus = Annotated[StatusChoice, typer.Option(help="Those that hold, those put aside, or both.")]
Most = Annotated[int, typer.Option(min=1, max=1_000_000, help="Most entries.")]

# Characters of an entry in the question whether to delete it.
_ASKED_ABOUT = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """The filters of a command, as they were given."""

    category: str | None
    tags: Sequence[str] | None
    since: str | None
    until: str | None
    status: StatusChoice


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    knowledge = typer.Typer(help="What is known: facts, preferences, decisions, with evidence.", no_args_is_help=True)
    knowledge.command("list")(list_entries)
    for command in (search, show, add, edit, delete, unmerge, categories):
        knowledge.command()(command)
    app.add_typer(knowledge, name="knowledge")


def list_entries(
    context: typer.Context,
    *,
    category: Within = None,
    tag: WithTags = None,
    since: Since = None,
    until: Until = None,
    status: OfStatus = StatusChoice.ACTIVE,
    limit: Most = 20,
    json: JsonFlag = False,
) -> None:
    """Print what is known, what was changed last first."""
    target = target_of(context, json=json)
    wanted = _Wanted(category=category, tags=tag, since=since, until=until, status=status)
    entries = [each.entry for each in _find(target, None, wanted, limit + 1)]
    if target.json:
        print_json([entry_data(entry) for entry in entries[:limit]])
    else:
        print_entries(entries[:limit], more=len(entries) > limit)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    *,
    category: Within = None,
    tag: WithTags = None,
    since: Since = None,
    until: Until = None,
    status: OfStatus = StatusChoice.ACTIVE,
    limit: Most = 10,
    json: JsonFlag = False,
) -> None:
    """Print what is known on QUERY by words and meaning, best first; what was put aside is found by words only."""
    target = target_of(context, json=json)
    wanted = _Wanted(category=category, tags=tag, since=since, until=until, status=status)
    found = _find(target, query, wanted, limit + 1)
    if target.json:
        print_json([{**as_data(each), "entry": entry_data(each.entry)} for each in found[:limit]])
    else:
        print_found(found[:limit], more=len(found) > limit)


def show(
    context: typer.Context,
    which: Annotated[
        str,
        typer.Argument(metavar="ID|POINTER", help="An entry's id, or a message that it rests on: §W-001/R-02/D-003."),
    ],
    *,
    json: JsonFlag = False,
) -> None:
    """Print an entry with all that is known about it: the messages it rests on, what it said before, what holds now."""
    target = target_of(context, json=json)
    with _existing(target) as knowledge:
        known = _known(knowledge, which)
    if known is None:
        _leave_without(which)
    elif target.json:
        print_json(known.data())
    else:
        print_known(known)


def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One fact, as a sentence: 'The user prefers tea.'")],
    *,
    category: Annotated[str | None, typer.Option(metavar="PATH", help="Where it belongs, such as work/habits.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A word to find it by; several times.")] = None,
    corrects: Annotated[
        str | None, typer.Option(metavar="ID", help="The entry that is wrong: it is put aside for this one.")
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Protect it from all that the memory does by itself.")] = False,
    json: JsonFlag = False,
) -> None:
    """Have something known, on the user's own word. Another wording of what is known is merged with it."""
    target = target_of(context, json=json)
    _require_storable(text, category, tag or ())
    wrong = None if corrects is None else _id(corrects)
    with _any(target) if wrong is None else _existing(target) as knowledge:
        saved = knowledge.save(text, category=category, tags=tag or (), origin="user", pinned=pin, corrects=wrong)
    if target.json:
        print_json({**as_data(saved), "entry": entry_data(saved.entry)})
    else:
        print_saved(saved)


def edit(
    context: typer.Context,
    which: Id,
    *,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="What it says from now on.")] = None,
    category: Annotated[str | None, typer.Option(metavar="PATH", help="Its new category.")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Its new tags, instead of all that it has; '' for none."),
    ] = None,
    pin: Annotated[
        bool | None, typer.Option("--pin/--no-pin", help="Protect it from all that the memory does by itself, or not.")
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Change it only if it is still at this version.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Change what is given of an entry, on the user's own word; what it said before is kept."""
    if not tag and content is None and category is None and pin is None:
        raise typer.BadParameter("give what to change: --content, --category, --tag, --pin or --no-pin.")
    target = target_of(context, json=json)
    with _existing(target) as knowledge:
        entry = knowledge.update(
            _id(which),
            content=content,
            category=category,
            tags=tag or None,
            pinned=pin,
            version=version,
            origin="user",
        )
    if target.json:
        print_json(entry_data(entry))
    else:
        print_entries([entry])


def delete(
    context: typer.Context,
    which: Id,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: JsonFlag = False,
) -> None:
    """Delete an entry for good, with its other wordings. What was said stays, and does not bring it back."""
    target = target_of(context, json=json)
    with _existing(target) as knowledge:
        entry = knowledge.get(_id(which))
        if entry is None or entry.id != _id(which):
            _leave_without(which)
        if not yes and not agreed(f"Delete {entry.id}, “{shortened(entry.content, _ASKED_ABOUT)}”, for good?"):
            print_error("Nothing was deleted. With --yes, it is done without a question.")
            raise typer.Exit(1)
        deleted = knowledge.delete(entry.id, origin="user")
    if target.json:
        print_json(deleted)
    else:
        print_deleted(deleted)


def unmerge(context: typer.Context, which: Id, *, json: JsonFlag = False) -> None:
    """Take an entry out of the one that it was merged into: both hold, as they were before."""
    target = target_of(context, json=json)
    with _existing(target) as knowledge:
        entry = knowledge.unmerge(_id(which))
    if target.json:
        print_json(entry_data(entry))
    else:
        print_entries([entry])


def categories(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Print the tree of categories, with how many entries that hold are in each."""
    target = target_of(context, json=json)
    with _existing(target) as knowledge:
        found = knowledge.categories()
        if target.json:
            print_json(found)
        else:
            print_categories(target.space_name(), found)


@contextmanager
def _existing(target: Target) -> Iterator[Knowledge]:
    with target.existing_memory() as memory:
        yield target.space(memory).knowledge


@contextmanager
def _any(target: Target) -> Iterator[Knowledge]:
    """The knowledge of a user who may be new."""
    name = target.space_name()
    with target.memory() as memory:
        yield memory.space(name).knowledge


def _find(target: Target, query: str | None, wanted: _Wanted, most: int) -> tuple[EntryFound, ...]:
    with _existing(target) as knowledge:
        since, until = _moments(wanted, utc_now())
        return knowledge.search(
            query,
            category=wanted.category,
            tags=wanted.tags or (),
            since=since,
            until=until,
            status=wanted.status.value,
            limit=most,
        )


def _moments(wanted: _Wanted, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The first and the last moment meant, by the same reading of dates as the agent's tools have."""
    if wanted.since is None and wanted.until is None:
        return None, None
    from langmem_tiers.language.periods import first_moment, last_moment

    return first_moment(wanted.since, now), last_moment(wanted.until, now)


def _known(knowledge: Knowledge, which: str) -> Known | None:
    entry = knowledge.get(which)
    if entry is None:
        return None
    return Known(
        entry=entry,
        drawers=knowledge.evidence(entry.id),
        history=knowledge.history(entry.id),
        successor=None if entry.successor is None else knowledge.get(entry.successor),
    )


def _require_storable(text: str, category: str | None, tags: Sequence[str]) -> None:
    """Nothing, where it can be saved: what is refused must not make a folder first.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it can not.
    """
    from langmem_tiers.knowledge import validation
    from langmem_tiers.settings import Settings

    validation.content(text, Settings())
    validation.category(category, Settings())
    validation.tags(tags, Settings())


def _id(given: str) -> str:
    return given.strip().lower()


def _leave_without(which: str) -> NoReturn:
    print_error(f"There is no entry {which}. `langmem-tiers knowledge list --status all` shows those there are.")
    raise typer.Exit(1)
