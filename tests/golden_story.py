"""An invented history for the golden files: what Ottilie and a few others say over eight months."""

import atexit
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.moving import move
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests import engines
from tests.goldens import steady_ids

# Session, when it began, and its turns: "u" the user, "a" the assistant.
SESSIONS = [
    ("s01-hello", "2025-06-02T08:00", [
        ("u", "Hi! My name is Ottilie Brandvold and I live in Trondheim."),
        ("a", "Nice to meet you, Ottilie. What do you do?"),
        ("u", "I work as a ceramicist at Fjordleire. I have a brother called Torbjorn, he lives in Bergen."),
        ("a", "Is Torbjorn older than you?"),
        ("u", "He is 41. I have two cats, Nisse and Pepper. Nisse is a grey tabby."),
        ("u", "I love black coffee, but I hate cilantro."),
        ("a", "Noted: black coffee, no cilantro."),
        ("u", "I'm allergic to walnuts, please keep that in mind."),
    ]),
    ("s02-kiln", "2025-06-20T18:30", [
        ("u", "We bought a new kiln last week, a Rohde TE 75. It holds 75 litres."),
        ("a", "Congratulations! What will you fire first?"),
        ("u", "Stoneware bowls for the market in Oslo on 12 July 2025."),
        ("u", "My best friend Yara Castellan helps me at the market. She is from Valencia."),
        ("a", "How do you two know each other?"),
        ("u", "We met in 2017 at a glazing course in Faenza."),
        ("u", "Please always answer in short sentences."),
    ]),
    ("s03-market", "2025-07-14T09:15", [
        ("u", "The market on Saturday went well, I sold 34 bowls."),
        ("a", "Wonderful. Which glaze sold best?"),
        ("u", "The blue celadon one. It is my favourite glaze."),
        ("u", "Yara broke her wrist yesterday, she fell off her bike."),
        ("a", "Oh no, is she all right?"),
        ("u", "She is at St. Olavs hospital until Thursday."),
        ("u", "I'm planning to visit her tomorrow."),
    ]),
    ("s04-move", "2025-08-30T20:00", [
        ("u", "Big news: I moved to Bergen two weeks ago, to be near my brother."),
        ("a", "How is the new flat?"),
        ("u", "It is small but has a view of the harbour. The rent is 11,500 kroner a month."),
        ("u", "I no longer work at Fjordleire. Since 18 August I work at Studio Lyngheim."),
        ("a", "What do you do there?"),
        ("u", "I teach evening courses on Mondays and run the wood kiln."),
        ("u", "Torbjorn is married to Henrike, and they have a daughter named Solvei."),
        ("u", "Solvei starts school next year. She plays the cello."),
    ]),
    ("s05-correct", "2025-10-05T07:45", [
        ("u", "No, that's wrong: Torbjorn is 43, not 41."),
        ("a", "Sorry, corrected."),
        ("u", "Actually I don't drink coffee any more, I switched to green tea."),
        ("a", "Green tea it is."),
        ("u", "Pepper died last month. We miss her a lot."),
        ("a", "I'm so sorry."),
        ("u", "I told you to answer in short sentences! Please do."),
        ("u", "Nisse eats only salmon now."),
    ]),
    ("s06-exhibition", "2025-11-22T16:10", [
        ("u", "I have an exhibition in Stavanger from 5 December 2025 until 10 January 2026."),
        ("a", "What is it called?"),
        ("u", "It is called Salt and Ash. Pavel Dvorsky curates it; he works at the Rogaland museum."),
        ("u", "I'm going to drive there with Yara on 3 December."),
        ("a", "Do you have a car?"),
        ("u", "Yes, I drive a red Volvo V60. I have had it since 2019."),
        ("u", "My mother Ingunn will come to the opening. She is a retired nurse."),
    ]),
    ("s07-atlas", "2026-01-12T10:00", [
        ("u", "The exhibition closed on Saturday. We sold nine pieces."),
        ("a", "Congratulations!"),
        ("u", "I want to start a project named Tidewater: a tile wall for the library in Bergen."),
        ("u", "The deadline of the Tidewater project is 30 April 2026, and the budget is 240,000 kroner."),
        ("a", "Who works on it with you?"),
        ("u", "Pavel and Yara. Yara lives in Bergen now, too, since New Year."),
        ("u", "We use Slack for it, and I prefer to meet in the mornings."),
    ]),
    ("s08-winter", "2026-02-20T19:20", [
        ("u", "I run 5 km every morning now and I go climbing on Wednesdays."),
        ("a", "In winter?"),
        ("u", "Indoors. I twisted my ankle in January, so I take ibuprofen when it hurts."),
        ("u", "If I won the lottery I would buy a house in Faenza."),
        ("u", "Do you remember where my friend Yara comes from?"),
        ("a", "From Valencia."),
        ("u", "Right. Solvei's birthday is on 9 March, she will be seven. I'm making her a mug."),
        ("u", "My key is sk-proj-Zx81kQpL0vTtY7wWmN3bR5cD9eF2gH4j and should not be kept."),
    ]),
]  # fmt: skip

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def turns(session: str) -> list[Turn]:
    """The turns of a session, a minute apart."""
    _, began, said = next(each for each in SESSIONS if each[0] == session)
    start = datetime.fromisoformat(began).replace(tzinfo=UTC)
    return [
        Turn(
            role="user" if who == "u" else "assistant",
            content=text,
            message_id=f"{session}-{place}",
            said_at=start + timedelta(minutes=place),
        )
        for place, (who, text) in enumerate(said)
    ]


