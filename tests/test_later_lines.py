"""What was said later on the subject of a line is shown with it, though its words do not fit the question."""

import pytest
from meanings import assistant, user

from langmem_tiers import Memory, RecallSettings, Settings, StorageSettings
from langmem_tiers.testing import HashEmbedder

DAY = 86_400
QUESTION = "What camera do I use?"
OLD, NEW = "I shoot on a Pentax.", "It went overboard off Tromsø, so a borrowed Leica it is for now."


class Subjects(HashEmbedder):
    """An embedder that is told what texts are near to: those with a word of a group have its vector."""

    model = "subjects"

    def __init__(self, **groups):
        super().__init__(4)
        self.groups = groups

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        near = (vector for words, vector in self.groups.items() if any(word in text for word in words.split("_")))
        return next(near, (0.0, 0.0, 0.0, 1.0))


CAMERAS = Subjects(camera=(1.0, 0.0, 0.0, 0.0), Pentax=(0.6, 0.8, 0.0, 0.0), Leica=(0.0, 0.8, 0.6, 0.0))


@pytest.fixture
def remember(tmp_path, clock):
    """Opens a memory and tells it something in sessions of their own, days apart."""
    opened = []

    def told(*sessions, embedder=CAMERAS, storage=None, **recall):
        settings = Settings(recall=RecallSettings(**recall), storage=storage or StorageSettings())
        memory = Memory.open(tmp_path / "memory", embedder=embedder, settings=settings, background=False, clock=clock)
        opened.append(memory)
        space = memory.user("alice")
        for number, turns in enumerate(sessions):
            space.track(turns, session=f"s{number}")
            space.mine()
            assert space.flush()
            clock.tick(30 * DAY)
        return space

    yield told
    for memory in opened:
        memory.close()


def shown(space, question=QUESTION):
    return [item.drawer.content for item in space.recall(question, session=question).items]


@pytest.mark.parametrize("exact_below", [200_000, 0])
def test_later_words_are_shown_with_the_line_that_they_are_near_to(remember, exact_below):
    alice = remember(
        [user(OLD)], [user("The tram was late.")], [user(NEW)], storage=StorageSettings(exact_below=exact_below)
    )
    assert shown(alice) == [OLD, NEW]


def test_the_receipt_says_how_well_they_fit(remember):
    alice = remember([user(OLD)], [user(NEW)])
    found = {each.drawer: (each.verdict, dict(each.scores)) for each in alice.recall(QUESTION).receipt.candidates}
    assert found[2] == ("shown", {"later": 0.64})


@pytest.mark.parametrize(
    "sessions",
    [
        ([user(NEW)], [user(OLD)]),
        ([user(OLD)], [user("Nice weather."), assistant(NEW)]),
        ([user(OLD)], [user("What would a Leica cost?")]),
    ],
)
def test_earlier_words_others_words_and_questions_are_not(remember, sessions):
    assert shown(remember(*sessions)) == [OLD]


@pytest.mark.parametrize("recall", [{"limit": 1}, {"later": 0}])
def test_they_need_room_and_can_be_turned_off(remember, recall):
    assert shown(remember([user(OLD)], [user(NEW)], **recall)) == [OLD]


def test_without_a_line_there_is_nothing_to_follow(remember):
    assert shown(remember([user(OLD)], [user(NEW)]), "What is the capital of France?") == []


@pytest.mark.parametrize(
    ("told", "then", "question"),
    [
        ("Our hen Matilda got out.", "No sign of rain. Matilda is back!", "Is Matilda still out there?"),
        ("I keep goats above Vik.", "Sold the goats.", "How many goats do I keep?"),
    ],
)
def test_the_message_that_ends_a_line_is_shown_whole(remember, told, then, question):
    more = f"{then} Sheep from now on, a dozen."
    assert more in shown(remember([user(told)], [user(more)], embedder=None), question)


def test_what_is_taken_back_soon_after_is_shown(remember):
    turns = [
        user("We are off on Friday, my brother and I, for his birthday."),
        user("Scrap that, we're not going to the lake, the cabin is let. It's the coast instead."),
    ]
    alice = remember(turns, embedder=Subjects(birthday=(1.0, 0.0, 0.0, 0.0), coast=(0.2, 0.98, 0.0, 0.0)))
    assert len(shown(alice, "Where do we go for the birthday of my brother?")) == 2


def test_a_name_in_both_makes_up_for_some_distance(remember):
    near, far = (0.8, 0.6, 0.0, 0.0), (0.0, 0.5, 0.87, 0.0)
    told, moved = "Maren came over from Bergen.", "Maren starts at the clinic in Turku, what a day."
    embedder = Subjects(town=(1.0, 0.0, 0.0, 0.0), Bergen=near, Vaasa=far, Turku=far)
    alice = remember([user(told)], [user("Off to Vaasa, the ferry was full.")], [user(moved)], embedder=embedder)
    assert shown(alice, "What town is she in now?") == [told, moved]
