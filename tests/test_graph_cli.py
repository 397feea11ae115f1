"""`langmem-tiers graph`, `timeline`, `relations` and `entities`: looked at, drawn, said and corrected by hand."""

import io
import json
import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import networkx
import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.testing import FrozenClock

HOSTILE = "Faro\x1b[2J\u202e [bold]red[/bold]"


@pytest.fixture
def folder(tmp_path):
    """A memory where alice's sister Anna moved from Lisbon to Porto, which was learned a day after."""
    path, clock = tmp_path / "memory", FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    with Memory.open(path, embedder=None, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="My sister Anna moved to Porto.", said_at=clock())], session="monday")
        graph = alice.graph
        types = {"subject_type": "person", "object_type": "place"}
        graph.add_relation("user", "has sister", "Anna", object_type="person")
        graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021", **types)
        clock.tick(86_400)
        graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05", evidence=[1], **types)
        graph.add_relation("Anna", "works for", "Acme", valid_from="2020", valid_to="2023-11", **types)
        graph.add_relation("user", "owns", "e-bike", valid_from="2022-04", object_type="item")
        graph.add_relation("e-bike", "has capacity", value=20, unit="Ah")
    return path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run a command line about `folder`: exit code, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments, user="alice", path=folder):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(path), "--user", user, *map(str, arguments)])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


@pytest.fixture
def ids(run):
    """Ids of Anna's relations by what they lead to."""
    relations = json.loads(run("timeline", "Anna", "--json")[1])["relations"]
    return {(each["object"] or {"name": ""})["name"]: each["id"] for each in relations}


