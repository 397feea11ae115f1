"""The browser of a memory in the terminal, driven by keys alone."""

import asyncio
import re
from datetime import UTC, datetime

import pytest
from textual.widgets import Input, OptionList, Static, TextArea, Tree

from langmem_tiers import Turn
from langmem_tiers.cli.browser import Browser
from langmem_tiers.cli.browser_details import DetailScreen, EditScreen, ForgetScreen
from tests.test_terminal import HOSTILE, OBEYED

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def space(alice):
    """A memory of one conversation, with what was mined of it."""
    said = ["My sister Lena moved to Porto.", "I prefer green tea to coffee.", "x".join(HOSTILE.values())]
    alice.track([Turn(role="user", content=text, said_at=AT) for text in said], session="monday")
    alice.memory.flush()
    alice.mine()
    alice.memory.flush()
    return alice


def browsed(space, keys, look, *, size=(40, 20)):
    """Open the browser in a terminal of some size, press keys, and look at it."""

    async def run():
        app = Browser(space)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in keys:
                await (pilot.press(*key) if isinstance(key, tuple) else pilot.press(key))
                await pilot.pause(0.02)  # on a busy machine, a new screen may come a moment after its key
            return look(app)

    return asyncio.run(run())


def screen_text(app):
    """What stands on the screen."""
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def texts(app):
    return "\n".join(str(each.render()) for each in app.screen.query(Static))


def options(app, name):
    listed = app.screen.query_one(name, OptionList)
    return [str(listed.get_option_at_index(place).prompt) for place in range(listed.option_count)]


OPEN_FIRST = ["down", "enter", "down", "enter", "down", "enter", "down", "enter"]


def test_the_palace_opens_level_by_level_down_to_a_message(space):
    screen, shown = browsed(space, OPEN_FIRST, lambda app: (app.screen, texts(app)))
    assert isinstance(screen, DetailScreen)
    assert "§W-001/R-01/D-001" in shown
    assert "My sister Lena moved to Porto." in shown


def test_what_was_derived_from_a_message_stands_below_it_and_opens(space):
    beside = browsed(space, OPEN_FIRST, lambda app: options(app, "#beside"))
    assert any("The user's sister Lena moved to Porto." in each for each in beside)
    shown = browsed(space, [*OPEN_FIRST, "enter"], texts)
    assert "entry " in shown
    assert "version 1" in shown


def test_nothing_is_loaded_below_what_is_not_opened(space):
    tree = browsed(space, [], lambda app: app.query_one(Tree))
    assert tree.root.children
    assert [len(wing.children) for wing in tree.root.children] == [0] * len(tree.root.children)


def test_memories_are_filtered_by_words(space):
    keys = ["2", "slash", *"green", "enter"]
    assert len(browsed(space, keys, lambda app: options(app, "#entries"))) == 1


def test_a_search_lists_what_is_shown_and_why_other_things_are_not(space):
    found = browsed(space, ["3", *"sister", "space", *"Lena", "enter"], lambda app: options(app, "#found"))
    assert any("Lena moved to Porto" in each for each in found)
    assert space.stats().recalls == 0


def test_an_entry_is_edited_with_its_version_checked(space):
    def change(app):
        assert isinstance(app.screen, EditScreen)
        app.screen.query_one(TextArea).text = "The user prefers black tea."

    async def run():
        app = Browser(space)
        async with app.run_test(size=(40, 20)) as pilot:
            await pilot.press("2", "slash", *"green", "enter")
            await pilot.pause()
            await pilot.press("enter", "e")
            await pilot.pause()
            change(app)
            await pilot.press("ctrl+s")
            await pilot.pause()
            return texts(app)

    assert "The user prefers black tea." in asyncio.run(run())
    assert [each.entry.content for each in space.knowledge.search(substring="black tea")] == [
        "The user prefers black tea."
    ]


def test_what_a_terminal_would_obey_is_not_edited_here_and_stays_as_it_is(space):
    kept = space.knowledge.save("The user says shalom\u200f to Dana.").entry
    shown = browsed(space, ["2", "slash", *"shalom", "enter", "enter", "e"], lambda app: type(app.screen))
    assert (shown, space.knowledge.get(kept.id).content) == (DetailScreen, "The user says shalom\u200f to Dana.")


