"""What is known: entries with filters, edited in their place, pinned, put aside, taken back, one or many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args
from urllib.parse import urlencode

from starlette.responses import Response

from langmem_tiers.errors import EntryChanged, InvalidInput, MemoryTiersError, UnknownEntry
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.knowledge.knowledge import Status
from langmem_tiers.knowledge.results import Outcome
from langmem_tiers.records import Entry
from langmem_tiers.space import Space
from langmem_tiers.types import Origin
from langmem_tiers.wording import counted

STATUSES = get_args(Status)
ORIGINS = get_args(Origin)
LAYERS = ("knowledge", "identity", "archive")
_SOME = 50
_OUTCOMES: dict[Outcome, str] = {
    "saved": "Saved.",
    "known": "This is known already.",
    "merged": "It says the same as what was known, so both became one.",
    "reactivated": "This was put aside, and is taken back.",
}
_FILTERS = ("q", "category", "tag", "origin", "status", "project", "pinned", "waiting", "layer")


def show(view: View) -> Response:
    """The layer that is asked for: by default the knowledge."""
    layer = view.query.choice("layer", LAYERS)
    if layer == "identity":
        return view.show("memories_identity.html", layer=layer, identity=view.space.identity.read())
    if layer == "archive":
        return _archive(view)
    return _knowledge(view)


def _knowledge(view: View) -> Response:
    query = view.query
    tag, origin = query.word("tag"), query.choice("origin", ("", *ORIGINS))
    page = view.space.knowledge.page(
        substring=query.word("q") or None,
        category=query.word("category") or None,
        tags=[tag] if tag else [],
        origin=origin or None,  # type: ignore[arg-type]
        project=query.word("project") or None,
        status=query.choice("status", STATUSES),  # type: ignore[arg-type]
        pinned=True if query.flag("pinned") else None,
        unconfirmed=query.flag("waiting"),
        after=query.word("after") or None,
        limit=_SOME,
    )
    values: dict[str, Any] = {
        "layer": "knowledge",
        "found": page,
        "ended": view.space.knowledge.ended(page.entries),
        "filters": _filters(view),
        "next": _next(view, page.entries[-1].id) if page.more else "",
    }
    if view.wants_piece:
        return view.piece("_entries.html", **values)
    categories = _paths(view.space)
    return view.show("memories.html", categories=categories, statuses=STATUSES, origins=ORIGINS, **values)


def _archive(view: View) -> Response:
    asked, most = view.query.word("q"), view.query.number("most") or _SOME
    project = view.query.word("project") or None
    if asked:
        found = [each.episode for each in view.space.archive.search(asked, project=project, limit=_SOME)]
    else:
        found = list(view.space.archive.recent(most + 1, project=project))
    more = "" if asked or len(found) <= most else _next(view, most=most + _SOME)
    return view.show("memories_archive.html", layer="archive", episodes=found[:most], filters=_filters(view), next=more)


def entry(view: View) -> Response:
    """One entry with all that is known of it; to htmx, its row in the list."""
    found = _existing(view)
    if view.wants_piece:
        return _row(view, found)
    return _whole(view, found)


def edit(view: View) -> Response:
    """The form of an entry, in its place in the list."""
    found = _existing(view)
    if view.wants_piece:
        return view.piece("_entry_form.html", entry=found, typed=None, conflict=None, inline=True)
    return _whole(view, found)


def save(view: View) -> Response:
    """Store what was typed, unless somebody changed the entry meanwhile: then both are shown, and nothing is lost."""
    typed = _typed(view)
    try:
        changed = view.space.knowledge.update(
            _existing(view).id,
            content=typed["content"],
            category=typed["category"] or "general",
            tags=typed["tags"].split(","),
            version=view.form.number("version"),
            origin="user",
        )
    except UnknownEntry as error:
        if view.wants_piece:  # the form stays where it is
            raise
        return view.show("entry_new.html", status=404, typed=typed, problem=error)
    except EntryChanged as error:
        return _again(view, typed, error, conflict=_existing(view), status=409)
    except InvalidInput as error:
        return _again(view, typed, error, conflict=None, status=422)
    view.tell("Saved.")
    return _row(view, changed) if view.wants_piece else view.go(f"/memories/{changed.id}")


def _again(
    view: View, typed: dict[str, str], error: MemoryTiersError, *, conflict: Entry | None, status: int
) -> Response:
    """The form with what was typed, and why it was not stored."""
    values = {"entry": _existing(view), "typed": typed, "conflict": conflict, "problem": error}
    if view.wants_piece:
        return view.piece("_entry_form.html", status=status, inline=True, **values)
    return view.show("entry_again.html", status=status, inline=False, **values)


def write(view: View) -> Response:
    """The form for a new memory."""
    return view.show("entry_new.html", typed={"content": "", "category": "", "tags": ""}, problem=None)


def add(view: View) -> Response:
    """Save what the user wrote; what cannot be saved stays in the form."""
    typed = _typed(view)
    try:
        saved = view.space.knowledge.save(
            typed["content"], category=typed["category"] or None, tags=typed["tags"].split(","), origin="user"
        )
    except InvalidInput as error:
        return view.show("entry_new.html", status=422, typed=typed, problem=error)
    if saved.entry.content == typed["content"]:  # what the user types has the user's word by that
        view.space.knowledge.confirm(saved.entry.id, version=saved.entry.version)
    return view.go(f"/memories/{saved.entry.id}", told=_OUTCOMES[saved.outcome])


def _typed(view: View) -> dict[str, str]:
    return {name: view.form.text(name).strip() for name in ("content", "category", "tags")}


Change = Callable[[Space, str], object]
_CHANGES: dict[str, tuple[Change, str]] = {
    "pin": (lambda space, name: space.knowledge.update(name, pinned=True, origin="user"), "pinned"),
    "unpin": (lambda space, name: space.knowledge.update(name, pinned=False, origin="user"), "no longer pinned"),
    "deactivate": (lambda space, name: space.knowledge.deactivate(name, origin="user"), "put aside"),
    "reactivate": (lambda space, name: space.knowledge.reactivate(name, origin="user"), "taken back"),
    "unmerge": (lambda space, name: space.knowledge.unmerge(name), "separated again"),
}


def change(view: View) -> Response:
    """Pin an entry, put it aside, and the reverse."""
    todo, done = _CHANGES[_chosen(view)]
    found = _existing(view)
    todo(view.space, found.id)
    view.tell(f"1 memory {done}.")
    return _row(view, _existing(view)) if view.wants_piece else view.go(f"/memories/{found.id}")


def confirm(view: View) -> Response:
    """Put in force what waits for the user's word, or put it aside: only the words that the user has read."""
    answer = view.form.choice("answer", ("", "confirm", "refuse"))
    if not answer:
        raise InvalidInput("It was not said what the answer is.", way_out="Confirm it, or refuse it.")
    found, read = _existing(view), view.form.number("version")
    if read != found.version:
        view.tell("It was changed since this page was loaded, and nothing was done: read it again.", kind="problem")
    elif answer == "confirm":
        view.space.knowledge.confirm(found.id, version=read)
        view.tell("Confirmed: it is now in force.")
    else:
        view.space.knowledge.deactivate(found.id, origin="user")
        view.tell("Refused: it is put aside, and recalled no more.")
    return _row(view, _existing(view)) if view.wants_piece else view.go(f"/memories/{found.id}")


