"""Log records: each names its event, has its fields as attributes, is listed in the docs, and holds no words."""

import ast
import json
import logging
import re

import pytest
from source_tree import library

from langmem_tiers import Memory, Turn
from langmem_tiers.models.provider_errors import loggable, without_quotes
from langmem_tiers.naming import space_mark
from langmem_tiers.telemetry.logs import say
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel

LOG = logging.getLogger("langmem_tiers.test")
KEY = "sk-proj-Zq3vK8xT1mWc7RyB2nLd9HsJ4pQfA6eUgXoVtYiE0b5kCrNaDw"
EVERY_RECORD_HAS = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_CLOSED = "CREATE TRIGGER closed BEFORE INSERT ON drawers BEGIN SELECT RAISE(ABORT, 'drawers are closed'); END"
# What `say` makes of its own arguments.
OWN = {"space", "error", "trace"}


class JSONFormatter(logging.Formatter):
    """What programs such as log collectors use: a line of JSON with every attribute."""

    def format(self, record):
        fields = {name: value for name, value in vars(record).items() if name not in EVERY_RECORD_HAS}
        return json.dumps({"level": record.levelname, "logger": record.name, **fields})


def told():
    """Every call of `say` in the library: where, the event, and the names of its fields."""
    for module, path in library().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                fields = {keyword.arg for keyword in node.keywords if keyword.arg}
                if len(node.args) == 3:
                    yield pytest.param(module, node.args[2], fields, id=f"{module}:{node.lineno}")


def test_a_record_is_an_event_with_fields_for_people_and_programs(caplog):
    say(
        LOG, logging.WARNING, "usage_not_booked", space="users/alice", error=OSError("full"), reason="The disk is full."
    )
    (record,) = caplog.records
    mark = space_mark("users/alice")
    assert record.getMessage() == f"usage_not_booked space={mark} error=OSError reason=The disk is full."
    assert json.loads(JSONFormatter().format(record)) == {
        "level": "WARNING",
        "logger": "langmem_tiers.test",
        "event": "usage_not_booked",
        "space": mark,
        "reason": "The disk is full.",
        "error": "OSError",
    }


def test_numbers_stay_numbers_and_what_is_none_is_left_out(caplog):
    say(LOG, logging.ERROR, "x", hits=3, ms=1.5, empty=True, document=None)
    record = caplog.records[0]
    assert (record.hits, record.ms, record.empty, hasattr(record, "document")) == (3, 1.5, True, False)


def test_a_reason_is_cut_to_a_line_and_cleared_of_secrets(caplog):
    say(LOG, logging.ERROR, "x", reason=f"The key {KEY}\nis wrong. " + "x" * 1000)
    reason = caplog.records[0].reason
    assert (KEY in reason, "\n" in reason, len(reason)) == (False, False, 300)


def test_an_error_that_repeats_what_was_sent_is_told_by_its_class():
    sent = "Find the facts.\n1. user: My sister Lena moved to Porto."
    assert without_quotes(ValueError(f"bad: {sent}"), [sent], 200).startswith("ValueError: its message repeats")
    assert without_quotes(ValueError('{"input": "er: My sister Lena moved to"}'), [sent], 200).endswith("left out")
    assert without_quotes(ValueError("what is 'My PIN is 4711'?"), ["My PIN is 4711"], 200).endswith("left out")
    assert without_quotes(ValueError("bad request"), [sent], 200) == "ValueError: bad request"


def test_of_a_providers_error_a_log_has_its_class_status_and_known_codes():
    class RateLimitError(Exception):
        status_code = 429
        code = "insufficient_quota"
        body = {"error": {"type": "Lena", "code": "no Lena in Porto"}}  # noqa: RUF012 - as the clients have it

    assert loggable(RateLimitError("Lena in Porto")) == "RateLimitError, status 429 (rate limit), insufficient_quota"
    assert loggable(ValueError("what is 'Lena'? code: 500")) == "ValueError, status 500"
    assert loggable(ConnectionError("Lena")) == "ConnectionError"


def test_a_record_names_the_line_that_tells_it(caplog):
    say(LOG, logging.ERROR, "x")
    assert caplog.records[0].filename == "test_telemetry_logs.py"


