"""A secret is nowhere in a memory; only users' own words count as theirs; trust never rises."""

from datetime import UTC, datetime

import pytest
from secret_samples import JWT, PEM, VISA, made_up

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidInput, SecretRefused
from langmem_tiers.records import Said
from langmem_tiers.settings import PrivacySettings, RecallSettings, StorageSettings
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.trust.taint import derived_trust, tainted
from tests import engines

KEY = "sk-ant-api03-" + made_up(93)
TOLD = {
    "anna": "My sister Anna lives in Lisbon and her password is KettleSunflower42.",
    "key": f"For the Lisbon project, Anna gave me this:\n```\nANTHROPIC_API_KEY={KEY}\n```\nand do not share it.",
    "pem": f"The server in Lisbon wants\n{PEM}\nas its key.",
    "card": f"Pay the hotel in Lisbon with {VISA} please.",
    "jwt": f"Lisbon answered with the token {JWT}, what does it say?",
}
SECRETS = ["KettleSunflower42", KEY, *PEM.splitlines()[1:-1], VISA, *JWT.split(".")]


def user(content, message_id=None) -> Turn:
    return Turn(role="user", content=content, message_id=message_id)


def said(content="I like tea.", role="user", origin="user") -> Said:
    at = datetime(2026, 3, 2, tzinfo=UTC)
    return Said(drawer=1, place=1, role=role, origin=origin, speaker=None, content=content, said_at=at)


def open_memory(folder, clock, **settings) -> Memory:
    return Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock, settings=Settings(**settings))


def leaked(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret.lower() in text.lower()]


# Secrets


@pytest.mark.parametrize("exact_below", [0, 20_000])
def test_a_secret_that_was_said_and_asked_for_is_in_nothing_that_is_kept(tmp_path, clock, exact_below):
    storage = StorageSettings(exact_below=exact_below)
    with open_memory(tmp_path / "memory", clock, storage=storage) as memory:
        alice = memory.user("alice")
        alice.track([user(text, message_id) for message_id, text in TOLD.items()], session="monday")
        alice.track([user(text) for text in TOLD.values()], session="tuesday")
        memory.flush()
        for message_id, text in TOLD.items():
            alice.recall(text, session="wednesday", message_id=message_id)
        while_open = engines.kept(tmp_path / "memory")
    closed = engines.kept(tmp_path / "memory")
    assert b"[secret: anthropic key]" in closed
    for kept in (while_open, closed):
        assert leaked(kept.decode("latin-1")) == []


def test_a_secret_is_in_no_block_receipt_or_drawer(alice):
    alice.track([user(text, message_id) for message_id, text in TOLD.items()], session="monday")
    alice.flush()
    for text in TOLD.values():
        recalled = alice.recall(text, session="tuesday", threshold=0, token_budget=10_000)
        assert "[secret: " in recalled.block or recalled.receipt.verdict == "nothing_new"
        assert leaked(recalled.block + repr(recalled)) == []
    assert leaked(repr(alice.receipts()) + repr(alice.drawers()) + repr(alice.palace())) == []


def test_what_stands_around_a_secret_is_kept_verbatim(alice):
    alice.track([user(TOLD["key"])], session="monday")
    (drawer,) = alice.drawers()
    assert drawer.content == TOLD["key"].replace(KEY, "[secret: anthropic key]")


def test_a_secret_in_the_middle_of_a_long_text_is_in_none_of_its_pieces(alice):
    alice.track([user(f"{'The garden was lovely. ' * 42}{TOLD['pem']}{' And so was the house.' * 500}")], session="m")
    alice.flush()
    (drawer,) = alice.drawers()
    assert leaked(drawer.content) == []
    assert "[secret: private key]" in drawer.content
    assert drawer.content.count("And so was the house.") == 500


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system"])
def test_secrets_are_masked_whoever_says_them(alice, role):
    alice.track([Turn(role=role, content=f"Here is {KEY}.")], session="monday")
    assert alice.drawers()[0].content == "Here is [secret: anthropic key]."


def test_a_message_with_a_secret_is_known_when_it_comes_again(alice):
    with_id, without = [user(TOLD["key"], "m1")], [user(TOLD["anna"])]
    for turns in (with_id, without):
        assert len(alice.track(turns, session="monday").stored) == 1
        again = alice.track(turns, session="monday")
        assert (again.stored, again.revised, again.known) == ((), (), 1)


