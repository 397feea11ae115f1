"""Reading conversations from files: lazily, in order, with a named problem in place of whatever is skipped."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.transfer import ImportedSession, LineProblem, guess_format, read_conversations

LOCOMO = [
    {
        "sample_id": "conv-1",
        "qa": [{"question": "Where is Mug?", "answer": "Kitchen", "evidence": ["D1:2"], "category": 4}],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_10_date_time": "12:05 am on 1 January, 2024",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Happy new year!"}],
            "session_2_date_time": "4:07 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "My cat is called Mug."},
                {"speaker": "Bo", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a photo of a cat on a stove"},
            ],
        },
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What is the cat called?",
        "question_date": "2023/05/30 (Tue) 22:36",
        "answer": "Mug",
        "answer_session_ids": ["answer_7"],
        "haystack_session_ids": ["answer_7", "other_1"],
        "haystack_dates": ["2023/05/20 (Sat) 04:48", "2023/05/19 (Fri) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "My cat is called Mug.", "has_answer": True}],
            [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Hi, what can I do?"}],
        ],
    }
]
LINE = {"session": "monday", "role": "user", "content": "Hello", "at": "2024-05-08T10:00:00+02:00"}


@pytest.fixture
def save(tmp_path):
    """Writes a file: text or bytes as they are, other values as JSON."""

    def write(content, name="file"):
        path = tmp_path / name
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def read(path, format):
    entries = list(read_conversations(path, format))
    sessions = [entry for entry in entries if isinstance(entry, ImportedSession)]
    return sessions, [entry for entry in entries if isinstance(entry, LineProblem)]


def jsonl(*entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)


# LoCoMo


def test_locomo_sessions_come_by_number_with_their_conversation(save):
    sessions, problems = read(save(LOCOMO), "locomo")
    assert [session.session for session in sessions] == ["conv-1/session_2", "conv-1/session_10"]
    assert {session.conversation for session in sessions} == {"conv-1"}
    assert problems == []


def test_the_speakers_of_locomo_are_people_by_name(save):
    sessions, _ = read(save(LOCOMO), "locomo")
    told = [(message.speaker, message.role, message.by_name, message.message_id) for message in sessions[0].messages]
    assert told == [("Ann", "user", True, "D2:1"), ("Bo", "user", True, "D2:2")]


def test_locomo_messages_follow_each_other_by_a_second(save):
    sessions, _ = read(save(LOCOMO), "locomo")
    opened = datetime(2023, 5, 8, 16, 7, tzinfo=UTC)
    assert [message.at for message in sessions[0].messages] == [opened, opened + timedelta(seconds=1)]
    assert sessions[1].messages[0].at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)


def test_a_photo_is_a_line_of_its_message(save):
    sessions, _ = read(save(LOCOMO), "locomo")
    assert sessions[0].messages[1].content == "Look!\n[shared a photo: a photo of a cat on a stove]"


def test_a_photo_without_words_is_a_message(save):
    samples = json.loads(json.dumps(LOCOMO))
    samples[0]["conversation"]["session_2"][1]["text"] = ""
    sessions, problems = read(save(samples), "locomo")
    assert sessions[0].messages[1].content == "[shared a photo: a photo of a cat on a stove]"
    assert problems == []


def test_a_broken_locomo_turn_is_a_problem_and_the_others_are_read(save):
    samples = json.loads(json.dumps(LOCOMO))
    samples[0]["conversation"]["session_2"][0]["speaker"] = "Zed"
    sessions, problems = read(save(samples), "locomo")
    assert [message.message_id for message in sessions[0].messages] == ["D2:2"]
    assert "session_2, turn 1" in problems[0].reason
    assert "Zed" in problems[0].reason


@pytest.mark.parametrize("date", ["8 May 2023", "4:07 pm on 8 Mai, 2023", "4:07 pm on 31 June, 2023", 7])
def test_a_locomo_session_with_a_broken_date_is_a_problem(save, date):
    samples = json.loads(json.dumps(LOCOMO))
    samples[0]["conversation"]["session_2_date_time"] = date
    sessions, problems = read(save(samples), "locomo")
    assert [session.session for session in sessions] == ["conv-1/session_10"]
    assert problems[0].reason.startswith("conv-1/session_2: ")


def test_a_broken_locomo_sample_is_a_problem(save):
    sessions, problems = read(save([{"sample_id": "x"}, 7, *LOCOMO]), "locomo")
    assert len(sessions) == 2
    assert [problem.line for problem in problems] == [1, 2]


# LongMemEval


def test_longmemeval_sessions_are_named_by_their_place(save):
    sessions, problems = read(save(LONGMEMEVAL), "longmemeval")
    assert [session.session for session in sessions] == ["0", "1"]
    assert [message.message_id for message in sessions[1].messages] == ["1:0", "1:1"]
    assert problems == []


def test_longmemeval_never_gives_the_gold_away(save):
    assert "answer_" not in repr(read(save(LONGMEMEVAL), "longmemeval"))


def test_longmemeval_dates_are_utc(save):
    sessions, _ = read(save(LONGMEMEVAL), "longmemeval")
    assert sessions[0].messages[0].at == datetime(2023, 5, 20, 4, 48, tzinfo=UTC)
    assert sessions[1].messages[1].at == datetime(2023, 5, 19, 10, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("text", [json.dumps(LONGMEMEVAL), json.dumps(LONGMEMEVAL, indent=1), jsonl(*LONGMEMEVAL)])
def test_longmemeval_may_be_a_list_or_lines_plain_or_gzipped(save, text, pack):
    sessions, problems = read(save(pack(text.encode())), "longmemeval")
    assert len(sessions) == 2
    assert problems == []


def test_an_empty_longmemeval_turn_is_a_problem_and_keeps_its_place(save):
    questions = json.loads(json.dumps(LONGMEMEVAL))
    questions[0]["haystack_sessions"][1][0]["content"] = " "
    sessions, problems = read(save(questions), "longmemeval")
    assert [message.message_id for message in sessions[1].messages] == ["1:1"]
    assert problems == [LineProblem(line=1, reason="q1, session 1, turn 0: 'content' is empty")]


def test_broken_longmemeval_lines_are_problems(save):
    text = jsonl(*LONGMEMEVAL) + "{\n" + jsonl({**LONGMEMEVAL[0], "haystack_dates": []}, *LONGMEMEVAL)
    sessions, problems = read(save(text), "longmemeval")
    assert len(sessions) == 4
    assert [problem.line for problem in problems] == [2, 3]


# JSONL


def test_a_jsonl_line_is_a_message(save):
    entry = {**LINE, "speaker": "Ann", "id": "m1", "color": "red"}
    sessions, _ = read(save(jsonl(entry)), "jsonl")
    message = sessions[0].messages[0]
    assert (message.session, message.role, message.content) == ("monday", "user", "Hello")
    assert (message.speaker, message.message_id) == ("Ann", "m1")
    assert message.at == datetime(2024, 5, 8, 8, tzinfo=UTC)


def test_a_time_without_a_zone_is_utc(save):
    sessions, _ = read(save(jsonl({**LINE, "at": "2024-05-08T10:00:00"})), "jsonl")
    assert sessions[0].messages[0].at == datetime(2024, 5, 8, 10, tzinfo=UTC)


def test_a_line_without_a_time_has_none(save):
    without = {key: value for key, value in LINE.items() if key != "at"}
    sessions, problems = read(save(jsonl(without, {**LINE, "at": None})), "jsonl")
    assert [message.at for message in sessions[0].messages] == [None, None]
    assert problems == []


def test_ids_are_the_same_each_time_and_differ_for_repeated_lines(save):
    first = read(save(jsonl(LINE, LINE)), "jsonl")
    again = read(save(jsonl(LINE, LINE, {**LINE, "content": "More"}), "longer"), "jsonl")
    ids = [message.message_id for message in first[0][0].messages]
    assert len(set(ids)) == 2
    assert [message.message_id for message in again[0][0].messages][:2] == ids


def test_interleaved_sessions_come_in_pieces(save):
    entries = [{**LINE, "session": name} for name in ("a", "a", "b", "a")]
    sessions, _ = read(save(jsonl(*entries)), "jsonl")
    assert [(session.session, len(session.messages)) for session in sessions] == [("a", 2), ("b", 1), ("a", 1)]


BAD_LINES = {
    "{": "not JSON",
    '{"a": 1} {"b": 2}': "not JSON",
    "[1]": "expected an object",
    "null": "expected an object",
    json.dumps({**LINE, "at": float("nan")}): "NaN",
    json.dumps({**LINE, "x": float("inf")}): "Infinity",
    json.dumps({**LINE, "at": "yesterday"}): "'at'",
    json.dumps({**LINE, "at": True}): "'at'",
    json.dumps({**LINE, "at": 1e300}): "'at'",
    json.dumps({**LINE, "at": "0001-01-01T00:00:00+14:00"}): "'at'",
    json.dumps({**LINE, "role": "robot"}): "'role' is 'robot'",
    json.dumps({**LINE, "role": "system"}): "'role' is 'system'",
    json.dumps({**LINE, "content": ["Hello"]}): "'content' is a list",
    json.dumps({**LINE, "content": "  "}): "'content' is empty",
    json.dumps({**LINE, "content": "a\0b"}): "NUL",
    json.dumps({**LINE, "session": None}): "'session' is null",
    json.dumps({**LINE, "session": 7}): "'session' is a number",
    json.dumps({**LINE, "id": True}): "'id' is true or false",
    json.dumps({**LINE, "speaker": {}}): "'speaker' is an object",
    '{"role": "user", "content": "Hello"}': "'session' is missing",
    "[" * 100_000: "nested too deeply",
    '{"session": ' + "9" * 5000 + "}": "not usable JSON",
    json.dumps({**LINE, "content": "x" * 16_000_000}): "the line is longer than 16,000,000 bytes",
}


@pytest.mark.parametrize(("line", "reason"), BAD_LINES.items(), ids=[line[:40] for line in BAD_LINES])
def test_a_bad_line_is_skipped_and_named(save, line, reason):
    sessions, problems = read(save(jsonl(LINE) + line + "\n\n" + jsonl(LINE)), "jsonl")
    assert sum(len(session.messages) for session in sessions) == 2
    assert [problem.line for problem in problems] == [2]
    assert reason in problems[0].reason


@pytest.mark.parametrize("at", [1715162400, 1715162400000, "2024-05-08T10:00:00Z"])
def test_a_time_may_be_a_number_since_1970(save, at):
    sessions, problems = read(save(jsonl({**LINE, "at": at})), "jsonl")
    assert (sessions[0].messages[0].at, problems) == (datetime(2024, 5, 8, 10, tzinfo=UTC), [])


def test_a_line_that_is_not_utf8_is_skipped(save):
    good = jsonl(LINE).encode()
    sessions, problems = read(save(good + b'{"session": "\xff"}\n' + good), "jsonl")
    assert len(sessions[0].messages) == 2
    assert problems == [LineProblem(line=2, reason="not UTF-8 at byte 14", unit="line")]


def test_a_byte_order_mark_does_no_harm(save):
    sessions, problems = read(save(b"\xef\xbb\xbf" + jsonl(LINE).encode()), "jsonl")
    assert len(sessions) == 1
    assert problems == []


def test_a_large_file_is_read_as_it_is_needed(save):
    entries = ({**LINE, "session": str(number), "content": "x" * 1000} for number in range(2000))
    path = save(jsonl(*entries))
    sessions = read_conversations(path, "jsonl")
    assert [session.session for session in islice(sessions, 2)] == ["0", "1"]


def test_a_very_long_session_comes_in_pieces(save):
    sessions, _ = read(save(jsonl(*[LINE] * 1100)), "jsonl")
    assert [len(session.messages) for session in sessions] == [500, 500, 100]


def test_so_does_one_of_very_long_messages(save):
    sessions, _ = read(save(jsonl(*[{**LINE, "content": "x" * 1_000_000}] * 5)), "jsonl")
    assert [len(session.messages) for session in sessions] == [4, 1]


# Files


@pytest.mark.parametrize("format", ["locomo", "longmemeval", "jsonl"])
def test_a_missing_file_is_named(tmp_path, format):
    with pytest.raises(UnreadableFile, match="nothing-here"):
        read_conversations(tmp_path / "nothing-here", format)


@pytest.mark.parametrize("format", ["locomo", "longmemeval", "jsonl"])
def test_a_folder_is_no_file(tmp_path, format):
    with pytest.raises(UnreadableFile, match="no regular file"):
        read_conversations(tmp_path, format)


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\0\0", gzip.compress(b"\0\0\0", mtime=0)])
def test_a_binary_file_is_refused(save, content):
    with pytest.raises(UnreadableFile, match="binary"):
        read_conversations(save(content), "jsonl")


def test_a_damaged_gzip_file_is_refused(save):
    whole = gzip.compress(jsonl(*LONGMEMEVAL).encode())
    with pytest.raises(UnreadableFile, match="cannot be read as"):
        read(save(whole[:-12]), "longmemeval")


@pytest.mark.parametrize("text", ["", "hello", "[1, 2", '[{"a": NaN}]', "[" * 100_000, '[{"a": 1}}', '["\ud800"]'])
@pytest.mark.parametrize("format", ["locomo", "longmemeval"])
def test_other_text_is_no_conversation_set(save, text, format):
    with pytest.raises(UnreadableFile, match="cannot be read as"):
        read(save(text.encode("utf-8", "surrogatepass")), format)


def test_a_list_that_breaks_off_gives_what_came_before(save):
    entries = read_conversations(save(json.dumps(LOCOMO)[:-1] + ', {"sample_id":'), "locomo")
    assert [entry.session for entry in islice(entries, 2)] == ["conv-1/session_2", "conv-1/session_10"]
    with pytest.raises(UnreadableFile, match="1 entries before were read"):
        next(entries)


SETS = {"locomo": json.dumps(LOCOMO), "longmemeval": json.dumps(LONGMEMEVAL), "jsonl": jsonl(LINE)}


@pytest.mark.parametrize("format", SETS)
def test_a_format_is_known_by_its_looks(save, format):
    assert guess_format(save(SETS[format])) == format


@pytest.mark.parametrize("format", SETS)
@pytest.mark.parametrize("actual", SETS)
def test_a_wrong_format_is_said_at_once(save, format, actual):
    path = save(SETS[actual])
    if format == actual:
        read_conversations(path, format)
        return
    with pytest.raises(UnreadableFile, match=f"--format {actual}"):
        read_conversations(path, format)


def test_an_unknown_file_looks_like_nothing(save):
    assert guess_format(save("once upon a time")) is None
