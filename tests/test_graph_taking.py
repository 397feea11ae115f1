"""Taking up into the graph what users say: by rules and by a model, with the time that was said, and nothing unsaid."""

import json
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from stating import activities, everything, one, refused, say, told, user

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.background.graphing import GraphJob
from langmem_tiers.knowledge_graph.wording import period_words, predicate_words
from langmem_tiers.settings import GraphSettings, MiningSettings, ModelSettings, PrivacySettings
from langmem_tiers.testing import ScriptedChatModel
from tests.tasking import archived


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema, so that every reply is one call."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


def relation(subject="Anna", predicate="lives in", object="Porto", quote="Anna", turn=1, **more):
    return {"subject": subject, "predicate": predicate, "object": object, "quote": quote, "turn": turn, **more}


def reply(*relations, entities=()) -> str:
    return json.dumps({"topics": [], "subject": "", "facts": [], "entities": [*entities], "relations": [*relations]})


@pytest.fixture
def with_model(tmp_path, clock):
    """Opens a space whose model answers from a script; settings by their section."""
    opened = []

    def open_it(*responses, **sections):
        settings = Settings(model=ModelSettings(timeout_seconds=30), **sections)
        model = InWords(responses=list(responses) or [""])
        folder = tmp_path / f"m{len(opened)}"
        memory = Memory.open(folder, embedder=None, background=False, clock=clock, settings=settings, model=model)
        opened.append(memory)
        return memory.user("alice")

    yield open_it
    for memory in opened:
        memory.close()


@contextmanager
def graph_pass(space):
    memory = space.memory
    with memory.use(space.name) as store:
        yield GraphJob(memory.context(space.name), store)


# Without a model.

SAID = {
    "Anna is my sister.": {"user has_sister Anna"},
    "My wife is Anna.": {"user has_wife Anna"},
    "My brother is Tom, and he is tall.": {"user has_brother Tom"},
    "My wife's name is Maria.": {"user has_wife Maria"},
    "My sister Anna lives in Porto.": {"user has_sister Anna", "Anna lives_in Porto"},
    "I work at Bosch and live in Lisbon.": {"user works_at Bosch", "user lives_in Lisbon"},
    "My brother Jon is with Siemens now.": {"user has_brother Jon", "Jon works_at Siemens"},
    "I'm a nurse.": {"user works_as nurse"},
    "I'm from Sweden.": {"user from Sweden"},
    "I have a dog named Rex.": {"user has_pet Rex", "Rex is_a dog"},
    "I just bought an e-bike.": {"user owns e-bike"},
    "My e-bike has a 20 Ah battery.": {"e-bike has_battery 20 Ah"},
    "I'm studying physics at TU Munich.": {"user studies physics", "user studies_at TU Munich"},
    "I'm 34 years old.": {"user has_age 34 years"},
    "My birthday is on March 17.": {"user has_birthday 03-17"},
    "My kids Leo and Mia love swimming.": {"user has_child Leo", "user has_child Mia"},
    "Anna's husband Tom works at Siemens.": {"Anna has_husband Tom", "Tom works_at Siemens"},
    "I volunteer at the animal shelter.": {"user volunteers_at animal shelter"},
}


@pytest.mark.parametrize("content", SAID)
def test_what_is_said_plainly_becomes_relations_without_a_model(alice, content):
    say(alice, content)
    assert everything(alice) == SAID[content]


UNSAID = [
    "Do I live in Porto?",
    "If I lived in Porto, I would be happy.",
    "I would love to live in Porto.",
    "I might move to Berlin in May.",
    "I don't live in Porto.",
    "I never worked at Bosch.",
    "I live in Porto no more.",
    "My friend told me: I work at Bosch.",
    'She said "I live in Porto and work at Bosch" to the woman.',
    "Maybe I live in Porto.",
    "I'm going to move to Berlin.",
    "I'm moving to Berlin in May, or at least I hope to.",
    "I almost bought a car.",
    "lol I live in Paris now haha",
    "Translate: I live in Porto.",
    "Ich wohne in Berlin und arbeite bei Siemens.",
    "I work at night.",
    "I moved to Slack.",
    "Is Anna your sister?",
    "My sister doesn't live in Porto.",
    "When I lived in Paris I was happy.",
    "I'm 5 minutes late",
    "I have no dog named Rex.",
    "I am not a nurse.",
    "I don't have a brother.",
    "I'm not from Rome.",
    "I am not married.",
    "My wife is German.",
    "My wife is Christian.",
    "My brother is in Paris.",
    "I quit my job.",
]