def _lines(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


# Looking.


def test_what_is_around_somebody_is_a_tree(run, ids):
    code, out, err = run("graph", "Anna")
    assert (code, err) == (0, "")
    assert _lines(out)[0].startswith("Anna (person)")
    assert f"├── lives in Porto (place) since 2024-05 {ids['Porto']}" in _lines(out)
    assert "└── user (person) has sister Anna" in out
    assert "Lisbon" not in out


def test_a_deeper_tree_goes_on_below(run):
    lines = _lines(run("graph", "Anna", "--depth", "2")[1])
    assert any(line.startswith("└── owns e-bike (item) since 2022-04") for line in lines)


@pytest.mark.parametrize(
    ("options", "shown", "hidden"),
    [
        (["--as-of", "2023"], ["Lisbon", "Acme"], ["Porto"]),
        (["--as-of", "2024-06"], ["Porto"], ["Lisbon", "Acme"]),
        (["--all-times"], ["Lisbon", "Porto", "Acme"], []),
        (["--known-at", "2026-03-02"], ["Lisbon"], ["Porto", "Acme"]),
    ],
    ids=" ".join,
)
def test_both_times_can_be_asked_for(run, options, shown, hidden):
    for arguments in (["graph", "Anna", *options], ["graph", *options]):
        out = run(*arguments)[1]
        assert [name for name in (*shown, *hidden) if name in out] == shown


def test_the_whole_graph_is_a_table_of_the_most_connected_first(run):
    lines = _lines(run("graph")[1])
    assert lines[0] == "who or what relation when id"
    assert [line for line in lines if line.startswith("Anna lives in Porto since 2024-05")]
    assert [line for line in lines if line.startswith("e-bike has capacity 20 Ah")]


def test_a_large_graph_is_cut_and_says_so(folder, run):
    with Memory.open(folder, embedder=None, background=False) as memory:
        graph = memory.user("alice").graph
        for n in range(70):
            graph.add_relation("Anna", "likes", f"drink {n}")
    out = run("graph", "--limit", "30")[1]
    assert out.count(" likes ") <= 30
    assert "Not all is shown: the 60 most connected of" in out
    assert "relations of Anna" in run("graph", "Anna")[1]


def test_a_timeline_tells_when_and_since_when_that_is_believed(run, ids):
    lines = _lines(run("timeline", "Anna")[1])
    assert f"2021 – 2024-05 lives in Lisbon 2026-03-03 {ids['Lisbon']}" in lines
    assert lines.index(f"since 2024-05 lives in Porto 2026-03-03 {ids['Porto']}") == len(lines) - 1
    assert any(line.startswith("user has sister Anna") for line in lines)
    assert "since 2021" in run("timeline", "Anna", "--known-at", "2026-03-02")[1]


@pytest.mark.parametrize("command", [["graph", "Anna"], ["graph"], ["timeline", "Anna"]])
def test_json_is_for_scripts(run, ids, command):
    data = json.loads(run(*command, "--json")[1])
    porto = next(each for each in data["relations"] if each["id"] == ids["Porto"])
    assert (porto["subject"]["name"], porto["object"]["type"], porto["authority"]) == ("Anna", "place", "user")
    assert porto["period"]["start"] == "2024-05-01T00:00:00+00:00"
    assert data["cut"] == []


def test_kin_and_other_spellings_are_understood(run):
    assert run("graph", "my sister")[1].startswith("Anna (person)")
    assert run("graph", "ANNA")[1].startswith("Anna (person)")


def test_several_of_one_name_are_listed(folder, run):
    with Memory.open(folder, embedder=None, background=False) as memory:
        made = [memory.user("alice").graph.add_entity(f"Lena {n}", aliases=["Lena"]).id for n in "AB"]
    for command in ("graph", "timeline"):
        code, out, err = run(command, "Lena")
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert all(f"[{each}] Lena" in err for each in made)


def test_an_unknown_name_is_one_line_with_what_is_like_it(folder, run):
    with Memory.open(folder, embedder=None, background=False) as memory:
        for name in ("Marta Silva", "Marta Sousa"):
            memory.user("alice").graph.add_entity(name, type="person")
    code, out, err = run("graph", "Marta")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "Like it: [" in err
    assert "No name is like it" in run("timeline", "Zaphod")[2]


@pytest.mark.parametrize("command", ["graph", "timeline"])
def test_nobody_is_made_by_looking(run, tmp_path, command):
    code, _, err = run(command, "Anna", user="bob")
    assert (code, "There is no user 'bob'" in err) == (1, True)
    assert run(command, "Anna", path=tmp_path / "nowhere")[0] == 1
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("options", [["--as-of", "soon"], ["--known-at", "1.2.3"], ["--depth", "99"]], ids=" ".join)
def test_an_option_that_can_not_be_used_is_one_line(run, options):
    code, out, err = run("graph", "Anna", *options)
    assert (code, out, err.count("\n")) == (1, "", 1)


def test_a_name_that_speaks_to_the_terminal_is_not_obeyed(folder, run):
    with Memory.open(folder, embedder=None, background=False) as memory:
        memory.user("alice").graph.add_relation("e-bike", "stands in [red]", HOSTILE.replace("\x1b", ""))
    for command in (["graph"], ["graph", "e-bike"], ["timeline", "e-bike"], ["relations", "changes", "2000"]):
        out = run(*command)[1]
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert "[bold]red[/bold]" in run("graph", "e-bike")[1]


# Files.


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "graphml", "json"])
@pytest.mark.parametrize("options", [[], ["Anna", "--depth", "2", "--all-times"]], ids=["whole", "part"])
def test_a_file_is_written_by_its_name(run, tmp_path, suffix, options):
    out = tmp_path / f"graph.{suffix}"
    code, told, err = run("graph", *options, "--out", out)
    assert (code, err) == (0, "")
    assert told.startswith(f"Wrote {out}")
    assert b"Anna" in out.read_bytes() or suffix == "png"


