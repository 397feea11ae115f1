"""What is of no use to a message earns no line: old errands, kind replies, what only follows, what is hardly near."""

import pytest
from meanings import Meanings, assistant, user

from langmem_tiers import Memory
from langmem_tiers.language.requests import asks_for_something, only_asks, orders

REQUESTS = """
Write a birthday toast for my brother.
Can you translate it to Italian?
can you explain the citric acid cycle simply
A bit shorter, please
good, a bit shorter
Tell me a joke for a six-year-old.
Suggest a dessert for the party.
help me write the motivation letter for bergen
An Easter post for Instagram please.
How many grams is a cup of flour?
make it sound less stiff
what is the powerhouse of the cell lol
Find me a polite excuse to not go to the reunion.
Draft a polite mail to the mill asking for a better price.
Recommend a wine for tonight, please.
Write a shopping list for the five dinners.
Give me three names for a new croissant
What's a good film for a family evening?
and in French?
Could you make it more formal?
summarize the difference between mitosis and meiosis
How do I reset the last commit but keep the changes?
Plan a weekend in Lisbon for us.
A snack idea for her school lunch box?
"""
TELLING = """
I moved to Porto.
Write a toast for Ben, he turns forty.
I moved. Any tips?
My sister is vegan, can you suggest a cake?
Never use hashtags in our posts.
Make it a fire engine, he's crazy about fire engines right now.
We ordered The Black Stallion.
Our opening hours are Tuesday to Saturday.
can you help? my boss is angry
Do you remember that I'm allergic to nuts?
Write an invitation, the party is on May 5.
They postponed my exam.
I need a new job, any ideas?
Long day. My knee hurts again.
Show me the hotels near the office because I have a meeting there.
Clara quit piano.
Use tabs in Go files.
I write songs in my free time.
Plan is to move in June.
Is it ok to run with shin splints? I ran 5k today.
Name: Ana Lopez
List of people coming: Tom, Ana, Ed.
"""
NEWS = """
We moved to Porto!
i got a 1.3 in the lab report
We hired Rosa, she starts on April 1.
Clara quit piano. She wants to learn the drums.
I work part-time at the library.
im ok. going dancing with jule tonight
Good news, Miriam dropped the plan.
The mill agreed to 1.02 per kilo!
Long day. My knee hurts again.
Swimming is now on Fridays at 3.
tim and i broke up btw
I need to hire a second baker, Amira is leaving.
we'll take the red one. 2.80 each
I read the book you recommended.
The plan was cancelled.
i finally finished my thesis
"""
TOLD = "The kayak is stored in the barn at Loenen."


@pytest.mark.parametrize("message", REQUESTS.strip().splitlines())
def test_a_message_that_only_asks_for_something_is_recognised(message):
    assert only_asks(message)
    assert asks_for_something(message)


@pytest.mark.parametrize("message", TELLING.strip().splitlines())
def test_one_that_tells_something_as_well_does_not_only_ask(message):
    assert not only_asks(message)


@pytest.mark.parametrize("message", NEWS.strip().splitlines())
def test_what_is_new_asks_for_nothing(message):
    assert not asks_for_something(message)
    assert not orders(message)


@pytest.fixture
def told(tmp_path, clock):
    """Tells a memory something, with what the texts mean; returns what a message is shown."""
    opened = []

    def tell(*turns, **cosines):
        embedder = Meanings(**cosines) if cosines else None
        memory = Memory.open(tmp_path / f"m{len(opened)}", embedder=embedder, background=False, clock=clock)
        opened.append(memory)
        alice = memory.user("alice")
        alice.track(turns, session="s")
        assert alice.flush()
        return lambda message, session="t": [
            each.drawer.content for each in alice.recall(message, session=session).items
        ]

    yield tell
    for memory in opened:
        memory.close()


@pytest.mark.parametrize(
    "errand", ["Tell me a joke about a barn.", "How long is a kayak?", "Write a poem on barns, please"]
)
def test_an_old_errand_is_no_line_beside_what_was_told(told, errand):
    shown = told(user(TOLD), user(errand))
    assert shown("Where is the kayak stored, in which barn?") == [TOLD]


def test_an_old_errand_that_a_message_asks_for_comes_with_what_was_answered(told):
    shown = told(user("Suggest a name for the kayak."), assistant("Sigrun or Ragnhild."))
    assert shown("Which name did you suggest for the kayak?") == [
        "Suggest a name for the kayak.",
        "Sigrun or Ragnhild.",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "Congratulations to you and the kayak!",
        "Oh no, I hope the kayak survives the winter.",
        "That sounds lovely. Enjoy the kayak!",
        "The barn, great idea. Are you all set for the season?",
        "Great choice, I hope that the kayak stays dry!",
    ],
)
def test_a_reply_that_is_only_kind_is_no_line(told, reply):
    assert told(user(TOLD), assistant(reply))("Where is the kayak stored?") == [TOLD]


def test_a_kind_reply_that_says_something_may_be_a_line(told):
    reply = "Congratulations! The kayak needs a dry barn."
    assert reply in told(user(TOLD), assistant(reply))("What does the kayak need?")


def test_what_a_user_says_after_a_reply_that_asks_nothing_is_no_answer_to_it(told):
    shown = told(user(TOLD), assistant("The barn is dry, so store the kayak there."), user("Clara likes chess."))
    assert "Clara likes chess." not in shown("Where is the kayak stored?")


def test_news_get_only_what_is_near_to_them(told):
    shown = told(user("Our kayak is red."), user("Clara plays chess."), red=0.6, chess=0.4)
    assert shown("The kayak sank in the storm yesterday!") == ["Our kayak is red."]


def test_what_a_message_needs_makes_nothing_else_worth_a_line(tmp_path, clock):
    embedder = Meanings(hazelnuts=0.1, lunch=0.42)
    with Memory.open(tmp_path / "memory", embedder=embedder, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([user("I'm allergic to hazelnuts."), user("The lunch room was painted green.")], session="s")
        alice.mine()
        assert alice.flush()
        assert "lunch" not in alice.recall("Suggest a birthday cake.", session="t").block


def test_a_line_comes_near_to_what_the_model_has_already(told):
    other = "The barn at Goor is red."
    shown = told(user(TOLD), user(other))
    assert shown("Where is the kayak stored?") == [TOLD]
    assert shown("Is the kayak stored in a barn at Loenen?") == []


def test_the_assistants_later_words_and_errands_do_not_follow_a_line(told):
    words = "I shoot on a Pentax.", "Enjoy the Pentax!", "Write a poem on the Pentax."
    shown = told(user(words[0]), assistant(words[1]), user(words[2]), shoot=0.7, Pentax=0.2)
    assert shown("What camera do I use?") == [words[0]]
