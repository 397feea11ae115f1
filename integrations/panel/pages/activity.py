"""Activity: what was recalled for each turn and why, what the memory did by itself, and the feedback it heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from starlette.exceptions import HTTPException
from starlette.responses import Response

from langmem_tiers.integrations.panel.page import Page, View, get
from langmem_tiers.knowledge_graph.wording import relation_words
from langmem_tiers.recall.why_words import RESULTS
from langmem_tiers.types import SignalKind
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.records import Activity
    from langmem_tiers.space import Space
    from langmem_tiers.types import Explanation, Receipt

_AT_ONCE = 30
_MOST = 500
KINDS = {
    "memory_mined": "Read a conversation",
    "memory_enriched": "Looked at an entry again",
    "memory_flushed": "Wrote notes",
    "memory_archived": "Summed up",
    "graph_updated": "Updated the graph",
}
SIGNALS = {"correction": "warn", "wrong": "warn", "irritation": "gold", "praise": "good"}
_STAGES = {
    "embed": "Embedding the message",
    "graph": "Looking in the graph",
    "keyword": "Searching words",
    "vector": "Searching meanings",
    "look_up": "Looking up",
    "fuse": "Joining the channels",
    "knowledge": "Searching what is known",
    "rerank": "Reranking",
    "choose": "Choosing",
    "render": "Writing the block",
    "store": "Keeping the receipt",
}
# What an activity names by ids of entries, and what became of these.
_ENTRIES = {
    "kept": "kept",
    "merged": "said again in other words",
    "known": "known already",
    "corrected": "no longer true",
    "noted": "noted",
}
# The same for relations.
_RELATIONS = {"added": "learnt", "changed": "changed", "withdrawn": "withdrawn"}
# Numbers of an activity in words.
_NUMBERS = {
    "entities": ("name found", "names found"),
    "relations": ("relation found", "relations found"),
    "withdrawn": ("relation withdrawn", "relations withdrawn"),
    "more_refused": ("more refused", "more refused"),
    "calls": ("call of a model", "calls of a model"),
    "tokens": ("token", "tokens"),
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line about an activity: a word for what was done, and the memory it was done to."""

    word: str
    kind: str = ""
    ref: str = ""
    text: str = ""
    reason: str = ""


def turns(view: View) -> Response:
    """The latest recalls, of one conversation if one is chosen."""
    session = view.query.word("session") or None
    found = view.space.receipts(session=session, before=view.query.number("before") or None, limit=_AT_ONCE + 1)
    shown = found[:_AT_ONCE]
    given: dict[str, Any] = {
        "receipts": shown,
        "session": session,
        "more": shown[-1].number if len(found) > _AT_ONCE else None,
    }
    if view.wants_piece:
        return view.piece("_turns.html", **given, **_WORDS)
    return view.show("turns.html", **given, sessions=_sessions(view.space), **_WORDS)


def turn(view: View) -> Response:
    """One recall: what was injected, how long each stage took, and why each memory was chosen or not."""
    number = int(view.part("number"))
    receipt = view.space.receipt(number)
    if receipt is None:
        raise HTTPException(404)
    space, asked = view.panel.recalling, view.query.word("of")
    parts = sorted(space.why(number).parts, key=lambda each: (not each.shown, -(each.score or 0)))
    given: dict[str, Any] = {
        "receipt": receipt,
        "block": view.space.receipt_block(number) or "",
        "parts": parts,
        "asked": asked,
        "answer": space.why(number, asked) if asked else None,
        "stages": list(_stages(receipt)),
        "neighbours": _neighbours(view.space, receipt),
    }
    return view.show("turn.html", **given, **_WORDS)


def done(view: View) -> Response:
    """What the memory did by itself, and why."""
    kind = view.query.choice("kind", ("", *KINDS)) or None
    session = view.query.word("session") or None
    limit = min(view.query.number("limit") or _AT_ONCE, _MOST)
    found = view.space.knowledge.activity(kind=kind, session=session, limit=limit + 1)
    told = [(each, list(_lines(view.space, each)), _rest(each)) for each in found[:limit]]
    more = limit + _AT_ONCE if limit < len(found) and limit < _MOST else None
    given: dict[str, Any] = {"activities": told, "kind": kind, "session": session, "more": more}
    return view.show("done.html", **given, sessions=_sessions(view.space), kinds=KINDS)


