"""Replies that a good model gives: each is kept as it is said, however it is written, and nothing of it is refused."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from langmem_tiers import Memory, RecallSettings, RerankSettings, Settings, Turn
from langmem_tiers.settings import ModelSettings
from langmem_tiers.testing import FrozenClock, ScriptedChatModel
from tests.tasking import archived
from tests.tidying import AT_WORK, ONE_JOB, by_hand, fill

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from mined_by_model import conversations, table


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


def fact(content, quote, turn=1, **more) -> dict:
    return {"content": content, "kind": "fact", "quote": quote, "turn": turn, "corrects": "", **more}


def relation(subject, predicate, object, quote, turn=1, **more) -> dict:
    return {"subject": subject, "predicate": predicate, "object": object, "quote": quote, "turn": turn, **more}


def entity(name, type, quote, turn=1) -> dict:
    return {"name": name, "type": type, "quote": quote, "turn": turn}


def told(*facts, relations=(), entities=(), **more) -> dict:
    return {"topics": [], "subject": "", "facts": facts, "entities": entities, "relations": relations, **more}


def assistant(text) -> Turn:
    return Turn(role="assistant", content=text)


def by(name, text) -> Turn:
    return Turn(role="user", speaker=name, content=text)


MISO = "My cat Miso is afraid of thunder and hides under the bed."
AFRAID = fact("The user's cat Miso is afraid of thunder.", "My cat Miso is afraid of thunder")
LEEDS = relation("Ben", "lives in", "Leeds", "Ben has lived in Leeds")
# What was said, the reply, and the relations that come of it; entries say what the facts of the reply say.
MINED = {
    "quotation marks and dashes of another shape": (
        ["My sister’s flat is in Porto – she moved there “for love”."],
        told(
            fact("The user's sister has a flat in Porto.", 'My sister\'s flat is in Porto - she moved there "for love"')
        ),
        set(),
    ),
    "other punctuation": (
        ["My brother Ben works at Siemens; he likes it!"],
        told(
            fact("The user's brother Ben works at Siemens.", "'My brother Ben works at Siemens, he likes it.'"),
            relations=[relation("Ben", "works at", "Siemens", "My brother Ben works at Siemens.")],
        ),
        {"Ben works_at Siemens"},
    ),
    "words left out at an ellipsis": (
        ["My neighbour Ilse, the one with the parrots, gave me her old sewing machine."],
        told(
            fact("The user's neighbour Ilse gave the user her old sewing machine.", "My neighbour Ilse … gave me her"),
            fact("The user's neighbour Ilse has parrots.", "neighbour Ilse, ... the parrots"),
        ),
        set(),
    ),
    "a quote of two messages": (
        ["My sister is called Anna.", assistant("Lovely name!"), "She lives in Porto now, with two cats."],
        told(
            fact("The user's sister Anna lives in Porto.", "My sister is called Anna. She lives in Porto now", 3),
            relations=[relation("Anna", "lives in", "Porto", "My sister is called Anna … She lives in Porto now", 3)],
        ),
        {"Anna lives_in Porto"},
    ),
    "a question and its answer": (
        [
            assistant("Do you still work at Bosch as a tester?"),
            "Yes, since 2019, and the people in the lab are still the same.",
        ],
        told(
            fact(
                "The user has worked at Bosch since 2019.", "Do you still work at Bosch as a tester? Yes, since 2019", 2
            ),
            relations=[relation("user", "works at", "Bosch", "Yes, since 2019", 2, since="2019")],
        ),
        {"user works_at Bosch, since 2019-01-01"},
    ),
    "emoji left out": (
        ["We got a puppy 🐶 named Bodo, he eats everything!!!"],
        told(fact("The user has a puppy named Bodo.", "We got a puppy named Bodo")),
        set(),
    ),
    "a name in its base form": (
        ["Моя сестра Анна живёт в Москве и работает врачом."],
        told(
            fact("Сестра пользователя Анна живёт в Москве.", "Моя сестра Анна живёт в Москве"),
            relations=[relation("Анна", "lives in", "Москва", "Моя сестра Анна живёт в Москве")],
        ),
        {"Анна lives_in Москва"},
    ),
    "a script without blanks": (
        ["妹の花子は大阪に住んでいて、病院で働いています。"],
        told(
            fact("ユーザーの妹の花子は大阪に住んでいる。", "妹の花子は大阪に住んでいて"),
            relations=[relation("花子", "lives in", "大阪", "妹の花子は大阪に住んでいて")],
        ),
        {"花子 lives_in 大阪"},
    ),
    "a script from right to left": (
        ["أختي ليلى تعيش في القاهرة وتعمل معلمة."],
        told(
            fact("أخت المستخدم ليلى تعيش في القاهرة.", "أختي ليلى تعيش في القاهرة"),
            relations=[relation("ليلى", "lives in", "القاهرة", "ليلى تعيش في القاهرة")],
        ),
        {"ليلى lives_in القاهرة"},
    ),
    "a name with an apostrophe of another shape": (
        ["My boss Siobhán O’Brien comes from Cork and plays the harp."],
        told(
            fact("The user's boss Siobhán O'Brien comes from Cork.", "My boss Siobhán O'Brien comes from Cork"),
            relations=[relation("Siobhán O'Brien", "from", "Cork", "Siobhán O'Brien comes from Cork")],
        ),
        {"Siobhán O'Brien from Cork"},
    ),
    "a year as a number": (
        ["I have worked at Nordlicht since 2021 as a designer."],
        told(
            fact("The user has worked at Nordlicht since 2021.", "I have worked at Nordlicht since 2021"),
            relations=[relation("user", "works at", "Nordlicht", "I have worked at Nordlicht", since=2021)],
        ),
        {"user works_at Nordlicht, since 2021-01-01"},
    ),
    "an age as a number": (
        ["I turned 34 in May, and my knees have begun to tell me so."],
        told(
            fact("The user is 34 years old.", "I turned 34 in May"),
            relations=[relation("user", "has age", 34, "I turned 34 in May")],
        ),
        {"user has_age 34"},
    ),
    "a month": (
        ["My brother Ben has lived in Leeds since last May."],
        told(
            fact("The user's brother Ben has lived in Leeds since May 2025.", "Ben has lived in Leeds since last May"),
            relations=[LEEDS | {"since": "last May"}],
        ),
        {"Ben lives_in Leeds, since 2025-05-01"},
    ),
    "a day": (
        ["My brother Ben has lived in Leeds since 3 May 2021."],
        told(
            fact("The user's brother Ben has lived in Leeds since 2021-05-03.", "since 3 May 2021"),
            relations=[LEEDS | {"since": "2021-05-03"}],
        ),
        {"Ben lives_in Leeds, since 2021-05-03"},
    ),
    "years ago": (
        ["My brother Ben has lived in Leeds for three years."],
        told(
            fact("The user's brother Ben has lived in Leeds since 2023.", "Ben has lived in Leeds for three years."),
            relations=[LEEDS | {"since": "three years ago"}],
        ),
        {"Ben lives_in Leeds, since 2023-01-01"},
    ),
    "about a year": (
        ["My brother Ben has lived in Leeds since around 2015."],
        told(
            fact("The user's brother Ben has lived in Leeds since around 2015.", "since around 2015"),
            relations=[LEEDS | {"since": "around 2015"}],
        ),
        {"Ben lives_in Leeds, since 2015-01-01"},
    ),
    "for so long": (
        ["My brother Ben has lived in Leeds for ten years."],
        told(
            fact("The user's brother Ben has lived in Leeds for ten years.", "Ben has lived in Leeds for ten years."),
            relations=[LEEDS | {"since": "for ten years"}],
        ),
        {"Ben lives_in Leeds, since 2016-01-01"},
    ),
    "what somebody does not like": (
        ["My brother Ben doesn’t like sailing at all."],
        told(
            fact("The user's brother Ben does not like sailing.", "Ben doesn't like sailing at all"),
            relations=[relation("Ben", "doesn't like", "sailing", "My brother Ben doesn't like sailing")],
        ),
        {"Ben dislikes sailing"},
    ),
    "an end": (
        ["My brother Ben lived in Leeds until June 2022."],
        told(
            fact("The user's brother Ben lived in Leeds until June 2022.", "Ben lived in Leeds until June 2022"),
            relations=[relation("Ben", "lives in", "Leeds", "Ben lived in Leeds", until="June 2022")],
        ),
        {"Ben lives_in Leeds, until 2022-06-01"},
    ),
    "what was once so": (
        ["I used to work at Volvo as a welder, long ago."],
        told(
            fact("The user used to work at Volvo as a welder.", "I used to work at Volvo as a welder"),
            relations=[relation("user", "used to work at", "Volvo", "I used to work at Volvo")],
        ),
        {"user works_at Volvo, until 2026-03-02"},
    ),
    "a plan": (
        ["We want to move to Gothenburg in August if Lena gets the job."],
        told(
            fact("The user wants to move to Gothenburg in August 2026 if Lena gets the job.", "if Lena gets the job"),
            relations=[relation("user", "plans to move to", "Gothenburg", "We want to move to Gothenburg in August")],
        ),
        {"user plans_to_move_to Gothenburg"},
    ),
    "negations": (
        ["I don’t eat coriander, and I never drink coffee after noon."],
        told(
            fact("The user does not eat coriander.", "I don't eat coriander", kind="preference"),
            fact("The user never drinks coffee after noon.", "I never drink coffee after noon", kind="Preference"),
            relations=[relation("user", "dislikes", "coriander", "I don't eat coriander")],
        ),
        {"user dislikes coriander"},
    ),
    "two people of one name": (
        ["My sister Anna lives in Porto.", "The Anna from my office lives in Bonn."],
        told(
            fact("The user's sister Anna lives in Porto.", "My sister Anna lives in Porto"),
            fact("Anna from the user's office lives in Bonn.", "The Anna from my office lives in Bonn", 2),
            relations=[
                relation("Anna", "lives in", "Porto", "My sister Anna lives in Porto"),
                relation("Anna from my office", "lives in", "Bonn", "The Anna from my office lives in Bonn", 2),
            ],
        ),
        {"Anna lives_in Porto", "Anna from my office lives_in Bonn"},
    ),
    "somebody without a name": (
        ["My sister lives in Faro, near the lagoon."],
        told(
            fact("The user's sister lives in Faro.", "My sister lives in Faro"),
            relations=[relation("user's sister", "lives in", "Faro", "My sister lives in Faro")],
        ),
        {"user's sister lives_in Faro"},
    ),
    "kinship from either side": (
        ["My aunt Rosa lives in Malmö near the sea.", "Her son Nils is my cousin."],
        told(
            fact("The user's aunt Rosa lives in Malmö.", "My aunt Rosa lives in Malmö"),
            relations=[
                relation("Rosa", "is aunt of", "user", "My aunt Rosa"),
                relation("Nils", "cousin of", "the user", "Nils is my cousin", 2),
            ],
        ),
        {"user has_aunt Rosa", "user has_cousin Nils"},
    ),
    "two speakers": (
        [by("Maya", "I have played the cello since school."), by("Tom", "And I am learning to sail.")],
        told(
            fact("Maya has played the cello since school.", "I have played the cello since school"),
            fact("Tom is learning to sail.", "I am learning to sail", 2),
            relations=[relation("Maya", "plays", "cello", "I have played the cello")],
        ),
        {"Maya plays cello"},
    ),
    "a preference about the assistant": (
        ["From now on always answer me in French, my exam is in June."],
        told(
            fact("The user wants the assistant to always answer in French.", "From now on always answer me in French")
        ),
        set(),
    ),
    "numbers that are no secrets": (
        ["The plumber is on 0151 2233445, and our booking at the inn is QX7P2M."],
        told(
            fact("The plumber's phone number is 0151 2233445.", "The plumber is on 0151 2233445"),
            fact("The user's booking at the inn is QX7P2M.", "our booking at the inn is QX7P2M"),
        ),
        set(),
    ),
    "null fields": (
        [MISO],
        {
            "topics": None,
            "subject": None,
            "facts": [AFRAID | {"kind": None, "corrects": None}],
            "entities": None,
            "relations": [relation("user", "has pet", "Miso", "My cat Miso", since=None, until=None)],
        },
        {"user has_pet Miso"},
    ),
    "further fields": ([MISO], told(AFRAID | {"confidence": 0.9, "why": "said so"}, notes="none"), set()),
    "one thing without a list": ([MISO], {"facts": AFRAID, "topics": "cat"}, set()),
    "numbers of lines in words": (
        [MISO, "My dog Rex is fond of carrots."],
        told(
            AFRAID | {"turn": "[1]"}, fact("The user's dog Rex is fond of carrots.", "Rex is fond of carrots", turn=[2])
        ),
        set(),
    ),
    "nothing": (["Thanks a lot, that summary of the film was a great help!"], told(), set()),
    "nothing, as null": (["Thanks a lot, that summary of the play was a great help!"], {"facts": None}, set()),
}


def in_words(reply) -> str:
    """A reply as models write it: a sentence before, a code fence, a comma too many."""
    return f"Here is what I found:\n```json\n{json.dumps(reply, indent=1, ensure_ascii=False)[:-2]},\n}}\n```\nDone."


def as_tool(reply) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "MinedWindow", "args": json.loads(json.dumps(reply)), "id": "1"}])


WAYS = {"in words": (InWords, in_words), "by schema": (ScriptedChatModel, as_tool)}


@pytest.fixture(scope="module", params=WAYS)
def mining(request, tmp_path_factory):
    """A memory whose model gives the replies that are put before it, in words or by the schema; and these replies."""
    kind, written = WAYS[request.param]
    replies = []
    with opened(tmp_path_factory.mktemp("mined"), kind(responses=[lambda _: written(replies[-1])])) as memory:
        yield memory, replies


def opened(folder, model, **more) -> Memory:
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    settings = more.pop("settings", Settings(model=ModelSettings(timeout_seconds=60)))
    return Memory.open(folder, model=model, embedder=None, background=False, clock=clock, settings=settings, **more)


def related(space) -> set[str]:
    """The relations that are known, each with the days that were stated for it."""
    named = [each.id for each in space.graph.entities()]
    found = (relation for each in named for relation in space.graph.timeline(each).relations)
    return {f"{each}{dated(each.period)}" for each in found}


def dated(period) -> str:
    begun = period.start_stated and period.start is not None
    return (f", since {period.start:%Y-%m-%d}" if begun else "") + (
        f", until {period.end:%Y-%m-%d}" if period.end else ""
    )


def contents(space) -> set[str]:
    return {found.entry.content for found in space.knowledge.search(limit=100)}


@pytest.mark.parametrize("name", MINED)
def test_what_a_good_model_mines_is_kept_as_it_says(mining, name):
    (memory, replies), (said, reply, relations) = mining, MINED[name]
    replies.append(reply)
    space = memory.user(f"u{[*MINED].index(name)}")
    space.track([Turn(role="user", content=each) if isinstance(each, str) else each for each in said], session="s")
    (report,) = space.mine()
    assert space.flush()
    facts = [reply["facts"]] if isinstance(reply["facts"], dict) else reply["facts"] or ()
    assert (report.path, report.calls, report.refused) == ("model", 1, ())
    assert (contents(space), related(space)) == ({each["content"] for each in facts}, relations)


def test_what_rests_on_two_messages_cites_both_in_their_own_words(mining):
    (memory, replies), (said, reply, _) = mining, MINED["a quote of two messages"]
    replies.append(reply)
    space = memory.user("citing")
    space.track([Turn(role="user", content=each) if isinstance(each, str) else each for each in said], session="s")
    (report,) = space.mine()
    cited = {each.drawer: each.quote for each in space.knowledge.get(report.kept[0]).evidence}
    assert cited == {1: "My sister is called Anna", 3: "She lives in Porto now"}


@pytest.mark.parametrize(
    "said",
    ["Oops, I mixed that up: Anna works at Siemens.", "Anna has a new job at Siemens.", "Anna left Bosch for Siemens."],
)
def test_what_a_good_model_takes_for_a_correction_puts_the_wrong_value_aside(mining, said):
    memory, replies = mining
    right = fact("The user's sister Anna works at Siemens.", said, kind="correction", corrects="Bosch")
    replies += [told(fact("The user's sister Anna works at Bosch.", "Anna works at Bosch"))]
    space = memory.user(f"corrects {len(said)}")
    space.track([Turn(role="user", content="My sister Anna works at Bosch.", message_id="1")], session="s")
    space.mine()
    replies += [told(right)]
    space.track([Turn(role="user", content=said, message_id="2")], session="s")
    space.mine()
    assert contents(space) == {right["content"]}


@pytest.mark.parametrize("quote", ["She hates Porto. My sister is called Anna", "My sister … lives in Rome"])
def test_a_quote_of_which_a_part_was_never_said_is_none(mining, quote):
    memory, replies = mining
    replies.append(told(fact("The user's sister Anna hates Porto.", quote)))
    space = memory.user(f"never {len(quote)}")
    space.track([Turn(role="user", content="My sister is called Anna and likes the sea.")], session="s")
    (report,) = space.mine()
    assert [each.reason for each in report.refused] == ["its quote does not occur in line 1"]


# What was saved, and what it is put in order to.

ALLERGIC = "I'm allergic to walnuts & penicillin"
SAVED = {
    "a sign for and": (ALLERGIC, [{"content": "The user is allergic to walnuts and penicillin."}]),
    "two facts": (
        "sister Anna lives in Porto, works at Bosch",
        [
            {"content": "The user's sister Anna lives in Porto.", "category": None, "tags": "sister, porto"},
            {"content": "The user's sister Anna works at Bosch.", "category": "people/family", "tags": None},
        ],
    ),
    "another script": ("кот Мурзик боится грозы", [{"content": "Кот Мурзик боится грозы."}]),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_a_good_model_puts_in_order_is_kept_as_it_says(tmp_path, name):
    saved, memories = SAVED[name]
    with opened(tmp_path, InWords(responses=[in_words({"memories": memories})])) as memory:
        space = memory.user("alice")
        space.knowledge.save(saved, origin="user")
        assert space.flush()
        assert contents(space) == {each["content"] for each in memories}


# Summaries, names, duplicates, and the order of what was found.

TALK = [
    "The nightly backup of the robot fails since Monday, can you help me to find out why?",
    "The log says that the disk is full: the old recordings of January take 40 GB.",
    "I deleted the recordings of January, and the backup works again.",
]


@pytest.mark.parametrize(
    "summary",
    [
        "The user’s nightly backup failed; the disk was full of “recordings of January” (40 GB).",
        "The nightly backup of the robot failed.\nThe user deleted the recordings of January, and it works again.",
    ],
)
def test_a_summary_is_kept_as_it_says(tmp_path, summary):
    with opened(tmp_path, InWords(responses=[in_words({"summary": summary, "topics": ["backup", 2026]})])) as memory:
        space = memory.user("alice")
        space.track([Turn(role="user", content=each) for each in TALK], session="s")
        space.end_session("s")
        assert space.flush()
        (episode,) = space.archive.recent()
        assert (episode.summary, episode.path, episode.topics) == (summary, "model", ("backup", "2026"))


@pytest.mark.parametrize(
    "pairs",
    [
        [{"number": "Pair 1", "same": "Yes", "why": "Bob is short for Robert"}],
        {"number": 1, "same": "yes"},
        [{"number": "1", "same": "YES."}, None],
    ],
)
def test_names_that_are_surely_one_are_merged(tmp_path, pairs):
    told = "The user's friend Robert Miller works at Bosch. Bob Miller lives in Porto."
    with opened(tmp_path, InWords(responses=[in_words({"pairs": pairs})])) as memory:
        space = memory.user("alice")
        archived(space, "people", told)
        assert space.flush()
        assert [(each.source.name, each.target.name) for each in space.graph.merges()] == [
            ("Bob Miller", "Robert Miller")
        ]


@pytest.mark.parametrize(
    "reply",
    [
        {"merges": [{"sources": ["[1]", "2"], "content": ONE_JOB}], "toDelete": None, "refine": None},
        {
            "merges": {
                "sources": [1, 2],
                "content": ONE_JOB.replace(" at Bosch as an engineer", " as an engineer at Bosch"),
            }
        },
    ],
)
def test_entries_that_tell_the_same_become_the_one_that_was_written(tmp_path, reply):
    merged = (reply["merges"] if isinstance(reply["merges"], dict) else reply["merges"][0])["content"]
    with opened(tmp_path, InWords(responses=[in_words(reply)]), settings=by_hand()) as memory:
        space = memory.user("alice")
        fill(space, AT_WORK)
        space.dream()
        assert contents(space) == {merged}


@pytest.mark.parametrize("reply", ["[2]", "```json\n[2]\n```", "Passages: 2", '{"passages": ["2"]}', "Reply: [#2, 2]"])
def test_the_passage_that_is_named_comes_first(tmp_path, reply):
    settings = Settings(recall=RecallSettings(rerank=RerankSettings(timeout_seconds=30)))
    model = ScriptedChatModel(responses=[reply])
    with opened(tmp_path, None, reranker=model, settings=settings) as memory:
        space = memory.user("alice")
        said = [Turn(role="user", content=f"The robot has a {each} wheel.") for each in ("red", "blue", "green")]
        space.track(said, session="s")
        recalled = space.recall("Which wheel has the robot?", session="t")
        assert f'<passage number="2" date="2026-03-02" by="user">{recalled.items[0].drawer.content}<' in str(
            model.requests[0][-1].text
        )


@pytest.mark.parametrize("name", ["a change of job", "cooking", "two colleagues and a fair"])
def test_nine_in_ten_of_what_a_careful_reader_would_keep_are_kept(name):
    (row, _) = table(each for each in conversations() if each.name == name)
    assert (row["kept, %"] >= 90, row["refused"]) == (True, 0)
