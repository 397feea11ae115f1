"""Dreams: what each changed and refused, previews to approve, undoing and redoing, and the golden questions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from langmem_tiers.errors import DreamConflict, InvalidInput, UnknownDream
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.integrations.panel.pages.dream_changes import KINDS, changes_of, refusals_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from langmem_tiers.dream.types import DreamReport

_AT_ONCE = 30
_LOOK = "A newer preview may have taken its place; the page Dreams lists those there are."
STATUS = {
    "applied": ("applied", "good"),
    "previewed": ("preview: not applied", "gold"),
    "nothing": ("nothing to change", "quiet"),
    "gated": ("held back: recall would become worse", "warn"),
    "skipped": ("skipped", "quiet"),
    "undone": ("undone", "quiet"),
    "failed": ("failed", "warn"),
}
TRIGGERS = {"hand": "by hand", "episodes": "enough episodes waited", "interval": "it was time"}


def show(view: View) -> Response:
    """The latest dreams, the newest first."""
    limit = min(view.query.number("limit") or _AT_ONCE, 1000)
    found = view.space.dreams(limit=limit + 1)
    more = limit + _AT_ONCE if len(found) > limit else None
    counts = {each.id: _counts(each) for each in found}
    kept = len(view.space.golden.list())
    return view.show("dreams.html", dreams=found[:limit], counts=counts, more=more, questions=kept, **_WORDS)


def one(view: View) -> Response:
    """What a dream changed, would change, and refused."""
    return _shown(view, _report(view))


def preview(view: View) -> Response:
    """Make a preview, and show it."""
    report = view.space.dream(dry_run=True)
    if report.status == "skipped" or view.space.dream_report(report.id) is None:  # it was stopped, or failed
        raise InvalidInput(" ".join(report.notes) or "The preview failed.", way_out="Make it again.")
    return view.go(f"/dreams/{report.id}", told="This is a preview. Nothing was changed.")


def approve(view: View) -> Response:
    """Apply a preview exactly as it was shown."""
    return _done(view, view.space.approve_dream, "The dream was applied as it was previewed.")


def undo(view: View) -> Response:
    """Put back what a dream changed."""
    return _done(view, view.space.undo_dream, "The dream was undone: everything is as it was before it.")


def redo(view: View) -> Response:
    """Let an undone dream hold again."""
    return _done(view, view.space.redo_dream, "The dream holds again.")


def golden(view: View) -> Response:
    """The questions that no dream may make worse."""
    return view.show("golden.html", questions=view.space.golden.list())


def add_question(view: View) -> Response:
    """Keep a question with what its answer has to hold."""
    expects = [line for line in map(str.strip, view.form.text("expects").splitlines()) if line]
    kept = view.space.golden.add(view.form.word("question"), expects=expects)
    return view.go("/dreams/golden", told=f"Question {kept.number} is kept: dreams are tested with it from now on.")


def remove_question(view: View) -> Response:
    """Keep a question no longer."""
    number = view.form.number("number") or 0
    if not view.space.golden.remove(number):
        raise InvalidInput(f"There is no question {number}.", way_out="It may have been removed in another window.")
    return view.go("/dreams/golden", told=f"Question {number} is not kept any more.")


def _report(view: View) -> DreamReport:
    report = view.space.dream_report(view.part("id"))
    if report is None:
        raise UnknownDream(f"There is no dream {view.part('id')[:40]!a}, or no longer.", way_out=_LOOK)
    return report


def _shown(view: View, report: DreamReport, *, conflict: DreamConflict | None = None) -> Response:
    changes, status = changes_of(view.space, report), 200 if conflict is None else 409
    refused = refusals_of(view.space, report)
    # Generated questions are named after the memory they were made from; of interest only if their answer changed.
    asked = [each for each in report.golden if not each.question.startswith("[") or each.before != each.after]
    about: dict[str, Any] = {"asked": asked, "made": len(report.golden) - len(asked), "counts": _counts(report)}
    given: dict[str, Any] = {"dream": report, "changes": changes, "refused": refused, "conflict": conflict}
    return view.show("dream.html", status=status, **given, **about, **_WORDS)


def _done(view: View, change: Callable[[str], DreamReport], told: str) -> Response:
    """Carry a change out; what stands in its way is shown on the page of the dream."""
    report = _report(view)
    try:
        change(report.id)
    except DreamConflict as conflict:
        return _shown(view, report, conflict=conflict)
    return view.go(f"/dreams/{report.id}", told=told)


def _counts(report: DreamReport) -> dict[str, int]:
    """How many of each kind were carried out, in the words of the page, and how many refused."""
    done = Counter(KINDS[each.kind].done for each in report.decision.accepted)
    return {**done, **({"refused": len(report.decision.rejected)} if report.decision.rejected else {})}


_WORDS: dict[str, Any] = {"STATUS": STATUS, "TRIGGERS": TRIGGERS}

PAGE = Page(
    title="Dreams",
    path="/dreams",
    key="d",
    group="agent",
    actions=(
        get("/dreams", show),
        get("/dreams/golden", golden),
        post("/dreams/golden", add_question),
        post("/dreams/golden/remove", remove_question),
        post("/dreams/preview", preview),
        get("/dreams/{id}", one),
        post("/dreams/{id}/approve", approve),
        post("/dreams/{id}/undo", undo),
        post("/dreams/{id}/redo", redo),
    ),
)
