"""Forgetting: first what would go and what stays, then for good, then the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from starlette.responses import Response

from langmem_tiers.errors import ForgetChanged, InvalidInput
from langmem_tiers.forgetting.types import LISTS, ForgetPreview, ForgetReceipt
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.integrations.panel.values import Values

SINGLE = ("session", "since", "until", "speaker", "person", "project", "query")
SEVERAL = ("messages", "entries")
_MOST_DIGITS = 18
_NAMES: Mapping[str, str] = {
    "drawers": "Messages",
    "entries": "Things known",
    "episodes": "Episodes",
    "relations": "Relations",
    "entities": "People, places and things",
    "documents": "Notes",
    "identity": "Lines of the identity",
    "tasks": "Tasks",
    "working": "Working memory",
    "store_items": "Items of the store",
    "questions": "Golden questions",
    "feedback": "Feedback",
    "receipts": "Receipts of recalls",
    "dreams": "Dreams that cannot be undone any more",
    "vectors": "Vectors",
}


def show(view: View) -> Response:
    """What to forget, and a preview of it."""
    wanted = _wanted(view.query)
    if not wanted:
        return view.show("forget.html", wanted={}, preview=None, names=_NAMES, lists=LISTS)
    return _preview(view, wanted)


def forget(view: View) -> Response:
    """Forget exactly what the preview showed; if that is something else by now, show it anew."""
    wanted, token = _wanted(view.form), view.form.word("confirm")
    if not wanted or not token:
        raise InvalidInput("Nothing was forgotten: the preview is missing.", way_out="Look at the preview first.")
    try:
        receipt = view.space.forget(**wanted, confirm=token)
    except ForgetChanged as error:
        view.tell(f"{error.message} This is what would go now.", kind="problem")
        return _preview(view, wanted, status=409)
    return view.show("forgotten.html", receipt=cast("ForgetReceipt", receipt), names=_NAMES)


def _preview(view: View, wanted: dict[str, Any], *, status: int = 200) -> Response:
    preview = cast("ForgetPreview", view.space.forget(**wanted))
    return view.show("forget.html", status=status, wanted=wanted, preview=preview, names=_NAMES, lists=LISTS)


def _wanted(values: Values) -> dict[str, Any]:
    """The arguments of `space.forget` that were given."""
    single = {name: values.word(name) for name in SINGLE if values.word(name)}
    several: dict[str, Any] = {name: values.every(name) for name in SEVERAL if any(values.every(name))}
    if "messages" in several:
        several["messages"] = [_number_or_id(each) for each in several["messages"]]
    return {**single, **several}


def _number_or_id(message: str) -> int | str:
    """The number of a drawer, or else a pointer or a message id."""
    return int(message) if message.isascii() and message.isdecimal() and len(message) <= _MOST_DIGITS else message


PAGE = Page(
    title="Forget",
    path="/forget",
    key="f",
    actions=(get("/forget", show), post("/forget", forget)),
)
