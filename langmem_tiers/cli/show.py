"""`langmem-tiers show` and `edit`: anything that has an address, an id, a path or a key."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli import entities, episodes, knowledge, profile, receipts, tasks, working
from langmem_tiers.cli.editor import edited, kept_if_refused
from langmem_tiers.cli.graph_printing import graph_data, history_lines, relations_lines
from langmem_tiers.cli.target import FromFile, Shown, Target, command_of_space, in_words_of_commands, space_command
from langmem_tiers.cli.terminal import as_data, leave, text_of
from langmem_tiers.errors import InvalidInput, TextChanged

if TYPE_CHECKING:
    from langmem_tiers.space import Space

_IDENTITY = "identity"
_SUFFIX = ".md"

Which = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE",
        help="A message (1, §W-001/R-02/D-003), an id, a note's path, a key, a task, a name, receipt:3.",
    ),
]


@space_command()
def show(space: Space, which: Which) -> Shown:
    """Print anything that is stored, and all that is known of it, whatever it is named by."""
    kind, name = _resolved(space, which)
    if kind == _IDENTITY:
        return profile.identity_shown(space)
    return _SHOWN[kind](space, name)


def _resolved(space: Space, which: str) -> tuple[str, str]:
    """What a reference names: its kind, and its name there. `entry:ID`, `task:ID` and the like say the kind."""
    kind, colon, name = which.partition(":")
    if colon and kind in _SHOWN:
        return kind, name.strip()
    if which.strip() == _IDENTITY:
        return _IDENTITY, ""
    return _of_memory(space, which) or _beside(space, which.strip()) or _leave_without(space, which)


def _of_memory(space: Space, which: str) -> tuple[str, str] | None:
    """A message, an entry, a relation, an entity, an episode or a note."""
    from langmem_tiers.pointers import find_pointers
    from langmem_tiers.recall.references import find

    found = find(space.context, which) if which.strip() else None
    if found is None and (which.strip().isdecimal() or find_pointers(which)):
        return "drawer", which
    return None if found is None else (found.kind, which.strip())


def _beside(space: Space, which: str) -> tuple[str, str] | None:
    """An entry of working memory, a task, or an entity by its name."""
    for kind, held in (("working", space.working.get), ("task", space.tasks.get)):
        try:
            if held(which) is not None:
                return kind, which
        except InvalidInput:
            continue  # no key or id looks like this
    return ("entity", which) if which and space.graph.resolve(which).matches else None


def _leave_without(space: Space, which: str) -> tuple[str, str]:
    leave(
        f"Nothing in {space.name} is called {which!r}. Messages have addresses such as §W-042/R-11/D-007 or numbers:"
        " `langmem-tiers palace` shows them; the `list` of knowledge, entities, episodes, notes, tasks, working and"
        " receipts shows the rest."
    )


def _drawer(space: Space, which: str) -> Shown:
    """A message exactly as it was said, and everything known about it."""
    drawer = space.drawer(which)
    if drawer is None:
        leave(f"There is no drawer {which} in {space.name}. `langmem-tiers palace` shows those there are.")
    lines = []
    for name, value in as_data(drawer).items():
        if name != "content" and value not in (None, []):
            lines.append(f"{name.replace('_', ' '):>18}  {', '.join(value) if isinstance(value, list) else value}")
    return Shown(drawer, [*lines, "", drawer.content])


def _relation(space: Space, which: str) -> Shown:
    """A relation, what was believed of it, and the messages it rests on."""
    name, sources = space.resolve_reference(which)
    held = ((each, relation) for each in sources if (relation := each.graph.relation(name.lower())) is not None)
    source, relation = next(held, None) or leave(f"There is no relation {which} in {space.name}.")
    history, now = source.graph.history(relation.id), source.memory.clock()
    rests = [f"  rests on {each.pointer}{f': “{each.quote}”' if each.quote else ''}" for each in relation.evidence]
    lines = [*relations_lines([relation], now), *rests, *history_lines(history, now)]
    return Shown({"relation": graph_data(relation), "history": graph_data(history)}, lines)


def _receipt(space: Space, which: str) -> Shown:
    if not (which.isascii() and which.isdecimal() and int(which) < 2**53):
        leave(f"{which!r} is no number of a receipt. `langmem-tiers receipts list` shows those there are.")
    return receipts.receipt_shown(space, int(which))


_SHOWN: dict[str, Callable[[Space, str], Shown]] = {
    "drawer": _drawer,
    "message": _drawer,
    "entry": knowledge.entry_shown,
    "relation": _relation,
    "entity": entities.entity_shown,
    "episode": episodes.episode_shown,
    "document": profile.note_shown,
    "note": profile.note_shown,
    "task": tasks.task_shown,
    "working": working.key_shown,
    "receipt": _receipt,
}


@dataclass(frozen=True, kw_only=True)
class _Text:
    """A text that can be edited: what it says, its version, and how another text is saved in its place."""

    kind: str
    name: str
    text: str
    version: int | None
    save: Callable[[str, int | None], int | None]


@command_of_space
def edit(
    target: Target,
    which: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="'identity', an entry's id, a note's path, a task or a key."),
    ],
    *,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="What it is to say; no editor.")] = None,
    file: FromFile = None,
    version: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Change it only if it is still at this version.")
    ] = None,
) -> Shown:
    """Change the text of an entry, a note, the identity, a task's state or a key of working memory in $EDITOR."""
    if text is not None and file is not None:
        raise typer.BadParameter("give either --text or --file.")
    given = text_of(file) if file is not None else text
    with target.existing_space() as space:
        held = _editable(space, *_resolved(space, which))
        name = f"{held.kind}{_SUFFIX}"
        said = edited(held.text, name, otherwise=_without_editor(which)) if given is None else given
        if said.rstrip("\n") == held.text.rstrip("\n"):
            return Shown(_changed(held, held.text, held.version), ["Nothing was changed."])
        with kept_if_refused(said, name, f"edit {shlex.quote(which)} --file"), in_words_of_commands():
            after = held.save(said, version if version is not None else held.version)
    return Shown(_changed(held, said, after), [*_difference(held.text, said), f"Saved{_at_version(after)}."])


