"""Search: what an agent would recall for a message, each candidate with its scores, and why it was chosen or not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from langmem_tiers.integrations.panel.page import Page, View, get
from langmem_tiers.knowledge.fallbacks import still_read
from langmem_tiers.recall import references, why, why_words
from langmem_tiers.space import Space
from langmem_tiers.types import Candidate, KnownCandidate, Recalled

_MOST_LEFT_OUT = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One candidate as it is shown: what it says now, where it is, its scores, and what became of it."""

    kind: str
    ref: str
    text: str
    path: str
    space: str
    speaker: str
    said_at: datetime | None
    score: float
    scores: dict[str, float]
    shown: bool
    why: str
    speaks_for: str


def show(view: View) -> Response:
    """Recall as an agent does, without leaving a trace; with `of`, say what became of one memory in that."""
    query = view.query.text("q").strip()
    if not query:
        return view.show("search.html", recalled=None)
    as_of, session = view.query.word("as_of") or None, view.query.word("session") or None
    space = view.panel.recalling
    recalled = space.recall(query, as_of=as_of, session=session, keep_receipt=False)
    rows, asked = _rows(space, recalled), view.query.word("of")
    left_out = [row for row in rows if not row.shown]
    return view.show(
        "search.html",
        recalled=recalled,
        result=why_words.RESULTS[recalled.receipt.verdict],
        chosen=[row for row in rows if row.shown],
        left_out=left_out[:_MOST_LEFT_OUT],
        more=len(left_out) - _MOST_LEFT_OUT,
        explained=why.explain(space.context, recalled.receipt, asked) if asked else None,
    )


def _rows(space: Space, recalled: Recalled) -> list[Row]:
    """All candidates, the best first, those that were chosen before all others."""
    receipt = recalled.receipt
    rows = [_known(space, each) for each in receipt.known] + [_message(space, each) for each in receipt.candidates]
    return sorted(rows, key=lambda row: (not row.shown, -row.score))


def _message(space: Space, each: Candidate) -> Row:
    own, source = each.space == space.name, still_read(space.context, each.space)
    drawer = None if source is None else Space(space.memory, source).drawer(each.drawer)
    return Row(
        kind="message",
        ref=each.pointer,
        text="" if drawer is None else drawer.content,
        path=f"/palace/drawers/{each.drawer}" if own else "",
        space="" if own else each.space,
        speaker="" if drawer is None else drawer.speaker or drawer.role,
        said_at=None if drawer is None else drawer.said_at,
        score=each.score,
        scores=dict(each.scores),
        shown=each.verdict == "shown",
        why=why_words.VERDICTS[each.verdict],
        speaks_for=why_words.speaking_for(each.signals, each.factors),
    )


_PATHS = {"entry": "/memories/", "episode": "/episodes/", "relation": "/graph/relations/"}


def _known(space: Space, each: KnownCandidate) -> Row:
    own, source = each.space == space.name, still_read(space.context, each.space)
    held = None if source is None else references.with_ref(source, each.kind, each.ref)
    return Row(
        kind=each.kind,
        ref=each.ref,
        text="" if held is None else held.text,
        path=f"{_PATHS[each.kind]}{each.ref}" if own and each.kind in _PATHS else "",
        space="" if own else each.space,
        speaker="",
        said_at=None,
        score=each.score,
        scores=dict(each.scores),
        shown=each.verdict == "shown",
        why=why_words.VERDICTS[each.verdict],
        speaks_for="",
    )


PAGE = Page(title="Search", path="/search", key="s", actions=(get("/search", show),))
