"""What anybody might ask or order gets nothing of the user's, unless they told something close to it."""

import pytest

from langmem_tiers import Turn
from langmem_tiers.integrations import TieredRetriever
from langmem_tiers.language.impersonal import is_impersonal, is_of_agent

TOLD = (
    "The eggs at the farm shop near the old harbour are brown, and I boil two of them every Sunday for my aunt.",
    "I flew to France with my choir in May, sang in eleven churches and loved the capital more than the coast.",
    "My cats purr when I play the cello in the evening, and hide under the sofa as soon as the neighbours come.",
    "I translate poems into French for a small publisher, lullabies mostly, that are sung at night to small children.",
    "The weather and the climate of Oslo suit my knees, so the doctor told me to stay there until October at least.",
    "I walked 10 miles along the canal while the moon was out, and wrote a haiku for the wall of the post office.",
    "The time was short, the day was long and the news was bad, so the board put off the vote on the new ferry.",
    "My lease says the deposit is in a fund with interest, and that the landlord paints the kitchen every six years.",
)


@pytest.fixture
def told(alice):
    for place, text in enumerate(TOLD):
        alice.track([Turn(role="user", content=text)], session=f"s{place}")
    assert alice.flush()
    return alice


@pytest.mark.parametrize(
    "message",
    [
        "What's the capital of France?",
        "capital of France",
        "How do I boil an egg?",
        "please could you tell me how long eggs have to boil",
        "How long do eggs have to boil?",
        "Why do cats purr?",
        "Translate 'good night' into French.",
        "How do you say 'good night' in French?",
        "What is the difference between weather and climate?",
        "Convert 10 miles to kilometers.",
        "How many miles is 42 km?",
        "How far away is the moon?",
        "Write a haiku about the moon.",
        "Explain interest like I'm five.",
        "What's in the news today?",
        'Proofread: "My cats purrs when it rain."',
        "What does 'deposit' mean?",
    ],
)
def test_what_is_for_anybody_gets_nothing_of_the_user(told, message):
    recalled = told.recall(message, session="new")
    assert (recalled.block, recalled.receipt.verdict) == ("", "nothing_found")
    assert "anybody might write this message" in recalled.receipt.notes[0]


@pytest.mark.parametrize(
    "message",
    [
        "Are you a robot?", "What time is it?", "What day is it today?", "Hey, how's it going today?",
        "Who made you?", "Can you help me?", "testing, one two three",
        "Which language model are you, and which time is it for you?",
    ],
)  # fmt: skip
def test_talk_about_the_agent_or_the_hour_recalls_nothing(told, message):
    assert told.recall(message, session="new").receipt.verdict == "trivial"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("How many eggs do I boil?", "boil two"),
        ("What's the capital that I loved in France?", "loved the capital"),
        ("What is the deposit in?", "deposit is in a fund"),
        ("Why do the cats purr?", "cats purr"),
        ("Write a letter to the landlord about the deposit and the kitchen.", "landlord paints"),
        ("What does the lease say about the landlord?", "lease says"),
        ("How far was the walk of 10 miles?", "10 miles"),
        ("What was the weather again?", "weather"),
        ("Translate the poems into German.", "translate poems"),
    ],
)
def test_what_is_of_the_user_gets_what_they_told(told, message, said):
    assert said in told.recall(message, session="new").block


@pytest.mark.parametrize(
    "message",
    [
        "Which city is the interview in?",
        "Who won the Saturday run?",
        "Who wrote the reference?",
        "When did the lease end?",
        "Explain Bruno's diagnosis.",
        "What does Bruno's diagnosis mean?",
        "How do I cook without gluten?",
        "How can I stop smoking?",
        "How to cook for Lena?",
        "What's the news from Lena?",
        "What time is it in Lena's town?",
        "Is it cold at the campsite?",
        "How does the new boss work?",
        "Convert the salary to dollars.",
        "12-14 appointment still on?",
        "What causes the rash?",
        "Are you sure it was Porto?",
        "Are you free on Friday?",
        "Which version is this for Lena?",
        "What model is this Canon?",
        "Calculate the rent in euros.",
        "List the open points.",
        "Explain why Tom left.",
        "Summarize Monday's meeting.",
        "Give me an update on Lena.",
        "Who painted the kitchen?",
        "What's the most urgent task today?",
        "Check the rent: is it paid?",
        "What is the difference between the two offers?",
        "What happens when the lease ends?",
        "5/6 still free?",
        "Come up with a slogan.",
        "Create a shopping list.",
        "Tell me a bedtime story with Mia.",
        "How long is the lease?",
    ],
)
def test_in_doubt_a_message_is_of_the_user(message):
    assert not is_impersonal(message)
    assert not is_of_agent(message)


def test_what_the_user_told_close_to_it_is_shown(alice):
    alice.track([Turn(role="user", content="The capital of France is Paris.")], session="one")
    assert alice.flush()
    assert "is Paris" in alice.recall("What is the capital of France?", session="new").block


def test_a_search_on_purpose_finds_it(told):
    found = TieredRetriever(memory=told.memory, user_id="alice").invoke("capital of France")
    assert TOLD[1] in [document.page_content for document in found]
    assert "boil two" in told.recall("How long do eggs have to boil?", session="new", threshold=0).block
