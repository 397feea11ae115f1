"""Moving a memory from a folder to servers and back."""

from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import AlreadyThere, DatabaseDamaged
from langmem_tiers.moving import move
from langmem_tiers.storage import dump
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests import engines
from tests.test_workers import address, schema_of_its_own  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.by_address,
    pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server"),
]
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
SAID = ["My sister Anna lives in Lisbon.", "I work at Bosch in Stuttgart.", "I am allergic to peanuts.", "Tea, please."]


def filled(folder) -> None:
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=FrozenClock(NOW)) as memory:
        for name in ("ana", "ben", "cem"):
            turns = [Turn(role="user", content=f"{said} {name}", message_id=said) for said in SAID]
            memory.user(name).track(turns, session="monday")
        memory.flush()


@pytest.fixture
def address_beside():
    """Another schema of the same database."""
    yield from schema_of_its_own()


def bare(place) -> Memory:
    return Memory.open(place, embedder=None, background=False, clock=FrozenClock(NOW))


def rows(place) -> dict:
    with bare(place) as memory:
        found = {}
        for name in memory.spaces():
            with memory.use(name) as store, store.reading() as connection:
                found |= {(name, table): list(dump.rows(connection, store.key, table)) for table in dump.TABLES}
        return found


def files(folder) -> dict:
    return {file: sha256(file.read_bytes()).digest() for file in folder.rglob("*") if file.is_file()}


@contextmanager
def damaging(place, table, damage):
    """A server that does something to the rows of Ben which are stored in a table."""
    import psycopg

    url, schema = place.split("?schema=")
    with psycopg.connect(url, autocommit=True, options=f"-c search_path={schema}") as connection:
        body = f"BEGIN IF NEW.space = 'users/ben' THEN {damage}; END IF; RETURN NEW; END"
        connection.execute(f"CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
        on = f"BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION damaged()"
        connection.execute(f"CREATE TRIGGER damaging {on}")
        yield
        connection.execute("DROP FUNCTION damaged() CASCADE")


def blocks(place, embedder) -> list[str]:
    chroma = engines.CHROMA or None if isinstance(place, str) else None
    with Memory.open(place, chroma=chroma, embedder=embedder, background=False, clock=FrozenClock(NOW)) as memory:
        memory.flush()
        asked = ("Where does my sister live?", "What must I not eat?")
        return [memory.user(name).recall(each, session="later").block for name in ("ana", "ben") for each in asked]


def test_a_memory_moves_to_servers_and_back_with_every_row_and_vector(tmp_path, address):  # noqa: F811
    filled(tmp_path / "old")
    with bare(tmp_path / "old") as old, bare(address) as new:
        report = move(old, new)
    assert report.moved == ("users/ana", "users/ben", "users/cem")
    assert report.rows["drawers"] == 12
    assert report.rows["embeddings"]
    with bare(address) as old, bare(tmp_path / "new") as new:
        assert move(old, new).rows == report.rows
    assert rows(tmp_path / "old") == rows(address) == rows(tmp_path / "new")
    embedders = [HashEmbedder() for _ in range(3)]
    places = (tmp_path / "old", address, tmp_path / "new")
    first, there, back = (blocks(place, embedder) for place, embedder in zip(places, embedders, strict=True))
    assert "Lisbon" in first[0]
    assert first == there == back
    assert [each.documents_embedded for each in embedders] == [0, 0, 0]


def test_a_memory_moves_from_one_schema_of_a_database_to_another(tmp_path, address, address_beside):  # noqa: F811
    filled(tmp_path)
    with bare(tmp_path) as old, bare(address) as one, bare(address_beside) as other:
        report = move(old, one)
        assert move(one, other).rows == report.rows
        assert [each.backend.where.partition("?")[2] for each in (one, other)] == [
            each.partition("?")[2] for each in (address, address_beside)
        ]
    assert rows(tmp_path) == rows(address_beside)


def test_after_a_move_the_database_knows_how_much_it_holds(tmp_path, address):  # noqa: F811
    import psycopg

    filled(tmp_path)
    with bare(tmp_path) as old, bare(address) as new:
        move(old, new)
    url, schema = address.split("?schema=")
    counted = (
        "SELECT sum(greatest(reltuples, 0)) FROM pg_class "
        "WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND relname ~ '^drawers_[0-9]+$'"
    )
    with psycopg.connect(url) as connection:
        assert connection.execute(counted, [schema]).fetchone() == (12,)


def test_a_move_that_was_stopped_goes_on(tmp_path, address):  # noqa: F811
    filled(tmp_path)

    def stop(name):
        if name == "users/cem":
            raise KeyboardInterrupt

    with bare(tmp_path) as old, bare(address) as new:
        with pytest.raises(KeyboardInterrupt):
            move(old, new, stop)
        report = move(old, new)
        assert (report.moved, report.there) == (("users/cem",), ("users/ana", "users/ben"))
        assert move(old, new).moved == ()
    assert rows(tmp_path) == rows(address)


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("drawers", "NEW.content := 'My sister Anna lives in Porto.'"),
        ("embeddings", "NEW.vector := set_byte(NEW.vector, 0, get_byte(NEW.vector, 0) # 1)"),
        ("turns", "RETURN NULL"),
    ],
)
def test_what_arrives_otherwise_than_it_left_is_refused_and_goes_once_it_arrives_whole(
    tmp_path,
    address,  # noqa: F811
    table,
    damage,
):
    filled(tmp_path)
    with bare(tmp_path) as old, bare(address) as new:
        refused = pytest.raises(DatabaseDamaged, match=f"'users/ben' other rows arrived than left, in {table}")
        with damaging(address, table, damage), refused:
            move(old, new)
    assert {name for (name, _), found in rows(address).items() if found} == {"users/ana"}
    with bare(tmp_path) as old, bare(address) as new:
        report = move(old, new)
    assert (report.moved, report.there) == (("users/ben", "users/cem"), ("users/ana",))
    assert rows(tmp_path) == rows(address)


