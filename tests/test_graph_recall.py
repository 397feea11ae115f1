"""Recall uses the knowledge graph: relations as lines, the messages they rest on, and what holds no longer."""

from datetime import UTC, datetime

import pytest

from langmem_tiers import Turn


@pytest.fixture
def told(alice):
    """A user who lived in Lisbon and lives in Porto, and whose sister Anna changed jobs; with what was said."""
    said = {
        "lisbon": ("I live in Lisbon, right by the river.", datetime(2023, 2, 1, tzinfo=UTC)),
        "porto": ("We finally moved, Porto is home now.", datetime(2024, 5, 10, tzinfo=UTC)),
        "anna": ("My sister Anna started at Bosch.", datetime(2025, 3, 1, tzinfo=UTC)),
    }
    drawers = {}
    for name, (content, at) in said.items():
        turn = Turn(role="user", content=content, message_id=name, said_at=at)
        drawers[name] = alice.track([turn], session=name).stored[0]
    graph = alice.graph
    graph.add_relation(
        "user", "lives in", "Lisbon", subject_type="person", valid_from="2021", evidence=[drawers["lisbon"]]
    )
    graph.add_relation("user", "lives in", "Porto", valid_from="2024-05", evidence=[drawers["porto"]])
    graph.add_relation("user", "has sister", "Anna", object_type="person", evidence=[drawers["anna"]])
    graph.add_relation("Anna", "works at", "Bosch", valid_from="2025-03", evidence=[drawers["anna"]])
    alice.flush()
    return drawers


def texts(recalled):
    return [item.text for item in recalled.known if item.kind == "relation"]


def verdicts(recalled):
    return {found.ref: found.verdict for found in recalled.receipt.known}


def test_a_question_about_now_gets_what_holds_now(alice, told):
    recalled = alice.recall("In which city do I live these days?", session="t")
    assert "Lisbon" not in "".join(texts(recalled))
    drawers = {item.drawer.number for item in recalled.items}
    assert texts(recalled) == ["The user lives in Porto"] or told["porto"] in drawers


def test_a_question_about_a_year_gets_what_held_in_it(alice, told):
    recalled = alice.recall("Where did I live in 2023?", session="t")
    found = [item.text for item in recalled.known] + [item.drawer.content for item in recalled.items]
    assert any("Lisbon" in text for text in found)
    assert not any("Porto" in text for text in texts(recalled))


def test_what_holds_no_longer_is_said_beside_the_message(alice, told):
    recalled = alice.recall("Is my flat in Lisbon by the river?", session="t")
    assert "user (no longer: lives in Lisbon: until 2024-05): I live in Lisbon, right by the river." in recalled.block


def test_kin_is_followed_to_the_name(alice, told):
    recalled = alice.recall("Where does my sister work?", session="t")
    shown = {item.drawer.number for item in recalled.items}
    assert told["anna"] in shown or "Anna works at Bosch" in texts(recalled)


def test_a_relation_whose_message_stands_in_the_block_is_not_said_twice(alice, told):
    recalled = alice.recall("Does Anna work at Bosch?", session="t")
    assert told["anna"] in {item.drawer.number for item in recalled.items}
    assert "quoted_instead" in verdicts(recalled).values()


def test_a_relation_that_rests_on_no_message_is_a_line_of_its_own(alice):
    landed = alice.graph.add_relation(
        "Rover", "has battery", value=20, unit="Ah", subject_type="item", valid_from="2025-01"
    )
    recalled = alice.recall("Which battery does the Rover have?", session="t")
    assert f"- [relation {landed.relation.id}] since 2025-01: Rover has battery 20 Ah" in recalled.block
    assert [(item.kind, item.ref) for item in recalled.known] == [("relation", landed.relation.id)]


def test_the_same_call_gives_the_same_block_and_its_relations(alice):
    alice.graph.add_relation("Rover", "has battery", value=20, unit="Ah", subject_type="item")
    first = alice.recall("Which battery does the Rover have?", session="t", message_id="m")
    again = alice.recall("Which battery does the Rover have?", session="t", message_id="m")
    assert again.receipt.verdict == "repeated"
    assert (again.block, [item.text for item in again.known]) == (first.block, [item.text for item in first.known])