def test_questions_wishes_denials_quotations_and_other_languages_are_no_relations(alice):
    say(alice, *UNSAID)
    assert everything(alice) == set()


def test_what_an_assistant_says_is_no_relation(alice):
    alice.track([Turn(role="assistant", content="My sister Anna lives in Porto.")], session="monday")
    say(alice, "Good to know, thanks for telling me.")
    assert everything(alice) == set()


@pytest.mark.parametrize(
    ("content", "since", "until"),
    [
        ("I live in Lisbon since 2021.", "2021-01-01", None),
        ("I moved to Lisbon in May 2024.", "2024-05-01", None),
        ("I moved to Lisbon last week.", "2026-02-23", None),
        ("I lived in Lisbon from 2015 to 2019.", "2015-01-01", "2019-01-01"),
        ("I've been living in Lisbon for three years.", "2023-01-01", None),
        ("I'm moving to Lisbon in September.", "2026-09-01", None),
    ],
)
def test_a_relation_holds_since_and_until_when_it_is_said_to(alice, content, since, until):
    say(alice, content)
    period = one(alice, "user", "lives_in").period
    assert (period.start and period.start.date().isoformat(), period.end and period.end.date().isoformat()) == (
        since,
        until,
    )


def test_without_a_time_a_relation_holds_since_it_was_said(alice, clock):
    say(alice, "I live in Lisbon.", at=datetime(2025, 7, 1, tzinfo=UTC))
    assert one(alice, "user", "lives_in").period.start == datetime(2025, 7, 1, tzinfo=UTC)


def test_a_new_home_ends_the_old_one(alice):
    say(alice, "I live in Lisbon since 2021.", "I moved to Porto in May 2024.")
    assert told(alice) == {"user lives_in Porto"}
    assert told(alice, as_of="2023") == {"user lives_in Lisbon"}


@pytest.mark.parametrize(
    "when",
    [
        "in 3021",
        "in 1850",
        "in 2050",
        "in May 3021",
        "on 2024-02-30",
        "on 30.02.2024",
        "on February 30, 2024",
        "on the 31st of April",
    ],
)
def test_a_move_on_a_day_that_can_not_be_leaves_the_home_that_is_known(alice, when):
    say(alice, "I live in Lisbon.", f"I moved to Porto {when}.")
    assert everything(alice) == told(alice) == {"user lives_in Lisbon"}


def test_who_lost_their_job_works_nowhere_and_still_lives_somewhere(alice, clock):
    say(alice, "I work at Bosch as an engineer.", "I live in Porto.")
    clock.tick(3600)
    say(alice, "I lost my job.")
    assert told(alice) == {"user lives_in Porto"}
    assert one(alice, "user", "works_at").period.end == one(alice, "user", "works_as").period.end == clock()


def test_what_somebody_is_not_ends_nothing_else(alice):
    say(alice, "I'm a teacher.", "I am not a nurse.")
    assert told(alice) == {"user works_as teacher"}


@pytest.mark.parametrize(
    ("before", "over", "predicate"),
    [
        ("I work at Bosch since 2019.", "I no longer work at Bosch.", "works_at"),
        ("I work at Bosch since 2019.", "I left Bosch.", "works_at"),
        ("I'm a nurse.", "I'm not a nurse any more.", "works_as"),
        ("I'm a nurse.", "I'm no longer a nurse.", "works_as"),
        ("I'm dating Tom since 2019.", "We broke up.", "dates"),
        ("I bought an e-bike in 2019.", "I sold the e-bike.", "owns"),
    ],
)
def test_what_holds_no_longer_is_ended_and_stays_in_the_timeline(alice, clock, before, over, predicate):
    say(alice, before)
    clock.tick(3600)
    say(alice, over)
    assert told(alice) == set()
    assert one(alice, "user", predicate).period.end == clock()


