"""What is kept of what a careful reader would keep, where a good model is asked.

`judged/mined_by_model.jsonl` has one invented conversation a line: its turns, the facts that a careful reader would
keep of it, and the replies that a reader who was given the prompt wrote in the place of a model, one for each window.
The replies pass through mining as a model's would. A fact is kept if one entry or one relation has all of its words,
regardless of case, each from the beginning of a word on. `replied` counts the same in the replies themselves: what the
difference holds was refused or altered; `rules` is what is kept without a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reporting import Row, parser, report

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.knowledge_graph.wording import relation_words
from langmem_tiers.settings import ModelSettings
from langmem_tiers.testing import FrozenClock, ScriptedChatModel

CONVERSATIONS = Path(__file__).parent / "judged" / "mined_by_model.jsonl"
TOLD_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
ROLES = ("user", "assistant")


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema, as most small ones."""

    def with_structured_output(self, schema: Any, **_: Any) -> Any:  # noqa: D102
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A conversation, the words of each fact that a reader would keep of it, and the replies of a good model."""

    name: str
    turns: Sequence[Turn]
    worth: dict[str, Sequence[str]]
    replies: Sequence[dict[str, Any]]


def main() -> None:
    arguments = parser(__doc__ or "", "mined_by_model")
    arguments.add_argument("--show", action="store_true", help="print the facts that are not kept")
    given = arguments.parse_args()
    report("kept of what a reader would keep", [*table(conversations(), show=given.show)], given.out)


def conversations() -> list[Conversation]:
    lines = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
    return [_conversation(json.loads(line)) for line in lines]


def _conversation(told: dict[str, Any]) -> Conversation:
    return Conversation(
        name=told["name"],
        turns=[_turn(each["by"], each["text"]) for each in told["turns"]],
        worth={each["fact"]: each["words"] for each in told["worth"]},
        replies=told["replies"],
    )


def _turn(by: str, text: str) -> Turn:
    return Turn(role=by, content=text) if by in ROLES else Turn(role="user", speaker=by, content=text)


def table(told: Iterable[Conversation], *, show: bool = False) -> Iterator[Row]:
    """A row for each conversation, and one for all."""
    rows = []
    for each in told:
        kept, refused = mined(each, [json.dumps(reply) for reply in each.replies])
        by_rule, _ = mined(each, [])
        replied = [" ".join(map(str, one.values())) for reply in each.replies for part in PARTS for one in reply[part]]
        row = {"facts": len(each.worth), "replied": count(each, replied), "kept": count(each, kept), "refused": refused}
        rows.append({"conversation": each.name, **row, "rules": count(each, by_rule)})
        if show:
            print(*(fact for fact, words in each.worth.items() if not holds(kept, words)), sep="\n")
    yield from (with_share(row) for row in rows)
    names = ("facts", "replied", "kept", "refused", "rules")
    yield with_share({"conversation": "all", **{name: sum(int(row[name]) for row in rows) for name in names}})


PARTS = ("facts", "relations")


def with_share(row: dict[str, Any]) -> Row:
    return {**row, "kept, %": 100 * row["kept"] / row["facts"]}


def mined(told: Conversation, replies: Sequence[str]) -> tuple[list[str], int]:
    """What is known after a conversation was mined with these replies, or by rule, and how much was refused."""
    model = InWords(responses=list(replies)) if replies else None
    settings = Settings(model=ModelSettings(timeout_seconds=60))
    options = {"embedder": None, "background": False, "clock": FrozenClock(TOLD_AT), "settings": settings}
    with TemporaryDirectory() as folder, Memory.open(folder, model=model, **options) as memory:
        space = memory.user("reader")
        space.track(told.turns, session="talk")
        reports = space.mine()
        space.flush()
        return known(space), sum(len(each.refused) for each in reports)


def known(space: Space) -> list[str]:
    entries = [found.entry.content for found in space.knowledge.search(limit=1000)]
    named = [each.id for each in space.graph.entities()]
    relations = {relation_words(each) for name in named for each in space.graph.neighbours(name, ended=True).relations}
    return [*entries, *sorted(relations)]


def count(told: Conversation, lines: Sequence[str]) -> int:
    return sum(holds(lines, words) for words in told.worth.values())


def holds(lines: Iterable[str], words: Sequence[str]) -> bool:
    """Whether one line has all the words."""
    return any(all(re.search(rf"\b{re.escape(word)}", line, re.IGNORECASE) for word in words) for line in lines)


if __name__ == "__main__":
    main()