def _editable(space: Space, kind: str, name: str) -> _Text:
    """The text behind a reference, if it is one that may be edited."""
    make = _EDITABLE.get(kind)
    if make is None:
        what = {"drawer": "A message is kept as it was said", "message": "A message is kept as it was said"}
        leave(f"{what.get(kind, f'{kind.capitalize()}: that is no text of yours')}: it cannot be edited.")
    return make(space, name)


def _identity(space: Space, _name: str) -> _Text:
    held = space.identity.read()

    def save(text: str, version: int | None) -> int | None:
        return space.identity.write(text, version=version).version

    return _Text(kind=_IDENTITY, name=_IDENTITY, text=held.text, version=held.version, save=save)


def _entry(space: Space, name: str) -> _Text:
    own = space.source(space.name)
    held = own.knowledge.get(name) or leave(f"{name} is no entry of {space.name} itself, and cannot be edited here.")

    def save(text: str, version: int | None) -> int | None:
        return own.knowledge.update(held.id, content=text.strip(), version=version, origin="user").version

    return _Text(kind="entry", name=held.id, text=held.content, version=held.version, save=save)


def _document(space: Space, name: str) -> _Text:
    held = space.source(space.name).documents.read(name)
    if held is None:
        leave(f"{name} is no note of {space.name} itself, and cannot be edited here.")
    if held.encoding != "utf-8":
        leave(f"{name} is no text: it cannot be edited here.")

    def save(text: str, version: int | None) -> int | None:
        return space.documents.write(held.path, text, version=version).version

    return _Text(kind="note", name=held.path, text=held.content, version=held.version, save=save)


def _task(space: Space, name: str) -> _Text:
    held = space.tasks.get(name) or leave(f"There is no task {name}.")

    def save(text: str, version: int | None) -> int | None:
        return space.tasks.update(held.id, state=text, version=version).version

    return _Text(kind="task", name=held.id, text=held.state, version=held.version, save=save)


def _working(space: Space, name: str) -> _Text:
    """A key of working memory: it has no versions, so what it says must be what was edited."""
    held = space.working.get(name) or leave(f"There is nothing at {name} any more.")
    if held.parts > 1:
        leave(f"{name} is kept in {held.parts} parts: `langmem-tiers working save {name} --file FILE` writes it anew.")

    def save(text: str, _version: int | None) -> int | None:
        now = space.working.get(name)
        if now is None or now.value != held.value:
            raise TextChanged(f"{name} has been changed or has expired since.", version=0)
        left = max((now.expires_at - space.context.now).total_seconds() / 60, 1)
        space.working.save(name, text, ttl_minutes=left, category=now.category, tags=now.tags)
        return None

    return _Text(kind="working", name=name, text=held.value, version=None, save=save)


_EDITABLE: dict[str, Callable[[Space, str], _Text]] = {
    _IDENTITY: _identity,
    "entry": _entry,
    "document": _document,
    "note": _document,
    "task": _task,
    "working": _working,
}


def _without_editor(which: str) -> str:
    return f"Without an editor: `edit {shlex.quote(which)} --text TEXT`, or `--file FILE` ('-' is standard input)."


def _changed(held: _Text, text: str, version: int | None) -> dict[str, object]:
    return {
        "kind": held.kind,
        "name": held.name,
        "changed": text != held.text,
        "version": version,
        "text": text,
    }


def _difference(before: str, after: str) -> Iterator[str]:
    """The lines that went and those that came."""
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line.startswith(("- ", "+ ")):
            yield line


def _at_version(version: int | None) -> str:
    return "" if version is None else f": version {version}"
