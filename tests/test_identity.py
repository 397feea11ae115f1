"""Whose memory a run works on."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from langgraph.runtime import ExecutionInfo, Runtime

from langmem_tiers.errors import InvalidSpace, MissingUser
from langmem_tiers.graphs import Scope, resolve_scope

EVERYTHING = {"langgraph_auth_user_id": "auth", "user_id": "configured", "langgraph_user_id": "langgraph"}


def _configured(**values):
    return {"configurable": values}


def _resolve(config=None, runtime=None, *, remembered=None, **options):
    return resolve_scope(config, runtime, remembered=remembered, **options)


def _on_server(user, **context):
    server = SimpleNamespace(user=SimpleNamespace(identity=user))
    return SimpleNamespace(context=context, execution_info=None, server_info=server)


def test_the_authenticated_user_of_the_server_comes_first():
    runtime = _on_server("server", user_id="context")
    assert _resolve(_configured(**EVERYTHING), runtime, remembered={"space": "users/before"}).space == "users/server"


def test_what_a_run_says_is_taken_in_the_order_of_its_authority():
    order = ["langgraph_auth_user_id", "user_id", "langgraph_user_id"]
    found = [_resolve(_configured(**{key: EVERYTHING[key] for key in order[i:]})).space for i in range(3)]
    assert found == ["users/auth", "users/configured", "users/langgraph"]


@pytest.mark.parametrize("authenticated", ["langgraph_auth_user_id"])
def test_a_server_without_authentication_sends_an_empty_user_which_is_nobody(authenticated):
    assert _resolve(_configured(**{authenticated: "", "user_id": "alice"})).space == "users/alice"


def test_the_context_comes_before_the_configurable_as_mapping_and_as_object():
    @dataclass
    class Context:
        user_id: str

    for context in ({"user_id": "context"}, Context("context")):
        assert _resolve(_configured(user_id="configured"), Runtime(context=context)).space == "users/context"


def test_a_remembered_scope_stands_in_for_what_the_run_does_not_say():
    before = Scope("users/alice", session="monday", agent="ops", project="atlas")
    assert _resolve({}, remembered=before.as_state()) == before


def test_what_the_run_says_comes_before_what_is_remembered():
    before = Scope("users/alice", session="monday", agent="ops", project="atlas").as_state()
    now = _configured(user_id="bob", thread_id="friday", agent_id="dev", project="zephyr")
    assert _resolve(now, remembered=before) == Scope("users/bob", session="friday", agent="dev", project="zephyr")


def test_without_a_user_there_is_an_error_and_no_shared_pool():
    with pytest.raises(MissingUser, match="user_id"):
        _resolve(_configured(thread_id="friday", user_id=""))


def test_ids_that_no_space_can_hold_are_escaped_and_stay_apart():
    names = {
        _resolve(_configured(user_id=user)).space for user in ("auth0|x", "a/b", "a%2Fb", "a@b.org", "..", 7, "7 ")
    }
    assert len(names) == 7
    assert all(name.count("/") == 1 for name in names)


def test_a_fixed_space_needs_no_user():
    assert _resolve(space="teams/research").space == "teams/research"


def test_a_function_may_name_the_space():
    assert (
        _resolve(_configured(team="x"), space=lambda config, _: "teams/" + config["configurable"]["team"]).space
        == "teams/x"
    )


def test_a_function_that_does_not_know_falls_back_on_what_is_remembered():
    assert _resolve(space=lambda *_: None, remembered={"space": "teams/x"}).space == "teams/x"


def test_a_function_that_does_not_know_never_falls_back_on_the_user():
    with pytest.raises(MissingUser):
        _resolve(_configured(user_id="alice"), space=lambda *_: None)


def test_a_name_that_can_not_be_a_space_is_refused():
    with pytest.raises(InvalidSpace):
        _resolve(space="../etc")


def test_the_session_is_the_thread_else_the_session_id():
    thread = Runtime(
        execution_info=ExecutionInfo(checkpoint_id="1", checkpoint_ns="", task_id="1", thread_id="running")
    )
    configured = _configured(user_id="alice", thread_id="configured", session_id="given")
    assert _resolve(configured, thread).session == "running"
    assert _resolve(configured).session == "configured"
    assert _resolve(_configured(user_id="alice", session_id="given")).session == "given"
    assert _resolve(_configured(user_id="alice")).session is None


def test_a_remembered_scope_is_plain_json_without_what_is_not_known():
    assert Scope("users/alice", session="friday").as_state() == {"space": "users/alice", "session": "friday"}