def test_messages_that_differ_in_their_secrets_alone_are_each_stored_once(alice):
    turns = [user("my PIN is 4821"), user("my PIN is 9034")]
    assert len(alice.track(turns, session="monday").stored) == 2
    assert alice.track(turns, session="monday").known == 2


def test_a_message_whose_secret_alone_was_edited_is_no_revision(alice):
    alice.track([user("my PIN is 4821", "m1")], session="monday")
    assert alice.track([user("my PIN is 9034", "m1")], session="monday").known == 1


def test_nothing_kept_tells_which_secret_it_was(tmp_path, clock):
    """With a hash of the message, whoever has the file could try all ten thousand PINs."""
    kept = []
    for number, pin in enumerate(["4821", "9034"]):
        with open_memory(tmp_path / str(number), clock) as memory:
            alice = memory.user("alice")
            alice.track([user(f"my PIN is {pin}")], session="monday")
            alice.recall(f"was my PIN {pin}, or: my PIN is {pin}?", session="tuesday", message_id="q")
            kept.append([(drawer.message_id, drawer.content) for drawer in alice.drawers()])
    assert kept[0] == kept[1]


def test_recalling_the_same_message_gives_the_same_block(alice):
    alice.track([user(TOLD["anna"])], session="monday")
    first = alice.recall(TOLD["anna"], session="tuesday", message_id="q")
    again = alice.recall(TOLD["anna"], session="tuesday", message_id="q")
    assert (again.block, again.receipt.verdict) == (first.block, "repeated")


def test_those_who_want_secrets_kept_get_every_word(tmp_path, clock):
    with open_memory(tmp_path / "memory", clock, privacy=PrivacySettings(drawers="keep")) as memory:
        alice = memory.user("alice")
        alice.track([user(TOLD["anna"])], session="monday")
        recalled = alice.recall(TOLD["anna"], session="tuesday")
        assert alice.drawers()[0].content == TOLD["anna"]
        assert recalled.receipt.query == TOLD["anna"]


# Secrets in names and values

AWS = "AKIA" + "QYLPMN5HIEXMPL2Z"
NAMED = {
    "a tag": (lambda alice: alice.knowledge.save("The key is in the vault.", tags=["work", AWS]), AWS),
    "a tag that tells": (lambda alice: alice.knowledge.save("It works.", tags=["password: swordfish"]), "swordfish"),
    "a category": (lambda alice: alice.knowledge.save("The key is in the vault.", category=f"keys/{AWS}"), AWS),
    "a value": (lambda alice: alice.knowledge.save("It works.", metadata={"a": [{"b": f"use {AWS}"}]}), AWS),
    "a name of a value": (lambda alice: alice.knowledge.save("It works.", metadata={"a": {AWS: 1}}), AWS),
    "a value by its name": (
        lambda alice: alice.knowledge.save("It works.", metadata={"wifi": {"password": "swordfish"}}),
        "swordfish",
    ),
    "a number by its name": (lambda alice: alice.knowledge.save("It works.", metadata={"pin": 4711}), "4711"),
    "one of several": (lambda alice: alice.knowledge.save("It works.", metadata={"password": ["swordfish"]}), "swordf"),
    "the path of a document": (lambda alice: alice.documents.write(f"keys/{AWS}.md", "It works."), AWS),
    "the path of a note": (lambda alice: alice.documents.append(f"keys/{AWS}.md", "It works."), AWS),
    "a section": (lambda alice: alice.identity.add("It works.", section=f"Key {AWS}"), AWS),
    "a line by its section": (lambda alice: alice.identity.add("swordfish", section="Password"), "swordfish"),
    "a section as a whole": (lambda alice: alice.identity.replace("Wifi password", "- swordfish"), "swordfish"),
    "a change of tags": (lambda alice: alice.knowledge.update(tea(alice), tags=[AWS]), AWS),
    "a change of category": (lambda alice: alice.knowledge.update(tea(alice), category=AWS), AWS),
    "a change of values": (lambda alice: alice.knowledge.update(tea(alice), metadata={"pin": "4711"}), "4711"),
}


def tea(alice) -> str:
    return alice.knowledge.save("The user likes tea.").entry.id


def all_that_is_kept(alice) -> str:
    entries = [found.entry for found in alice.knowledge.search(limit=100)]
    return repr((entries, alice.documents.list(), alice.identity.read().text)).lower()


