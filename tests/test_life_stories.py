"""The judge of the life stories: which blocks show what is so, and which say something outdated as if it were."""

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from life_stories import Answer, Question, judge, stories, table

ASKED = Question(
    id="q",
    asked_at=datetime(2025, 1, 1, tzinfo=UTC),
    ask="where does Ilse live?",
    kind="home",
    current=[["Bruges"]],
    outdated=["Ghent"],
)
SHE_MOVED = "- [§W-001/R-02/D-001] 2024-09-01 user: Ilse moved to Bruges!"
SHE_LIVED = "- [§W-001/R-01/D-001] 2024-03-01 user: my aunt Ilse lives in Ghent"


def judged(*lines, question=ASKED):
    return judge("\n".join(["<memory_context>", "What is known:", *lines, "</memory_context>"]), question)


def test_a_block_with_the_current_value_shows_it():
    assert judged(SHE_MOVED).shown
    assert not judged(SHE_LIVED).shown
    assert not judge("", ASKED).shown


def test_each_group_has_to_be_shown_by_one_of_its_strings():
    question = Question(
        id="q", asked_at=ASKED.asked_at, ask="our cats?", kind="possession", current=[["Pip"], ["Tom", "Tommy"]]
    )
    assert not judged("- [entry 1] The user has a cat called Pip", question=question).shown
    assert judged("- [entry 1] The user has two cats, Pip and Tommy", question=question).shown


@pytest.mark.parametrize(
    "label", ["[entry 12]", "[relation 34] said 2024-03-01:", "[episode 5]", "[document MEMORY.md]", "[profile]", ""]
)
def test_what_the_memory_wrote_must_not_say_what_is_outdated_even_beside_the_newer_message(label):
    line = f"- {label} Aunt Ilse lives in Ghent"
    assert judged(line, SHE_MOVED).outdated == line


@pytest.mark.parametrize(
    "line",
    [
        "- [entry 12] Aunt Ilse lives in Ghent (no longer so since 2024-09-01)",
        "- [relation 34] said 2024-03-01, until 2024-09-01: Ilse lives in Ghent",
        "- [entry 12, no longer so] Aunt Ilse lives in Ghent",
        "- [entry 12] Aunt Ilse used to live in Ghent",
        "- [entry 12] Aunt Ilse moved from Ghent to Bruges",
        "- [entry 12] Aunt Ilse lives in Ghent (but 2024-09-01: she moved)",
        "- [§W-001/R-01/D-001] 2024-03-01 user (no longer: lives in Ghent): Ilse lives in Ghent. It rains.",
        "- [§W-001/R-01/D-001] 2024-09-01 user: Ilse has left Ghent at last. It rained.",
    ],
)
def test_a_line_that_says_that_it_ended_or_names_the_current_value_is_no_error(line):
    assert not judged(line).outdated


def test_the_end_of_something_else_in_another_sentence_is_no_excuse():
    assert judged("- [episode 5] The user left the choir. Aunt Ilse lives in Ghent.").outdated
    assert judged(f"{SHE_LIVED}. I left the choir.").outdated


def test_an_old_message_is_an_error_only_without_the_newer_one():
    assert judged(SHE_LIVED).outdated == SHE_LIVED
    assert not judged(SHE_LIVED, SHE_MOVED).outdated
    assert not judged(SHE_LIVED, "- [relation 34] Ilse lives in Ghent (no longer so since 2024-09-01)").outdated


def test_further_lines_of_a_message_belong_to_it():
    assert not judged("- [§W-001/R-01/D-001] 2024-03-01 user: news:", "Ilse lives in Ghent", SHE_MOVED).outdated


def test_strings_begin_where_a_word_begins_and_short_ones_end_with_it():
    question = Question(
        id="q", asked_at=ASKED.asked_at, ask="who?", kind="partner", current=[["Ola"]], outdated=["Dan", "engine"]
    )
    assert not judged("- [entry 1] The user likes dancing and Viola", question=question).shown
    assert not judged("- [entry 1] The user likes dancing", question=question).outdated
    assert judged("- [entry 1] The user repairs ENGINES", question=question).outdated


def test_the_table_counts_by_kind_and_in_all():
    answers = [Answer(question=ASKED, block="", judgement=judged(line)) for line in (SHE_MOVED, SHE_LIVED)]
    assert [(row["kind"], row["questions"], row["shown"], row["outdated as current"]) for row in table(answers)] == [
        ("home", 2, 1, 1),
        ("all", 2, 1, 1),
    ]


def test_each_story_has_sessions_in_order_and_five_questions_whose_answers_were_said():
    told = [*stories()]
    assert Counter(story.half for story in told) == {"development": 30, "held_out": 30}
    for story in told:
        said = [turn for _, turns in story.sessions for turn in turns]
        assert 5 <= len(story.sessions) <= 9, story.id
        assert len(story.questions) == 5, story.id
        assert [turn.said_at for turn in said] == sorted(turn.said_at for turn in said), story.id
        for question in story.questions:
            before = "\n".join(
                f"- [§1] {turn.content}" for turn in said if turn.role == "user" and turn.said_at <= question.asked_at
            )
            assert judge(before, question).shown, question.id
