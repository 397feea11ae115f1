"""Reports on a period, and the tools and commands for tasks and reports."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.tools import tool
from sqlalchemy import Engine, event

from langmem_tiers import Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, InvalidPeriod, NaiveDatetime
from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations.tools import TASK_TOOLS, memory_tools, space_tools
from langmem_tiers.language.questions import asked_period
from langmem_tiers.testing import FrozenClock, ScriptedChatModel
from tests.graphing import ask, run
from tests.test_tools import call, calling

WIKI = "Nightly backup of the wiki"
NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)  # a Wednesday


def say(space, day, *texts, session, **about):
    """Store what the user said on a day of February or March."""
    at = datetime(2026, *day, 10, tzinfo=UTC)
    whose = {"role": "user", "speaker": "Alice"}
    turns = [Turn(content=text, said_at=at + timedelta(minutes=place), **whose) for place, text in enumerate(texts)]
    space.track(turns, session=session, **about)


def wait(clock, until):
    clock.tick((until - clock()).total_seconds())


@pytest.fixture
def clock():
    return FrozenClock(datetime(2026, 2, 20, 9, tzinfo=UTC))


@pytest.fixture
def busy(alice, clock):
    """Two tasks, of which one goes on, a session before the week of 23 February, one in it, and one that runs."""
    say(alice, (2, 20), "I bought a blue bicycle in Delft.", session="before")
    alice.end_session("before")
    alice.archive.write("before")
    wait(clock, datetime(2026, 2, 24, 10, tzinfo=UTC))
    alice.tasks.start(WIKI, id="wiki", project="infra")
    alice.tasks.start("Tax return", id="tax", state="Receipts sorted; next: the form.")
    said = "We decided to use restic for the backup of the wiki.", "The wiki is saved every night at two."
    say(alice, (2, 24), *said, session="tuesday", project="infra", task="wiki")
    alice.mine()
    alice.end_session("tuesday")
    alice.archive.write("tuesday")
    wait(clock, datetime(2026, 2, 26, 10, tzinfo=UTC))
    alice.tasks.complete("wiki", summary="restic copies the wiki to the second disk at two.")
    wait(clock, NOW)
    say(alice, (2, 27), "My sister Lena moved from Bergen to Porto.", session="friday")
    return alice


def test_a_report_has_the_sessions_tasks_and_decisions_of_a_period(busy):
    report = busy.report("last week")
    assert (report.since, report.until) == (datetime(2026, 2, 23, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    tuesday, friday = report.sessions
    assert (tuesday.session, tuesday.archived, tuesday.running, tuesday.turns) == ("tuesday", True, False, 2)
    assert (tuesday.project, tuesday.pointer) == ("infra", "§W-002/R-01")
    assert tuesday.episodes == tuple(each.id for each in busy.archive.of_session("tuesday"))
    assert "restic" in " ".join(tuesday.abstracts)
    assert (friday.session, friday.archived, friday.running, friday.episodes) == ("friday", False, True, ())
    assert friday.abstracts == ("My sister Lena moved from Bergen to Porto.",)
    tax, wiki = sorted(report.tasks, key=lambda each: each.id)
    assert (wiki.title, wiki.status, wiki.turns, wiki.closed_at.day) == (WIKI, "completed", 2, 26)
    assert wiki.abstract == "restic copies the wiki to the second disk at two."
    assert (tax.status, tax.abstract, tax.turns) == ("open", "Receipts sorted; next: the form.", 0)
    assert ["restic" in each.content for each in report.decisions] == [True]


def test_a_report_can_be_of_tasks_only_or_of_a_project(busy):
    tasks = busy.report("last week", kind="tasks")
    assert (tasks.sessions, {each.id for each in tasks.tasks}, len(tasks.decisions)) == ((), {"wiki", "tax"}, 1)
    infra = busy.report("last week", project="infra")
    assert [each.session for each in infra.sessions] == ["tuesday"]
    assert [each.id for each in infra.tasks] == ["wiki"]


def test_a_task_that_was_never_begun_is_in_the_report_by_its_id(alice, clock):
    wait(clock, NOW)
    say(alice, (3, 3), "The mast is 9 m long.", session="s", task="T-17")
    (task,) = alice.report("this week").tasks
    assert (task.id, task.title, task.status, task.turns) == ("T-17", "T-17", None, 1)
    assert "never begun here" in alice.report("this week").markdown


def test_a_task_is_in_the_report_of_every_period_in_which_it_was_worked_on(alice, clock):
    alice.tasks.start(WIKI, id="wiki")
    for day in (10, 20):
        wait(clock, datetime(2026, 3, day, 9, tzinfo=UTC))
        alice.tasks.update("wiki", state=f"Worked on it on the {day}th.")
    whole = {"since": "2026-02-01", "until": "2026-03-31"}
    assert [each.id for each in alice.report(since="2026-03-08", until="2026-03-14").tasks] == ["wiki"]
    assert [each.id for each in alice.report(**whole).tasks] == ["wiki"]
    assert alice.report(since="2026-03-01", until="2026-03-07").tasks == ()
    alice.tasks.delete("wiki")
    alice.tasks.start("Another one", id="wiki")
    assert alice.report(since="2026-03-08", until="2026-03-14").tasks == ()


def test_what_is_left_out_of_a_report_is_not_even_read(memory, alice, clock):
    for number in range(30):
        say(alice, (2, 20), "I bought a blue bicycle in Delft.", session=f"s{number}")
        alice.tasks.complete(alice.tasks.start(f"Task {number}").id, summary="It was done.")
    asked = []

    @event.listens_for(Engine, "before_cursor_execute")
    def noted(connection, cursor, statement, *_):
        asked.append(statement)

    try:
        report = alice.report("2026", limit=2)
    finally:
        event.remove(Engine, "before_cursor_execute", noted)
    assert (len(report.sessions), len(report.tasks), report.left_out) == (2, 2, 56)
    assert len(asked) < 20


def test_an_empty_report_says_so(alice, clock):
    wait(clock, NOW)
    report = alice.report("yesterday")
    assert (bool(report), report.sessions, report.tasks) == (False, (), ())
    assert report.markdown == "# 2026-03-03\n\nNothing is known of this time.\n"


def test_a_report_of_many_years_has_the_latest_and_counts_the_others(busy):
    whole = busy.report(since="1990", until=datetime(2100, 1, 1, tzinfo=UTC))
    assert ([each.session for each in whole.sessions], whole.left_out) == (["before", "tuesday", "friday"], 0)
    latest = busy.report(since="1990", limit=1)
    assert ([each.session for each in latest.sessions], latest.left_out) == (["friday"], 3)
    assert "(3 older ones are left out.)" in latest.markdown


def test_the_page_has_a_line_for_each_with_pointers(busy):
    page = busy.report("last week", project="infra").markdown
    (episode,) = busy.archive.of_session("tuesday")
    assert page.startswith("# 2026-02-23 to 2026-03-01, project infra\n\n## Tasks\n\n- 2026-02-24 Nightly backup")
    assert f"[§W-002/R-01; episode {episode.id}; 2 turns]" in page
    assert "\n## Sessions\n\n- 2026-02-24 tuesday (infra): " in page
    assert "\n## Decisions\n\n- 2026-02-24 " in page
    assert "running, not archived yet" in busy.report("last week").markdown


def test_what_was_forgotten_is_in_no_report(busy):
    busy.mine()
    for found in busy.knowledge.search("Lena Porto"):
        busy.knowledge.delete(found.entry.id)
    assert "Porto" not in busy.report("last week").markdown


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, InvalidPeriod),
        ({"period": "the day the music died"}, InvalidPeriod),
        ({"period": ""}, InvalidPeriod),
        ({"period": 7}, InvalidPeriod),
        ({"period": "last week", "since": "2026"}, InvalidPeriod),
        ({"until": "2026-03-01"}, InvalidPeriod),
        ({"since": "2026-03-02", "until": "2026-03-01"}, InvalidPeriod),
        ({"since": datetime(2026, 3, 1)}, NaiveDatetime),
        ({"since": "2026", "until": datetime(2026, 3, 1)}, NaiveDatetime),
        ({"period": "2026", "kind": "sessions"}, InvalidInput),
        ({"period": "2026", "limit": 0}, InvalidInput),
        ({"period": "2026", "project": 7}, InvalidInput),
    ],
)
def test_a_period_that_is_none_is_refused(alice, given, error):
    with pytest.raises(error):
        alice.report(**given)


@pytest.mark.parametrize(
    ("said", "first", "after"),
    [
        ("today", "2026-03-04", "2026-03-05"),
        ("yesterday", "2026-03-03", "2026-03-04"),
        ("this week", "2026-03-02", "2026-03-05"),
        ("Last week", "2026-02-23", "2026-03-02"),
        ("what I did last week", "2026-02-23", "2026-03-02"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("the last 3 days", "2026-03-01", "2026-03-05"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("February", "2026-02-01", "2026-03-01"),
        ("March 2025", "2025-03-01", "2025-04-01"),
        ("2025-12", "2025-12-01", "2026-01-01"),
        ("2025-12-24", "2025-12-24", "2025-12-25"),
        ("from 1 March to 3 March", "2026-03-01", "2026-03-04"),
    ],
)
def test_periods_are_understood_in_words(said, first, after):
    assert [f"{moment:%Y-%m-%d}" for moment in asked_period(said, now=NOW)] == [first, after]


async def test_a_report_has_a_twin(busy):
    assert await busy.areport("last week") == busy.report("last week")


# Tools


@pytest.fixture
def tell(alice):
    """Call a tool by its name; what the model reads."""
    tools = {tool.name: tool for tool in space_tools(alice, only=TASK_TOOLS)}
    return lambda name, **given: str(tools[name].invoke(given))


def test_an_agent_begins_notes_and_completes_a_task(tell, alice):
    begun = tell("start_task", title=WIKI, project="infra", state="Disk ordered.")
    (task,) = alice.tasks.list()
    assert begun == f"Begun as task [{task.id}]."
    tell("update_task", id=f"[{task.id}]", state="Script written. Next: restore.")
    listed = tell("list_tasks")
    assert f"[{task.id}] {WIKI} (begun 2026-02-20, open, project infra): Script written. Next: restore." in listed
    assert "Script written." in tell("get_task", id=task.id)
    done = tell("complete_task", id=task.id, summary="restic copies the wiki at two.")
    assert done == f"Task [{task.id}] is completed, and archived as [{alice.tasks.get(task.id).episode}]."
    assert "restic copies the wiki at two." in tell("get_task", id=task.id)
    assert tell("list_tasks") == "There is no such task."
    assert WIKI in tell("list_tasks", status="all")


def test_an_agent_abandons_a_task_and_is_told_what_does_not_work(tell, alice):
    alice.tasks.start(WIKI, id="wiki")
    tell("complete_task", id="wiki", summary="The disk never came.", outcome="abandoned")
    assert alice.tasks.get("wiki").status == "abandoned"
    assert "is abandoned" in tell("update_task", id="wiki", state="more")
    assert "list_tasks" in tell("update_task", id="nope", state="more")
    assert "list_tasks" in tell("get_task", id="nope")
    assert "20,000" in tell("start_task", title="x", state="x" * 1_000_000)


def test_an_agent_that_writes_over_a_newer_state_is_shown_that_instead(memory, alice):
    alice.tasks.start(WIKI, id="wiki", state="Disk ordered.")

    @tool
    def wait() -> str:
        """Wait for the others."""
        return alice.tasks.update("wiki", state="Disk ordered. Key rotated.").title

    written = ("Disk ordered. Script written.", "Disk ordered. Key rotated. Script written.")
    updates = [call("update_task", id="wiki", state=state) for state in written]
    asked = [call("get_task", id="wiki"), call("wait"), *updates, call("update_task", id="wiki", state="All done.")]
    model = ScriptedChatModel(responses=[*(calling(each) for each in asked), "Done."])
    agent = memory_agent(model, memory, tools=[wait, *memory_tools(memory, only=TASK_TOOLS)], on_error="raise")
    *_, refused, second, third = (m.text for m in agent.invoke(ask("Go on."), run())["messages"] if m.type == "tool")
    assert "Not noted: task [wiki] was changed since you read it." in refused
    assert "Disk ordered. Key rotated." in refused
    assert [second, third] == ["Noted for task [wiki], version 3.", "Noted for task [wiki], version 4."]
    assert alice.tasks.get("wiki").state == "All done."


@pytest.mark.parametrize("period", ["2026-13", "2026-W23", "2026-02-30"])
def test_what_looks_like_a_date_and_is_none_names_no_period(alice, period):
    with pytest.raises(InvalidPeriod):
        alice.report(period)


def test_a_state_that_only_the_prompt_showed_counts_as_read(memory, alice):
    alice.tasks.start(WIKI, id="wiki", project="infra", state="Disk ordered.")

    @tool
    def wait() -> str:
        """Wait for the others."""
        return alice.tasks.update("wiki", state="Disk ordered. Key rotated.").title

    asked = [call("wait"), call("update_task", id="wiki", state="Disk ordered. Script written.")]
    model = ScriptedChatModel(responses=[*(calling(each) for each in asked), "Done."])
    agent = memory_agent(model, memory, tools=[wait, *memory_tools(memory, only=TASK_TOOLS)], on_error="raise")
    in_task = {"configurable": {"user_id": "alice", "thread_id": "t", "task_id": "wiki"}}
    *_, refused = (each.text for each in agent.invoke(ask("Go on."), in_task)["messages"] if each.type == "tool")
    assert "(task wiki, of the project infra, version 1)" in str(model.requests[0][0].content)
    assert "Not noted: task [wiki] was changed since you read it." in refused


def test_another_title_does_not_hide_that_the_state_has_changed(memory, alice):
    alice.tasks.start(WIKI, id="wiki", state="Disk ordered.")

    @tool
    def wait() -> str:
        """Wait for the others."""
        return alice.tasks.update("wiki", state="Disk ordered. Key rotated.").title

    asked = [call("list_tasks"), call("wait"), call("update_task", id="wiki", title="Backup of the wiki")]
    asked += [call("update_task", id="wiki", state="Disk ordered. Script written.")]
    model = ScriptedChatModel(responses=[*(calling(each) for each in asked), "Done."])
    agent = memory_agent(model, memory, tools=[wait, *memory_tools(memory, only=TASK_TOOLS)], on_error="raise")
    *_, renamed, refused = (m.text for m in agent.invoke(ask("Go on."), run())["messages"] if m.type == "tool")
    assert renamed == "Noted for task [wiki], version 3."
    assert "Key rotated." in refused
    assert alice.tasks.get("wiki").state == "Disk ordered. Key rotated."


def test_a_client_without_a_conversation_gives_the_version_that_it_read(tell, alice):
    alice.tasks.start(WIKI, id="wiki", state="Disk ordered.")
    assert "Task [wiki], version 1" in tell("get_task", id="wiki")
    assert "version 1" in alice.tasks.prompt_block("wiki")
    alice.tasks.update("wiki", state="Key rotated.")
    assert "Key rotated." in tell("update_task", id="wiki", state="Script written.", version=1)
    assert alice.tasks.get("wiki").state == "Key rotated."
    tell("update_task", id="wiki", title="Backup of the wiki")
    tell("update_task", id="wiki", state="Script written.", version=3)
    assert (alice.tasks.get("wiki").title, alice.tasks.get("wiki").state) == ("Backup of the wiki", "Script written.")


def test_the_report_for_an_agent_is_fenced(busy):
    tools = {tool.name: tool for tool in space_tools(busy, only=TASK_TOOLS)}
    answer = tools["report_activity"].invoke({"period": "last week"})
    assert answer.startswith("<memory_results>\nWhat is known of 2026-02-23 to 2026-03-01 (stored text")
    assert "\n- Tasks: 2026-02-24 Nightly backup of the wiki (completed 2026-02-26, infra): restic" in answer
    assert "- Sessions: 2026-02-27 friday (running, not archived yet): My sister" in answer
    assert "Sessions" not in tools["report_activity"].invoke({"period": "last week", "tasks_only": True})
    assert tools["report_activity"].invoke({"period": "2019"}) == "Nothing is known of 2019-01-01 to 2019-12-31."
    assert "last week, this month" in tools["report_activity"].invoke({"period": "some day"})


def test_the_tools_for_tasks_take_few_tokens(alice, memory):
    from langchain_core.utils.function_calling import convert_to_openai_tool

    schemas = [convert_to_openai_tool(tool) for tool in space_tools(alice, only=TASK_TOOLS)]
    assert memory.count_tokens(json.dumps(schemas)) < 1000


# Commands


@pytest.fixture
def command(tmp_path, capsys):
    """Run a command line about the memory of alice: exit code, output, errors."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(tmp_path / "m"), "--user", "alice", "--embedder", "none", *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


