"""Settings from defaults, the file, the environment and code; `langmem-tiers config`."""

import json
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from langmem_tiers import DreamSettings, Memory, RecallSettings, RerankSettings, Settings, Turn, WorkingSettings
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, InvalidSettings, NewerSchema, NotAMemoryFolder, UnreadableSettings
from langmem_tiers.settings_file import set_value, unset_value
from langmem_tiers.settings_layers import FILE, keys, value_of
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.goldens import WRITES

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "memory"


@pytest.fixture
def write(folder):
    """Write the settings file, before there is a memory."""

    def written(text):
        folder.mkdir(exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        (folder / FILE).write_bytes(data)

    return written


@pytest.fixture
def config(folder, capsys):
    """Run `langmem-tiers config`: exit code, standard output, standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), "config", *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


@pytest.fixture
def shown(config):
    """What `config show` says of one setting: its value and where it comes from."""

    def show(key):
        [found] = json.loads(config("show", key, "--json")[1])
        return found["value"], found["source"]

    return show


def opened(folder, **given):
    return Memory.open(folder, **{"embedder": None, "background": False} | given)


def test_code_goes_before_the_environment_that_before_the_file_and_that_before_defaults(folder, write, monkeypatch):
    write("[recall]\nlimit = 2\ncandidates = 20\nspread = 0.2\n")
    monkeypatch.setenv("LANGMEM_TIERS_RECALL__LIMIT", "3")
    monkeypatch.setenv("LANGMEM_TIERS_RECALL__CANDIDATES", "30")
    with opened(folder, settings=Settings(recall=RecallSettings(limit=4))) as memory:
        recall = memory.settings.recall
    assert (recall.limit, recall.candidates, recall.spread) == (4, 30, 0.2)
    assert recall.knowledge == RecallSettings().knowledge


def test_code_may_set_a_default_against_the_file(folder, write):
    write("[recall]\nlimit = 2\n[recall.rerank]\nkeep = 2\n")
    code = Settings(recall=RecallSettings(limit=8, rerank=RerankSettings(candidates=9)))
    with opened(folder, settings=code) as memory:
        recall = memory.settings.recall
    assert (recall.limit, recall.rerank.keep, recall.rerank.candidates) == (8, 2, 9)


def test_a_file_changes_single_numbers_of_a_table_and_code_gives_the_whole(folder, write):
    write("[recall.weights]\nmatch = 9\n")
    with opened(folder) as memory:
        assert memory.settings.recall.weights == RecallSettings().weights | {"match": 9}
    with opened(folder, settings=Settings(recall=RecallSettings(weights={"time": 1}))) as memory:
        assert memory.settings.recall.weights == {"time": 1}


def test_the_file_says_none_for_no_limit(folder, write):
    write('[episodes]\nttl_days = "none"\n')
    with opened(folder) as memory:
        assert memory.settings.episodes.ttl_days is None


def test_settings_are_in_force_where_they_work(folder, write):
    write("[identity]\nmax_characters = 10\n")
    with opened(folder) as memory, pytest.raises(ValueError, match="10"):
        memory.user("alice").identity.write("a text of more than ten characters")


def test_the_embedder_is_named_by_the_settings_unless_code_names_one(folder, write, monkeypatch):
    write('embedder = "none"\n')
    with Memory.open(folder, background=False) as memory:
        assert memory.embedding_model is None
    monkeypatch.setenv("LANGMEM_TIERS_EMBEDDER", "minilm")
    with Memory.open(folder, background=False) as memory:
        assert "MiniLM" in memory.embedding_model
    with Memory.open(folder, embedder=None, background=False) as memory:
        assert memory.embedding_model is None


@pytest.mark.parametrize("setting", ["model.name", "recall.rerank.model", "embedder"])
def test_a_model_named_in_the_settings_that_cannot_be_used_is_refused_before_anything_is_made(
    setting, folder, monkeypatch
):
    monkeypatch.setenv("LANGMEM_TIERS_" + setting.upper().replace(".", "__"), "nobody:gpt")
    with pytest.raises(InvalidSettings, match="nobody:gpt"):
        Memory.open(folder, background=False)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("[recall]\nlimitt = 5", InvalidSettings, r"no setting recall\.limitt.*Did you mean recall\.limit\?"),
        ("limit = 5", InvalidSettings, r"Did you mean recall\.limit\?"),
        ("[recal]\nlimit = 5", InvalidSettings, r"no setting recal\..*Did you mean recall\?"),
        ("[recall.weights]\nmach = 1", InvalidSettings, r"recall\.weights\.mach cannot be.*'match'"),
        ("[recall]\nlimit = '5'", InvalidSettings, r"recall\.limit cannot be '5'.*valid integer"),
        ("[recall]\nlimit = true", InvalidSettings, r"recall\.limit cannot be True.*valid integer"),
        ("[recall]\nlimit = 0", InvalidSettings, r"recall\.limit cannot be 0.*greater than or equal to 1"),
        ("[recall]\nlimit = 2026-03-02", InvalidSettings, r"recall\.limit cannot be '2026-03-02'"),
        ("[recall]\nthreshold = nan", InvalidSettings, r"recall\.threshold cannot be nan"),
        ("recall = 5", InvalidSettings, "recall cannot be 5"),
        ("[graph]\nsingle_valued = 'a'", InvalidSettings, r"graph\.single_valued cannot be 'a'"),
        ("[recall]\nfallbacks = ['a//b']", InvalidSettings, r"recall\.fallbacks\.0: 'a//b' cannot name a space"),
        ("[spaces.'../x']\nenabled = false", InvalidSettings, r"spaces\.\.\./x: '\.\./x' cannot name a space"),
        ("[episodes]\nttl_days = 1e300", InvalidSettings, r"episodes\.ttl_days cannot be 1e\+300"),
        ("[working]\nttl_minutes = inf", InvalidSettings, r"working\.ttl_minutes cannot be inf"),
        ("[dream]\nlease_seconds = 1e7", InvalidSettings, r"dream\.lease_seconds cannot be 10000000"),
        (
            "[working]\nttl_minutes = 100000",
            InvalidSettings,
            r"is 100,000, more .*_days \(default\) allows: 43,200 min",
        ),
        ("[working]\nlongest_ttl_days = 0.01", InvalidSettings, r"allows: 14\.4 minutes\. Lower the one or raise the"),
        (
            "[agents.p.working]\nttl_minutes = 90\n[spaces.'users/a'.working]\nlongest_ttl_days = 0.05",
            InvalidSettings,
            r"is 90, more than spaces\.users/a\.working\.longest_ttl_days \(.*\) allows: 72 minutes",
        ),
        ("[storage]\nchroma = '127.0.0.1:8000'", InvalidSettings, r"storage\.chroma: give .*http://host:8000"),
        ("[storage]\nchroma = 'http://[host:80'", InvalidSettings, r"storage\.chroma: give .*http://host:8000"),
        ("[recall]\nlimit =", UnreadableSettings, "no valid TOML.*Repair it"),
        (b"\xff\xfe", UnreadableSettings, "no UTF-8 text: byte 0"),
        ("format = 2\nnew_table = 5", NewerSchema, "format 2; this version knows up to 1"),
        ("format = 'x'", InvalidSettings, "format cannot be 'x'"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_with_a_way_out_and_no_memory_is_made(
    text, error, says, folder, write, config
):
    write(text)
    with pytest.raises(error, match=f"(?s){FILE}.*{says}"):
        opened(folder)
    assert [each.name for each in folder.iterdir()] == [FILE]
    code, out, said = config("check")
    assert (code, out) == (1, "")
    assert FILE in said


def test_a_folder_in_the_place_of_the_file_is_an_error(folder):
    (folder / FILE).mkdir(parents=True)
    with pytest.raises(UnreadableSettings, match="cannot be read: Is a directory"):
        opened(folder)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("RECALL__LIMITT", "5", "no setting recall.limitt. Did you mean LANGMEM_TIERS_RECALL__LIMIT?"),
        ("RECAL__LIMIT", "5", "Did you mean LANGMEM_TIERS_RECALL__LIMIT?"),
        ("EMBEDER", "none", "Did you mean LANGMEM_TIERS_EMBEDDER?"),
        ("RECALL_LIMIT", "3", "no setting recall_limit. Did you mean LANGMEM_TIERS_RECALL__LIMIT?"),
        ("DREAM_ENABLED", "false", "Did you mean LANGMEM_TIERS_DREAM__ENABLED?"),
        ("MODEL_NAME", "openai:gpt-5-mini", "Did you mean LANGMEM_TIERS_MODEL__NAME?"),
        ("RECALL_RERANK_KEEP", "3", "Did you mean LANGMEM_TIERS_RECALL__RERANK__KEEP?"),
        ("RECALL_WEIGHTS_MATCH", "3", "Did you mean LANGMEM_TIERS_RECALL__WEIGHTS__MATCH?"),
        ("RECALL__FALLBACKS", '["a//b"]', "recall.fallbacks.0: 'a//b' cannot name a space"),
        ("WORKING__TTL_MINUTES", "inf", "working.ttl_minutes cannot be 'inf'"),
        ("RECALL__LIMIT", "five", "recall.limit cannot be 'five'"),
        ("RECALL__LIMIT", "", "recall.limit cannot be ''"),
        ("RECALL__LIMIT__MOST", "5", "recall.limit cannot be"),
        ("GRAPH__SINGLE_VALUED", "a", "Give a list or a table as JSON."),
    ],
)
def test_a_variable_that_cannot_be_used_is_an_error_that_names_it(name, value, says, folder, monkeypatch):
    monkeypatch.setenv(f"LANGMEM_TIERS_{name}", value)
    with pytest.raises(InvalidSettings) as refused:
        opened(folder)
    assert str(refused.value).startswith(f"LANGMEM_TIERS_{name}")
    assert says in str(refused.value)
    assert not folder.exists()


def test_variables_hold_lists_tables_and_none(folder, monkeypatch):
    monkeypatch.setenv("LANGMEM_TIERS_GRAPH__SINGLE_VALUED", '["has_tyre"]')
    monkeypatch.setenv("LANGMEM_TIERS_RECALL__WEIGHTS__MATCH", "9")
    monkeypatch.setenv("LANGMEM_TIERS_EPISODES__TTL_DAYS", "none")
    monkeypatch.setenv("LANGMEM_TIERS_DREAM__ENABLED", "off")
    with opened(folder) as memory:
        found = memory.settings
    assert found.graph.single_valued == ("has_tyre",)
    assert found.recall.weights == RecallSettings().weights | {"match": 9}
    assert (found.episodes.ttl_days, found.dream.enabled) == (None, False)


def test_variables_of_the_command_line_and_of_others_are_no_settings(folder, monkeypatch):
    for name in ("PATH", "USER", "MODEL", "MCP_TOKEN", "PORT", "SERVICE_HOST", "PORT_8000_TCP"):
        monkeypatch.setenv(f"LANGMEM_TIERS_{name}", "some text")
    with opened(folder) as memory:
        assert memory.settings == Settings()


def test_an_entry_of_working_memory_may_stay_as_long_as_all_sources_together_say(folder, write, monkeypatch):
    write("[working]\nttl_minutes = 100000\n")
    monkeypatch.setenv("LANGMEM_TIERS_WORKING__LONGEST_TTL_DAYS", "90")
    short, long = Settings(working=WorkingSettings(ttl_minutes=1)), Settings(working=WorkingSettings(ttl_minutes=1e6))
    with opened(folder) as memory:
        saved = memory.user("alice").working.save("session/a/inbox", "3 mails").entry
        assert (saved.expires_at - saved.stored_at).total_seconds() == 100_000 * 60
        assert memory.user("alice", settings=short).context.settings.working.longest_ttl_days == 90
        with pytest.raises(
            InvalidSettings, match=r"ttl_minutes of the argument `settings` is 1,000,000, more than working"
        ):
            memory.user("alice", settings=long)
    with pytest.raises(InvalidSettings, match=r"_minutes \(code\) is 1,000,000, more .* \(LANGMEM_TIERS_WORKING__LONG"):
        opened(folder, settings=long)


def test_the_folder_of_prompts_that_the_settings_name_may_be_there_before_the_memory(folder, write):
    write('directives = "prompts/ours"\n')
    (folder / "prompts" / "ours").mkdir(parents=True)
    with opened(folder) as memory:
        assert memory.spaces() == ()
    (folder.parent / "other" / "prompts").mkdir(parents=True)
    with pytest.raises(NotAMemoryFolder):
        opened(folder.parent / "other")
    with opened(folder.parent / "other", settings=Settings(directives=str(folder.parent / "other" / "prompts"))):
        assert (folder.parent / "other" / "langmem-tiers.json").exists()


def test_settings_and_prompts_may_be_in_a_folder_before_its_memory(folder, write):
    write("[recall]\nlimit = 2\n")
    (folder / "directives").mkdir()
    with opened(folder) as memory:
        assert memory.settings.recall.limit == 2
    (folder.parent / "other").mkdir()
    for name in (FILE, "diary.txt"):
        (folder.parent / "other" / name).write_text("")
    with pytest.raises(NotAMemoryFolder):
        opened(folder.parent / "other")


def test_config_show_says_where_each_value_comes_from(write, shown, config, monkeypatch):
    write('# ours\n[recall]\nlimit = 2\n\n[recall.weights]\n"match" = 9\n')
    monkeypatch.setenv("LANGMEM_TIERS_RECALL__CANDIDATES", "30")
    assert shown("recall.limit") == (2, f"{FILE}:3")
    assert shown("recall.weights.match") == (9, f"{FILE}:6")
    assert shown("recall.candidates") == (30, "LANGMEM_TIERS_RECALL__CANDIDATES")
    assert shown("recall.spread") == (0, "default")
    assert {each["key"] for each in json.loads(config("show", "--json")[1])} == {".".join(key) for key in keys()}
    assert "recall.rerank.keep" in config("show", "recall.rerank")[1]


@pytest.mark.parametrize("value", ["nan", "inf", "[nan]"])
def test_config_set_refuses_what_is_no_number_by_the_name_of_the_setting(folder, config, value):
    code, _, err = config("set", "storage.memory_mb", value)
    assert code == 1
    assert f"storage.memory_mb cannot be {value}: input should be a valid integer" in err


def test_config_set_and_unset_keep_comments_and_need_no_memory(folder, config, shown):
    assert config("set", "recall.limit", "2")[0] == 0
    path = folder / FILE
    path.write_text(path.read_text().replace("limit = 2", "limit = 2  # as many as fit"))
    for key, value in (("recall.rerank.keep", "3"), ("embedder", "none"), ("recall.weights.match", "9")):
        assert config("set", key, value)[0] == 0
    assert config("set", "graph.single_valued", '["has_tyre"]')[0] == 0
    assert "limit = 2  # as many as fit" in path.read_text()
    assert shown("embedder")[0] == "none"
    assert shown("graph.single_valued")[0] == ["has_tyre"]
    assert config("unset", "recall.limit")[0] == 0
    assert shown("recall.limit") == (RecallSettings().limit, "default")
    assert shown("recall.rerank.keep")[0] == 3
    assert sorted(each.name for each in folder.iterdir()) == [f".{FILE}.lock", FILE]


def test_what_many_set_and_unset_at_the_same_time_is_all_in_the_file(folder):
    agents = [f"agent-{number}" for number in range(12)]
    with ThreadPoolExecutor(12) as many:
        list(many.map(lambda agent: set_value(folder, ("agents", agent, "recall", "limit"), 3), agents))
        assert sorted(tomllib.loads((folder / FILE).read_text())["agents"]) == sorted(agents)
        list(many.map(lambda agent: unset_value(folder, ("agents", agent)), agents[1:]))
    assert list(tomllib.loads((folder / FILE).read_text())["agents"]) == agents[:1]


def test_a_setting_that_is_refused_makes_no_folder(folder):
    with pytest.raises(InvalidSettings):
        set_value(folder, ("recall", "limit"), "five")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("set", "recall.limitt", "5"), "Did you mean recall.limit?"),
        (("set", "recall.limit", "five"), "recall.limit cannot be 'five'"),
        (("set", "recall", "5"), "recall cannot be 5"),
        (("set", "recall.weights.mach", "5"), "no setting recall.weights.mach"),
        (("unset", "recall.candidates"), "recall.candidates is not set"),
        (("set", "working.ttl_minutes", "100000"), "is 100,000, more than working.longest_ttl_days (default) allows"),
        (("show", "recal"), "Did you mean recall?"),
    ],
)
def test_config_refuses_what_there_is_not_and_leaves_the_file(arguments, says, folder, write, config):
    write("[recall]\nlimit = 2\n")
    code, _, said = config(*arguments)
    assert code == 1
    assert says in said
    assert (folder / FILE).read_text() == "[recall]\nlimit = 2\n"


def test_config_set_leaves_a_file_that_is_half_written_or_of_a_newer_version(folder, write, config):
    for text in ("[recall\nlimit = 2\n", "format = 2\n"):
        write(text)
        assert config("set", "recall.limit", "3")[0] == 1
        assert (folder / FILE).read_text() == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("recall = { limit = 3, threshold = 0.1 }\n", 1),
        ("[recall]\nweights = {match = 3.0, time = 2.0}\nlimit = 3\n", 3),
    ],
)
def test_config_reads_and_changes_inline_tables(text, line, write, config, shown):
    write(text)
    assert shown("recall.limit") == (3, f"{FILE}:{line}")
    assert config("set", "recall.lists.limit", "5")[0] == 0
    assert (shown("recall.limit")[0], shown("recall.lists.limit")[0]) == (3, 5)
    assert config("set", "mining.enabled", "false", "--agent", "patrol")[0] == 0
    assert config("check")[0] == 0


def test_config_set_keeps_a_link_to_a_file_elsewhere(folder, config, tmp_path):
    managed = tmp_path / "managed.toml"
    managed.write_text("[recall]\nlimit = 4\n")
    folder.mkdir(exist_ok=True)
    (folder / FILE).symlink_to(managed)
    assert config("set", "recall.limit", "5")[0] == 0
    assert ((folder / FILE).is_symlink(), "limit = 5" in managed.read_text()) == (True, True)


def test_config_unset_removes_a_setting_that_there_is_not(write, config):
    write("[recall]\nlimitt = 2\nlimt = 3\n")
    assert config("check")[0] == 1
    assert config("unset", "recall.limitt")[0] == 0
    assert config("unset", "recall.limt")[0] == 0
    assert config("check")[0] == 0


def test_config_says_of_a_database_that_all_databases_share_its_settings_file(folder, monkeypatch, capsys):
    monkeypatch.setenv("LANGMEM_TIERS_PATH", str(folder))
    for words in (["set", "recall.limit", "5"], ["unset", "recall.limit"]):
        with pytest.raises(SystemExit) as left:
            main(["--path", "postgresql://app:s3cret@db/memories", "config", *words])
        said = capsys.readouterr().out
        assert not left.value.code
        assert str(folder / "langmem-tiers.toml") in said
        assert "every database" in said
        assert "s3cret" not in said


def test_config_set_says_nothing_of_databases_to_a_memory_in_a_folder(config):
    assert "database" not in config("set", "recall.limit", "5")[1]


def test_config_set_says_when_a_variable_goes_before_the_file(config, monkeypatch):
    monkeypatch.setenv("LANGMEM_TIERS_RECALL__LIMIT", "3")
    assert "LANGMEM_TIERS_RECALL__LIMIT goes before the file" in config("set", "recall.limit", "2")[1]


def test_a_builder_opens_what_its_steps_say_and_each_step_leaves_it_as_it_is(folder, clock):
    base = Memory.builder(folder).with_embeddings(None).with_background(False).with_clock(clock)
    other = base.with_settings(Settings(recall=RecallSettings(limit=3))).with_dreaming(DreamSettings(episodes=9))
    more = other.with_settings(Settings(recall=RecallSettings(spread=0.3))).with_embeddings(HashEmbedder())
    with base.open() as memory:
        assert (memory.embedding_model, memory.settings, memory.clock) == (None, Settings(), clock)
    with more.open() as memory:
        found = memory.settings
        assert memory.embedding_model is not None
    assert (found.recall.limit, found.recall.spread, found.dream.episodes) == (3, 0.3, 9)


def test_a_builder_turns_dreaming_on_against_the_file(folder, write):
    write("[dream]\nenabled = false\n")
    base = Memory.builder(folder).with_embeddings(None)
    with base.open() as memory:
        assert not memory.settings.dream.enabled
    with base.with_dreaming().open() as memory:
        assert memory.settings.dream.enabled


def test_a_builder_takes_models_and_refuses_what_cannot_be_one(folder):
    model = ScriptedChatModel(responses=["{}"])
    with Memory.builder(folder).with_embeddings(None).with_model(model).with_reranker(model).open() as memory:
        assert memory.reranker is not None
        assert memory.user("alice").context.model.name
    for wrong in (
        Memory.builder(folder).with_model("nobody:gpt"),
        Memory.builder(folder).with_reranker("nobody:gpt"),
        Memory.builder(folder).with_embeddings("nobody"),
    ):
        with pytest.raises(InvalidSettings, match="nobody"):
            wrong.open()
    builder = Memory.builder(folder)
    for argument, step in (
        ("path", lambda: Memory.builder(5)),
        ("settings", lambda: builder.with_settings({"recall": {"limit": 3}})),
        ("dream", lambda: builder.with_dreaming(True)),
        ("background", lambda: builder.with_background("no")),
        ("clock", lambda: builder.with_clock(5)),
    ):
        with pytest.raises(InvalidInput, match=f"`{argument}`"):
            step()


def test_paths_are_relative_to_the_current_directory_and_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given, wanted in (("a/memory", "a/memory"), ("~/memory", "home/memory"), (str(tmp_path / "b"), "b")):
        with opened(given) as memory:
            monkeypatch.chdir("/")
            memory.user("alice").track([Turn(role="user", content="Hello")])
            assert memory.path == tmp_path / wanted
            assert memory.spaces() == ("users/alice",)
        monkeypatch.chdir(tmp_path)


def test_prompts_of_your_own_are_where_the_settings_say(folder, write, capsys, tmp_path):
    def prompts():
        with pytest.raises(SystemExit):
            main(["--path", str(folder), "directives", "list", "--json"])
        return {each["name"]: (each["path"], each["in_use"]) for each in json.loads(capsys.readouterr().out)}

    write(f'directives = "{tmp_path / "shared"}"\n')
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "dream.md").write_text("# Dream\nMerge nothing.\n")
    assert prompts()["dream"] == (str(tmp_path / "shared" / "dream.md"), "your own")
    write('directives = "prompts"\n')
    assert prompts()["dream"] == (str(folder / "prompts" / "dream.md"), "built-in")


def test_the_docs_name_the_settings_of_other_memories_with_their_defaults_here():
    rows = PAGE.read_text().partition("## Names elsewhere")[2].partition("## All settings")[0].splitlines()
    named = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("|")][2:]
    ours = {here.strip("`"): default for _, _, here, default, _ in named if default}
    assert {name: _default(value_of(Settings(), tuple(name.split(".")))) for name in ours} == ours
    assert len(ours) > 35


def test_the_docs_list_every_setting_with_its_default():
    before, mark, _ = PAGE.read_text().partition("pytest tests/test_settings.py -->\n")
    wanted = f"{before}{mark}\n{_reference()}"
    if WRITES:
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted


def _reference():
    rows = ["| setting | default | |", "|---|---|---|"]
    for key in keys():
        field = type(value_of(Settings(), key[:-1])).model_fields[key[-1]]
        rows.append(f"| `{'.'.join(key)}` | {_default(field.default)} | {field.description or ''} |")
    return "\n".join(rows) + "\n"


def _default(value):
    if value is None:
        return "none"
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"
