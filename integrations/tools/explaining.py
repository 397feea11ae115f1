"""The tool that says which memories were used, from the receipts of the recalls."""

from collections.abc import Iterator, Mapping

from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from langmem_tiers.graphs.messages import is_synthetic
from langmem_tiers.integrations.tools import lines
from langmem_tiers.integrations.tools.arguments import NoArguments
from langmem_tiers.integrations.tools.base import Answer, MemoryTool
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.types import Candidate, KnownCandidate, Receipt

# Messages explained: that of this turn, and the one before, which the user may ask about.
_MOST = 2
# Receipts looked through: in a busy space, others come in between.
_LOOKED_AT = 50
_SHOWN = 200
_WHY_NOTHING = {
    "nothing_found": "nothing that is stored comes close to it",
    "nothing_new": "what fits was before you already",
    "trivial": "it says too little to look anything up for",
    "disabled": "recall is turned off",
}
_CHANNELS = {
    "keyword": "words in common",
    "vector": "like in meaning",
    "fallback": "among the user's latest words, as nothing fitted",
    "rerank": "picked by the reranker",
}


class ExplainRecall(MemoryTool):
    """Says which memories were put before the model, and why."""

    name: str = "explain_recall"
    description: str = "Say which memories were recalled for this turn and the one before, and why, with scores."
    args_schema: type[BaseModel] = NoArguments

    def _answer(self, call: Call, given: NoArguments) -> Answer:
        found = _receipts(call)
        if not found:
            return Answer("Nothing was recalled in this conversation so far.", {"receipts": []})
        shown = [line for receipt in found for line in _told(call, receipt)]
        return Answer(lines.fenced("What was recalled, newest first", shown), {"receipts": [r.number for r in found]})


def _receipts(call: Call) -> list[Receipt]:
    """One for each of the last human messages; without messages, those of the conversation; without one, the last."""
    kept = call.space.receipts(limit=_LOOKED_AT)
    session = call.scope.session
    if session is not None:
        kept = tuple(receipt for receipt in kept if receipt.session == session)
    asked = [str(m.id) for m in call.messages if isinstance(m, HumanMessage) and not is_synthetic(m)]
    if asked:
        kept = tuple(receipt for receipt in kept if receipt.message_id in asked[-_MOST:])
    newest: dict[object, Receipt] = {}
    for receipt in kept:  # a message that was edited has one for each wording: the last one counts
        newest.setdefault(receipt.message_id or receipt.number, receipt)
    return list(newest.values())[:_MOST]


def _told(call: Call, receipt: Receipt) -> Iterator[str]:
    said = lines.cut(receipt.query, _SHOWN)
    shown = [each for each in receipt.candidates if each.verdict == "shown"]
    known = [each for each in receipt.known if each.verdict == "shown"]
    looked_at = len(receipt.candidates) + len(receipt.known)
    if not shown and not known:
        why = _WHY_NOTHING.get(receipt.verdict, "nothing fitted well enough")
        yield lines.item(f"For “{said}” nothing was recalled: {why}. {looked_at} were looked at.")
        return
    yield lines.item(f"For “{said}”, {len(shown) + len(known)} of {looked_at} that were looked at:")
    yield from (_known(call, each) for each in known)
    yield from (_drawer(call, each) for each in shown)
    yield from (lines.item(f"note: {note}") for note in receipt.notes)


def _drawer(call: Call, candidate: Candidate) -> str:
    drawer = call.space.memory.space(candidate.space).drawer(candidate.drawer)
    why = _why(candidate.scores, candidate.score)
    if drawer is None:
        return lines.item(f"[{candidate.pointer}] (deleted since), {why}")
    return lines.drawer_line(drawer, f"{lines.cut(drawer.content, _SHOWN)}\n{why}")


def _known(call: Call, candidate: KnownCandidate) -> str:
    """An entry with its text, anything else by its name."""
    space = call.space.memory.space(candidate.space)
    entry = space.knowledge.get(candidate.ref) if candidate.kind == "entry" else None
    text = lines.cut(entry.content, _SHOWN) if entry is not None else ""
    return lines.item(
        f"{text}\n{_why(candidate.scores, candidate.score)}".strip(), f"[{candidate.kind} {candidate.ref}] "
    )


def _why(scores: Mapping[str, float], score: float) -> str:
    parts = [f"{_CHANNELS.get(name, name)} {value:.2f}" for name, value in scores.items() if value]
    return f"because: {', '.join(parts) or 'other signals'}; score {score:.2f}"
