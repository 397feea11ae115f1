"""The conversations that peers are measured on: a public set, or one made from the seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from texts import sessions

from langmem_tiers.bench.datasets import Case, DatasetName, Gold, read_cases, read_gold, session_number
from langmem_tiers.types import Role, Turn

TOLD = re.compile(
    r"(?P<name>\w+ \w+) (?P<done>\w+) the (?P<adjective>\w+) (?P<thing>\w+) in (?P<place>\w+) (?P<time>.+?)"
    r" (?:because|since|although|so that|but|and|which) .*"
)
ASKED = (
    "Where was it that {name} had something to do with a {thing}?",
    "Who {done} a {thing} at {place}?",
    "What has been {done} by {name}, and when?",
    "Do you remember what happened to the {adjective} {thing} that {name} told you about?",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PeerTurn:
    """One message as every peer is given it; `text` begins with a named speaker, where there is one."""

    message_id: str
    session: str
    role: Role
    content: str
    speaker: str | None

    @property
    def text(self) -> str:
        """What a peer that knows no speakers stores."""
        return f"{self.speaker}: {self.content}" if self.speaker else self.content


@dataclass(frozen=True, kw_only=True, slots=True)
class PeerQuestion:
    """One question, and the names of the sessions that answer it."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What is stored in one memory, and what is asked of it."""

    turns: tuple[PeerTurn, ...]
    questions: tuple[PeerQuestion, ...]


def from_dataset(dataset: DatasetName, data: Path, limit: int | None) -> Iterator[Conversation]:
    """The first conversations of a file; questions without an answer in it are left out."""
    golds = {gold.question_id: gold for gold in read_gold(dataset, data)}
    cases = (case for case in read_cases(dataset, data) if isinstance(case, Case))
    for case in islice(cases, limit):
        made = _conversation(case, golds)
        if made.questions:
            yield made


def made_up(turns: int, questions: int, seed: int) -> Conversation:
    """A conversation from the seed, and questions about sentences of it, in other words."""
    said = [
        PeerTurn(message_id=str(turn.message_id), session=session, role=turn.role, content=turn.content, speaker=None)
        for session, told in sessions(0, turns, seed=seed)
        for turn in told
    ]
    rng = random.Random(seed)
    asked = rng.sample(said, min(questions, len(said)))
    return Conversation(turns=tuple(said), questions=tuple(_question(turn, rng) for turn in asked))


def _question(turn: PeerTurn, rng: random.Random) -> PeerQuestion:
    told = TOLD.match(turn.content)
    assert told is not None, f"texts.py makes sentences of another form now: {turn.content}"
    return PeerQuestion(text=rng.choice(ASKED).format(**told.groupdict()), gold=frozenset({turn.session}))


def _conversation(case: Case, golds: dict[str, Gold]) -> Conversation:
    by_number = {session_number(session.session): session.session for session in case.sessions}
    turns = [
        PeerTurn(
            message_id=message.message_id,
            session=message.session,
            role=message.role,
            content=message.content,
            speaker=message.speaker,
        )
        for session in case.sessions
        for message in session.messages
    ]
    questions = []
    for question in case.questions:
        gold = golds[question.question_id]
        names = frozenset(by_number[session] for session in gold.sessions if session in by_number)
        if names and not gold.abstention:
            questions.append(PeerQuestion(text=question.text, gold=names))
    return Conversation(turns=tuple(turns), questions=tuple(questions))


def as_turn(turn: PeerTurn) -> Turn:
    """The same for our own memory."""
    return Turn(role=turn.role, content=turn.content, speaker=turn.speaker, message_id=turn.message_id)
