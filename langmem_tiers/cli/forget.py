"""`langmem-tiers forget`: delete messages with everything that rests on them, or all of a user, for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import Shown, space_command
from langmem_tiers.cli.terminal import as_data, leave, require_agreed, shortened
from langmem_tiers.wording import counted, safe

if TYPE_CHECKING:
    from langmem_tiers.forgetting.types import ForgetItem, ForgetPreview, ForgetReceipt, SpacePreview
    from langmem_tiers.space import Space

_SHOWN = 120  # characters of a text
_LISTED = 10  # of each kind
_TITLES = {
    "drawers": "Messages",
    "entries": "Entries",
    "episodes": "Summaries",
    "relations": "Relations",
    "entities": "People and things",
    "documents": "Notes",
    "identity": "Lines of the identity",
    "tasks": "Tasks",
    "working": "Working memory",
    "store_items": "Store items",
    "questions": "Golden questions",
    "feedback": "Feedback",
}
# The lists of what may lose a passage, and stay.
_IN_PART = {title for name, title in _TITLES.items() if name != "identity"}


@space_command()
def forget(
    space: Space,
    *,
    message: Annotated[
        list[str] | None, typer.Option(metavar="WHICH", help="A message: pointer, number or id; several times.")
    ] = None,
    entry: Annotated[list[str] | None, typer.Option(metavar="ID", help="An entry, by itself; several times.")] = None,
    session: Annotated[str | None, typer.Option(help="A conversation.")] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Said from this day or month on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Said until the end of this day.")] = None,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Said by this speaker.")] = None,
    person: Annotated[str | None, typer.Option(metavar="NAME", help="Naming this person, place or thing.")] = None,
    project: Annotated[str | None, typer.Option(help="Of this project.")] = None,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="With these words, or this meaning.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="The whole memory of the user.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> Shown:
    """Delete messages with everything that rests on them, for good; prints first what goes, and asks.

    Several options narrow each other down.
    """
    if not (yes or dry_run or sys.stdin.isatty()):
        leave("Nobody can be asked here. Look with --dry-run, then give --yes.")
    selectors: dict[str, Any] = {"messages": message or (), "entries": entry or (), "session": session, "query": query}
    selectors |= {"since": since, "until": until, "speaker": speaker, "person": person, "project": project}
    if everything:
        if any(selectors.values()):
            leave("--everything takes no other choice beside it.")
        return _forget_all(space, dry_run=dry_run, yes=yes)
    preview: Any = space.forget(**selectors)
    if dry_run or not preview:
        return Shown(as_data(preview), list(_previewed(preview)))
    _ask(_previewed(preview), "Delete this for good?", yes=yes)
    receipt: Any = space.forget(**selectors, confirm=preview.token)
    return Shown(as_data(receipt), list(_done(receipt)))


def _forget_all(space: Space, *, dry_run: bool, yes: bool) -> Shown:
    from langmem_tiers import deleting

    preview = deleting.preview(space.memory, space.name)
    if dry_run:
        return Shown(as_data(preview), list(_whole(preview)))
    _ask(_whole(preview), f"Delete all of {space.name} for good?", yes=yes)
    receipt = deleting.delete(space.memory, space.name, preview.token)
    return Shown(as_data(receipt), list(_done(receipt)))


def _ask(lines: Iterator[str], question: str, *, yes: bool) -> None:
    """Print what goes and ask, on standard error, so that `--json` prints one value; with `--yes`, neither."""
    if not yes:
        for line in lines:
            print(safe(line), file=sys.stderr)
    require_agreed(question, yes=yes)


def _previewed(preview: ForgetPreview) -> Iterator[str]:
    if not preview:
        yield "Nothing of the kind is stored."
        return
    for name, title in _TITLES.items():
        yield from _listed(title, getattr(preview, name))
    yield f"Also: {_others(preview)}."
    if preview.stays:
        yield from _listed("Stays, because it also rests on something else", preview.stays)


def _listed(title: str, found: tuple[ForgetItem, ...]) -> Iterator[str]:
    if not found:
        return
    yield f"{title} ({len(found):,}):"
    for each in found[:_LISTED]:
        partly = " (only the passages that repeat it)" if each.partly and title in _IN_PART else ""
        yield f"  {each.ref}  {shortened(each.text, _SHOWN)}{partly}"
    if len(found) > _LISTED:
        yield f"  and {len(found) - _LISTED:,} more"


def _others(preview: ForgetPreview) -> str:
    dreams = f", and {counted(preview.dreams, 'dream')} can then not be undone" if preview.dreams else ""
    return f"{counted(preview.receipts, 'receipt')}, {counted(preview.vectors, 'vector')}{dreams}"


def _whole(preview: SpacePreview) -> Iterator[str]:
    if not preview.exists:
        yield f"There is no space {preview.space}."
        return
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in preview.counts.items() if count)
    yield f"All of {preview.space}: {counts or 'nothing'}."
    yield f"Receipts of other spaces that show something of it: {preview.traces:,}."
    if preview.settings:
        yield "Its section in langmem-tiers.toml."


def _done(receipt: ForgetReceipt) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in receipt.counts.items() if count)
    yield f"Forgotten: {counts or 'nothing'}."
    if receipt.bytes == "pending":
        yield "Its bytes are not erased from all files yet; the background goes on. `doctor` says when it is done."
    if receipt.backups:
        yield f"Backups made before still hold it: {', '.join(receipt.backups)}."
    yield from (f"Out of reach: {each}." for each in receipt.elsewhere)