@pytest.mark.parametrize(("module", "event", "fields"), [*told()])
def test_every_event_is_a_plain_name_that_the_docs_list_and_no_field_is_one_of_loggings_own(
    module, event, fields, root
):
    assert isinstance(event, ast.Constant)
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", event.value)
    assert (fields - OWN) & EVERY_RECORD_HAS == set()
    assert f"| `{event.value}` |" in (root / "docs" / "observability.md").read_text()


def test_the_docs_list_no_event_that_is_not_told(root):
    listed = re.findall(
        r"^\| `([a-z_]+)` \| (?:debug|info|warning|error)", (root / "docs/observability.md").read_text(), re.M
    )
    assert sorted(set(listed) - {case.values[1].value for case in told()}) == []


def test_nothing_is_logged_but_by_event():
    """No module calls a logger's methods itself."""
    methods = {"debug", "info", "warning", "error", "exception", "critical"}
    found = []
    for module, path in library().items():
        for node in ast.walk(ast.parse(path.read_text())):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods
            if named and isinstance(node.func.value, ast.Name) and node.func.value.id in {"log", "logger", "logging"}:
                found.append(f"{module}:{node.lineno}")
    assert found == []


def test_a_handler_that_takes_every_error_says_so_raises_or_explains_itself():
    silent = []
    for module, path in library().items():
        lines = path.read_text().splitlines()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ExceptHandler) or getattr(node.type, "id", "") not in {
                "Exception",
                "BaseException",
            }:
                continue
            body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if not re.search(r"raise|\bsay\(|# ", body):
                silent.append(f"{module}:{node.lineno}")
    assert silent == []


def test_what_goes_well_is_told_quietly_with_counts_and_times(alice, caplog):
    with caplog.at_level(logging.DEBUG, "langmem_tiers"):
        alice.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="a")
        alice.flush()
        alice.mine()
        recalled = alice.recall("Where does my sister Lena live?", session="b")
        alice.dream()
    ours = [record for record in caplog.records if record.name.startswith("langmem_tiers")]
    events = {record.event: record for record in ours}
    assert events.keys() >= {"tracked", "mined", "recalled", "dreamt"}
    assert (events["tracked"].stored, events["tracked"].levelname) == (1, "DEBUG")
    assert events["recalled"].hits == len(recalled.items) + len(recalled.known)
    assert events["recalled"].ms > 0
    assert (events["mined"].path, events["mined"].levelname) == ("rule", "INFO")
    assert {record.space for record in events.values() if hasattr(record, "space")} == {space_mark("users/alice")}


def test_no_record_holds_what_was_said_a_key_or_a_user(tmp_path, clock, caplog):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError(f"no answer; key {KEY}, sent: My sister Lena moved to Porto.")
    model = ScriptedChatModel(responses=[ValueError(f"{KEY}: My sister Lena moved to Porto.")])
    options = {"embedder": embedder, "background": False, "clock": clock, "model": model, "reranker": model}
    with caplog.at_level(logging.DEBUG, "langmem_tiers"), Memory.open(tmp_path / "m", **options) as memory:
        someone = memory.user("lena-4711")
        someone.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="geheim")
        someone.flush()
        someone.mine()
        someone.recall("Where does my sister Lena live?", session="b")
        someone.dream()
    ours = [JSONFormatter().format(record) for record in caplog.records if record.name.startswith("langmem_tiers")]
    text = "".join([*ours, *(record.getMessage() for record in caplog.records)])
    assert len(ours) >= 5
    assert [word for word in ("Lena", "4711", "Porto", KEY[:20], "geheim") if word in text] == []


@pytest.mark.folder
def test_an_error_of_the_database_does_not_quote_what_was_to_be_stored(alice, caplog):
    alice.track([Turn(role="user", content="Hello there, my friend.")], session="a")
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        connection.exec_driver_sql(_CLOSED)
    with pytest.raises(Exception, match="drawers") as caught:
        alice.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="a")
    error, said = caught.value, ""
    while error is not None:
        said, error = f"{said}{error}", error.__cause__ or error.__context__
    assert "Lena" not in said
