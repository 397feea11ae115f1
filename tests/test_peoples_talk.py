"""What is kept of what people tell each other, without a model: events, plans, pursuits and family, nothing else."""

from __future__ import annotations

import pytest

from langmem_tiers import Turn

TOLD = {
    "I got promoted on Friday!": "Lea got promoted on Friday (2026-02-27).",
    "Big news: I retired.": "Lea retired.",
    "I dropped out of business school.": "Lea dropped out of business school.",
    "I came out to my parents in 2019.": "Lea came out to Lea's parents in 2019.",
    "I took a glass-blowing class recently.": "Lea took a glass-blowing class.",
    "I failed the driving test last week.": "Lea failed the driving test last week (about 2026-02-23).",
    "I got injured in May and had to give up fencing.": "Lea got injured in May and had to give up fencing (2025-05).",
    "Two colleagues and I flew to Malta last weekend.": (
        "Two colleagues and Lea flew to Malta last weekend (about 2026-02-28)."
    ),
    "Ruth and I restored a rowing boat last summer.": "Ruth and Lea restored a rowing boat last summer.",
    "We had a lovely evening at the harbour festival in May 2025.": (
        "Lea and others had a lovely evening at the harbour festival in May 2025."
    ),
    "Here's a bookshelf I built last week.": "Lea built a bookshelf last week (about 2026-02-23).",
    "I knitted this scarf for a friend last week.": ("Lea knitted a scarf for a friend last week (about 2026-02-23)."),
    "I drew that old windmill in 2024.": "Lea drew an old windmill in 2024.",
    "That song reminds me of a cruise we went on in 2019.": "Lea and others went on a cruise in 2019.",
    "My laptop was stolen last Friday.": "Lea's laptop was stolen last Friday (2026-02-27).",
    "Our choir won a national contest in 2024.": "Lea's choir won a national contest in 2024.",
    "As a child, I caught eels with a lantern.": "As a child, Lea caught eels with a lantern.",
    "I tried curling for the first time.": "Lea tried curling for the first time.",
    "It has been hard since I moved to Bristol.": "Lea moved to Bristol.",
    "Just yesterday I joined the mountain rescue.": "Yesterday Lea joined the mountain rescue (2026-03-01).",
    "I've been to Kyoto twice.": "Lea has been to Kyoto twice.",
    "I'm considering selling my canoe.": "Lea is considering selling Lea's canoe.",
    "I'm thinking about opening a small bakery.": "Lea is thinking about opening a small bakery.",
    'I\'m currently reading "The Grey Harbour".': 'Lea is currently reading "The Grey Harbour".',
    "I just wanted to let you know that I'm running for the school board.": "Lea is running for the school board.",
    "I struggled with burnout in 2021.": "Lea struggled with burnout in 2021.",
    "Last weekend I got to meet a lighthouse keeper.": (
        "Last weekend Lea got to meet a lighthouse keeper (about 2026-02-28)."
    ),
    "I've always been passionate about steam trains.": "Lea has always been passionate about steam trains.",
    "I'm a fan of both ragtime and swing.": "Lea is a fan of both ragtime and swing.",
    "Here's a chair I made for my mother.": "Lea made a chair for Lea's mother.",
    "I'm on the hunt for a second-hand harpsichord.": "Lea is on the hunt for a second-hand harpsichord.",
    "I start at Nordkraft on 1 April.": "Lea starts at Nordkraft on 1 April (2026-04-01).",
    "I commute from Leeds to York.": "Lea commutes from Leeds to York.",
    "I keep bees, two hives.": "Lea keeps bees, two hives.",
    "I sing in a barbershop quartet.": "Lea sings in a barbershop quartet.",
    "My driving licence expires in July.": "Lea's driving licence expires in July (2026-07).",
    "My aunt sings in a gospel choir.": "Lea's aunt sings in a gospel choir.",
    "Anna can't eat gluten.": "Anna can't eat gluten.",
    "Hannah plays the cello.": "Hannah plays the cello.",
    "Rowing helps me unwind.": "Rowing helps Lea unwind.",
    "Gardening is my passion.": "Gardening is Lea's passion.",
    "She sent a card from my home country, Latvia.": "Lea is from Latvia.",
    "That was so hard for my son.": "Lea has a son.",
    "I'm so lucky to have my two kids.": "Lea has two kids.",
}


def kept(alice, text: str) -> list[str]:
    turns = [("Kim", "Hey Lea, how are you?"), ("Lea", text)]
    alice.track([Turn(role="user", speaker=name, content=said, origin="import") for name, said in turns], session="s")
    alice.mine()
    return [found.entry.content for found in alice.knowledge.search()]


@pytest.mark.parametrize("text", TOLD)
def test_what_people_tell_of_themselves_and_theirs_is_kept(alice, text):
    assert kept(alice, text) == [TOLD[text]]


def test_an_agent_keeps_no_passing_thoughts_of_its_task(alice):
    alice.track([Turn(role="user", content="I'm thinking of adding some fennel to the soup.")], session="s")
    alice.mine()
    assert alice.knowledge.search() == ()


@pytest.mark.parametrize(
    "text",
    [
        "Did you get promoted at work?",
        "If I get promoted, I'll celebrate.",
        "I wish I had been promoted.",
        "I almost got promoted.",
        "My boss said I got promoted, but he was joking.",
        "In my novel, I got promoted to captain.",
        "lol I got promoted to king haha",
        "You got promoted!",
        "I didn't fail the driving test.",
        "I might take a baking class.",
        "Here's a picture I took last week.",
        "Here's a picture of a shelf my brother built.",
        "Here's a song you made last week.",
        "Here's a shelf I could have built.",
        "Here's a poem I wish I wrote.",
        "It's from a trip we could have taken to Norway.",
        "This reminds me of a trip you took to Norway.",
        "This reminds me of a trip we took for my sister.",
        "My car might break down soon.",
        "If my car breaks down, I'll walk.",
        "They won a national contest.",
        "We had a great time.",
        "We had a great time at the park last week.",
        "I tried it for the first time.",
        "Maybe I'm considering a greyhound.",
        "I'm thinking about it.",
        "Should I start at Nordkraft in April?",
        "I don't commute from Leeds.",
        "Is Hannah vegan?",
        "If Anna were vegan, I'd cook lentils.",
        "I think Anna is vegan.",
        "Tom told me Anna is vegan.",
        "Anna is amazing.",
        "Anna loves it.",
        "Anna can't wait for it.",
        "Rowing would help me unwind.",
        "Rowing doesn't help me unwind.",
        "Does rowing help you unwind?",
        "Pottery is not a big part of my life.",
        "It would be great to have a husband.",
        "My future husband will be tall.",
        "What if my daughter failed?",
        "Since I moved you keep asking.",
        "I had to laugh.",
        "I drew this picture for it.",
        "I retired to bed.",
        "I came out to see.",
        "I never struggle with words.",
        "I'm not thinking about selling my canoe yet, or am I?",
    ],
)
def test_nothing_is_kept_of_what_is_asked_supposed_wished_denied_told_of_others_or_vague(alice, text):
    assert kept(alice, text) == []