def test_who_left_nothing_that_is_known_ends_nothing(alice):
    say(alice, "I left Bosch.")
    assert everything(alice) == set()
    assert refused(alice) == {"user works at Bosch": "nothing is known that it could end"}


def test_she_is_whoever_was_named_just_before_and_nobody_where_two_were(alice):
    say(alice, "My sister Anna came by. She works at Bosch.", "Tom met Anna. She lives in Oslo.")
    assert everything(alice) == {"user has_sister Anna", "Anna works_at Bosch"}


def test_a_sister_without_a_name_gets_it_when_it_is_said(alice):
    say(alice, "My sister lives in Porto.", "My sister Anna is a nurse.")
    assert told(alice, "Anna") == {"user has_sister Anna", "Anna lives_in Porto", "Anna works_as nurse"}
    assert [(each.source.name, each.target.name) for each in alice.graph.merges()] == [("user's sister", "Anna")]


def test_a_daughter_and_a_colleague_of_one_name_are_two(alice):
    say(alice, "My daughter Anna plays violin.", "My colleague Anna lives in Oslo.")
    assert {entity.name for entity in alice.graph.entities(type="person")} == {"user", "Anna"}
    assert len(alice.graph.entities(text="Anna")) == 2


def test_two_who_are_only_named_in_one_sentence_are_not_related(alice):
    say(alice, "Yesterday we were with Maria and Peter for dinner in Lisbon.")
    assert alice.graph.entities() == ()


EVENTS = {
    "I went to a BBC writing group yesterday.": "attended BBC writing group 2026-03-01",
    "Last Friday I went to a jazz concert.": "attended jazz concert 2026-02-27",
    "I won a chess tournament on 3 May 2025.": "won chess tournament 2025-05-03",
    "I ran a charity race in May 2025.": "participated in charity race 2025-05",
    "My sister Anna visited the history museum in 2024.": "visited history museum 2024",
    "We went to Lisbon last May.": "visited Lisbon 2025-05",
    "I restored an oak desk last month.": "restored oak desk 2026-02",
}


@pytest.mark.parametrize("content", EVENTS)
def test_what_happened_on_a_day_is_an_event_of_that_day(alice, content):
    say(alice, content)
    who = "Anna" if "Anna" in content else "user"
    found = alice.graph.neighbours(who, ended=True).relations
    (event,) = [each for each in found if each.subject.name == who]
    assert f"{predicate_words(event)} {event.target} {period_words(event.period)}" == EVENTS[content]


@pytest.mark.parametrize(
    "content",
    [
        "I went to a concert yesterday.",
        "I went to a jazz concert.",
        "We went to the park last Sunday.",
        "I went hiking last week.",
        "I took the kids to the museum yesterday.",
    ],
)
def test_an_event_without_a_day_or_anything_to_know_it_by_is_no_relation(alice, content):
    say(alice, content)
    assert everything(alice) == set()


def test_an_event_is_never_shown_as_no_longer_so(alice):
    said = Turn(role="user", content="Last Friday I went to a jazz concert.", message_id="1")
    alice.track([said], session="monday")
    alice.mine()
    alice.flush()
    block = alice.recall("Which jazz concert did I attend?", session="other").block
    assert "concert" in block
    assert "no longer" not in block


def test_the_only_speaker_is_the_user_under_another_name(alice):
    say(alice, "I live in Lisbon.", speaker="Judith")
    assert alice.graph.entity("Judith").name == "user"


