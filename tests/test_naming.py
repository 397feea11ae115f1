"""Names: what may name a space or a category, and how any user id becomes a space and a folder of its own."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import InvalidCategory, InvalidSpace, MissingUser
from langmem_tiers.naming import check_category, check_space, folder_name, user_of, user_space

USER_IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=14).filter(str.strip)


@pytest.mark.parametrize("name", ["users/alice", "global", "teams/research/2024", "Ärzte/東京", "a.b/c-d_e", "a" * 128])
def test_a_space_may_be_named_by_printable_parts(name):
    assert check_space(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "/",
        "/users/alice",
        "users/",
        "users//alice",
        "..",
        "users/..",
        "../../etc/passwd",
        "users/./alice",
        "C:\\users",
        "users/al\x00ice",
        "users/al\nice",
        "users/\u202ealice",
        "users/\ud800",
        "a" * 129,
        "a/" * 300 + "a",
    ],
)
def test_a_space_name_that_climbs_hides_or_is_over_long_is_refused(memory, name):
    with pytest.raises(InvalidSpace) as caught:
        memory.space(name)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(InvalidSpace):
        memory.space("good", fallbacks=[name])
    assert memory.spaces() == ()


@pytest.mark.parametrize("user_id", ["", " ", "\t\n", "\u3000"])
def test_no_user_id_is_an_error_and_never_a_default_pool(memory, user_id):
    with pytest.raises(MissingUser):
        memory.user(user_id)


@pytest.mark.parametrize("user_id", ["", " ", None])
def test_without_an_id_the_memory_asks_for_one_and_speaks_of_no_graph(memory, user_id):
    with pytest.raises(MissingUser, match=r"^The user id is empty\. Give the id of a user, such as 'alice'\.$"):
        memory.user(user_id)


def test_a_float_is_no_user_id_and_a_whole_number_is_one(memory):
    with pytest.raises(InvalidSpace, match=r"A float is no user id\. Give a text, a whole number or a UUID\."):
        memory.user(1.5)
    assert memory.user(5).name == "users/5"


@pytest.mark.parametrize("user_id", ["x\ud800", "x" * 129])
def test_a_user_id_that_can_not_be_kept_is_refused(memory, user_id):
    with pytest.raises(InvalidSpace):
        memory.user(user_id)


@pytest.mark.parametrize(
    ("user_id", "space"),
    [
        ("alice", "users/alice"),
        ("auth0|5f7c", "users/auth0|5f7c"),
        ("alice@example.org", "users/alice@example.org"),
        ("a/b", "users/a%2Fb"),
        ("..", "users/%2E%2E"),
        ("100%", "users/100%25"),
        ("a\x00b", "users/a%00b"),
        ("Александр Иванович Петров-Водкин", "users/Александр Иванович Петров-Водкин"),
        ("田中太郎" * 30, "users/" + "田中太郎" * 30),
    ],
)
def test_a_user_id_keeps_what_can_be_read_and_escapes_the_rest(user_id, space):
    assert user_space(user_id) == space


@given(USER_IDS)
def test_escaping_a_user_id_loses_nothing(user_id):
    assert user_of(user_space(user_id)) == user_id


def test_other_spaces_are_nobodys():
    assert user_of("teams/research") is None


@given(st.lists(USER_IDS, unique=True, min_size=2))
def test_distinct_user_ids_never_share_a_folder_on_any_file_system(user_ids):
    folders = {folder_name(user_space(user_id)).casefold() for user_id in user_ids}
    assert len(folders) == len(user_ids)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_folder_name_is_short_plain_and_no_path(space):
    name = folder_name(space)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert 0 < len(name) <= 100


@pytest.mark.parametrize(("one", "other"), [("Alice", "alice"), ("a-b", "a b"), ("e\u0301", "é"), ("a/b", "a%2Fb")])
def test_user_ids_that_look_alike_have_memories_of_their_own(memory, one, other):
    memory.user(one).track([Turn(role="user", content="mine")], session="s")
    assert memory.user(other).drawers() == ()
    assert len(memory.user(one).drawers()) == 1


def test_the_names_of_all_spaces_are_listed_as_they_were_given(memory):
    names = ["users/Ärzte|东京", "global", "teams/a/b"]
    for name in names:
        memory.space(name).track([Turn(role="user", content="hello")], session="s")
    assert memory.spaces() == tuple(sorted(names))


def test_a_space_that_is_only_named_leaves_nothing_on_disk(memory):
    memory.space("users/alice")
    memory.user("bob")
    assert memory.spaces() == ()


@pytest.mark.parametrize("path", ["user-preferences/timezone", "a", "a_b/C-1", "x" * 64])
def test_a_category_is_a_path_of_plain_words(path):
    assert check_category(path) == path


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "..", "a/../b", "a b", "a\x00", "a\n", "é", "x" * 65, "a/" * 300]
)
def test_any_other_category_is_refused(path):
    with pytest.raises(InvalidCategory):
        check_category(path)


def test_a_memory_opened_again_knows_its_spaces(tmp_path):
    for number in range(2):
        with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
            memory.user("alice").track([Turn(role="user", content="hello")], session=f"s{number}")
            assert memory.spaces() == ("users/alice",)
            assert len(memory.user("alice").drawers()) == number + 1


def test_no_id_can_be_taken_for_a_number(tmp_path):
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        known = memory.user("alice").knowledge
        ids = [known.save(f"Fact {number} of alice.", category="facts").entry.id for number in range(60)]
    assert all(each[0] in "abcdef" and len(each) == 12 for each in ids)


def test_an_id_of_digits_alone_is_an_id_and_no_number(tmp_path):
    entry = {"id": "123456789012", "content": "Likes tea.", "createdAt": "2026-01-01T00:00:00Z", "category": "facts"}
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "tea.json").write_text(json.dumps(entry))
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        memory.import_file(tmp_path / "facts", format="rockbot", user="alice")
        alice = memory.user("alice")
        alice.recall("What does alice like to drink, tea?", session="s")
        assert "Likes tea" in str(alice.why(of="123456789012"))