def test_a_picture_says_which_time_it_shows(run, tmp_path):
    run("graph", "Anna", "--as-of", "2023", "--out", tmp_path / "anna.svg")
    words = [each.text for each in ElementTree.parse(tmp_path / "anna.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert words[-1] == "As of 2023. 4 entities, 3 relations."
    assert "2021 – 2024-05" in words


def test_a_timeline_is_drawn(run, tmp_path):
    assert run("timeline", "Anna", "--out", tmp_path / "anna.svg")[0] == 0
    assert "since 2024-05" in (tmp_path / "anna.svg").read_text()
    assert run("timeline", "Anna", "--out", tmp_path / "anna.png")[0] == 0


@pytest.mark.parametrize("options", [[], ["Anna"]], ids=["whole", "part"])
def test_graphml_is_read_by_others(run, ids, tmp_path, options):
    run("graph", *options, "--out", tmp_path / "graph.graphml")
    read = networkx.read_graphml(tmp_path / "graph.graphml", force_multigraph=True, edge_key_type=str)
    names = networkx.get_node_attributes(read, "label")
    edge = next(data for *_, key, data in read.edges(keys=True, data=True) if key == ids["Porto"])
    assert {"Anna", "Porto", "user"} <= set(names.values())
    assert edge["valid_from"].startswith("2024-05-01")
    assert ("Lisbon" in names.values()) == (not options)


@pytest.mark.parametrize("options", [[], ["Anna", "--all-times"]], ids=["whole", "part"])
def test_json_goes_out_and_back_in_with_both_times(run, tmp_path, options):
    run("graph", *options, "--out", tmp_path / "graph.json")
    assert run("relations", "import", tmp_path / "graph.json", user="bob")[0] == 0
    assert run("timeline", "Anna", user="bob")[1] == run("timeline", "Anna")[1]
    again = run("graph", "Anna", "--known-at", "2026-03-02", user="bob")[1]
    assert "Lisbon (place) since 2021" in " ".join(again.split())
    assert "known" in run("relations", "import", tmp_path / "graph.json", user="bob")[1]


def test_a_file_that_can_not_be_is_one_line(run, tmp_path):
    for command in (["graph", "--out", tmp_path / "graph.pdf"], ["timeline", "Anna", "--out", tmp_path / "a.html"]):
        code, out, err = run(*command)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "End it in .svg" in err
    for suffix in ("svg", "json"):
        code, out, err = run("graph", "--out", tmp_path / "nowhere" / f"graph.{suffix}")
        assert (code, out, err.count("\n"), "cannot be written" in err) == (1, "", 1, True)


# Saying and correcting.


def test_what_is_added_ends_what_can_not_hold_beside_it(run):
    code, out, _ = run("relations", "add", "Anna", "moved to", "Faro", "--from", "2025-10", "--object-type", "place")
    assert (code, out.startswith("Added.")) == (0, True)
    assert "So these became:" in out
    assert "Anna lives in Porto 2024-05 – 2025-10" in " ".join(out.split())
    assert "It was known already." in run("relations", "add", "Anna", "lives in", "Faro", "--from", "2025-10")[1]


def test_a_value_is_added_for_a_user_who_is_new(run):
    run("relations", "add", "e-bike", "has range", "--value", "80", "--unit", "km", user="bob")
    assert "has range 80 km" in run("graph", "e-bike", user="bob")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["Anna", "lives in"],
        ["Anna", "lives in", "Porto", "--value", "3"],
        ["Anna", "likes", "Anna"],
        ["Anna", "lives in", "Faro", "--from", "soon"],
        ["Anna", "lives in", "Faro", "--from", "2024", "--to", "2023"],
        ["A" * 10_000, "lives in", "Faro"],
    ],
    ids=["nothing", "both", "itself", "no date", "backwards", "long"],
)
def test_what_can_not_be_is_one_line(run, arguments):
    code, out, err = run("relations", "add", *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)


def test_a_relation_is_ended_and_stays_in_the_timeline(run, ids):
    assert "2024-05 – 2026-01" in run("relations", "end", ids["Porto"], "--at", "2026-01")[1]
    assert "Porto" not in run("graph", "Anna")[1]
    assert "2024-05 – 2026-01" in run("timeline", "Anna")[1]


def test_what_was_never_so_is_withdrawn_and_what_it_ended_holds_again(run, ids):
    assert run("relations", "withdraw", ids["Porto"])[0] == 0
    assert "Lisbon (place) since 2021" in " ".join(run("graph", "Anna")[1].split())
    history = _lines(run("relations", "history", ids["Lisbon"])[1])
    assert ["Anna lives in Lisbon since 2021" in line for line in history[1:4]] == [True, False, True]
    assert f"succeeded by {ids['Porto']}" in history[2]


