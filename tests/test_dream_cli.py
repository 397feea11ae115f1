"""`langmem-tiers dream`, `dreams`, `undo`, `redo`: what a user reads of a dream, and going back."""

import json
from datetime import UTC, datetime

import pytest
from dreaming import begun, dreamt, known, seen

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.dream import apply
from langmem_tiers.dream.types import Decision, GoldenResult, InferredPreference, MergeEntries, RetireEntry, Synthesis
from langmem_tiers.records import Evidence
from langmem_tiers.storage import dreams
from langmem_tiers.storage.leases import DREAM, Lease

TEA = "The user drinks green tea."
TEAS = "The user drinks a lot of green tea."
HOSTILE = "The user \x1b[31mhates\u202e coffee."


@pytest.fixture
def folder(tmp_path):
    """A memory of alice with two entries on tea and a hostile one, where nothing was dreamt."""
    path = tmp_path / "memory"
    with Memory.open(path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="Green tea, please.")], session="monday")
        for text in (TEA, TEAS, HOSTILE):
            known(alice, text)
    return path


@pytest.fixture
def run(folder, capsys):
    """Run a command line about `folder`: exit code, standard output, standard error."""

    def call(*arguments, user="alice"):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), *(("--user", user) if user else ()), *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


@pytest.fixture
def alice(folder):
    """Alice's space, to prepare a dream in; closed with the test."""
    with Memory.open(folder, embedder=None, background=False) as memory:
        yield memory.user("alice")


@pytest.fixture
def merged(alice):
    """A dream that merged the two on tea, retired the hostile one, and refused something."""
    ids = {found.entry.content: found.entry.id for found in alice.knowledge.search()}
    return dreamt(
        alice,
        MergeEntries(sources=(ids[TEA], ids[TEAS]), content="The user drinks much green tea."),
        RetireEntry(id=ids[HOSTILE], why="noise"),
        RetireEntry(id="000000000000"),
        InferredPreference(content="The user prefers tea.", evidence=(Evidence(drawer=1),)),
    )


def test_a_memory_that_has_not_dreamt_says_so(run):
    assert run("dreams") == (0, "The memory has not dreamt yet.\n", "")
    assert json.loads(run("dreams", "--json")[1]) == []


def test_dreams_are_listed_with_their_lines_what_was_refused_and_why(run, merged):
    code, out, _ = run("dreams")
    lines = out.splitlines()
    assert (code, lines[0][16:]) == (0, f"  dream {merged.id}  applied (by hand)")
    assert sorted(line[:9] for line in lines if "entry" in line[:9]) == ["  + entry"] * 2 + ["  - entry"] * 3
    assert "rejected  retire of 000000000000: entry 000000000000 was not looked at" in out


def test_what_a_dream_holds_is_printed_without_what_a_terminal_would_obey(run, merged):
    out = run("dreams")[1]
    assert "\\x1b[31mhates\\u202e coffee" in out
    assert not {"\x1b", "\u202e"} & set(out)


def test_a_dream_is_undone_and_done_again_by_its_id(run, merged):
    code, out, _ = run("undo", merged.id)
    assert (code, out.splitlines()[0]) == (0, f"Dream {merged.id} was undone; it had changed:")
    assert sum(line.startswith("  - entry") for line in out.splitlines()) == 3
    assert "undone (by hand)" in run("dreams")[1]
    assert json.loads(run("knowledge", "list", "--json")[1])[0]["status"] == "active"
    code, out, _ = run("redo", merged.id.upper(), "--json")
    assert (code, json.loads(out)["status"]) == (0, "applied")


def test_undoing_twice_or_what_is_not_there_is_refused_in_one_line(run, merged):
    run("undo", merged.id)
    assert run("undo", merged.id)[::2] == (
        1,
        f"langmem-tiers: Dream {merged.id} was undone already. Do it again with redo.\n",
    )
    assert run("undo", "nope")[::2] == (
        1,
        "langmem-tiers: There is no dream 'nope'. `langmem-tiers dreams` lists them.\n",
    )


def test_what_stands_in_the_way_of_undoing_is_named(run, alice, merged):
    [holder] = [found.entry for found in alice.knowledge.search("much green tea") if found.entry.active][:1]
    alice.knowledge.update(holder.id, content="The user drinks black tea.", origin="user")
    code, _, err = run("undo", merged.id)
    assert (code, f"entry {holder.id}" in err, "Undo the later changes first" in err) == (1, True, True)


def test_a_dry_run_changes_nothing(run):
    code, out, _ = run("dream", "--dry-run")
    assert (code, "a preview: nothing was changed" in out) == (0, True)
    assert "a preview: nothing was changed" in run("dreams")[1]


