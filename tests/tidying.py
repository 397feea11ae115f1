"""Memories with something to dream of, and models that tidy them up, for the tests of dreams."""

import json
import re
from collections.abc import Mapping, Sequence

from langmem_tiers import Settings, Turn
from langmem_tiers.settings import DreamSettings, KnowledgeSettings, MiningSettings
from langmem_tiers.testing import ScriptedChatModel

DAY = 86_400
AT_WORK = ("The user works at Bosch.", "The user works as an engineer.")
HIKING = ("The user hikes.", "The user hikes in the Alps.")
ONE_JOB = "The user works at Bosch as an engineer."
OUTDATED, HOLDS = "The user lives in Porto.", "The user lives in Lisbon."
TEA = "The user prefers tea to coffee."
FACTS = (*AT_WORK, *HIKING, OUTDATED, HOLDS, TEA)
# What comes of them by rule, and what with the model below.
BY_RULE = {*FACTS} - {OUTDATED}
TIDIED = {ONE_JOB, HIKING[1], HOLDS, TEA}

_OWN = {"The user works": "I work", "The user hikes": "I hike", "The user lives": "I live", "The user ": "I "}


def by_hand(**dream) -> Settings:
    """Settings under which a small memory dreams when it is told to, and derives nothing else by itself."""
    return Settings(
        dream=DreamSettings(**{"enabled": False, "retire_share": 1.0, **dream}),
        mining=MiningSettings(enabled=False),
        knowledge=KnowledgeSettings(enrich=False),
    )


def fill(space, facts: Sequence[str] = FACTS) -> None:
    """Each fact as the user said it, a day after the one before, and as an entry that rests on that."""
    for number, fact in enumerate(facts, len(space.drawers()) + 1):
        opening = next(each for each in _OWN if fact.startswith(each))
        space.track([Turn(role="user", content=fact.replace(opening, _OWN[opening]))], session="monday")
        space.knowledge.save(fact, evidence=[number])
        space.memory.clock.tick(DAY)
    space.flush()


def known(space) -> set[str]:
    """What the active entries say."""
    return {found.entry.content for found in space.knowledge.search(limit=100)}


def merging(merges: Mapping[Sequence[str], str]):
    """A reply that makes one entry of several, each named by what it says."""

    def reply(messages) -> str:
        shown = dict(re.findall(r"^\[(\d+)\] \([^)]*\) (.*)$", str(messages[-1].text), re.MULTILINE))
        number = {content: int(given) for given, content in shown.items()}
        told = [
            {"sources": [number[source] for source in sources], "content": content}
            for sources, content in merges.items()
            if set(sources) <= number.keys()
        ]
        return json.dumps({"merges": told})

    return reply


def tidying() -> ScriptedChatModel:
    """A model that makes one of the two jobs, and one of the two hikes."""
    return ScriptedChatModel(responses=[merging({AT_WORK: ONE_JOB, HIKING: HIKING[1]})])