def test_deleting_asks_first(run, ids, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, _, err = run("relations", "delete", ids["Porto"])
    assert (code, "“Anna lives in Porto”" in err) == (1, True)
    assert run("relations", "delete", ids["Porto"], "--yes")[1] == f"{ids['Porto']} is deleted.\n"
    assert "Porto" not in run("graph", "--all-times")[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert "Anna is deleted" in run("entities", "delete", "Anna")[1]
    assert run("graph", "Anna")[0] == 1


@pytest.mark.parametrize("command", ["end", "withdraw", "delete", "history"])
def test_an_unknown_relation_is_one_line_that_says_where_to_look(run, command):
    code, out, err = run("relations", command, "0123456789ab")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "`langmem-tiers timeline ENTITY`" in err


def test_the_ways_between_two_are_printed(run):
    out = _lines(run("relations", "between", "Porto", "e-bike")[1])
    assert out[0] == "1."
    assert [line.split(" ", 1)[1].split("  ")[0] for line in out[1:]] == [
        "Anna lives in Porto since 2024-05",
        "user has sister Anna",
        "user owns e-bike since 2022-04",
    ]
    none = run("relations", "between", "Acme", "e-bike")[1]
    assert none == "No way leads from Acme to e-bike in 4 steps now; --all-times looks at all times.\n"


def test_changes_between_two_dates_are_printed(run, ids):
    out = run("relations", "changes", "2024", "2024")[1]
    assert _lines(out) == [
        f"2024-05-01 ended {ids['Lisbon']} Anna lives in Lisbon",
        f"2024-05-01 began {ids['Porto']} Anna lives in Porto",
    ]
    assert run("relations", "changes", "2024", "2024", "--entity", "e-bike")[1] == "Nothing changed.\n"


def test_what_was_said_of_the_same_day_and_displaced_is_printed(run, ids):
    out = run("relations", "add", "Anna", "lives in", "Faro", "--from", "2024-05")[1]
    mark = "not believed: contradicted by Faro"
    assert f"{ids['Porto']} Anna lives in Porto {mark}" in _lines(out)
    assert f"2024-05-01 displaced {ids['Porto']} Anna lives in Porto {mark}" in _lines(
        run("relations", "changes", "2024", "2024")[1]
    )
    assert mark in " ".join(run("timeline", "Anna")[1].split())


# Entities.


def test_entities_are_listed_and_shown(run):
    assert "Porto (place)" in run("entities", "list", "--type", "place")[1]
    assert "Anna" not in run("entities", "list", "--type", "place")[1]
    assert _lines(run("entities", "list", "ann")[1])[0].endswith("Anna (person)")
    assert "There are more" in run("entities", "list", "--limit", "2")[1]
    shown = run("entities", "show", "Porto")[1]
    assert ("spoken of in  §W-001/R-01/D-001" in shown, "authority  user" in shown) == (True, True)


def test_entities_are_merged_and_told_apart_again(run):
    run("relations", "add", "Anna Silva", "likes", "tea", "--subject-type", "person")
    out = run("entities", "merge", "Anna Silva", "Anna", "--reason", "her full name")[1]
    number = out.split()[0]
    assert "her full name" in out
    assert "likes tea" in run("graph", "Anna")[1]
    assert re.search(r"Anna Silva \(person\) \[\w{12}\] is Anna \(person\) \[\w{12}\]", run("entities", "merges")[1])
    assert run("entities", "unmerge", number)[0] == 0
    assert "likes tea" not in run("graph", "Anna")[1]
    assert run("entities", "merges")[1] == "Nothing was merged.\n"
    assert "undone" in run("entities", "merges", "--undone")[1]


def test_two_that_are_said_to_be_two_are_not_merged(run):
    run("relations", "add", "Anna Silva", "likes", "tea", "--subject-type", "person")
    assert run("entities", "apart", "Anna", "Anna Silva")[0] == 0
    assert run("entities", "pairs")[1] == "No two entities look the same.\n"
    code, _, err = run("entities", "merge", "Anna", "Anna Silva")
    assert (code, err.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    "command", [["entities", "merge", "Zaphod", "Anna"], ["entities", "delete", "Zaphod"]], ids=" ".join
)
def test_an_unknown_entity_is_one_line_that_says_where_to_look(run, command):
    code, out, err = run(*command)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "`langmem-tiers entities list`" in err


def test_what_is_kept_apart_is_listed_and_allowed_again(run):
    run("relations", "add", "Anna Silva", "likes", "tea", "--subject-type", "person")
    run("entities", "apart", "Anna", "Anna Silva")
    assert "somebody said so" in run("entities", "pairs", "--apart")[1]
    _, _, err = run("entities", "merge", "Anna", "Anna Silva")
    assert "Anna Silva (person: likes tea)" in err
    assert "`langmem-tiers entities allow-merge ID ID` takes that back." in err
    assert run("entities", "allow-merge", "Anna", "Anna Silva")[1].endswith("are kept apart no longer.\n")
    assert run("entities", "pairs", "--apart")[1] == "No two entities are kept apart.\n"
    assert run("entities", "merge", "Anna", "Anna Silva")[0] == 0
    assert "by merge 1" in run("entities", "apart", "Anna", "Anna Silva")[2]


def test_an_entity_is_shown_with_the_names_and_messages_of_what_was_merged_into_it(folder, run):
    with Memory.open(folder, embedder=None, background=False) as memory:
        graph = memory.user("alice").graph
        graph.add_relation("user", "has sister", "Annie", object_type="person", evidence=[1])
        graph.merge("Annie", "Anna")
    shown = run("entities", "show", "Anna")[1]
    assert re.search(r"aliases +Annie", shown)
    assert shown.count("spoken of in  §W-001/R-01/D-001") == 1
    assert "also Annie" in run("entities", "list", "Anna")[1]
    assert run("graph", "Anna")[1].count("has sister") == 1


def test_two_of_one_name_are_told_apart_by_what_is_known_of_them(folder, run):
    with Memory.open(folder, embedder=None, background=False) as memory:
        graph = memory.user("alice").graph
        graph.add_entity("Faro", type="place")
        graph.add_relation("Faro", "likes", "tuna", subject_type="person")
    err = run("entities", "merge", "Faro", "Anna")[2]
    assert re.search(r"\[\w{12}\] Faro \(place\); \[\w{12}\] Faro \(person: likes tuna\)", err)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("graph user --known-at 2020 --all-times", "was known on 2020; without --known-at"),
        ("graph user --known-at 2020", "was known on 2020; without --known-at"),
        ("graph --known-at 2020", "No relation was known on 2020; without --known-at"),
        ("graph Acme --as-of 2025", "No relation of Acme holds as of 2025; --all-times shows"),
        ("timeline Anna --known-at 2020", "No relation of Anna was known on 2020"),
        ("graph Anna --depth 9", "9 steps are more than the 2 that Settings.graph.depth allows."),
        ("graph Anna --as-of 2024-05-01T10:00", "such as 2024-05-17T10:00+02:00"),
        ("graph Anna --as-of soon", "or now, today, yesterday or tomorrow."),
        ("graph Zaphod", "`langmem-tiers entities list`"),
        ("entities unmerge 17", "`langmem-tiers entities merges` lists those that stand."),
        ("relations changes 2100", "The first moment is still to come. Name the second one, too."),
        ("relations between Acme e-bike --as-of 2025", "No way leads from Acme to e-bike in 4 steps as of 2025."),
        ("relations import nofile.json", "`langmem-tiers graph --out FILE.json`"),
    ],
)
def test_what_can_not_be_shown_says_what_can(run, command, said):
    _, out, err = run(*command.split())
    assert said in out + err
    assert "space.graph" not in out + err


