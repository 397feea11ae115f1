"""Who the user is: the text that every conversation begins with, how full it is, and its earlier versions."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from langmem_tiers.errors import InvalidInput, MemoryTiersError, TextChanged
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.knowledge.results import IdentityPreview

_VERSIONS = 20


def show(view: View) -> Response:
    """The editor with the current text."""
    held = view.space.identity.read()
    return _editor(view, held.text, held.version)


def preview(view: View) -> Response:
    """How full the memory counts what was typed, and how a prompt would show it; nothing is stored."""
    typed = view.form.text("text")
    try:
        draft = view.space.identity.preview(typed)
    except InvalidInput as error:
        return view.piece("_identity_preview.html", draft=None, problem=error)
    return view.piece("_identity_preview.html", draft=draft, problem=None)


def save(view: View) -> Response:
    """Store what was typed; what cannot be stored stays in the editor."""
    typed, version = view.form.text("text"), view.form.number("version")
    try:
        view.space.identity.write(typed, version=version, origin="user")
    except TextChanged as error:
        held = view.space.identity.read()
        return _editor(view, typed, error.version, problem=error, status=409, theirs=held.text)
    except InvalidInput as error:
        return _editor(view, typed, version or 0, problem=error, status=422)
    return view.go("/identity", told="Saved. Conversations that begin from now on have it.")


def undo(view: View) -> Response:
    """Go back to an earlier version, as a new one."""
    to = view.form.number("to")
    view.space.identity.undo(to=to, origin="user")
    return view.go("/identity", told="The earlier text stands again." if to is None else f"Version {to} stands again.")


def _editor(
    view: View,
    text: str,
    version: int,
    *,
    problem: MemoryTiersError | None = None,
    status: int = 200,
    theirs: str | None = None,
) -> Response:
    identity = view.space.identity
    values: dict[str, Any] = {"text": text, "version": version, "problem": problem, "theirs": theirs}
    draft = None if isinstance(problem, InvalidInput) else _draft(view, text)
    return view.show("identity.html", status=status, draft=draft, versions=identity.history(limit=_VERSIONS), **values)


def _draft(view: View, text: str) -> IdentityPreview | None:
    """The preview of a text; None if it cannot be stored at all."""
    try:
        return view.space.identity.preview(text)
    except InvalidInput:
        return None


PAGE = Page(
    title="Identity",
    path="/identity",
    key="i",
    actions=(
        get("/identity", show),
        post("/identity", save),
        post("/identity/preview", preview),
        post("/identity/undo", undo),
    ),
)
