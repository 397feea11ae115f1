"""Branches of a conversation: which stored turns it has left by going on from an earlier message. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from langmem_tiers.storage.drawers import BranchTurn


def forks_of(
    line: Sequence[str], touched: Collection[str], known: Mapping[str, int], replaced: Mapping[str, int]
) -> dict[int, str]:
    """The drawers after which a conversation may have gone on differently before, each with the message that does now.

    `line` are its messages in order; `touched` are those that are new or stand again. These are the turns before them,
    and the former wordings that they replace.
    """
    before = {known[first]: then for first, then in pairwise(line) if then in touched and first in known}
    return before | {drawer: message_id for message_id, drawer in replaced.items()}


def abandoned(
    forks: Mapping[int, str],
    tree: Sequence[BranchTurn],
    line: Collection[int],
    *,
    seen: int | None = None,
    asked: Collection[str] = (),
) -> dict[int, str]:
    """The standing drawers that follow a fork and are not on the way to a drawer of the line.

    None if no user said any of them: a reply that was made anew, or the work of another agent, is no other branch.
    Neither is what was said meanwhile, if `seen` tells the last drawer as the history was read; `asked` are the ids of
    messages that users said, with which the conversation may go on after a fork.
    """
    children: defaultdict[int, list[BranchTurn]] = defaultdict(list)
    for turn in tree:
        if turn.follows is not None:
            children[turn.follows].append(turn)
    of_user = {turn.drawer for turn in tree if turn.role == "user"}
    on_the_way = _with_ancestors(line, {turn.drawer: turn.follows for turn in tree})
    left: dict[int, str] = {}
    by_user = False
    for drawer, message_id in forks.items():
        waiting, last = [*children[drawer]], seen if message_id in asked else None
        if seen is not None:
            waiting = _before(seen, waiting, asked=message_id in asked, replied=drawer not in of_user)
        while waiting:
            turn = waiting.pop()
            if turn.drawer in on_the_way or (last is not None and turn.drawer > last):
                continue
            if turn.stands and turn.drawer not in forks:
                left[turn.drawer] = message_id
                by_user = by_user or turn.role == "user"
            waiting += children[turn.drawer]
    return left if by_user else {}


def _before(seen: int, following: Sequence[BranchTurn], *, asked: bool, replied: bool) -> list[BranchTurn]:
    """The turns after a fork that were there as the history was read, without what was said meanwhile.

    What follows a message of the user without a reply was said while that one's run was under way, and so was what the
    conversation is `asked` right after it: the reply, and what followed that, came later. What follows a reply is older
    than a run that asks the model anew.
    """
    if not replied:
        return [] if asked else [each for each in following if each.role != "user"]
    return [each for each in following if each.drawer <= seen or not (asked or each.role == "user")]


def _with_ancestors(line: Collection[int], follows: Mapping[int, int | None]) -> set[int]:
    found: set[int] = set()
    for drawer in line:
        here: int | None = drawer
        while here is not None and here not in found:
            found.add(here)
            here = follows.get(here)
    return found
