"""Importing conversations between people: who of them is the user, and whose facts are whose."""

import json
import shlex

import pytest
import typer

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.app import app
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput
from langmem_tiers.testing import ScriptedChatModel
from tests.interrupting import interrupted

TALK = [
    ("Ana", "I work at Bosch as an engineer."),
    ("Ben", "Nice! I live in Oslo with my wife Carla."),
    ("Ana", "I am allergic to walnuts."),
    ("Ben", "My daughter Mia is 5 years old."),
]


def saved(tmp_path, talk=TALK, **fields):
    """A file of JSONL without roles: each line has who said it."""
    path = tmp_path / "talk.jsonl"
    lines = (
        {
            "session": "may",
            "speaker": who,
            "content": said,
            "at": f"2023-05-01T{10 + minute // 60 % 14}:{minute % 60:02}:00Z",
            **fields,
        }
        for minute, (who, said) in enumerate(talk)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        yield memory


def mined(memory, path, user="u1", **options):
    """The space of a user, with what was found in the file."""
    memory.import_file(path, user=user, **options)
    space = memory.user(user)
    space.mine()
    space.flush()
    return space


def known(space):
    return {found.entry.content for found in space.knowledge.search(limit=50)}


def related(space, name):
    ends = (
        (each, each.object.name if each.object else each.value.text) for each in space.graph.timeline(name).relations
    )
    return {(each.subject.name, each.predicate, end) for each, end in ends}


def test_without_a_user_each_speaker_has_their_own_facts(memory, tmp_path):
    space = mined(memory, saved(tmp_path))
    assert "Ana works at Bosch as an engineer." in known(space)
    assert "Ana is allergic to walnuts." in known(space)
    assert "Ben lives in Oslo with Ben's wife Carla." in known(space)
    assert not any("The user" in content for content in known(space))
    assert ("Ana", "works_at", "Bosch") in related(space, "Ana")
    assert ("Ben", "has_daughter", "Mia") in related(space, "Ben")


def test_neither_speaker_is_an_assistant(memory, tmp_path):
    memory.import_file(saved(tmp_path), user="u1")
    assert [(each.speaker, each.role) for each in memory.user("u1").drawers()] == [(who, "user") for who, _ in TALK]


def test_what_one_of_them_does_is_found(memory, tmp_path):
    assert "Bosch" in mined(memory, saved(tmp_path)).recall("Where does Ana work?").block


@pytest.mark.parametrize(
    ("user", "options"), [("ben", {}), ("u1", {"user_speaker": "Ben"}), ("u1", {"user_speaker": "ben"})]
)
def test_the_speaker_who_is_the_user_is_so_in_every_tier(memory, tmp_path, user, options):
    space = mined(memory, saved(tmp_path), user, **options)
    assert "The user lives in Oslo with the user's wife Carla." in known(space)
    assert "Ana works at Bosch as an engineer." in known(space)
    assert ("user", "lives_in", "Oslo") in related(space, "user")
    assert ("Ana", "works_at", "Bosch") in related(space, "Ana")
    assert {each.speaker for each in space.drawers()} == {"Ana", "Ben"}


def test_a_name_that_the_user_told_is_enough(memory, tmp_path):
    space = memory.user("u1")
    space.track([Turn(role="user", content="My name is Ben.")], session="hello")
    space.mine()
    space.flush()
    assert "The user lives in Oslo with the user's wife Carla." in known(mined(memory, saved(tmp_path)))


def test_what_others_say_of_the_user_is_said_of_the_user(memory, tmp_path):
    talk = [("Ana", "Ben is my brother."), ("Ben", "I live in Oslo.")]
    space = mined(memory, saved(tmp_path, talk), user_speaker="Ben")
    assert [each.name for each in space.graph.entities() if "Ben" in (each.name, *each.aliases)] == ["user"]


def test_a_day_on_which_only_another_spoke_is_not_the_users(memory, tmp_path):
    space = mined(memory, saved(tmp_path, [("Ben", "I live in Oslo."), ("Ben", "I am allergic to nuts.")]))
    assert known(space) == {"Ben lives in Oslo.", "Ben is allergic to nuts."}


def test_roles_that_the_format_gives_are_kept(memory, tmp_path):
    lines = [{"session": "s", "role": "user", "speaker": "Ana", "content": "I live in Oslo."}]
    lines.append({"session": "s", "role": "assistant", "speaker": "Robo", "content": "Noted."})
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    space = mined(memory, path)
    assert [(each.role, each.origin) for each in space.drawers()] == [("user", "user"), ("assistant", "assistant")]


def test_a_speaker_who_does_not_speak_is_refused_before_anything_is_stored(memory, tmp_path):
    with pytest.raises(InvalidInput, match="Nobody called 'Zoe' speaks in it") as refused:
        memory.import_file(saved(tmp_path), user="u1", user_speaker="Zoe")
    assert "Ana, Ben" in refused.value.way_out
    assert memory.spaces() == ()


def test_a_dry_run_says_who_speaks(memory, tmp_path):
    report = memory.import_file(saved(tmp_path), user="u1", user_speaker="Ben", dry_run=True)
    assert (report.speakers, report.user_speakers) == ({"Ana": 2, "Ben": 2}, ("Ben",))
    assert memory.spaces() == ()


def test_a_model_is_shown_people_by_name(tmp_path):
    model = ScriptedChatModel(responses=["{}"])
    with Memory.open(tmp_path / "memory", embedder=None, model=model, background=False) as memory:
        mined(memory, saved(tmp_path), user_speaker="Ana")
    shown = "\n".join(message.text for message in model.requests[0])
    assert "user (Ana): I work at Bosch" in shown
    assert "] Ben: Nice!" in shown


def test_the_command_says_who_the_user_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    arguments = ["--path", tmp_path / "memory", "--embedder", "none", "--user", "u1", "import", saved(tmp_path)]
    for options, told in (
        (["--dry-run"], "None of them is the user; --user-speaker"),
        (["--user-speaker", "Ana"], "The user is Ana."),
    ):
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments), *options])
        out = capsys.readouterr().out
        assert left.value.code == 0
        assert "Speakers: Ana (2), Ben (2)." in out
        assert told in out


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs a command line on a memory folder without a model; gives exit code, output and errors."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(tmp_path / "memory"), "--embedder", "none", *map(str, arguments)])
        told = capsys.readouterr()
        return left.value.code, told.out, told.err

    return command


