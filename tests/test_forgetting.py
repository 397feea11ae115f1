"""Forgetting: what goes along with a message, what stays, and that nothing brings it back."""

import random
import time
from datetime import UTC, datetime, timedelta

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import ForgetChanged, InvalidInput
from tests import engines


def _said(role, content, message_id):
    return Turn(role=role, content=content, message_id=message_id)


@pytest.fixture
def space(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track(
            [
                _said("user", "My sister Quenbyra lives in Oslo and her badge is kz77qx41.", "a1"),
                _said("assistant", "Noted.", "a2"),
                _said("user", "I play the cello every evening.", "a3"),
            ],
            session="monday",
        )
        alice.track([_said("user", "I play the cello in an orchestra.", "b1")], session="tuesday")
        alice.end_session("monday")
        memory.flush()
        alice.mine()
        yield alice


def test_a_preview_changes_nothing(space):
    before = space.drawers(), space.knowledge.search()
    preview = space.forget(messages="a1")
    assert (space.drawers(), space.knowledge.search()) == before
    assert [each.ref for each in preview.drawers] == ["§W-001/R-01/D-001"]


def test_a_message_goes_with_what_rests_on_it(space):
    preview = space.forget(messages="a1")
    receipt = space.forget(messages="a1", confirm=preview.token)
    assert receipt.counts["drawers"] == 1
    assert "kz77qx41" not in str((space.drawers(), space.knowledge.search(), space.archive.search("sister")))


def test_what_was_not_named_stays(space):
    space.forget(messages="a1", confirm=True)
    assert [each.message_id for each in space.drawers()] == ["a2", "a3", "b1"]


def test_a_token_stands_for_what_was_shown(space):
    token = space.forget(session="tuesday").token
    space.track([_said("user", "We rehearse on Fridays.", "b2")], session="tuesday")
    with pytest.raises(ForgetChanged):
        space.forget(session="tuesday", confirm=token)
    assert len(space.drawers(session="tuesday")) == 2


LONG = "The user likes tea and cake. " * 9


def _working(space):
    inbox = space.working.of("session", "tuesday")
    inbox.save("inbox", "Old and unimportant.")
    return {"session": "tuesday"}, lambda: inbox.save("inbox", "New and important.")


def _entry(space):
    saved = space.knowledge.save(LONG + "Mild.").entry
    return {"entries": [saved.id]}, lambda: space.knowledge.update(saved.id, content=LONG + "Strong.")


def _file(space):
    space.documents.write_file("badge.bin", b"\xff The badge is kz77qx41.")
    return {"messages": "a1"}, lambda: space.documents.write_file("badge.bin", b"\xff kz77qx41, and more.")


def _task(space):
    space.tasks.start("Badge", id="badge", state="The badge is kz77qx41.\n\nOpen.")
    return {"messages": "a1"}, lambda: space.tasks.update("badge", state="The badge kz77qx41 is lost.\n\nOpen.")


@pytest.mark.parametrize("made", [_working, _entry, _file, _task])
def test_a_token_stands_for_what_is_beyond_the_beginning_that_was_shown(space, made):
    selection, change = made(space)
    token = space.forget(**selection).token
    assert space.forget(**selection).token == token
    change()
    with pytest.raises(ForgetChanged):
        space.forget(**selection, confirm=token)


def test_a_preview_shows_the_beginning_of_a_value(space):
    space.working.of("session", "tuesday").save("inbox", LONG)
    (shown,) = space.forget(session="tuesday").working
    assert (shown.ref, shown.text) == ("session/tuesday/inbox", LONG[:200])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_that_is_no_utf8_goes_if_it_repeats_it(space, encoding):
    space.documents.write_file("badge.md", "Für kz77qx41.\nTee.".encode(encoding))
    space.documents.write_file("tea.md", "Für Tee.".encode(encoding))
    assert [(each.ref, each.partly) for each in space.forget(messages="a1").documents] == [("badge.md", False)]
    space.forget(messages="a1", confirm=True)
    assert [each.path for each in space.documents.list()] == ["tea.md"]


def test_something_has_to_say_what_to_forget(space):
    with pytest.raises(InvalidInput, match="says what to forget"):
        space.forget()


def test_a_retry_does_not_bring_a_message_back(space):
    space.forget(messages="a1", confirm=True)
    again = [_said("user", "My sister Quenbyra lives in Oslo and her badge is kz77qx41.", "a1")]
    assert space.track(again, session="monday").stored == ()
    assert space.track(again, session="monday", history=True).stored == ()


def test_a_history_under_new_ids_does_not_bring_a_message_back(space):
    space.forget(messages="a1", confirm=True)
    again = [_said("user", "My sister Quenbyra lives in Oslo and her badge is kz77qx41.", "other")]
    assert space.track(again, session="monday", history=True).stored == ()


def test_what_is_said_again_later_is_remembered(space):
    words = "My sister Quenbyra lives in Oslo and her badge is kz77qx41."
    space.forget(messages="a1", confirm=True)
    both = [_said("user", words, "a1"), _said("user", words, "later")]
    assert len(space.track(both, session="monday", history=True).stored) == 1
    assert len(space.track([_said("user", words, "c1")], session="wednesday").stored) == 1


def test_no_number_and_no_pointer_is_used_twice(space):
    last = space.drawers()[-1]
    space.forget(session="tuesday", confirm=True)
    space.track([_said("user", "I play the trumpet now.", "c1")], session="wednesday")
    new = space.drawers()[-1]
    assert new.number > last.number
    assert new.pointer != last.pointer
    assert space.drawer(last.pointer) is None


def test_the_receipt_names_what_it_cannot_reach(space):
    receipt = space.forget(session="monday", confirm=True)
    assert "delete_thread" in receipt.elsewhere[0]
    assert "monday" in receipt.elsewhere[0]


def test_what_also_rests_on_another_message_stays_and_loses_the_forgotten_one(space):
    first, second = (each for each in space.drawers() if "cello" in each.content)
    saved = space.knowledge.save("The user plays the cello.", evidence=[first.number, second.number]).entry
    preview = space.forget(messages=second.number)
    assert saved.id in [each.ref for each in preview.stays]
    space.forget(messages=second.number, confirm=preview.token)
    assert [each.drawer for each in space.knowledge.get(saved.id).evidence] == [first.number]


def test_forgetting_a_person_takes_what_names_them_and_leaves_the_rest(space):
    preview = space.forget(person="Quenbyra")
    assert "Quenbyra" in [each.text for each in preview.entities]
    space.forget(person="Quenbyra", confirm=preview.token)
    assert not [each for each in space.drawers() if "Quenbyra" in each.content]
    assert space.graph.entity("Quenbyra") is None
    assert len(space.drawers()) == 3


def test_the_user_is_no_person_to_forget_by_the_way(space):
    with pytest.raises(InvalidInput, match="delete_user"):
        space.forget(person="me")


def test_selectors_narrow_each_other_down(space):
    found = space.forget(session="monday", query="cello").drawers
    assert [each.ref for each in found] == ["§W-001/R-01/D-003"]
    assert not space.forget(session="tuesday", speaker="assistant")


def test_a_note_keeps_what_the_forgotten_message_did_not_say(space):
    space.documents.write("MEMORY.md", "My sister is tall.\n\nHer badge is kz77qx41.\n")
    preview = space.forget(messages="a1")
    assert preview.documents[0].partly
    space.forget(messages="a1", confirm=preview.token)
    assert space.documents.read("MEMORY.md").content.strip() == "My sister is tall."


def _bytes(space):
    return engines.kept(space.memory.path).lower()


def test_a_session_goes_with_what_was_noted_for_it(space):
    space.signals.record("wrong", note="Grumblewitz is not new.", session="monday")
    space.signals.record("wrong", note="Not every day.", session="tuesday")
    space.recall("What do I play?", session="monday")
    assert b"monday" in _bytes(space)
    preview = space.forget(session="monday")
    assert [(each.text, each.partly) for each in preview.feedback] == [("Grumblewitz is not new.", False)]
    receipt = space.forget(session="monday", confirm=preview.token)
    assert (receipt.counts["feedback"], receipt.counts["receipts"], receipt.bytes) == (1, 1, "gone")
    assert [each.note for each in space.signals.list()] == ["Not every day."]
    assert [word for word in (b"monday", b"grumblewitz") if word in _bytes(space)] == []


def test_a_session_of_which_something_remains_keeps_what_was_noted_for_it(space):
    space.signals.record("wrong", note="That was rude.", session="monday")
    space.signals.record("wrong", note="Her badge is kz77qx41. Not so.", session="tuesday")
    preview = space.forget(messages="a1")
    assert [(each.text, each.partly) for each in preview.feedback] == [("Her badge is kz77qx41. Not so.", True)]
    space.forget(messages="a1", confirm=preview.token)
    assert {each.note.strip() for each in space.signals.list()} == {"That was rude.", "Not so."}


@pytest.fixture
def named(tmp_path):
    """A user who also speaks under a name of their own, and tells another one."""
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        texts = "My sister Quenbyra lives in Oslo.", "My name is Zornita Vexleigh."
        alice.track([Turn(role="user", content=each, speaker="Alicia Zorn") for each in texts], session="monday")
        alice.track([_said("user", "I play the cello in Oslo, and I work at Acme.", "b1")], session="tuesday")
        alice.mine()
        memory.flush()
        yield alice


@pytest.mark.parametrize("selection", [{"speaker": "alicia zorn"}, {"session": "monday"}])
def test_names_that_only_forgotten_messages_had_go_from_those_who_stay(named, selection):
    names = ("Alicia Zorn", "Zornita Vexleigh")
    assert named.graph.entity("user").aliases == names
    preview = named.forget(**selection)
    assert tuple(each.text for each in preview.entities if each.partly) == names
    assert named.forget(**selection, confirm=preview.token).bytes == "gone"
    assert named.graph.entity("user").aliases == ()
    named.memory.flush()
    assert [word for word in (b"zorn", b"vexleigh", b"quenbyra") if word in _bytes(named)] == []


@pytest.mark.parametrize(
    "other", [{"content": "I play chess.", "speaker": "Alicia Zorn"}, {"content": "Alicia Zorn is me."}]
)
def test_a_name_that_another_message_has_stays(named, other):
    named.track([Turn(role="user", **other)], session="wednesday")
    named.forget(session="monday", confirm=True)
    assert named.graph.entity("user").aliases == ("Alicia Zorn",)


def test_tombstones_of_an_older_version_get_the_key_of_the_space(space):
    from langmem_tiers.content import content_hash
    from langmem_tiers.storage import tombstones
    from langmem_tiers.storage.schema import tombstones as rows

    plain = content_hash("the user likes tea")
    with space.context.open() as store, store.writing() as connection:
        connection.execute(rows.delete())
        connection.exec_driver_sql("DELETE FROM facts WHERE name = 'tombstone_key'")
        connection.execute(rows.insert().values(space=store.key, kind="entry", key=plain, at=1))
        tombstones.key_all(connection, store.key)
        stored = connection.execute(rows.select()).one().key
        assert stored != plain
        assert tombstones.among(connection, store.key, "entry", {plain}) == {plain}


def _logged(space):
    with space.context.open() as store, store.reading() as connection:
        return {row[0] for row in connection.exec_driver_sql("SELECT detail FROM changes")}


def test_a_task_whose_id_repeats_it_gets_another_one_everywhere(space):
    space.tasks.start("Badge", id="badge-kz77qx41", state="Asked at the desk.")
    space.track([_said("user", "The desk opens at nine.", "c1")], session="wednesday", task="badge-kz77qx41")
    space.forget(messages="a1", confirm=True)
    (task,) = space.tasks.list()
    assert task.state == "Asked at the desk."
    assert "kz77qx41" not in task.id
    assert "badge-kz77qx41" not in _logged(space)
    assert space.drawers(session="wednesday")[0].task == task.id


def test_a_deleted_task_is_not_named_in_the_log(space):
    space.tasks.start("Badge", id="badge-kz77qx41")
    space.tasks.delete("badge-kz77qx41")
    assert "badge-kz77qx41" not in _logged(space)


def test_a_note_whose_path_repeats_it_goes_as_a_whole(space):
    space.documents.write("notes/badge-kz77qx41.md", "Tea is green.\n")
    preview = space.forget(messages="a1")
    assert [(each.ref, each.partly) for each in preview.documents] == [("notes/badge-kz77qx41.md", False)]
    space.forget(messages="a1", confirm=preview.token)
    assert not [each for each in space.documents.list() if "kz77qx41" in each.path]


def _job(space):
    (found,) = [each for each in space.graph.timeline("user").relations if each.predicate == "works_at"]
    return space.graph.relation(found.id)


def test_a_relation_is_dated_by_what_the_remaining_messages_say(space):
    said = ("I work at Acme.", "I have worked at Acme since 2019.", "I left Acme in 2024.")
    space.track([_said("user", text, f"w{n}") for n, text in enumerate(said)], session="work")
    space.mine()
    space.memory.flush()
    before = _job(space)
    assert (before.period.start.year, before.period.end.year) == (2019, 2024)
    space.forget(messages="w2", confirm=True)
    left = _job(space)
    assert (left.id, left.period.start.year, left.period.end) == (before.id, 2019, None)
    space.forget(messages="w1", confirm=True)
    left = _job(space)
    assert (left.id, left.period.end, [each.drawer for each in left.evidence]) == (before.id, None, [5])
    assert left.period.start != before.period.start


@pytest.mark.parametrize("selector", [{"messages": "a1"}, {"messages": ["a2", "a3"]}, {"person": "Quenbyra"}])
def test_what_is_left_can_be_exported_and_imported(space, tmp_path, selector):
    space.forget(**selector, confirm=True)
    told = space.export(tmp_path / "alice.json")
    with Memory.open(tmp_path / "other", embedder=None, background=False) as other:
        other.import_file(tmp_path / "alice.json", user="alice")
        assert other.user("alice").fingerprint() == told.fingerprint == space.fingerprint()


def test_a_message_said_at_the_same_moment_is_not_stored_again_under_any_id_or_in_any_session(space):
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    said = Turn(role="user", content="The vault is behind the piano.", message_id="v1", said_at=at)
    space.track([said], session="vault")
    space.forget(messages="v1", confirm=True)
    again = Turn(role="user", content=said.content, message_id="v2", said_at=at)
    later = Turn(role="user", content=said.content, message_id="v3", said_at=at + timedelta(days=1))
    assert [space.track([again], session=each).stored for each in ("vault", "another")] == [(), ()]
    assert len(space.track([later], session="another").stored) == 1


def test_the_users_own_name_does_not_mean_a_part_of_what_they_said(space):
    space.graph.add_entity("user", type="person", aliases=["Alice Vernham"])
    with pytest.raises(InvalidInput, match="everything the user said"):
        space.forget(person="Alice Vernham")


def test_600_messages_are_found_among_6000_lines_of_a_note_within_seconds(space):
    drawn = random.Random(1)
    names = "robot garden violin harbour bakery mountain kettle lantern saddle orchard compass velvet".split()  # noqa: SIM905

    def sayings(count, mark):
        return [" ".join([*drawn.sample(names, 8), f"{mark}{number}"]) for number in range(count)]

    said, others = sayings(600, "said"), sayings(6000, "kept")
    space.track([_said("user", text, text) for text in said], session="workshop")
    repeated = f"Once more: {said[7]}, and so on."
    space.documents.write("notes.md", "\n".join([*others, repeated]))
    began = time.process_time()
    token = space.forget(session="workshop").token
    assert time.process_time() - began < 4
    space.forget(session="workshop", confirm=token)
    assert space.documents.read("notes.md").content.split("\n") == others


def test_the_background_comes_to_rest_after_somebody_of_whom_there_was_only_a_name(alice):
    alice.graph.add_entity("Tobias Wexler")
    assert alice.forget(person="Tobias Wexler", confirm=True).counts["entities"] == 1
    assert alice.flush(timeout=5)
