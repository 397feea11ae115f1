"""`langmem-tiers knowledge`: what is known of a user, what it rests on, and changing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from langmem_tiers.cli.knowledge_printing import (
    Known,
    entry_data,
    print_categories,
    print_deleted,
    print_entries,
    print_found,
    print_known,
    print_saved,
)
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import agreed, as_data, print_error, print_json, shortened

if TYPE_CHECKING:
    from datetime import datetime

    from langmem_tiers.knowledge.knowledge import Knowledge
    from langmem_tiers.knowledge.types import EntryFound


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
            print_categories(knowledge.space.name, found)


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
        since, until = _moments(wanted, knowledge.space.memory.clock())
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
    from langmem_tiers.palace.days import first_moment, last_moment

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
    from langmem_tiers.knowledge import checks
    from langmem_tiers.settings import Settings

    checks.content(text, Settings())
    checks.category(category, Settings())
    checks.tags(tags, Settings())


def _id(given: str) -> str:
    return given.strip().lower()


def _leave_without(which: str) -> NoReturn:
    print_error(f"There is no entry {which}. `langmem-tiers knowledge list --status all` shows those there are.")
    raise typer.Exit(1)