def test_an_import_ends_with_what_it_found_by_speaker(run, tmp_path):
    code, out, _ = run("--user", "u1", "import", saved(tmp_path))
    assert code == 0
    found = out.splitlines()[out.splitlines().index("Found in them: 4 entries, 6 relations.") :]
    assert found[1:4] == ["  Ben: 2 entries, 4 relations", "  Ana: 2 entries, 2 relations", "Try:"]
    assert len(found) == 7


def test_the_commands_to_try_show_something(run, tmp_path):
    told = json.loads(run("import", saved(tmp_path), "--space", "teams/research", "--json")[1])
    assert len(told["try"]) == 3
    assert "recall 'What do you know about Ben?'" in told["try"][0]
    for line in told["try"]:
        code, out, _ = run(*shlex.split(line)[1:])
        assert code == 0
        assert "Ana" in out or "Ben" in out


def test_an_import_may_only_store(run, tmp_path):
    out = run("--user", "u1", "import", saved(tmp_path), "--no-mine")[1]
    assert "Found in them" not in out
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        assert known(memory.user("u1")) == set()


def test_mine_finds_what_an_import_left_and_nothing_twice(run, tmp_path):
    run("--user", "u1", "import", saved(tmp_path), "--no-mine")
    assert "Found in them: 4 entries, 6 relations." in run("--user", "u1", "mine")[1]
    assert "Found in them: 0 entries, 0 relations." in run("mine", "--space", "users/u1")[1]


@pytest.mark.folder
def test_ctrl_c_while_it_mines_keeps_what_is_stored_and_says_how_to_go_on(run, tmp_path, offline_environment):
    talk = [("Ana", f"I work at Firm{day} as an engineer. My sister Lu{day} lives in Oslo.") for day in range(300)]
    file = saved(tmp_path, talk)
    code, err = interrupted(
        *("--embedder", "none", "--user", "u1", "import", file),
        memory=tmp_path / "memory",
        table="entries",
        rows=5,
        environment=offline_environment,
    )
    assert code == 130, err
    assert "Stopped: all messages are stored" in err
    way_out = shlex.split(err[err.index("`") + 1 : err.rindex("`")])
    assert way_out[-1] == "mine"
    assert "Found in them" in run(*way_out[1:])[1]


# Commands that are about the whole memory, or about files of a set.
NOT_ABOUT_A_SPACE = {"directives", "bench", "config check", "backup", "restore", "move", "worker"}


def test_every_command_about_a_space_takes_one_by_name():
    top = typer.main.get_command(app).commands
    groups = (
        (f"{name} ", each.commands)
        for name, each in top.items()
        if name not in NOT_ABOUT_A_SPACE and hasattr(each, "commands")
    )
    single = {name: each for name, each in top.items() if not hasattr(each, "commands")}
    every = single | {first + name: each for first, commands in groups for name, each in commands.items()}
    without = {name for name, each in every.items() if not any("--space" in one.opts for one in each.params)}
    assert without - NOT_ABOUT_A_SPACE == set()
