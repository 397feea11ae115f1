"""`langmem-tiers knowledge`: what is known of a user."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langmem_tiers.cli.target import AsOf, OfProject, OfTask, Shown, Target, command_of_space, moments, space_command
from langmem_tiers.cli.terminal import (
    MORE,
    as_data,
    hanging,
    leave,
    require_agreed,
    shortened,
    with_authority,
)
from langmem_tiers.knowledge.preferences import CONFIRMED, waits
from langmem_tiers.pointers import beside
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from rich.tree import Tree

    from langmem_tiers.knowledge.results import CategoryCount, EntryFound
    from langmem_tiers.records import Entry, EntryEvidence
    from langmem_tiers.space import Space
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
_NEXT = (
    "Waits for the user's word: `langmem-tiers knowledge confirm {0}` puts it in force, "
    "`langmem-tiers knowledge delete {0}` refuses it for good."
)
# The names of fields for readers, where they differ.
_LABELS = {
    "authority": "who stands behind it",
    "flags": "warning",
    "created_at": "created",
    "updated_at": "changed",
    "expires_at": "expected until",
    "recall_count": "recalled",
}
# Fields that are shown beside the others, or together with one of them.
_SHOWN_ELSEWHERE = frozenset(
    {"number", "content", "reason", "successor", "path", "last_recalled_at", "evidence"},
)
# Characters of an entry in the question whether to delete it.
_ASKED_ABOUT = 200

knowledge = typer.Typer(help="What is known: facts, preferences, decisions, with evidence.", no_args_is_help=True)


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


@knowledge.command("list")
@space_command()
def list_entries(
    space: Space,
    *,
    category: Within = None,
    tag: WithTags = None,
    since: Since = None,
    until: Until = None,
    project: OfProject = None,
    task: OfTask = None,
    status: OfStatus = StatusChoice.ACTIVE,
    as_of: AsOf = None,
    limit: Most = 20,
) -> Shown:
    """Print what is known, what was changed last first."""
    about = {"as_of": as_of, "project": project, "task": task}
    wanted = {**_wanted(category, tag, since, until, status), **about}
    found = space.knowledge.search(None, **wanted, limit=limit + 1)
    shown = found[:limit]
    lines = [_found(each, space) for each in shown]
    return Shown([_with_ended(each.entry, each.ended) for each in shown], _list(lines, more=len(found) > limit))


@knowledge.command()
@space_command()
def search(
    space: Space,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    *,
    category: Within = None,
    tag: WithTags = None,
    since: Since = None,
    until: Until = None,
    project: OfProject = None,
    task: OfTask = None,
    status: OfStatus = StatusChoice.ACTIVE,
    as_of: AsOf = None,
    limit: Most = 10,
) -> Shown:
    """Print what is known on QUERY by words and meaning, best first; what was put aside is found by words only."""
    about = {"as_of": as_of, "project": project, "task": task}
    wanted = {**_wanted(category, tag, since, until, status), **about}
    found = space.knowledge.search(query, **wanted, limit=limit + 1)
    lines = [_found(each, space, score=each.score if each.channels else None) for each in found[:limit]]
    return Shown(_data(found[:limit]), _list(lines, more=len(found) > limit))


@knowledge.command()
@space_command()
def show(
    space: Space,
    which: Annotated[
        str,
        typer.Argument(metavar="ID|POINTER", help="An entry's id, or a message that it rests on: §W-001/R-02/D-003."),
    ],
) -> Shown:
    """Print an entry with all that is known about it: the messages it rests on, what it said before, what holds now."""
    return entry_shown(space, which)


def entry_shown(space: Space, which: str) -> Shown:
    """An entry with its evidence and its history."""
    name, sources = space.resolve_reference(which)
    held = ((each, entry) for each in sources if (entry := each.knowledge.get(name)) is not None)
    space, entry = next(held, None) or _leave_without(which)
    drawers, history = space.knowledge.evidence(entry.id), space.knowledge.history(entry.id)
    successor = None if entry.successor is None else space.knowledge.get(entry.successor)
    ended = space.knowledge.ended([entry])[entry.id]
    around = {"drawers": drawers, "history": history, "successor": successor}
    data = {"entry": _with_ended(entry, ended)} | _data(around)
    return Shown(data, _whole(entry, ended, drawers, history, successor))


@knowledge.command()
@command_of_space
def add(
    target: Target,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One fact, as a sentence: 'The user prefers tea.'")],
    *,
    category: Annotated[str | None, typer.Option(metavar="PATH", help="Where it belongs, such as work/habits.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A word to find it by; several times.")] = None,
    corrects: Annotated[
        str | None, typer.Option(metavar="ID", help="The entry that is wrong: it is put aside for this one.")
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Protect it from all that the memory does by itself.")] = False,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="The project it is about.")] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="The task in which it became known.")] = None,
) -> Shown:
    """Have something known, on the user's own word. Another wording of what is known is merged with it."""
    _require_storable(text, category, tag or ())
    wrong = None if corrects is None else _id(corrects)
    with target.any_space() if wrong is None else target.existing_space() as space:
        saved = space.knowledge.save(
            text,
            category=category,
            tags=tag or (),
            origin="user",
            pinned=pin,
            corrects=wrong,
            project=project,
            task=task,
        )
        saved = replace(saved, entry=_typed(space, saved.entry, text))
    lines = [_OUTCOME[saved.outcome], _entry(saved.entry)]
    if waits(saved.entry):
        lines.append(_NEXT.format(saved.entry.id))
    if saved.merged is not None:
        lines.append(f"`langmem-tiers knowledge unmerge {saved.merged}` tells the two apart again.")
    if saved.corrected is not None:
        lines.append(f"{saved.corrected} is corrected, and holds no longer.")
    return Shown(_data(saved), lines)


