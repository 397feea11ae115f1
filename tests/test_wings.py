"""Wings: which subject a conversation belongs to, and which names earn a wing."""

import pytest

from langmem_tiers.palace.wings import RecurringName, decide_wing, recurring_names
from langmem_tiers.storage.rooms import Wing

GENERAL = Wing(number=1, name="general", kind="general")
EFOIL = Wing(number=2, name="Efoil rebuild", kind="project", aliases=("efoil",))
DEREK = Wing(number=3, name="Derek", kind="subject", aliases=("D. Smith",))
BEIJING = Wing(number=4, name="北京", kind="subject")
KNOWN = (GENERAL, EFOIL, DEREK, BEIJING)


def known(*texts: str, project: str | None = None, agent: str | None = None) -> int:
    return decide_wing(texts, project=project, agent=agent, known=KNOWN).number


def test_a_project_goes_before_the_agent_and_the_agent_before_what_is_mentioned() -> None:
    assert known("Derek called", project="the eFoil rebuilds", agent="ops") == 2
    assert decide_wing(["Derek called"], project=None, agent="Ops", known=KNOWN) == Wing(
        number=0, name="Ops", slug="ops", kind="agent"
    )


@pytest.mark.parametrize("agent", [None, "", "default", "Default"])
def test_the_default_agent_has_no_wing_of_its_own(agent: str | None) -> None:
    assert known("Derek's battery", agent=agent) == 3


def test_the_longest_name_mentioned_wins() -> None:
    assert known("Derek helps with the efoil") == 3
    assert known("Derek helps with the Efoil Rebuild") == 2
    assert known("I saw D. Smith") == 3


def test_names_are_found_as_whole_words_but_inside_unspaced_scripts() -> None:
    assert known("Derekson came") == 1
    assert known("我昨天去了北京动物园") == 4


def test_without_any_subject_the_general_wing_is_taken_or_made() -> None:
    assert known("in general I like tea") == 1
    assert decide_wing([], project=" ", agent=None, known=()) == Wing(
        number=0, name="general", slug="general", kind="general"
    )


def test_names_recur_in_two_sessions_and_three_turns() -> None:
    sessions = [
        ["I met Derek at noon.", "Derek's boat is fast", "We saw Oslo and Oslo again", "Today Tom came, so did Tom"],
        ["Now Derek sells it", "In March I rest. Python is fine, and Python works"],
    ]
    assert recurring_names(sessions) == [RecurringName(name="Derek", slug="derek", sessions=2, turns=3)]
    assert recurring_names(sessions, known=KNOWN) == []


def test_words_that_only_begin_sentences_are_no_names() -> None:
    assert recurring_names([["Paint it.", "Paint dries."], ["Paint lasts. Paint!"]]) == []
    assert recurring_names([]) == []
