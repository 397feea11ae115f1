"""Names and jobs that people introduce themselves and theirs with, and what only looks like one."""

import pytest

from langmem_tiers import Turn


@pytest.fixture
def told(alice):
    """The entries and the user's relations that are made of a message."""

    def tell(text):
        alice.track([Turn(role="user", content=text)], session="one")
        alice.mine()
        alice.flush()
        entries = {found.entry.content for found in alice.knowledge.search(limit=20)}
        known = alice.graph.entity("user") is not None
        return entries, {str(each) for each in alice.graph.neighbours("user").relations} if known else set()

    return tell


@pytest.mark.parametrize(
    "text",
    [
        "Hi, I'm Ilvy and I'm a nurse.",
        "I'm Ilvy, I'm a nurse.",
        "Hello! I'm Ilvy.",
        "I am Ilvy, nice to meet you.",
        "Good morning everyone, I'm Ilvy, a nurse in Ghent.",
        "I'm Ilvy and I work at Brugbank.",
        "btw im Ilvy, backend dev at Brugbank",
        "Hi, I'm Ilvy, engineer at Brugbank.",
    ],
)
def test_somebody_who_introduces_themselves_has_a_name(told, text):
    entries, relations = told(text)
    assert "The user's name is Ilvy." in entries
    assert "user named Ilvy" in relations


@pytest.mark.parametrize(
    "text",
    [
        "I'm tired.",
        "Hi, I'm Dutch.",
        "I'm Swiss, I'm a nurse.",
        "I'm Canadian and I live in Ghent.",
        "I'm Team Red, I'm from Leeds.",
        "I'm at Brugbank's office.",
        "Hi, I'm Brugbank's designer.",
        "I'm OK, I'm a nurse.",
        "I'm Ghent based, I work a lot.",
        "I'm Ilvy's brother.",
        "Hi, I'm Vegan and I'm a nurse.",
        "btw im Swiss, nurse at Brugbank",
        "I'm Team Red, teacher of the year is not my thing.",
    ],
)
def test_what_somebody_is_or_belongs_to_is_no_name(told, text):
    entries, relations = told(text)
    assert not [each for each in (*entries, *relations) if "name" in each]


@pytest.mark.parametrize(
    "text",
    ["I'm a UX designer at Brugbank.", "I'm a UX designer at Brugbank now.", "I work as a UX designer at Brugbank."],
)
def test_an_occupation_at_an_employer_gives_both(told, text):
    assert told(text)[1] == {"user works_at Brugbank", "user works_as UX designer"}


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("btw im Ilvy, backend dev at Brugbank", "backend dev"),
        ("Hi, I'm Ilvy, engineer at Brugbank.", "engineer"),
        ("So I'm Ilvy Maes, senior nurse at Brugbank", "senior nurse"),
    ],
)
def test_a_job_that_follows_a_name_without_more_words_is_that_of_the_user(told, text, job):
    entries, relations = told(text)
    assert {"user works_at Brugbank", f"user works_as {job}"} <= relations
    assert any(each.endswith(f"{job} at Brugbank.") and each.startswith("The user is ") for each in entries)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I just moved to Graz, can you suggest some gyms?", "The user moved to Graz."),
        ("By the way, I work at Brugbank, so could you keep that in mind?", "The user works at Brugbank."),
        ("I have two kids and live in Graz, what can we do on Sunday?", "The user has two kids."),
        ("I live in Graz, where is the next swimming pool?", "The user lives in Graz."),
        ("I have a dog, how do I train him?", "The user has a dog."),
        ("I live in Graz - any ideas for a hike?", "The user lives in Graz."),
        ("Important: I'm allergic to penicillin.", "The user is allergic to penicillin."),
        ("btw im allergic to penicillin", "The user is allergic to penicillin."),
        ("Oh and I'm allergic to penicillin!", "The user is allergic to penicillin."),
        ("FYI my wife is allergic to shrimp", "The user's wife is allergic to shrimp."),
        ("Remember: I'm vegan.", "The user is vegan."),
    ],
)
def test_what_a_sentence_tells_before_it_asks_is_kept(told, text, content):
    assert content in told(text)[0]


def test_what_follows_a_sentence_that_tells_and_orders_is_kept(told):
    entries, _ = told("I live in Graz, can you write a poem about the river? I work at Brugbank.")
    assert entries == {"The user lives in Graz.", "The user works at Brugbank."}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Keep your answers short please.", "Keep your answers short."),
        ("No emojis please.", "No emojis."),
        ("Use British spelling from now on.", "Use British spelling from now on."),
        ("Please stop using bullet points.", "Please stop using bullet points."),
        ("Use metric units.", "Use metric units."),
        ("Stop apologising.", "Stop apologising."),
    ],
)
def test_how_the_agent_is_to_write_is_a_rule_for_it(told, text, rule):
    assert f'The user said: "{rule}"' in told(text)[0]


@pytest.mark.parametrize(
    "text", ["No onions please.", "No problem.", "No idea, sorry.", "Use a hammer.", "Keep it up!"]
)
def test_what_is_said_of_a_single_thing_is_no_rule_for_the_agent(told, text):
    assert not any(each.startswith("The user said") for each in told(text)[0])