@knowledge.command()
@command_of_space
def edit(
    target: Target,
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
) -> Shown:
    """Change what is given of an entry, on the user's own word; what it said before is kept."""
    if not tag and content is None and category is None and pin is None:
        raise typer.BadParameter("give what to change: --content, --category, --tag, --pin or --no-pin.")
    with target.existing_space() as space:
        entry = space.knowledge.update(
            _id(which),
            content=content,
            category=category,
            tags=tag or None,
            pinned=pin,
            version=version,
            origin="user",
        )
        entry = entry if content is None else _typed(space, entry, content)
    return Shown(_data(entry), [_entry(entry)])


@knowledge.command()
@space_command()
def delete(
    space: Space, which: Id, *, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> Shown:
    """Delete an entry for good, with its other wordings. What was said stays, and does not bring it back."""
    entry = space.source(space.name).knowledge.get(_id(which))
    if entry is None or entry.id != _id(which):
        _leave_without(which)
    require_agreed(f"Delete {entry.id}, “{shortened(entry.content, _ASKED_ABOUT)}”, for good?", yes=yes)
    deleted = space.knowledge.delete(entry.id, origin="user")
    wordings = len(deleted.with_it)
    others = f", with {wordings} other wording{'s' if wordings > 1 else ''} of it" if wordings else ""
    return Shown(deleted, [f"{deleted.id} is deleted{others}."])


@knowledge.command()
@space_command()
def unmerge(space: Space, which: Id) -> Shown:
    """Take an entry out of the one that it was merged into: both hold, as they were before."""
    entry = space.knowledge.unmerge(_id(which))
    return Shown(_data(entry), [_entry(entry)])


@knowledge.command()
@space_command()
def confirm(
    space: Space, which: Annotated[str | None, typer.Argument(metavar="ID", help="The entry; none: list them.")] = None
) -> Shown:
    """Put in force what would make the agent less careful, or list what waits for that, and how to refuse it."""
    if which is None:
        waiting = space.knowledge.unconfirmed()
        lines = [*map(_entry, waiting), _NEXT.format("ID")] if waiting else ["Nothing waits for the user's word."]
        return Shown([_data(each) for each in waiting], lines)
    before = space.source(space.name).knowledge.get(_id(which))
    entry = space.knowledge.confirm(_id(which))
    return Shown(_data(entry), [_answer(before, entry), _entry(entry)])


@knowledge.command()
@space_command()
def categories(space: Space) -> Shown:
    """Print the tree of categories, with how many entries that hold are in each."""
    from rich.tree import Tree

    found = space.knowledge.categories()
    tree = Tree(safe(space.name) if found else f"{safe(space.name)}: nothing yet")
    for each in found:
        _add_category(tree, each)
    return Shown(found, [tree])


def _answer(before: Entry | None, entry: Entry) -> str:
    """What came of confirming an entry."""
    if not entry.active:
        return "It is put aside, so there is nothing to confirm."
    if before is not None and waits(before):
        return "Confirmed: it is now in force."
    return "It was confirmed already." if CONFIRMED in entry.metadata else "It needs no confirmation."


def _typed(space: Space, entry: Entry, text: str) -> Entry:
    """An entry that was typed here, which is in force by that: nobody else's wording of it is."""
    return space.knowledge.confirm(entry.id, version=entry.version) if entry.content == text.strip() else entry


def _id(given: str) -> str:
    return given.strip().lower()


def _leave_without(which: str) -> NoReturn:
    leave(f"There is no entry {which}. `langmem-tiers knowledge list --status all` shows those there are.")


def _wanted(
    category: str | None, tags: list[str] | None, since: str | None, until: str | None, status: StatusChoice
) -> dict[str, Any]:
    """The filters of a search."""
    return {"category": category, "tags": tags or (), **moments(since, until), "status": status.value}


def _require_storable(text: str, category: str | None, tags: Sequence[str]) -> None:
    """Check that an entry can be saved, before a folder is made for it.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it cannot.
    """
    from langmem_tiers.knowledge import validation
    from langmem_tiers.settings import Settings

    validation.content(text, Settings())
    validation.category(category, Settings())
    validation.tags(tags, Settings())


def _data(value: object) -> Any:
    """Records as plain JSON data, entries with their authority by name."""
    from langmem_tiers.records import Entry

    return as_data(value, {Entry: with_authority})


def _with_ended(entry: Entry, ended: Sequence[str]) -> dict[str, Any]:
    """An entry as plain JSON data, with what says that it no longer holds."""
    data: dict[str, Any] = _data(entry)
    return data | {"ended": list(ended)}


def _list(entries: Sequence[str], *, more: bool) -> list[str]:
    return [*(entries or ["No entry fits."]), *([MORE] if more else [])]


def _whole(
    entry: Entry, ended: Sequence[str], drawers: Sequence[Drawer], history: Sequence[Entry], successor: Entry | None
) -> Iterator[str]:
    """An entry with the messages it rests on, the entries it took the place of, and the one that holds instead."""
    waiting = [_NEXT.format(entry.id)] if waits(entry) else []
    yield "\n".join((entry.content, *ended, *waiting, ""))
    for name, value in _fields(entry):
        if value:
            yield hanging(f"{name:>20}  ", value)
    yield "\nRests on" if entry.evidence else "\nRests on no message."
    for each in entry.evidence:
        yield from _piece(each, drawers)
    if history:
        yield "\nTook the place of"
        yield from (_entry(each, indent=2) for each in history)
    if successor is not None:
        yield "\nHolds instead"
        yield _entry(successor, indent=2)


def _found(found: EntryFound, space: Space, *, score: float | None = None) -> str:
    ref = found.entry.id if found.space == space.name else beside(found.entry.id, found.space)
    return _entry(found.entry, score=score, ended=found.ended, ref=ref)


def _entry(
    entry: Entry, *, score: float | None = None, ended: Sequence[str] = (), indent: int = 0, ref: str = ""
) -> str:
    """An entry on two or three lines: id, date and category, then its text, then its marks."""
    head = [ref or entry.id, f"{entry.said_at:%Y-%m-%d}", entry.category]
    if score is not None:
        head.insert(0, f"{score:.3f}")
    below = " " * (indent + 4)
    marks = "; ".join((*ended, *_marks(entry)))
    lines = [hanging(" " * indent, "  ".join(head)), hanging(below, shortened(entry.content, _SHOWN))]
    return "\n".join([*lines, hanging(below, marks)] if marks else lines)


def _marks(entry: Entry) -> Iterator[str]:
    if not entry.active:
        yield _why_inactive(entry)
    if entry.pinned:
        yield "pinned"
    if entry.flags:
        yield _flagged(entry)
    if waits(entry):
        yield "waits for the user's word"
    if entry.tags:
        yield f"tags: {', '.join(entry.tags)}"


def _why_inactive(entry: Entry) -> str:
    instead = f", {entry.successor} holds instead" if entry.successor else ""
    return f"inactive: {entry.reason or 'removed'}{instead}"


def _flagged(entry: Entry) -> str:
    return f"reads like an {', '.join(entry.flags)}"


def _fields(entry: Entry) -> Iterator[tuple[str, str]]:
    """The fields of an entry besides its text, as they are shown."""
    special = {
        "status": "active" if entry.active else _why_inactive(entry),
        "origin": f"{entry.origin}, {_PATH[entry.path]}",
        "authority": _AUTHORITY[entry.authority],
        "flags": _flagged(entry) if entry.flags else "",
        "recall_count": _recalled(entry),
    }
    for each in fields(entry):
        if each.name not in _SHOWN_ELSEWHERE:
            shown = special.get(each.name) or _shown(getattr(entry, each.name))
            yield _LABELS.get(each.name, each.name.replace("_", " ")), shown


def _recalled(entry: Entry) -> str:
    return f"{entry.recall_count:,} times, last {_minute(entry.last_recalled_at)}" if entry.recall_count else "never"


def _shown(value: object) -> str:
    """The value of a field; empty if there is nothing to show."""
    if isinstance(value, datetime):
        return _minute(value)
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, Mapping):
        return json.dumps(as_data(value), ensure_ascii=False) if value else ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _piece(evidence: EntryEvidence, drawers: Sequence[Drawer]) -> list[str]:
    """A message that an entry rests on, with the words quoted from it."""
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
