"""Working memory: what sessions, patrols and subagents keep for a while, with the time that each has left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from starlette.responses import Response

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput, InvalidKey, MemoryTiersError, TextChanged
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.integrations.panel.rendering import address
from langmem_tiers.records import WorkingEntry, WorkingSummary
from langmem_tiers.wording import beginning
from langmem_tiers.working import keys
from langmem_tiers.working.inventory import time_left
from langmem_tiers.working.working_memory import WorkingSaved

_FOUND = 50
_MINUTE = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """An entry with the time it has left: in words, in seconds, and as a share of the time it was given."""

    entry: WorkingSummary
    left: str
    seconds: int
    share: float
    text: str = ""

    @classmethod
    def of(cls, entry: WorkingSummary, now: datetime, *, text: str = "") -> Row:
        """An entry as it is now."""
        seconds = max(0, int((entry.expires_at - now).total_seconds()))
        given = (entry.expires_at - entry.stored_at).total_seconds()
        return cls(
            entry=entry, left=time_left(entry, now), seconds=seconds, share=min(1.0, seconds / max(given, 1)), text=text
        )

    @property
    def whole_key(self) -> str:
        """The key of the whole value: lists name a long one by the key of its outline."""
        return self.entry.key.removesuffix(f"-{keys.INDEX}") if self.entry.parts > 1 else self.entry.key

    @property
    def name(self) -> str:
        """The key within its namespace."""
        return self.whole_key.removeprefix(f"{keys.namespace_in(self.entry.key)}/")


def show(view: View) -> Response:
    """What there is, by namespace; or what matches a query, a category or a tag."""
    query, category, tag = (view.query.word(name) for name in ("q", "category", "tag"))
    now = view.space.memory.clock()
    if query or category or tag:
        hits = view.space.working.search(
            query, category=category or None, tags=[tag] if tag else [], prefix="", limit=_FOUND
        )
        rows = [Row.of(hit.entry, now, text=hit.text) for hit in hits]
    else:
        rows = [Row.of(each, now) for each in view.space.working.list("")]
    settings = view.space.context.settings.working
    return view.show(
        "working.html",
        groups=_by_namespace(rows),
        asked={"q": query, "category": category, "tag": tag},
        narrows=bool(query or category or tag),
        ttl_minutes=settings.ttl_minutes,
        room=settings.entries,
        kinds=keys.KINDS,
    )


def _by_namespace(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(keys.namespace_in(row.entry.key), []).append(row)
    return found


def open_one(view: View) -> Response:
    """One value; of a long one the outline first, and each part by its own address."""
    key = view.query.word("key")
    entry = _required(view, key)
    whole = Row.of(entry, view.space.memory.clock())
    is_whole = entry.value is not None and entry.characters == len(entry.value)
    outlined = is_whole and entry.parts > 1 and not view.query.flag("all")
    if outlined:
        entry = _required(view, f"{key}-{keys.INDEX}")
    return view.show(
        "working_entry.html",
        row=whole,
        entry=entry,
        outlined=outlined,
        base=_base(key, entry),
        is_whole=is_whole,
        minutes=max(1, round(whole.seconds / _MINUTE)),
        saved_at=to_millis(entry.stored_at),
    )


def _base(key: str, entry: WorkingSummary) -> str:
    """The key of the whole value that a key is about."""
    within = keys.part_of(key)
    return within.key if within is not None and entry.parts > 1 else key


def _required(view: View, key: str) -> WorkingEntry:
    """The entry with this key.

    Raises:
        InvalidKey: there is none.
    """
    found = view.space.working.get(key)
    if found is None:
        raise InvalidKey(
            f"There is nothing under {beginning(key, 80)!a}, or no longer.", way_out="The list has what there is."
        )
    return found


def save(view: View) -> Response:
    """Save a value; what cannot be saved stays in the form, with the reason."""
    try:
        saved = _saved(view)
    except TextChanged as error:
        there = view.space.working.get(_key(view))
        return _again(view, error, there=there, saved_at="" if there is None else str(to_millis(there.stored_at)))
    except InvalidInput as error:
        return _again(view, error, there=None, saved_at=view.form.text("saved_at"))
    gone = f" {', '.join(saved.dropped)} had to leave: the namespace was full." if saved.dropped else ""
    row = Row.of(saved.entry, view.space.memory.clock())
    return view.go(address("/working/entry", key=row.whole_key), told=f"Saved for {row.left}.{gone}")


def _again(view: View, error: MemoryTiersError, *, there: WorkingEntry | None, saved_at: str) -> Response:
    """The form as it was typed, with what stands in its way."""
    status = HTTPStatus.CONFLICT if isinstance(error, TextChanged) else HTTPStatus.UNPROCESSABLE_ENTITY
    return view.show("working_again.html", status=status, form=view.form, problem=error, there=there, saved_at=saved_at)


def _saved(view: View) -> WorkingSaved:
    """Save a value: a new one, or in the place of the one that the form shows.

    Raises:
        TextChanged: it was saved by somebody else since the form was made.
    """
    form, key = view.form, _key(view)
    _require_unchanged(view, key)
    return view.space.working.save(
        key,
        form.text("value"),
        ttl_minutes=_minutes(form.word("minutes")),
        category=form.word("category") or None,
        tags=[each.strip() for each in form.text("tags").split(",") if each.strip()],
    )


def _key(view: View) -> str:
    """The full key that the form names."""
    name = view.form.word("key")
    return name if name.split("/")[0] in keys.KINDS else f"{view.form.word('namespace').strip('/')}/{name}"


def _require_unchanged(view: View, key: str) -> None:
    known, there = view.form.number("saved_at"), view.space.working.get(key)
    if known is None:
        if there is not None:
            raise TextChanged(
                f"There is a value under {beginning(key, 80)!a} already.",
                way_out="Save yours over it, or take another key.",
            )
    elif there is None or to_millis(there.stored_at) != known:
        raise TextChanged(
            f"{beginning(key, 80)!a} has {'expired' if there is None else 'been saved by somebody else'} "
            "since you opened it.",
            way_out="Your text is below; save it again if it is to count.",
        )


def _minutes(text: str) -> float | None:
    """How long to keep something, as it was typed; None for the time that is usual.

    Raises:
        InvalidInput: it is no number.
    """
    try:
        return float(text) if text else None
    except ValueError as error:
        raise InvalidInput(
            f"{beginning(text, 40)!a} is no number of minutes.", way_out="Give a number, such as 30."
        ) from error


def delete(view: View) -> Response:
    """Delete a value."""
    key = view.form.word("key")
    gone = view.space.working.delete(key)
    return view.go("/working", told=f"{key} is deleted." if gone else f"{key} was gone already.")


PAGE = Page(
    title="Working memory",
    path="/working",
    key="w",
    actions=(
        get("/working", show),
        get("/working/entry", open_one),
        post("/working/save", save),
        post("/working/delete", delete),
    ),
    scripts=("countdown.js",),
)