def test_of_several_speakers_each_speaks_for_themselves(alice):
    alice.track([user("I live in Lisbon.", speaker="Judith"), user("I live in Oslo.", speaker="Kurt")], session="s")
    alice.mine()
    alice.flush()
    assert told(alice, "Kurt") == {"Kurt lives_in Oslo"}
    assert told(alice, "Judith") == {"Judith lives_in Lisbon"}


def test_relations_rest_on_the_message_that_says_so(alice):
    say(alice, "Well. I live in Lisbon.")
    (cited,) = alice.graph.relation(one(alice, "user", "lives_in").id).evidence
    assert (alice.drawer(cited.drawer).content, cited.quote) == ("Well. I live in Lisbon.", "I live in Lisbon.")


def test_mining_twice_takes_nothing_up_twice(alice):
    say(alice, "I live in Lisbon.")
    before = alice.graph.stats()
    say(alice)
    assert alice.graph.stats() == before
    assert len(activities(alice)) == 1


def test_an_edited_message_takes_back_what_it_said(alice):
    say(alice, "I live in Lisbon.", message_id="1")
    say(alice, "I live in Porto.", message_id="1")
    assert told(alice) == {"user lives_in Porto"}
    assert everything(alice) >= {"user lives_in Porto"}


def test_an_edit_that_takes_back_an_end_lets_it_hold_again(alice, clock):
    say(alice, "I work at Bosch since 2019.", message_id="1")
    clock.tick(60)
    say(alice, "I left Bosch.", message_id="2")
    assert told(alice) == set()
    say(alice, "I like Bosch.", message_id="2")
    assert told(alice) == {"user works_at Bosch"}


def test_an_edit_taken_back_says_again_what_it_said(alice):
    say(alice, "I live in Lisbon.", message_id="1")
    say(alice, "Never mind about that.", message_id="1")
    assert told(alice) == set()
    say(alice, "I live in Lisbon.", message_id="1")
    assert told(alice) == {"user lives_in Lisbon"}


def test_what_was_deleted_does_not_come_back(alice):
    say(alice, "I live in Lisbon.")
    alice.graph.delete_relation(one(alice, "user", "lives_in").id)
    say(alice, "I live in Lisbon.", session="tuesday")
    assert told(alice) == set()
    assert refused(alice) == {"": "it was deleted"}


def test_what_the_user_said_by_hand_is_not_ended_by_what_is_mined(alice, clock):
    alice.graph.add_relation("user", "works at", "Bosch", valid_from="2019")
    say(alice, "I left Bosch.")
    assert told(alice) == {"user works_at Bosch"}


def test_nothing_is_taken_up_where_the_graph_is_off(tmp_path, clock):
    settings = Settings(graph=GraphSettings(enabled=False))
    with Memory.open(tmp_path / "off", embedder=None, background=False, clock=clock, settings=settings) as memory:
        space = memory.user("alice")
        say(space, "I live in Lisbon.")
        assert everything(space) == set()


def test_a_summary_without_messages_is_read_by_the_same_rules(alice):
    archived(alice, "profile", "The user lives in Lisbon. The user's sister Anna works at Bosch. I work at X Corp.")
    alice.flush()
    assert everything(alice) == {"user lives_in Lisbon", "user has_sister Anna", "Anna works_at Bosch"}


def test_a_killed_pass_takes_up_the_rest_later(alice):
    say(alice)
    alice.track([user("I live in Lisbon.")], session="a")
    alice.mine()
    with graph_pass(alice) as one_pass:
        assert one_pass.step(lambda: True)
    alice.flush()
    assert told(alice) == {"user lives_in Lisbon"}


# With a model.


def test_a_model_finds_relations_with_their_time_in_the_same_call(with_model):
    space = with_model(
        reply(
            relation("user", "has sister", "Anna", "my sister Anna"),
            relation("Anna", "moved to", "Porto", "moved to Porto last May", since="last May"),
        )
    )
    say(space, "my sister Anna moved to Porto last May, we were all there")
    assert told(space, "Anna") == {"user has_sister Anna", "Anna lives_in Porto"}
    assert one(space, "Anna", "lives_in").period.start == datetime(2025, 5, 1, tzinfo=UTC)


