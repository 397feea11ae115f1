"""`langmem-tiers receipts`: what was recalled for a message, what was left out, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from langmem_tiers.cli.target import Shown, space_command
from langmem_tiers.cli.terminal import MORE, hanging, leave, shortened
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.space import Space
    from langmem_tiers.types import Candidate, KnownCandidate, Receipt

FoundT = TypeVar("FoundT", "Candidate", "KnownCandidate")

# Characters of a text.
_SHOWN = 200
_GONE, _NOT_READ = "(gone)", "(no longer read from here)"
_NOT_LOOKED_UP = ("trivial", "disabled")

receipts = typer.Typer(help="What was recalled for each message, and why.", no_args_is_help=True)


@receipts.command("list")
@space_command()
def list_receipts(
    space: Space,
    *,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most receipts, the newest first.")] = 20,
) -> Shown:
    """Print the latest recalls: number, time, how much was shown, how long it took, and the query."""
    found = space.receipts(limit=limit + 1)
    lines = [_listed(each) for each in found[:limit]]
    more = [MORE] if len(found) > limit else []
    return Shown(found[:limit], [*(lines or [f"Nothing was recalled for {space.name} yet."]), *more])


@receipts.command()
@space_command()
def show(
    space: Space,
    number: Annotated[int, typer.Argument(metavar="N", min=1, help="The number, as `receipts list` prints it.")],
) -> Shown:
    """Print a recall: the query, what was shown and what was left out and why, and how long each stage took."""
    return receipt_shown(space, number)


def receipt_shown(space: Space, number: int) -> Shown:
    """A recall with everything that it looked at."""
    receipt = space.receipt(number)
    if receipt is None:
        leave(f"There is no receipt {number} (any more). `langmem-tiers receipts list` shows those there are.")
    return Shown(receipt, [*_head(receipt), *explanation(receipt, space)])


def explanation(receipt: Receipt, space: Space) -> Iterator[str]:
    """Everything that was looked at, knowledge before messages; then times and usage."""
    if receipt.known:
        yield f"{len(receipt.known)} known, best first"
    for known in receipt.known:
        yield from _explained(known, f"{known.kind} {known.ref}", _text(known, space, _text_of_known), receipt)
    if receipt.candidates:
        yield f"{counted(len(receipt.candidates), 'candidate')}, best first"
    for found in receipt.candidates:
        yield from _explained(found, found.pointer, _text(found, space, _text_of_drawer), receipt)
    if not receipt.known and not receipt.candidates and receipt.verdict not in _NOT_LOOKED_UP:
        yield hanging("", "No candidates: no message, entry, episode or note has these words or comes close.")
    yield hanging("ms by stage: ", "  ".join(f"{stage} {millis:.1f}" for stage, millis in receipt.timings.items()))
    for source, taken in receipt.usage.items():
        yield hanging(f"{source}: ", "  ".join(f"{name} {number:,}" for name, number in taken.items()))


def _listed(receipt: Receipt) -> str:
    """A recall on two lines."""
    session = f"  session {receipt.session}" if receipt.session else ""
    head = f"{receipt.number}  {receipt.at:%Y-%m-%d %H:%M}{session}  {_counts(receipt)} shown"
    return "\n".join((hanging("", f"{head}  {_millis(receipt)}"), hanging("    ", shortened(receipt.query, _SHOWN))))


def _head(receipt: Receipt) -> Iterator[str]:
    """What a recall was for, and what came of it."""
    from langmem_tiers.recall.why_words import RESULTS

    fields = {
        "query": receipt.query,
        "at": f"{receipt.at:%Y-%m-%d %H:%M:%S} UTC",
        "session": receipt.session or "",
        "message": receipt.message_id or "",
        "result": RESULTS[receipt.verdict],
        "shown": f"{_counts(receipt)}, {counted(receipt.tokens, 'token')}",
        "took": _millis(receipt),
    }
    yield from (hanging(f"{name:>10}  ", value) for name, value in fields.items() if value)
    yield from (hanging(f"{'note':>10}  ", note) for note in receipt.notes)


def _counts(receipt: Receipt) -> str:
    verdicts = [*(each.verdict for each in receipt.known), *(each.verdict for each in receipt.candidates)]
    return f"{verdicts.count('shown'):,} of {len(verdicts):,}"


def _millis(receipt: Receipt) -> str:
    return f"{receipt.timings.get('total', 0):.1f} ms"


def _explained(found: Candidate | KnownCandidate, name: str, text: str | None, receipt: Receipt) -> Iterator[str]:
    """One thing that was looked at: its score and verdict, what it says, and the numbers behind that."""
    from langmem_tiers.recall.why_words import VERDICTS

    where = "" if found.space == receipt.space else f" of {found.space}"
    yield hanging("  ", f"{name}{where}: score {found.score:.3f}, verdict {VERDICTS[found.verdict]}")
    if text:
        yield hanging("      ", shortened(text, _SHOWN))
    yield hanging("      ", _numbers(found))


def _numbers(found: Candidate | KnownCandidate) -> str:
    """The scores by channel; of messages also the signals and the factors, without those that change nothing."""
    from langmem_tiers.types import KnownCandidate

    parts = {"found by": dict(found.scores)}
    if not isinstance(found, KnownCandidate):
        parts["signals"] = {name: value for name, value in found.signals.items() if value}
        parts["factors"] = {name: value for name, value in found.factors.items() if value != 1}
    return "; ".join(f"{name} {_said(values)}" for name, values in parts.items() if values)


def _said(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def _text(found: FoundT, space: Space, text_of: Callable[[FoundT, SpaceContext], str | None]) -> str | None:
    """What something says that was looked at, as it stands now in its space."""
    from langmem_tiers.knowledge.fallbacks import still_read

    source = still_read(space.context, found.space)
    return _NOT_READ if source is None else text_of(found, source)


def _text_of_drawer(candidate: Candidate, source: SpaceContext) -> str:
    from langmem_tiers.palace.lookup import find_drawer

    drawer = find_drawer(source, candidate.drawer)
    return drawer.content if drawer else _GONE


def _text_of_known(known: KnownCandidate, source: SpaceContext) -> str | None:
    """What it says; None for a note, which is named by its path, and for a store item."""
    from langmem_tiers.knowledge.episodes import Episodes
    from langmem_tiers.knowledge.knowledge import Knowledge
    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
    from langmem_tiers.knowledge_graph.wording import relation_words

    if known.kind == "entry":
        entry = Knowledge(source).get(known.ref)
        return entry.content if entry else _GONE
    if known.kind == "episode":
        episode = Episodes(source).get(known.ref)
        return episode.abstract or ", ".join(episode.topics) if episode else _GONE
    if known.kind == "relation":
        relation = KnowledgeGraph(source).relation(known.ref)
        return relation_words(relation) if relation else _GONE
    return None