@pytest.mark.parametrize(("write", "secret"), NAMED.values(), ids=NAMED)
def test_a_secret_in_a_name_or_a_value_is_refused_masked_or_kept_as_the_settings_say(tmp_path, clock, write, secret):
    with open_memory(tmp_path / "refuse", clock) as memory:
        with pytest.raises(SecretRefused, match=r"holds what looks like a secret \("):
            write(memory.user("alice"))
        assert secret.lower() not in all_that_is_kept(memory.user("alice"))
    for policy in ("mask", "keep"):
        with open_memory(tmp_path / policy, clock, privacy=PrivacySettings(derived=policy)) as memory:
            write(memory.user("alice"))
            kept = all_that_is_kept(memory.user("alice"))
            assert (secret.lower() in kept) is (policy == "keep")
            assert ("secret" in kept) is (policy == "mask")


def test_names_and_values_that_are_no_secret_stay_as_they_are(alice):
    given = {"password": "required", "pin": 3, "pages": [1, None, True, 2.5], "password_policy": {"length": 12}}
    assert alice.knowledge.save("It works.", metadata=given, tags=["password", "pin"]).entry.metadata == given
    assert "Password manager" in alice.identity.add("Bitwarden", section="Password manager").text


def test_a_document_with_a_masked_path_is_found_by_the_path_that_was_given(tmp_path, clock):
    with open_memory(tmp_path, clock, privacy=PrivacySettings(derived="mask")) as memory:
        notes = memory.user("alice").documents
        assert notes.write(f"keys/{AWS}.md", "It works.").path == "keys/secret-aws-key.md"
        assert notes.read(f"keys/{AWS}.md").content == "It works."
        assert notes.delete(f"keys/{AWS}.md")


# Taint


def test_what_users_say_may_be_mined():
    assert tainted(said()) is None
    assert tainted(said(origin="import")) is None


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
@pytest.mark.parametrize("origin", ["user", "import"])
def test_what_others_say_is_no_statement_of_the_user(role, origin):
    assert tainted(said(role=role, origin=origin)) == f"said by the {role}"


@pytest.mark.parametrize("origin", ["assistant", "tool", "system", "dream"])
def test_what_software_says_in_the_name_of_the_user_is_none_either(origin):
    assert tainted(said(origin=origin)) == f"comes from the {origin}"


@pytest.mark.parametrize("pasted", ["{block}", "{block}\n\nWhere does Anna live?", "As I see:\r\n  {block}  \nhm"])
def test_a_turn_with_a_recalled_block_in_it_is_tainted(alice, pasted):
    alice.track([user("My sister Anna lives in Lisbon.")], session="monday")
    block = alice.recall("Where does my sister Anna live?", session="tuesday").block
    assert block
    assert tainted(said(pasted.format(block=block))) == "holds a recalled block"


def test_items_of_a_block_taint_without_its_fence(alice):
    alice.track([user("My sister Anna lives in Lisbon.")], session="monday")
    block = alice.recall("Where does my sister Anna live?", session="tuesday").block
    assert tainted(said("\n".join(block.splitlines()[2:-1]))) == "holds a recalled block"


@pytest.mark.parametrize(
    "content",
    [
        "What is <memory_context> for, and where is </memory_context>?",
        "The fence is\n<memory_context>\nas far as I see.",
        "Look at §W-001/R-01/D-001, or [§W-001/R-01/D-001] 2026-03-02 user: as it says.",
        "- milk\n- bread",
    ],
)
def test_words_about_a_block_are_no_block(content):
    assert tainted(said(content)) is None


# Derivation


@pytest.mark.parametrize(
    ("origins", "derived"),
    [
        (["user"], "user"),
        (["user", "import"], "import"),
        (["user", "assistant", "import"], "assistant"),
        (["dream", "user"], "dream"),
        (["system", "assistant"], "system"),
        (["tool", "user", "system"], "tool"),
    ],
)
def test_what_is_derived_has_the_origin_of_its_least_trusted_source(origins, derived):
    assert derived_trust(origins) == derived
    assert derived_trust(reversed(origins)) == derived


def test_the_order_of_trust_is_the_one_that_recall_ranks_by():
    factors = RecallSettings().trust
    for better in factors:
        for worse in factors:
            if factors[better] > factors[worse]:
                assert derived_trust([better, worse]) == worse


def test_nothing_is_derived_from_nothing():
    with pytest.raises(InvalidInput, match="no records"):
        derived_trust([])
