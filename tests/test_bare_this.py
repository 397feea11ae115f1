"""Behind "Can you fix this?" the user speaks for themselves; behind "Can you proofread this?" stands a text."""

import pytest
from meanings import user

from langmem_tiers.language.quotations import quotations

OWN = (
    "Can you fix this? My app crashes when I log in. I use Python 3.12.",
    "Can you help me with this? I moved to Porto and need a doctor.",
    "Can you fix this?\nThe tests fail since I upgraded to Postgres 17.",
    "Could you look into this? I can't log in any more.",
    "Can you explain this? I get a rash whenever I eat strawberries.",
    "Please solve this. I have three kids and two rooms.",
    "Can you do this? I want a table of my expenses.",
    "Can you check this? My invoice number is 4711.",
    "Can you improve this? Our page loads slowly.",
    "Any idea how to fix this? My bike squeaks.",
    "Can you debug this? I use FastAPI and the route returns 404.",
    "Please debug this for me.\nI use FastAPI and the route returns 404.",
    "Can you fix this?\n\nI run Ubuntu 24.04 and my screen flickers.",
    "Can you check this for me? I live in Graz and want a heat pump.",
    "Can you review this? I earn 3,000 a month and pay 1,200 rent.",
    "Simplify this. I have two jobs and three bank accounts.",
    "Can you clean up this? I have twelve tabs open.",
    "Please improve it. I sleep five hours a night.",
    "Can you adapt it? I am allergic to nuts.",
    "Can you expand it? I need a third bedroom.",
)
TEXTS = (
    "Can you proofread this? I moved to Porto last year and like it.",
    "Rephrase this: I am sorry that I was late.",
    "Please shorten this. I have worked at Bosch for ten years.",
    "Translate this: I live in Rome.",
    "Can you translate this?\nI live in Rome and work as a nurse.",
    "Please summarise this: I grew up in Oslo. I moved to Bergen.",
    "Can you polish this? I am a nurse with ten years of experience.",
    "Correct this: I has two dogs.",
    "Rewrite this in a formal tone: I quit my job.",
    "Can you paraphrase this? I am allergic to nuts.",
    "Improve this: I am a hard-working nurse.",
    "Review my cover letter: I have worked at Bosch for ten years.",
    "Fix the following: I lives in Rome.",
    "Please edit this for me: I live in Rome.",
    "Tighten this. I have lived in Rome since 2019.",
    "Reword it: I can't come on Friday, as I am ill.",
    "Condense this: I was born in Graz and grew up in Linz.",
    "Can you improve my essay? I grew up in Oslo.",
    "Spell-check this. I lives in Rome.",
    "Punctuate this: I live in Rome I like it.",
)


@pytest.mark.parametrize("message", OWN)
def test_what_follows_a_bare_this_that_may_be_anything_is_the_users_own(message):
    assert not quotations(message)


@pytest.mark.parametrize("message", TEXTS)
def test_what_follows_a_text_that_is_asked_to_be_worked_on_is_quoted(message):
    assert quotations(message)


def test_what_users_say_behind_it_is_known(alice):
    alice.track([user("Can you fix this? My heating is off. I live in Graz.")], session="s")
    alice.track([user("Can you proofread this? I live in Rome and I like it.")], session="t")
    alice.mine()
    assert [entry.content for entry in alice.knowledge.page().entries] == ["The user lives in Graz."]