def tell(space, clock) -> None:
    """Have it all said, each session at its time, and let the memory take it up."""
    for session, began, _ in SESSIONS:
        start = datetime.fromisoformat(began).replace(tzinfo=UTC)
        clock.tick((start - clock()).total_seconds() + 3600)
        space.track(turns(session), session=session)
        space.end_session(session)
        space.mine()
        assert space.flush()
    clock.tick((NOW - clock()).total_seconds())
    assert space.flush()


@cache
def _kept() -> Path:
    """A temporary folder with the memory to which all was told, made once in a process."""
    kept = Path(tempfile.mkdtemp(prefix="golden-story-")) / "memory"
    atexit.register(shutil.rmtree, kept.parent)
    engines.share(kept)
    clock = FrozenClock(turns(SESSIONS[0][0])[0].said_at)
    options = {"embedder": HashEmbedder(), "background": False, "clock": clock}
    with pytest.MonkeyPatch.context() as patch:
        steady_ids(patch)
        with Memory.open(kept, **options) as memory:
            tell(memory.user("ottilie"), clock)
    return kept


def copied(folder: Path) -> Path:
    """A copy of that memory, for one test."""
    if engines.ENGINE == "folder":
        return Path(shutil.copytree(_kept(), folder))
    with (
        Memory.open(_kept(), embedder=None, background=False) as kept,
        Memory.open(folder, embedder=HashEmbedder(), background=False, clock=FrozenClock(NOW)) as copy,
    ):
        move(kept, copy)
        assert copy.user("ottilie").flush()  # fills Chroma
    return folder


# What recall is asked: the question, and what goes with it.
QUESTIONS: list[tuple[str, dict]] = [
    ("Where do I live now?", {}),
    ("Where did I live in July 2025?", {}),
    ("Where does my brother Torbjorn live?", {}),
    ("How old is Torbjorn?", {}),
    ("What are my cats called?", {}),
    ("What happened to Pepper?", {}),
    ("Which drinks do I like?", {}),
    ("Am I allergic to anything?", {}),
    ("Who is Yara Castellan?", {}),
    ("What happened to Yara in July?", {}),
    ("Where did I meet Yara?", {}),
    ("Which kiln do we have?", {}),
    ("What did I sell at the market?", {"limit": 2}),
    ("Where do I work, and since when?", {}),
    ("What is the deadline of the Tidewater project?", {}),
    ("Who works on Tidewater?", {"token_budget": 120}),
    ("When was the exhibition Salt and Ash?", {}),
    ("What did I say two weeks ago?", {}),
    ("When is Solvei's birthday?", {"session": "s08-winter"}),
    ("What car do I drive?", {"session": "new", "message_id": "m1"}),
    ("What car do I drive?", {"session": "new", "message_id": "m1"}),
    ("And since when do I have the Volvo?", {"session": "new", "message_id": "m2"}),
    ("ok", {}),
    ("Tell me about quantum chromodynamics.", {}),
    ("Good morning, how are you today?", {"session": "fresh"}),
    ("Where did my brother live?", {"as_of": datetime(2025, 6, 30, tzinfo=UTC), "threshold": 0.0}),
]