# Several of one name, types, and what is over.


def test_another_one_of_a_name_is_made_on_purpose(run):
    code, out, _ = run("entities", "add", "Anna", "--type", "person", "--distinct", "--json")
    other = json.loads(out)["id"]
    assert code == 0
    assert len(json.loads(run("entities", "list", "Anna", "--json")[1])) == 2
    assert run("relations", "add", other, "lives in", "Oslo")[0] == 0
    code, _, err = run("relations", "add", "Anna", "likes", "tea")
    assert code == 1
    assert other in err


def test_an_entity_that_is_known_is_added_to(run):
    assert run("entities", "add", "Anna", "--alias", "Annie")[0] == 0
    assert [each["aliases"] for each in json.loads(run("entities", "list", "Annie", "--json")[1])] == [["Annie"]]


def test_a_type_of_ones_own_makes_no_second_one(run):
    assert run("relations", "add", "Anna", "likes", "tea", "--subject-type", "dragon")[0] == 0
    code, _, err = run("relations", "add", "Anna", "likes", "tea", "--subject-type", "persn")
    assert (code, len(json.loads(run("entities", "list", "Anna", "--json")[1]))) == (1, 1)
    assert "did you mean 'person'?" in err


@pytest.mark.parametrize(
    ("predicate", "way_out"), [("used to live in", "with --to; `relations end"), ("is not in", "`relations withdraw")]
)
def test_what_is_over_or_not_so_is_said_by_another_command(run, predicate, way_out):
    code, _, err = run("relations", "add", "Anna", predicate, "Porto")
    assert code == 1
    assert way_out in err


def test_a_part_says_how_many_entities_importing_it_brings(run, tmp_path):
    run("relations", "add", "Annie", "likes", "tea")
    run("entities", "merge", "Annie", "Anna")
    part = tmp_path / "part.json"
    out = run("graph", "Anna", "--out", part)[1]
    told = int(re.search(r": (\d+) entities \(1 of them merged into others\)", out)[1])
    assert f"{told} entities" in run("relations", "import", part, user="bob")[1]
