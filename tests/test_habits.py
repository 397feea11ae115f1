"""What people give up, take, own and whom they report to is kept without a model; what only looks like it is not."""

import pytest

from tests.test_extractive import contents


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I've stopped eating meat.", "The user has stopped eating meat."),
        ("I stopped drinking alcohol.", "The user stopped drinking alcohol."),
        ("I stopped eating red meat because of the climate.", "The user stopped eating red meat."),
        ("We've given up dairy.", "The user and others have given up dairy."),
        ("I gave up caffeine for my heart.", "The user gave up caffeine for the user's heart."),
        ("I stopped smoking.", "The user stopped smoking."),
        ("I no longer eat fish.", "The user no longer eats fish."),
        ("I don't smoke anymore.", "The user no longer smokes."),
        ("I don't drink coffee anymore.", "The user no longer drinks coffee."),
        ("I report to Maria.", "The user reports to Maria."),
        ("I report directly to our CTO.", "The user reports directly to the user's CTO."),
        ("I take ibuprofen.", "The user takes ibuprofen."),
        ("I take metformin for my diabetes.", "The user takes metformin for the user's diabetes."),
        ("I take 20 mg of lisinopril a day.", "The user takes 20 mg of lisinopril a day."),
        ("I'm on antidepressants.", "The user is on antidepressants."),
        ("I own a bakery.", "The user owns a bakery."),
        ("I own two small cafés in Porto.", "The user owns two small cafés in Porto."),
    ],
)
def test_habits_given_up_medication_businesses_and_reporting_lines_are_kept(text, content):
    assert contents(text) == [content]


@pytest.mark.parametrize(
    "text",
    [
        "I stopped eating because I was full.",
        "I stopped eating at nine.",
        "I've stopped eating for today.",
        "I have stopped drinking for the night.",
        "I stopped drinking the tea because it was cold.",
        "I stopped drinking water an hour before bed.",
        "I stopped eating lunch when she called.",
        "I stopped drinking my coffee.",
        "I stopped smoking the brisket at nine.",
        "I stopped by the store.",
        "I gave up.",
        "I gave up on it.",
        "I gave up my seat on the bus.",
        "I cut out coupons.",
        "I want to stop eating meat.",
        "Should I stop eating meat?",
        "I take the bus today.",
        "I take it back.",
        "I take aspirin now and it should help.",
        "I take paracetamol tonight.",
        "If I take ibuprofen I feel sick.",
        "Should I take ibuprofen?",
        "I'll take an ibuprofen.",
        "I'm on the bus.",
        "I report to the front desk tomorrow.",
        "I report to Maria tomorrow.",
        "I report to Berlin on Monday.",
        "I report to you that it works.",
        "I report bugs to Maria.",
        "I own up to it.",
        "I own my mistakes.",
        "I own this problem.",
        "I own a lot of mistakes.",
        "I own the bakery vibe.",
    ],
)
def test_what_was_so_once_or_only_sounds_like_it_is_not_kept(text):
    assert contents(text) == []