@pytest.mark.parametrize(
    "text",
    [
        "I live in Graz, don't I?",
        "I live in Graz, is that right?",
        "I live in Graz, do I?",
        "If I lived in Graz, what would I do?",
        "Since I live in Graz, can you suggest a gym?",
        "I think I live in Graz, what should I see?",
    ],
)
def test_what_is_asked_or_unsure_is_not_told(told, text):
    assert "The user lives in Graz." not in told(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Graz, can you say that in French?",
        "I live in Graz, says the ad, can it be true?",
        "I live in Graz in the game, what should I pack?",
        "I live in Graz - is that sentence right?",
        "I'm writing a bio: I'm 34, live in Graz and work as a spy.",
        "I'm playing Zoe, live in Graz and have two kids in the show.",
        "Let's role-play. I'm a customer and you're the waiter. I live in Graz.",
        "Let me talk as Zoe for a moment. I'm Zoe. I live in Graz.",
        "Scene: a bar at night. I live in Graz.",
        "My character's backstory: I live in Graz and work as a thief.",
        "For the interview practice: I am Tom, I live in Graz.",
        "What do you think of this bio for my friend? I'm Pete, I live in Graz.",
        "Can you shorten this? I am a passionate manager. I live in Graz.",
        "In the game I'm a witch and I live in Graz.",
        "I lied to my date, I said I live in Graz.",
    ],
)
def test_what_is_said_by_others_in_a_game_or_as_words_is_not_told(told, text):
    assert "The user lives in Graz." not in told(text)[0]


def test_a_part_that_is_played_goes_on_in_the_next_messages_until_it_is_left(alice):
    for text in (
        "Let me talk as Zoe for a bit. I'm Zoe.",
        "I live in Graz and I have a dog called Moos.",
        "OK, out of character again: we have three hens.",
        "I live in Lund.",
    ):
        alice.track([Turn(role="user", content=text), Turn(role="assistant", content="Nice.")], session="s")
    alice.mine()
    origins = [each.origin for each in alice.drawers() if each.role == "user"]
    assert origins == ["user", "quoted", "user", "user"]
    kept = [each.entry.content for each in alice.knowledge.search("", limit=20)]
    assert "The user lives in Lund." in kept
    assert not any(name in each for each in kept for name in ("Graz", "Moos", "Zoe"))


@pytest.mark.parametrize(
    "text",
    ["I collect stamps and love letters.", "I have work boots, love seats and hate mail.", "I'm done, love Mum."],
)
def test_nouns_that_look_like_verbs_are_none(told, text):
    assert not [
        each for each in told(text)[0] if each.startswith(("The user loves", "The user hates", "The user likes"))
    ]


@pytest.mark.parametrize(
    ("text", "contents", "relations"),
    [
        (
            "I'm 34, live in Graz and work as a chemist.",
            {"The user lives in Graz.", "The user works as a chemist."},
            {"user has_age 34 years", "user lives_in Graz", "user works_as chemist"},
        ),
        (
            "I have two kids and live in Graz.",
            {"The user has two kids.", "The user lives in Graz."},
            {"user lives_in Graz"},
        ),
        (
            "Hi, I'm Ilvy, 29, from Porto and work at Brugbank.",
            {"The user's name is Ilvy.", "The user is from Porto.", "The user works at Brugbank."},
            {"user named Ilvy", "user has_age 29 years", "user from Porto", "user works_at Brugbank"},
        ),
        (
            "I'm married, have two kids and love hiking.",
            {"The user is married.", "The user has two kids.", "The user loves hiking."},
            {"user likes hiking"},
        ),
        (
            "I moved to Graz, got a dog and adopted a cat.",
            {"The user moved to Graz.", "The user got a dog.", "The user adopted a cat."},
            {"user lives_in Graz"},
        ),
    ],
)
def test_each_verb_of_a_list_about_oneself_says_something(told, text, contents, relations):
    found = told(text)
    assert contents <= found[0]
    assert relations <= found[1]


@pytest.mark.parametrize(
    "text",
    [
        "I want to live in Graz and have a dog.",
        "I met a man who paints and plays and got a dog.",
        "I'd move to Graz and have a dog.",
        "I know my sister has a cat, and got a dog.",
        "I never had a cat and got a dog.",
        "I like walks in the hills, like a dog, and a rest.",
    ],
)
def test_a_verb_that_may_be_of_others_or_unreal_says_nothing_of_the_user(told, text):
    assert not [
        each
        for each in told(text)[0]
        if each in {"The user has a dog.", "The user got a dog.", "The user likes a dog."}
    ]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("my new lead is Ilvy", "The user's new lead is Ilvy."),
        ("My team lead is Ilvy Maes.", "The user's team lead is Ilvy Maes."),
    ],
)
def test_who_leads_the_users_team_is_kept(told, text, content):
    assert told(text)[0] == {content}


@pytest.mark.parametrize("text", ["My lead is growing.", "My new lead is Monday's call.", "My dog's lead is red."])
def test_another_lead_is_nobody(told, text):
    assert told(text)[0] == set()


@pytest.mark.parametrize("text", ["I'm a designer at heart.", "I'm a regular at Brugbank.", "I'm a teacher at night."])
def test_other_places_after_an_occupation_are_no_employers(told, text):
    assert not [each for each in told(text)[1] if "works_at" in each]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (
            "My daughter Mia starts school in September.",
            "The user's daughter Mia starts school in September (2026-09).",
        ),
        ("My son will start university in May.", "The user's son will start university in May (2026-05)."),
        (
            "I have a daughter, Mia, who starts school in September.",
            "The user has a daughter named Mia who starts school in September (2026-09).",
        ),
        ("We have a dog, Rex.", "The user and others have a dog named Rex."),
    ],
)
def test_who_starts_what_and_when_is_kept_with_the_name(told, text, content):
    assert content in told(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "My sister Anna starts every day with a run.",
        "My daughter Mia starts crying when she sees dogs.",
        "My son starts a fight every time this happens.",
    ],
)
def test_what_somebody_starts_again_and_again_is_no_beginning(told, text):
    assert told(text)[0] == set()