def test_where_the_model_answered_the_rules_add_nothing(with_model):
    space = with_model(reply())
    say(space, "I live in Lisbon and work at Bosch these days.")
    assert everything(space) == set()


def test_words_of_a_model_for_kinship_and_ends_are_understood(with_model):
    space = with_model(
        reply(
            relation("Anna", "is the sister of", "user", "Anna"),
            relation("Anna", "no longer works at", "Bosch", "Anna"),
            relation("user", "does not live in", "Porto", "Anna"),
        )
    )
    say(space, "Anna, the sister I have, left Bosch for good, and I never lived in Porto.")
    assert everything(space) == {"user has_sister Anna", "Anna works_at Bosch"}
    assert refused(space) == {"user does not live in Porto": "it says what is not so"}
    assert told(space, "Anna") == {"user has_sister Anna"}


def test_a_reply_that_contradicts_itself_is_refused(with_model):
    space = with_model(reply(relation("Anna", "lives in", "Porto"), relation("Anna", "lives in", "Oslo")))
    say(space, "Anna told me a lot about Porto and Oslo yesterday.")
    assert everything(space) == set()
    assert set(refused(space).values()) == {"it contradicts another one of the same message"}


def test_several_whom_one_employs_do_not_contradict_each_other(with_model):
    space = with_model(reply(relation("Bosch", "employs", "Anna"), relation("Bosch", "employs", "Tom", "Tom")))
    say(space, "Anna and Tom both have a job with Bosch these days.")
    assert everything(space) == {"Anna works_at Bosch", "Tom works_at Bosch"}


def test_what_is_only_named_is_known_too(with_model):
    space = with_model(reply(entities=[{"name": "Rex", "type": "animal", "quote": "Rex", "turn": 1}]))
    say(space, "Yesterday Rex slept on the couch all day.")
    assert [(each.name, each.type) for each in space.graph.entities()] == [("Rex", "pet")]


def test_of_five_hundred_relations_of_one_message_few_are_taken_up(with_model):
    names = [f"Town{number}" for number in range(500)]
    space = with_model(
        reply(*(relation("Anna", "visited", name) for name in names)), graph=GraphSettings(window_proposals=4)
    )
    say(space, "Anna has been to " + ", ".join(names))
    assert len(everything(space)) == 4
    assert set(refused(space).values()) == {"more than 4 relations of one message"}


def test_a_date_that_nobody_can_read_leaves_the_date_of_the_message(with_model, clock):
    space = with_model(reply(relation("Anna", "lives in", "Porto", since="since forever, ignore the rules")))
    say(space, "Anna is a friend of mine who lives over in Porto.")
    assert one(space, "Anna", "lives_in").period.start == clock()


def test_a_period_that_ends_before_it_begins_is_refused(with_model):
    space = with_model(reply(relation("Anna", "lives in", "Porto", since="2021", until="2019")))
    say(space, "Anna is a friend of mine who lived over in Porto since 2021, until 2019.")
    assert everything(space) == set()
    assert len(refused(space)) == 1


@pytest.mark.parametrize(
    ("content", "since", "start"),
    [
        ("I moved to Porto in May 2024.", "1999", None),
        ("I moved to Porto in May 2024.", "2024-05", "2024-05-01"),
        ("I moved to Porto last year.", "2025", "2025-01-01"),
        ("I moved to Porto.", "2023", None),
    ],
)
def test_a_date_that_a_model_gives_has_to_be_in_the_words(with_model, clock, content, since, start):
    space = with_model(reply(relation("user", "lives in", "Porto", "I moved to Porto", since=since)))
    say(space, content)
    period = one(space, "user", "lives_in").period
    assert (f"{period.start:%Y-%m-%d}", period.start_stated) == (start or f"{clock():%Y-%m-%d}", start is not None)


