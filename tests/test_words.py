"""Words: tokens, trivial messages, and the text that goes to the keyword index."""

import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers.language.words import (
    FUNCTION_WORDS,
    PLEASANTRIES,
    STOPWORDS,
    is_trivial,
    meaningful_words,
    searchable,
    stem,
    words,
)


def test_words_are_casefolded_and_lose_their_clitics() -> None:
    assert words("Tom’s GUITAR isn't here; I'm sure we'll find O'Brien's") == [
        *["tom", "guitar", "isn't", "here", "i", "sure", "we", "find", "o'brien"]
    ]


def test_words_of_scripts_without_blanks_are_their_characters() -> None:
    assert words("我的cat叫Tom") == ["我", "的", "cat", "叫", "tom"]
    assert words("こんにちは") == list("こんにちは")
    assert words("हिन्दी में") == ["हिन्दी", "में"]
    assert "".join(words("กินข้าว")) == "กินข้าว"


def test_stopwords_are_the_two_named_sets() -> None:
    assert STOPWORDS == FUNCTION_WORDS | PLEASANTRIES
    assert {"the", "is", "don't"} <= FUNCTION_WORDS
    assert {"hi", "hello", "ok", "thanks", "yes", "sure", "great", "lol"} <= PLEASANTRIES


def test_numbers_and_dates_are_meaningful() -> None:
    assert meaningful_words("ok, on 2023-05-07 at 8") == ["2023", "05", "07", "8"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hi",
        "Hi there!",
        "ok thanks",
        "How are you?",
        "Sure thing",
        "lol",
        "👍👍",
        "?!",
        "你好",
        "谢谢！",
        "Great. Thank You So Much!",
    ],
)
def test_greetings_and_acknowledgements_are_trivial(text: str) -> None:
    assert is_trivial(text)


@pytest.mark.parametrize(
    "text",
    [
        "Where is Tom?",
        "where is tom",
        "back from Oslo",
        "my flight?",
        "flight 17",
        "我的猫叫什么名字？",
        "Wie heißt meine Katze",
        "did harwick take me",
        "am i married",
        "do i smoke",
    ],
)
def test_short_questions_and_names_are_not_trivial(text: str) -> None:
    assert not is_trivial(text)


def test_the_least_number_of_words_can_be_set() -> None:
    assert is_trivial("paint the fence green", least=4)
    assert not is_trivial("paint the fence green", least=3)
    assert not is_trivial("", least=0)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_searchable_text_is_clean_unicode_without_controls(text: str) -> None:
    shown = searchable(text)
    shown.encode("utf-8")
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown)
    assert words(text) is not None


def test_searchable_text_is_whole_and_separates_unspaced_characters() -> None:
    assert searchable("a\0b\nc") == "a b c"
    assert searchable("ｆｕｌｌ東京x").split() == ["full", "東", "京", "x"]
    assert searchable("x\ud800y") == "x\ufffdy"
    assert searchable("é" * 50_000) == "é" * 50_000


@pytest.mark.parametrize("said", ["sushi🥰 rent", "🤩🥰sushi🫨500₺", "sushi\ue123rent 🥰"])
def test_sqlite_finds_a_word_that_stands_at_an_emoji_or_a_currency(said: str) -> None:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='unicode61')")
        db.execute("INSERT INTO t VALUES (?)", [searchable(said)])
        for word in re.findall("sushi|rent|500", said):
            assert db.execute("SELECT count(*) FROM t WHERE t MATCH ?", [word]).fetchone() == (1,)
    db.close()


def test_sqlite_finds_a_chinese_word_inside_a_sentence() -> None:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='unicode61')")
        db.execute("INSERT INTO t VALUES (?)", [searchable("我昨天去了北京动物园")])
        assert db.execute("SELECT count(*) FROM t WHERE t MATCH ?", [f'"{searchable("北京")}"']).fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM t WHERE t MATCH ?", [f'"{searchable("京北")}"']).fetchone() == (0,)
    db.close()


@pytest.mark.parametrize(
    "forms", [("painting", "painted", "paintings"), ("battery", "batteries"), ("wired", "wiring"), ("running", "runs")]
)
def test_forms_of_a_word_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1