def test_a_dream_by_hand_is_listed(run):
    code, out, _ = run("dream", "--json")
    report = json.loads(out)
    assert (code, report["trigger"]) == (0, "hand")
    assert [each["id"] for each in json.loads(run("dreams", "--json")[1])] == [report["id"]]


def test_a_dream_beside_another_one_leaves_with_1(run, alice):
    with alice.memory.use(alice.name) as store:
        Lease(store.database, DREAM, "another process", 300).acquire()
    code, out, _ = run("dream")
    assert (code, "skipped (by hand)" in out, "Another dream" in out) == (1, True, True)


def test_a_space_may_be_named_instead_of_a_user(run):
    assert run("dream", "--space", "users/alice", user=None)[0] == 0
    assert len(json.loads(run("dreams", "--space", "users/alice", "--json", user=None)[1])) == 1
    code, _, err = run("dream", "--space", "users/bob", user=None)
    assert (code, "There is no space 'users/bob'" in err) == (1, True)
    assert run("dreams", user=None)[0] == 1


def test_golden_questions_are_kept_listed_and_removed(run, alice):
    assert run("golden", "list") == (0, "No questions are kept.\n", "")
    question = "What does the user drink?"
    assert run("golden", "add", question, "--expects", "tea", "--expects", "§W-001/R-01/D-001")[0] == 0
    assert run("golden", "list")[1] == f"  1  {question} → 'tea', message 1\n"
    assert json.loads(run("golden", "list", "--json")[1])[0]["words"] == ["tea"]
    assert run("golden", "remove", "1")[1] == "Question 1 is not kept any more.\n"
    code, out, err = run("golden", "remove", "1")
    assert (code, out) == (1, "")
    assert "There is no golden question 1." in err
    assert json.loads(run("golden", "list", "--space", "users/alice", "--json")[1]) == []
    assert "says" not in run("golden", "add", "Ok, thanks!", "--expects", "tea")[1]
    assert run("golden", "add", question)[0] == 2


def test_a_long_dream_is_cut_in_the_list_and_whole_as_json(run, alice):
    ids = [known(alice, f"The user has a {each} lamp.") for each in ("red", "blue", "tall", "new", "cheap")]
    ids += [known(alice, f"The user sold a {each} tent.") for each in ("red", "blue", "tall", "new", "cheap")]
    ids += [known(alice, f"The user saw {each} in May.") for each in ("Rome", "Bonn", "Oslo", "Nice", "Bari", "Ulm")]
    ids += [known(alice, f"The user met {each} in June.") for each in ("Ada", "Kai", "Ole", "Ida", "Uwe", "Eva")]
    report = dreamt(alice, *(RetireEntry(id=each) for each in ids))
    assert len(report.diff.splitlines()) == 22
    assert "… and 2 more; --json prints all" in run("dreams")[1]
    assert json.loads(run("dreams", "--json")[1])[0]["diff"] == report.diff


def test_what_it_cost_and_which_question_broke_is_told(run, alice):
    material = seen(alice)
    report = begun(
        alice,
        status="gated",
        usage={"memory_dream": {"calls": 3, "input_tokens": 1234, "failures": 0}},
        golden=(GoldenResult(question="Which tea?", before=True, after=False),),
        notes=("One note.",),
        decision=Decision(accepted=(Synthesis(text="x", episodes=("a",)),)),
    )
    with alice.memory.use(alice.name) as store:
        apply.keep_report(store, material, report)
        with store.reading() as connection:
            assert dreams.latest(connection, store.key, 1)[0].report == report.model_dump(mode="json")
    assert run("dreams")[1].splitlines()[1:] == [
        "  recall    0 of 1 golden questions are answered",
        "  broke     Which tea?",
        "  cost      memory_dream: calls 3, input tokens 1,234",
        "  note      One note.",
    ]


def test_a_preview_is_approved_by_its_id(run, alice):
    for day, town in enumerate(("Porto", "Lisbon"), 2):
        said_at = datetime(2026, 3, day, tzinfo=UTC)
        (drawer,) = alice.track([Turn(role="user", content=f"I live in {town}.", said_at=said_at)]).stored
        known(alice, f"The user lives in {town}.", evidence=[drawer])
    preview = json.loads(run("dream", "--dry-run", "--json")[1])
    assert preview["diff"]
    code, out, _ = run("dream", "--approve", preview["id"])
    assert (code, "applied (by hand)" in out) == (0, True)
    assert run("dream", "--approve", preview["id"])[0] == 1
    assert run("dream", "--approve", "x", "--dry-run")[0] == 2