def test_messages_that_the_graph_names_are_candidates_with_their_share(alice, told):
    recalled = alice.recall("Where does my sister work?", session="t")
    scores = {found.drawer: found.scores for found in recalled.receipt.candidates}
    assert scores[told["anna"]]["graph"] > 0.5
    assert next(found.signals["graph"] for found in recalled.receipt.candidates if found.drawer == told["anna"]) > 0.5


def test_an_entry_says_until_when_it_held(alice, told):
    alice.knowledge.save("The user lives in Lisbon.", evidence=[told["lisbon"]])
    alice.flush()
    block = alice.recall("Which city is it, where do I live, Lisbon?", session="t").block
    assert "(no longer: lives in Lisbon: until 2024-05): The user lives in Lisbon." in block


def test_small_talk_and_other_names_bring_no_relations(alice, told):
    for message in ("Thanks a lot, that was helpful!", "What is the capital of Mongolia called?"):
        assert texts(alice.recall(message, session="t")) == []


def test_names_in_the_graph_are_escaped(alice):
    alice.graph.add_relation("Rover", "has part", value="<memory> & left wheel", subject_type="item")
    block = alice.recall("Which part does the Rover have?", session="t").block
    assert "&lt;memory> & left wheel" in block


@pytest.fixture
def moves(alice):
    """A user who moved, changed jobs and has a new boss, and said so, and much else of those years."""
    said = {
        "Lisbon": ("I live in Lisbon, right by the river.", 2023),
        "Acme": ("I work at Acme as a designer.", 2021),
        "Ruth": ("My boss is Ruth.", 2025),
        "Tom": ("My boss is Tom now.", 2026),
        "Madeira": ("In 2023 we went to Madeira and loved where we lived there.", 2024),
        "style": ("Where could I go in 2023 style clothes?", 2025),
    }
    drawers = {}
    for name, (content, year) in said.items():
        turn = Turn(role="user", content=content, message_id=name, said_at=datetime(year, 2, 1, tzinfo=UTC))
        drawers[name] = alice.track([turn], session=name).stored[0]
    add, user = alice.graph.add_relation, {"subject_type": "person"}
    add("user", "lives in", "Lisbon", valid_from="2021", evidence=[drawers["Lisbon"]], **user)
    add("user", "lives in", "Porto", valid_from="2024-05")
    add("user", "works at", "Acme", valid_from="2020", evidence=[drawers["Acme"]])
    add("user", "works as", "designer", valid_from="2020", evidence=[drawers["Acme"]])
    add("user", "works at", "Bosch", valid_from="2023-03")
    add("user", "has boss", "Ruth", valid_from="2025-01", valid_to="2026-01", evidence=[drawers["Ruth"]])
    add("user", "has boss", "Tom", valid_from="2026-01")
    add("user", "visited", "Madeira", valid_from="2023-07", valid_to="2023-08", evidence=[drawers["Madeira"]])
    alice.flush()


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("Where did I live in 2023?", "The user lives in Lisbon"),
        ("where did I work in 2022", "The user works at Acme"),
        ("Who was my boss last year?", "The user reports to Ruth"),
        ("Who is my boss?", "The user reports to Tom"),
    ],
)
def test_what_held_then_is_the_first_thing_known(alice, moves, question, held):
    recalled = alice.recall(question, session="t", now=datetime(2026, 3, 2, tzinfo=UTC))
    assert texts(recalled) == [held]
    lines = [line for line in recalled.block.splitlines() if line.startswith("- ")]
    assert lines[0].startswith("- [relation ")
    assert lines[0].endswith(held)


def test_all_that_held_in_a_year_is_told(alice, moves):
    recalled = alice.recall("Where did I live in 2024?", session="t", now=datetime(2026, 3, 2, tzinfo=UTC))
    assert sorted(texts(recalled)) == ["The user lives in Lisbon", "The user lives in Porto"]


@pytest.mark.parametrize("question", ["Where do I live now?", "Where do I live?"])
def test_where_the_user_lives_now_is_told_beside_the_message_that_says_so(alice, told, question):
    recalled = alice.recall(question, session="t")
    assert texts(recalled) == ["The user lives in Porto"]
    assert told["porto"] in {item.drawer.number for item in recalled.items}