@pytest.mark.parametrize(
    ("content", "quote"),
    [
        ("Does my brother live in Oslo?", "my brother live in Oslo"),
        ("Does my brother live in Oslo?", "Does my brother live in Oslo?"),
        ("If my brother lived in Oslo, I would visit him.", "my brother lived in Oslo"),
    ],
)
def test_what_is_asked_or_supposed_is_no_relation(with_model, content, quote):
    space = with_model(reply(relation("my brother", "lives in", "Oslo", quote)))
    say(space, content)
    assert everything(space) == set()
    assert [*refused(space).values()] == ["its quote is a question, a supposition or a joke"]


def test_what_is_stated_beside_a_question_is_taken_up(with_model):
    space = with_model(reply(relation("user", "lives in", "Oslo", "I live in Oslo now. Nice, isn't it?")))
    say(space, "I live in Oslo now. Nice, isn't it?")
    assert told(space) == {"user lives_in Oslo"}


def test_a_name_that_a_model_gives_several_types_is_one_entity(with_model):
    named = [{"name": "Porto", "type": kind, "quote": "Porto", "turn": 1} for kind in ("person", "place", "event")]
    space = with_model(reply(relation("user", "lives in", "Porto", "I live in Porto"), entities=named))
    say(space, "I live in Porto, and Porto is lovely.")
    assert [(each.name, each.type) for each in space.graph.entities(text="Porto")] == [("Porto", "place")]


def test_what_looks_like_an_id_or_an_instruction_is_refused_and_the_rest_is_taken_up(with_model):
    space = with_model(
        reply(
            relation("user", "knows", "deadbeef1234", "deadbeef1234"),
            relation("user", "lives in", "Porto", "Porto"),
        )
    )
    say(space, "My contact deadbeef1234 is somebody whom I met in Porto.")
    assert everything(space) == {"user lives_in Porto"}
    assert list(refused(space)) == ["user knows deadbeef1234"]


def test_the_users_sister_of_a_model_is_the_sister_that_is_known(with_model):
    space = with_model(
        reply(
            relation("user", "has sister", "Anna", "my sister Anna"),
            relation("user's sister", "lives in", "Porto", "Porto"),
        )
    )
    say(space, "You know my sister Anna, who lives in Porto, and the user's sister is what you call her.")
    assert everything(space) == {"user has_sister Anna", "Anna lives_in Porto"}


def test_a_relation_to_itself_is_refused_and_makes_nobody(with_model):
    space = with_model(reply(relation("Anna", "knows", "Anna")))
    say(space, "Anna is a friend of mine who lived over in Porto.")
    assert space.graph.entities() == ()


def test_no_secret_gets_into_the_graph(with_model):
    secret = "AKIAQYLPMN5HIEXMPL2Z"
    space = with_model(
        reply(relation("user", "uses key", secret, quote="my key is")),
        privacy=PrivacySettings(drawers="keep"),
        mining=MiningSettings(),
    )
    say(space, f"my key is {secret} and Anna has it too")
    assert everything(space) == set()


def test_who_denies_a_job_ends_that_one_only(alice, clock):
    say(alice, "I'm a nurse.")
    clock.tick(86_400)
    say(alice, "I am not a teacher.")
    held = alice.graph.neighbours("user", predicates=["works_as"]).relations
    assert [each.target for each in held] == ["nurse"]
    say(alice, "I am not a nurse.")
    assert alice.graph.neighbours("user", predicates=["works_as"]).relations == ()


def test_what_is_deleted_from_the_knowledge_is_deleted_from_the_graph(alice):
    say(alice, "My sister Anna lives in Porto.", "I work at Bosch.")
    assert "Anna lives_in Porto" in told(alice, "Anna")
    entries = [found.entry for found in alice.knowledge.search("Porto")]
    assert entries
    for entry in entries:
        alice.knowledge.delete(entry.id)
    assert alice.flush()
    assert not any("Porto" in line or "Anna" in line for line in everything(alice))
    assert alice.graph.entity("Porto") is None
    assert told(alice) == {"user works_at Bosch"}
    alice.mine()
    assert alice.flush()
    assert alice.graph.entity("Porto") is None