def bulk(view: View) -> Response:
    """Do the same to all entries that are ticked; each for itself, so that one that cannot be does not stop others."""
    names = view.form.every("ids")
    back = view.form.word("back")
    back = back if back == "/memories" or back.startswith("/memories?") else "/memories"
    if not names:
        raise InvalidInput("No memory is ticked.", way_out="Tick the boxes of those that are meant.")
    wanted = _chosen(view, "forget")
    if wanted == "forget":
        return view.go("/forget?" + urlencode([("entries", name) for name in names]))
    todo, done = _CHANGES[wanted]
    failed = []
    for name in names:
        try:
            todo(view.space, _own(view.space, name).id)
        except MemoryTiersError as error:
            failed.append(f"{name[:20]}: {error.message}")
    if len(failed) < len(names):
        view.tell(f"{counted(len(names) - len(failed), 'memory', 'memories')} {done}.")
    for said in failed[:5]:
        view.tell(said, kind="problem")
    return view.go(back)


def _chosen(view: View, *more: str) -> str:
    chosen = view.form.choice("change", ("", *_CHANGES, *more))
    if not chosen:
        raise InvalidInput("Nothing was chosen to do.", way_out="Choose what is to be done.")
    return chosen


def _row(view: View, found: Entry) -> Response:
    ended = view.space.knowledge.ended([found])
    return view.piece("_row.html", entry=found, ended=ended)


def _whole(view: View, found: Entry) -> Response:
    knowledge = view.space.knowledge
    return view.show(
        "entry.html",
        entry=found,
        ended=knowledge.ended([found]),
        history=knowledge.history(found.id),
        evidence=knowledge.evidence(found.id),
        successor=knowledge.get(found.successor) if found.successor else None,
        typed=None,
        conflict=None,
        inline=False,
    )


def _existing(view: View) -> Entry:
    return _own(view.space, view.part("id"))


def _own(space: Space, name: str) -> Entry:
    """The entry of this space with an id; neither pointers nor ids of other spaces are meant here."""
    found = space.knowledge.get(name) if name.isalnum() else None
    if found is None:
        raise UnknownEntry(
            f"There is no memory {name[:40]} here, or no longer.", way_out="The list shows those there are."
        )
    return found


def _paths(space: Space) -> list[str]:
    """All categories, each with those below it."""
    found, waiting = [], list(space.knowledge.categories())
    while waiting:
        first = waiting.pop(0)
        found.append(first.path)
        waiting[:0] = first.children
    return found


def _filters(view: View) -> str:
    """The filters in the address, as they are."""
    return urlencode([(name, view.query.word(name)) for name in _FILTERS if view.query.word(name)])


def _next(view: View, after: str = "", most: int = 0) -> str:
    more = {"after": after} if after else {"most": str(most)}
    return "/memories?" + "&".join(filter(None, (_filters(view), urlencode(more))))


PAGE = Page(
    title="Memories",
    path="/memories",
    key="m",
    actions=(
        get("/memories", show),
        post("/memories", add),
        get("/memories/new", write),
        post("/memories/bulk", bulk),
        get("/memories/{id}", entry),
        post("/memories/{id}", save),
        get("/memories/{id}/edit", edit),
        post("/memories/{id}/change", change),
        post("/memories/{id}/confirm", confirm),
    ),
)
