"""What users say and then ask to be remembered is kept, and so are rules for the agent that end in a condition."""

import pytest
from meanings import user

MEANT = {
    "We keep money as cents. Remember that.": "The user and others keep money as cents.",
    "We keep money as cents, remember that.": "The user and others keep money as cents.",
    "Prices on our site are gross. Please remember that.": "Prices on the user's site are gross.",
    "The gate code is on the fridge. Keep that in mind.": "The gate code is on the fridge.",
    "Table names are plural in our database. Note that for later.": "Table names are plural in the user's database.",
    "The dog sleeps in the kitchen. Don't forget that.": "The dog sleeps in the kitchen.",
    "Invoices are numbered per year - remember that please": "Invoices are numbered per year.",
    "The staging server is read-only. Memorize that.": "The staging server is read-only.",
    "Theo takes the bus to school. And remember that.": "Theo takes the bus to school.",
    "The blue bin is emptied on even weeks. Write that down.": "The blue bin is emptied on even weeks.",
    "Tests run against SQLite. Can you remember that?": "Tests run against SQLite.",
    "Refunds go through Marta. Keep this in mind, please.": "Refunds go through Marta.",
}
NOTHING = """
She hates it. Remember that.
You told me the opposite. Remember that.
Is that right? Remember that.
Remember that.
That was a lovely summer. Remember that?
We swam in the lake every summer. Remember that?
If we win, we party. Remember that.
Write a poem about spring. Remember that.
I wish it were true. Remember that.
Just kidding. Remember that.
He said: we close at five. Remember that.
Nobody can remember that.
I can't remember that, sorry.
Remember that time in Rome?
Why do we keep it that way? Keep that in mind.
Sounds good. Keep it.
Great. Save it.
If you can, keep your answers short.
I'd keep your answers short if I were you.
I don't know if I should use metric units.
We would use metric units unless they object.
Keep the receipts short if he asks.
Call me if it rains.
Can you keep your answers short unless I ask?
Let me know if you use emojis.
"""
RULES = """
Please keep your answers short, unless I ask for details.
Keep your answers brief unless I ask for more.
No emojis please, unless it's for Instagram.
Please don't use bullet points unless I ask for a list.
Use metric units, except when I write about screws.
Stop using emojis if I'm writing to clients.
Use British spelling unless the text is for our US office.
Never use hashtags unless I ask.
Answer in French from now on, unless I switch to English.
"""


def kept(alice, message):
    alice.track([user(message)], session="s")
    alice.mine()
    return [(entry.category, entry.content) for entry in alice.knowledge.page().entries]


@pytest.mark.parametrize(("message", "content"), MEANT.items())
def test_the_sentence_before_remember_that_is_kept(alice, message, content):
    assert [said for _, said in kept(alice, message)] == [content]


@pytest.mark.parametrize("message", NOTHING.strip().splitlines())
def test_what_asks_for_nothing_to_be_kept_says_nothing_or_is_of_the_agent_is_not(alice, message):
    assert kept(alice, message) == []


@pytest.mark.parametrize("message", RULES.strip().splitlines())
def test_a_rule_for_the_agent_is_kept_with_its_condition(alice, message):
    assert kept(alice, message) == [("user-preferences/assistant", f'The user said: "{message}"')]


def test_what_a_rule_has_kept_is_not_kept_twice(alice):
    assert len(kept(alice, "I'm allergic to walnuts. Remember that.")) == 1