def test_a_move_leaves_every_file_of_its_source_as_it_was(tmp_path, address):  # noqa: F811
    filled(tmp_path)
    bare(tmp_path).close()
    before = files(tmp_path)
    with bare(tmp_path) as old, bare(address) as new:
        assert len(move(old, new).moved) == 3
        assert len(move(old, new).there) == 3
    assert files(tmp_path) == before


def test_a_space_that_holds_something_else_is_refused_and_left_as_it_is(tmp_path, address):  # noqa: F811
    filled(tmp_path)
    with bare(address) as new:
        new.user("ana").track([Turn(role="user", content="another one", message_id="1")], session="monday")
    before = rows(address)
    with bare(tmp_path) as old, bare(address) as new, pytest.raises(AlreadyThere, match="users/ana"):
        move(old, new)
    assert rows(address) == before


def test_a_space_that_was_used_after_it_was_moved_is_refused_and_the_message_says_so(tmp_path, address):  # noqa: F811
    filled(tmp_path)
    with bare(tmp_path) as old, bare(address) as new:
        move(old, new)
        old.user("ben").track([Turn(role="user", content="It rains.", message_id="1")], session="later")
        with pytest.raises(AlreadyThere, match=r"'users/ben' of .* was used, if only to search in it, after"):
            move(old, new)


def test_a_move_that_is_broken_off_says_what_has_arrived(tmp_path, address, capsys, monkeypatch):  # noqa: F811
    filled(tmp_path / "old")
    rows_of, seen = dump.rows, []

    def interrupted(connection, space, table):
        seen.append(space)
        if len(set(seen)) == 3:  # of the second space: one is the file's own name, two are those of the target
            raise KeyboardInterrupt
        return rows_of(connection, space, table)

    monkeypatch.setattr(dump, "rows", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["move", "--from", str(tmp_path / "old"), "--to", address])
    said = capsys.readouterr().err
    assert (left.value.code, "Stopped: 1 space has arrived whole." in said) == (130, True)
    monkeypatch.undo()
    with pytest.raises(SystemExit) as left:
        main(["move", "--from", str(tmp_path / "old"), "--to", address])
    assert (left.value.code, "1 space was there already." in capsys.readouterr().out) == (0, True)


def test_a_source_that_is_not_there_is_refused_and_not_made(tmp_path, address, capsys):  # noqa: F811
    with pytest.raises(SystemExit) as left:
        main(["move", "--from", str(tmp_path / "nowhere"), "--to", address])
    assert (left.value.code, "There is no memory at" in capsys.readouterr().err) == (1, True)
    assert not (tmp_path / "nowhere").exists()


def test_a_move_to_the_place_where_the_memory_is_says_so_and_not_that_something_may_be_deleted(tmp_path, capsys):
    filled(tmp_path / "old")
    before = files(tmp_path / "old")
    with pytest.raises(SystemExit) as left:
        main(["move", "--from", str(tmp_path / "old"), "--to", f"{tmp_path / 'new'}/../old"])
    said = capsys.readouterr().err
    assert (left.value.code, "already" in said, "delete" in said) == (1, True, False)
    assert files(tmp_path / "old") == before


def test_an_empty_memory_on_servers_says_that_a_backup_is_for_folders(tmp_path, address, capsys):  # noqa: F811
    with pytest.raises(SystemExit) as left:
        main(["--path", address, "--embedder", "none", "backup", str(tmp_path / "copy")])
    assert (left.value.code, "on servers" in capsys.readouterr().err) == (1, True)
    assert not (tmp_path / "copy").exists()


def test_commands_take_the_address_and_say_what_is_only_for_folders(tmp_path, address, capsys):  # noqa: F811
    filled(tmp_path / "old")

    def run(*words):
        with pytest.raises(SystemExit) as left:
            main(["--path", address, "--embedder", "none", *words])
        said = capsys.readouterr()
        return left.value.code, said.out + said.err

    assert run("move", "--from", str(tmp_path / "old"), "--to", address)[0] == 0
    assert "users/ana" in run("stats")[1]
    assert "Lisbon" in run("--user", "ana", "recall", "Where does my sister live?")[1]
    assert "'nobody'" in run("--user", "nobody", "recall", "Where does my sister live?")[1]
    assert run("doctor")[0] == 0
    assert run("rebuild")[0] == 0
    for words in (("backup", str(tmp_path / "copy")), ("restore", str(tmp_path / "copy"))):
        code, said = run(*words)
        assert (code, "scaling.md" in said or "move" in said) == (1, True)
    assert not (tmp_path / "copy").exists()


@pytest.mark.skipif(not engines.CHROMA, reason="CHROMA names no server")
def test_the_doctor_compares_the_chroma_server_with_the_records_and_rebuild_fills_it(tmp_path, address):  # noqa: F811
    filled(tmp_path)
    with bare(tmp_path) as old, bare(address) as new:
        move(old, new)
    with Memory.open(address, chroma=engines.CHROMA, embedder=HashEmbedder(), background=False) as memory:
        space = memory.user("ana")

        def problems():
            return [each.message for each in space.doctor() if each.check == "Chroma" and each.level == "problem"]

        space.flush()
        assert problems() == []
        with memory.use(space.name) as store:
            shelf = store.shelves[0]
            with store.reading() as connection:
                place = shelf._place(connection)
            shelf._server.clear(place, shelf._mark)
        assert "missing" in problems()[0]
        assert any("sent to the server anew" in line for line in space.rebuild())
        assert problems() == []
