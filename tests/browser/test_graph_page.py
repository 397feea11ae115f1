"""The graph in a browser: the picture, the time slider, what is around somebody, and the lists that say the same."""

import json
from time import monotonic

import pytest

from tests.browser.conftest import PHONE, served


@pytest.fixture(scope="module")
def alice(memory):
    alice = memory.user("alice")
    graph = alice.graph
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021", subject_type="person", object_type="place")
    graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05", object_type="place")
    graph.add_relation("Ben", "knows", "Anna", valid_from="2022", subject_type="person")
    graph.add_relation("Ben", "knows", '<img src=x onerror="alert(1)">', subject_type="person")
    return alice


@pytest.fixture(scope="module")
def many(memory, tmp_path_factory):
    """Five thousand people, each of whom knows one of a hundred."""
    many, file = memory.user("many"), tmp_path_factory.mktemp("graph") / "graph.json"
    many.graph.add_relation("Somebody", "knows", "Else", subject_type="person", object_type="person")
    record = json.loads(many.graph.export(file).read_text())
    person, relation = record["entities"][0], record["relations"][0]
    del record["checksum"]
    record["entities"] = [{**person, "id": f"{n:012x}", "name": f"Person {n}"} for n in range(1, 4_999)]
    record["relations"] = [
        {**relation, "id": f"{n + 0xABC000:012x}", "subject": f"{n:012x}", "object": f"{n % 100 + 1:012x}"}
        for n in range(101, 4_999)
    ]
    file.write_text(json.dumps(record))
    many.graph.import_(file)
    return many


@pytest.fixture
def panel(alice):
    with served(alice) as link:
        yield link


@pytest.fixture
def page(panel, visit):
    page = visit(panel())
    page.goto(page.url + "graph")
    page.locator("[data-graph]").wait_for()
    return page


@pytest.fixture
def panel_of_many(many):
    with served(many) as link:
        yield link


def test_the_picture_is_drawn_without_breaking_the_policy(page):
    page.locator(".graph-stage canvas").first.wait_for()
    assert page.locator("style").count() == 0
    assert page.wrong == []


def test_the_slider_shows_what_held_on_another_day(page):
    rows = page.locator("[data-graph-relations]")
    assert "Porto" in rows.inner_text()
    slider = page.locator("[data-slider]")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("None of them holds then.").or_(rows.get_by_text("knows").first).wait_for()
    assert "Porto" not in rows.inner_text()
    page.get_by_label("At all times").check()
    assert {"Lisbon", "Porto"} <= set(rows.inner_text().split())
    page.get_by_role("button", name="Now", exact=True).click()
    assert "Lisbon" not in rows.inner_text()
    assert page.locator("[data-graph-when]").inner_text() == "now"


def test_somebody_is_found_in_the_picture_by_the_keyboard_and_opened(page):
    page.keyboard.press("/")
    page.keyboard.type("anna")
    page.keyboard.press("Enter")
    card = page.locator("[data-graph-card]")
    card.get_by_role("heading", name="Anna").wait_for()
    assert "lives in Porto (since 2024-05)" in card.inner_text()
    card.get_by_role("link", name="Open").click()
    page.get_by_role("heading", name="Timeline").wait_for()
    page.locator(".small-graph canvas").first.wait_for()


def test_what_is_around_somebody_is_added_to_picture_and_list(panel, visit):
    page = visit(panel())
    page.goto(page.url + "graph?show=1")
    page.locator("[data-graph-entities] button").first.click()
    before = page.locator("[data-graph-entities] li").count()
    page.get_by_role("button", name="Show what is around").click()
    page.locator("[data-graph-entities] li").nth(before).wait_for()


def test_a_relation_is_corrected_on_a_phone(panel, visit):
    page = visit(panel(), width=PHONE)
    page.goto(page.url + "graph")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("link", name="Why, and change: Ben knows Anna").click()
    page.get_by_text("It holds no longer").click()
    page.get_by_label("Since when").fill("2025")
    page.get_by_role("button", name="It ended then").click()
    page.get_by_text("2022 – 2025").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_without_scripts_the_lists_and_the_form_do_the_same(panel, visit):
    page = visit(panel(), javascript=False)
    page.goto(page.url + "graph")
    assert page.locator("[data-graph]").is_hidden()
    page.get_by_role("textbox", name="As of").fill("2022")
    page.get_by_role("button", name="Show", exact=True).click()
    page.locator("[data-graph-relations]").get_by_text("Lisbon").wait_for()


def test_a_crowd_of_five_thousand_does_not_hold_up_the_page(panel_of_many, visit):
    page = visit(panel_of_many())
    began = monotonic()
    page.goto(page.url + "graph")
    page.get_by_text("The 60 best connected of 5,000 entities.").wait_for()
    page.locator(".graph-stage canvas").first.wait_for()
    assert monotonic() - began < 10
