"""The retriever: what fits a query best, verbatim, with where it is from, and no trace left."""

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langmem_tiers import Turn
from langmem_tiers.errors import InvalidInput, MissingUser
from langmem_tiers.integrations import TieredRetriever
from tests.graphing import FACT, QUESTION, remember, run

CATS = [FACT, "My grey cat Miso eats at seven.", "My grey cat Miso hates the vet.", "My grey cat Miso is four."]
TEA = "The user drinks green tea."


@pytest.fixture
def retriever(memory):
    """Makes a retriever on alice's memory."""

    def make(**options):
        return TieredRetriever(**{"memory": memory, "user_id": "alice"} | options)

    return make


@pytest.fixture
def stocked(alice):
    """Alice's memory with something in every tier."""
    remember(alice, *CATS)
    source = alice.drawers()[0]
    alice.knowledge.save("The grey cat Miso sleeps on the radiator.", category="pets/miso", evidence=[source.number])
    alice.knowledge.save(TEA)
    alice.end_session("monday")
    alice.flush()
    return alice


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests of a retriever."""

    @pytest.fixture(autouse=True)
    def _of_alice(self, memory, alice):
        remember(alice, *CATS)
        self._memory = memory

    @property
    def retriever_constructor(self):
        return TieredRetriever

    @property
    def retriever_constructor_params(self):
        return {"memory": self._memory, "user_id": "alice"}

    @property
    def retriever_query_example(self):
        return QUESTION


def test_a_document_says_where_it_is_from(alice, retriever):
    remember(alice, FACT)
    (document,) = retriever().invoke(QUESTION)
    score = document.metadata.pop("score")
    assert (document.id, document.page_content) == ("§W-001/R-01/D-001", FACT)
    assert alice.drawer(document.id).content == FACT
    assert 0 < score <= 1
    assert document.metadata == {
        "tier": "drawers",
        "space": "users/alice",
        "date": "2026-03-02T09:00:00+00:00",
        "pointer": "§W-001/R-01/D-001",
        "session": "monday",
        "role": "user",
        "ended": [],
    }


def test_the_best_come_first_and_one_word_is_a_query(alice, retriever):
    remember(alice, *CATS)
    found = retriever().invoke("radiator")
    assert found[0].page_content == FACT
    scores = [each.metadata["score"] for each in found]
    assert scores == sorted(scores, reverse=True)


def test_a_threshold_leaves_out_what_does_not_fit(alice, retriever):
    remember(alice, *CATS)
    scores = [each.metadata["score"] for each in retriever(k=10).invoke("Does Miso hate the vet?")]
    assert (len(scores), scores[0] > scores[1]) == (4, True)
    (best,) = retriever(k=10, threshold=scores[0]).invoke("Does Miso hate the vet?")
    assert best.page_content == CATS[2]


def test_entries_are_documents_with_the_message_they_rest_on(stocked, retriever):
    document, *_ = retriever(tier="entries").invoke("Where does Miso sleep?")
    assert document.page_content == "The grey cat Miso sleeps on the radiator."
    assert document.id == stocked.knowledge.search("Miso")[0].entry.id
    told = {key: document.metadata[key] for key in ("tier", "category", "pointer", "session", "role")}
    assert told == {
        "tier": "entries", "category": "pets/miso", "pointer": "§W-001/R-01/D-001", "session": "monday", "role": None
    }  # fmt: skip


def test_an_entry_without_a_message_has_no_pointer(stocked, retriever):
    document = next(each for each in retriever(tier="entries").invoke("green tea") if each.page_content == TEA)
    assert (document.metadata["pointer"], document.metadata["session"]) == (None, None)


def test_episodes_are_documents_with_their_session(stocked, retriever):
    (document,) = retriever(tier="episodes").invoke("grey cat Miso")
    assert (document.metadata["tier"], document.metadata["session"]) == ("episodes", "monday")
    assert document.id == stocked.archive.recent()[0].id
    assert document.metadata["pointer"] == "§W-001/R-01/D-001"


def test_all_tiers_are_ranked_together(stocked, retriever):
    found = retriever(tier="all", k=20).invoke("Where does my grey cat Miso sleep?")
    assert {each.metadata["tier"] for each in found} == {"drawers", "entries", "episodes"}
    scores = [each.metadata["score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    assert len(retriever(tier="all", k=2).invoke(QUESTION)) == 2


def test_tier_and_number_can_be_chosen_for_one_call(stocked, retriever):
    found = retriever().invoke("grey cat Miso", k=1, tier="entries")
    assert [each.metadata["tier"] for each in found] == ["entries"]


@pytest.mark.parametrize("options", [{"k": 0}, {"tier": "layers"}, {"threshold": 2}])
def test_what_can_not_be_asked_for_is_refused(options, retriever):
    with pytest.raises(ValidationError):
        retriever(**options)


@pytest.mark.parametrize("options", [{"k": 0}, {"k": "two"}, {"tier": "layers"}])
def test_what_can_not_be_asked_for_once_is_refused(options, retriever):
    with pytest.raises(InvalidInput, match=next(iter(options))):
        retriever().invoke(QUESTION, **options)


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_finds_nothing(query, stocked, retriever):
    assert retriever(tier="all").invoke(query) == []


def test_no_trace_is_left_unless_it_is_wanted(stocked, retriever):
    def traces():
        return len(stocked.receipts()), stocked.drawers()[0].recall_count, stocked.archive.recent()[0].recall_count

    retriever(tier="all").invoke(QUESTION)
    assert traces() == (0, 0, 0)
    retriever(keep_receipt=True).invoke(QUESTION)
    assert traces() == (1, 1, 0)


async def test_both_colours_and_batches_give_the_same(stocked, retriever):
    made = retriever(tier="all")
    found = made.invoke(QUESTION)
    assert found
    assert await made.ainvoke(QUESTION) == found
    assert made.batch([QUESTION]) == await made.abatch([QUESTION]) == [found]


async def test_the_run_says_whose_memory_it_is(memory, retriever):
    remember(memory.user("alice"), FACT)
    remember(memory.user("bob"), "My grey cat Fritz sleeps in the garden shed.")
    made = retriever(user_id=None)
    chain = RunnableLambda(lambda text: text) | made | (lambda found: [each.page_content for each in found])
    users = [run("alice"), run("bob")]
    for answers in (chain.batch([QUESTION] * 2, users), await chain.abatch([QUESTION] * 2, users)):
        assert [("Miso" in str(found), "Fritz" in str(found)) for found in answers] == [(True, False), (False, True)]


def test_the_maker_of_a_retriever_goes_before_the_run(memory, retriever):
    remember(memory.user("alice"), FACT)
    assert len(retriever().invoke(QUESTION, run("bob"))) == 1
    assert retriever(space="teams/research").invoke(QUESTION, run("alice")) == []


def test_a_retriever_of_nobody_is_an_error(retriever):
    with pytest.raises(MissingUser):
        retriever(user_id=None).invoke(QUESTION)


def test_assistants_and_named_speakers_are_found_too(alice, retriever):
    alice.track([Turn(role="assistant", content="The dentist is on Thursday.", speaker="Robo")], session="monday")
    alice.flush()
    (document,) = retriever().invoke("When is the dentist?")
    assert document.metadata["role"] == "assistant"