def test_commands_take_a_task_from_its_beginning_to_its_report(command):
    assert command("tasks", "start", WIKI, "--id", "wiki", "--project", "infra")[0] == 0
    assert command("tasks", "update", "wiki", "--state", "Disk mounted.", "--version", "1")[0] == 0
    assert "Disk mounted." in command("tasks", "list")[1]
    code, out, _ = command("tasks", "complete", "wiki", "restic copies the wiki at two.", "--json")
    assert (code, json.loads(out)["status"]) == (0, "completed")
    assert "There is no such task." in command("tasks", "list")[1]
    shown = command("tasks", "show", "wiki")[1]
    assert "restic copies the wiki at two.\n\nHow far it had come:\nDisk mounted." in shown
    found = json.loads(command("report", "today", "--tasks", "--json")[1])
    assert [each["title"] for each in found["tasks"]] == [WIKI]
    assert "## Tasks" in command("report", "this month")[1]
    assert "Nothing is known of this time." in command("report", "last week")[1]
    assert command("tasks", "update", "wiki", "--reopen")[0] == 0
    assert command("tasks", "complete", "wiki", "--abandon")[0] == 0
    assert "abandoned" in command("tasks", "list", "--status", "all")[1]
    assert command("tasks", "delete", "wiki", "--yes")[0] == 0


def test_commands_refuse_what_is_not_there_and_say_what_to_do(command):
    command("tasks", "start", WIKI, "--id", "wiki")
    for words in (("tasks", "show", "nope"), ("tasks", "complete", "nope"), ("tasks", "delete", "nope")):
        code, _, err = command(*words)
        assert (code, "tasks list --status all" in err) == (1, True)
    command("tasks", "complete", "wiki")
    assert "--reopen" in command("tasks", "update", "wiki", "--state", "more")[2]
    assert command("tasks", "update", "wiki")[0] == 2
    code, _, err = command("report", "some day")
    assert (code, "last week" in err) == (1, True)
    assert "before it begins" in command("report", "--since", "2026-03-02", "--until", "2026-03-01")[2]