def feedback(view: View) -> Response:
    """What users said of replies, as it was heard or recorded."""
    kind = view.query.choice("kind", ("", *get_args(SignalKind))) or None
    found = view.space.signals.list(kind=kind, limit=_MOST)  # type: ignore[arg-type]  # one of them, or None
    return view.show("feedback.html", signals=found, kind=kind, kinds=get_args(SignalKind), looks=SIGNALS)


def _sessions(space: Space) -> list[str]:
    """The conversations to choose from, the latest first."""
    latest = sorted(space.sessions(), key=lambda each: each.last_at, reverse=True)
    return [each.session for each in latest[:_MOST]]


def _stages(receipt: Receipt) -> Iterator[tuple[str, float, float]]:
    """What each stage is called, its milliseconds, and its share of the longest one."""
    spent = {name: millis for name, millis in receipt.timings.items() if name != "total"}
    longest = max(spent.values(), default=0) or 1.0
    for name, millis in sorted(spent.items(), key=lambda each: -each[1]):
        yield _STAGES.get(name, name), millis, millis / longest


def _neighbours(space: Space, receipt: Receipt) -> tuple[int | None, int | None]:
    """The numbers of the recalls before and after it in its conversation."""
    before = space.receipts(session=receipt.session, before=receipt.number, limit=1) if receipt.number > 1 else ()
    after = space.receipts(session=receipt.session, after=receipt.number, limit=1)
    return (before[0].number if before else None), (after[0].number if after else None)


def _shown(receipt: Receipt) -> tuple[int, int]:
    """How many memories were shown, and how many looked at."""
    verdicts = [*(each.verdict for each in receipt.known), *(each.verdict for each in receipt.candidates)]
    return verdicts.count("shown"), len(verdicts)


def _address(part: Explanation, space: Space) -> tuple[str, str]:
    """Where the panel shows a memory of the space itself: its kind, and its id or number."""
    if part.kind != "message":
        return part.kind or "", part.ref if "@" not in part.ref else ""
    drawer = None if "@" in part.ref else space.drawer(part.ref)
    return "drawer", "" if drawer is None else str(drawer.number)


def _lines(space: Space, activity: Activity) -> Iterator[Line]:
    """What an activity did, memory by memory."""
    body = activity.body
    for name, word in _ENTRIES.items():
        for each in _listed(body.get(name)):
            yield _of_entry(space, word, str(each))
    if body.get("entry"):
        yield _of_entry(space, "improved" if body.get("former") else "left as it was", str(body["entry"]))
    if body.get("episode"):
        episode = space.archive.get(str(body["episode"]))
        text = "" if episode is None else episode.abstract or ", ".join(episode.topics)
        yield Line(word="episode", kind="episode", ref=str(body["episode"]), text=text or "(gone since)")
    for name, word in _RELATIONS.items():
        for each in _listed(body.get(name)):
            relation = space.graph.relation(str(each))
            text = "(gone since)" if relation is None else relation_words(relation)
            yield Line(word=word, kind="relation", ref=str(each), text=text)
    for each in _listed(body.get("refused")):
        refused: Mapping[str, Any] = each if isinstance(each, Mapping) else {"content": str(each)}
        yield Line(word="refused", text=str(refused.get("content") or ""), reason=str(refused.get("reason") or ""))


def _of_entry(space: Space, word: str, entry_id: str) -> Line:
    entry = space.knowledge.get(entry_id)
    return Line(word=word, kind="entry", ref=entry_id, text="(deleted since)" if entry is None else entry.content)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _rest(activity: Activity) -> list[str]:
    """What else is known of an activity, in short."""
    body = activity.body
    path = {"model": "by a model", "rule": "by rule", "rules": "by rule"}.get(str(body.get("path")), "")
    numbers = [counted(body[name], *words) for name, words in _NUMBERS.items() if _is_number(body.get(name))]
    topics = [f"about {', '.join(map(str, body['topics']))}"] if _listed(body.get("topics")) else []
    reason = [str(body["reason"])] if body.get("reason") else []
    return [each for each in (path, *topics, *numbers, *reason) if each]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_WORDS: dict[str, Any] = {"RESULTS": RESULTS, "shown_of": _shown, "address": _address}

PAGE = Page(
    title="Activity",
    path="/activity",
    key="a",
    group="agent",
    actions=(
        get("/activity", turns),
        get("/activity/done", done),
        get("/activity/feedback", feedback),
        get("/activity/turns/{number:int}", turn),
    ),
)