def test_an_edit_that_somebody_outran_stays_in_the_editor(space):
    async def run():
        app = Browser(space)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("2", "slash", *"green", "enter")
            await pilot.pause()
            await pilot.press("enter", "e")
            await pilot.pause()
            (found,) = space.knowledge.search(substring="green")
            space.knowledge.update(found.entry.id, content="The user prefers mint tea.", origin="user")
            app.screen.query_one(TextArea).text = "The user prefers black tea."
            await pilot.press("ctrl+s")
            await pilot.pause()
            return type(app.screen), app.screen.query_one(TextArea).text

    assert asyncio.run(run()) == (EditScreen, "The user prefers black tea.")
    assert space.knowledge.search(substring="black tea") == ()


def test_an_entry_is_pinned_and_put_aside_by_a_key(space):
    browsed(space, ["2", "slash", *"green", "enter", "enter", "p", "d"], texts)
    (found,) = space.knowledge.search(substring="green", status="all")
    assert (found.entry.pinned, found.entry.active) == (True, False)


def test_forgetting_shows_what_goes_and_needs_a_yes(space):
    before = space.stats().drawers
    shown = browsed(space, [*OPEN_FIRST, "f"], lambda app: (type(app.screen), texts(app)))
    assert shown[0] is ForgetScreen
    assert "The user's sister Lena moved to Porto." in shown[1]
    browsed(space, [*OPEN_FIRST, "f", "n"], texts)
    assert space.stats().drawers == before
    browsed(space, [*OPEN_FIRST, "f", "y"], texts)
    assert space.stats().drawers == before - 1
    assert space.drawer(1) is None
    # More than any engine counts up to.
    assert space.drawer(10**17) is None


@pytest.mark.parametrize(
    "keys", [[], OPEN_FIRST, ["2"], ["3", *"Lena", "enter"]], ids=["palace", "detail", "list", "find"]
)
@pytest.mark.parametrize("size", [(40, 20), (100, 40)])
def test_nothing_that_is_stored_orders_the_terminal_about(space, keys, size):
    assert OBEYED.search(browsed(space, keys, screen_text, size=size).replace("\n", "")) is None


def test_a_hostile_message_is_shown_as_escapes(space):
    keys = ["down", "enter", "down", "enter", "down", "enter", "down", "down", "down", "enter"]
    shown = browsed(space, keys, texts)
    assert "\\x1b" in shown
    assert OBEYED.search(shown.replace("\n", "")) is None


def test_the_keys_stand_at_the_bottom_of_40_columns(space):
    shown = browsed(space, [], screen_text).splitlines()
    assert {"Palace", "Memories", "Search"} <= set(re.findall(r"\w+", shown[0]))
    assert {"Find", "Quit"} <= set(re.findall(r"\w+", shown[-1]))
    assert max(map(len, shown)) <= 40


def test_an_empty_memory_says_how_to_begin(alice):
    alice.track([], session="s")
    tree = browsed(alice, [], lambda app: app.query_one(Tree))
    assert "begins it" in str(tree.root.children[0].label)
    assert "Nothing is known yet" in browsed(alice, ["2"], lambda app: options(app, "#entries"))[0]


def test_a_long_room_goes_on_page_by_page(alice):
    alice.track([Turn(role="user", content=f"Robot number {each}.", said_at=AT) for each in range(120)], session="r")
    alice.memory.flush()

    async def run():
        app = Browser(alice)
        async with app.run_test(size=(60, 20)) as pilot:
            await pilot.press("down", "enter", "down", "enter", "down", "enter")
            await pilot.pause()
            closet = app.query_one(Tree).root.children[0].children[0].children[0]
            first = len(closet.children)
            await pilot.press(*["down"] * 51, "enter")
            await pilot.pause()
            return first, len(closet.children)

    first, then = asyncio.run(run())
    assert first == 51
    assert then == 101


def test_words_in_the_line_for_words_are_no_keys(space):
    value = browsed(space, ["2", "slash", *"q1i"], lambda app: app.query_one("#filter", Input).value)
    assert value == "q1i"
