"""Embedders: the default model equals Chroma's, LangChain ones are checked, failures have one type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from langmem_tiers import replies
from langmem_tiers.errors import EmbeddingUnavailable, InvalidSettings, InvalidVector
from langmem_tiers.models.embedder import Embedder, resolve
from langmem_tiers.models.langchain_embedder import LangChainEmbedder, unit
from langmem_tiers.models.minilm import FILES, MiniLM
from langmem_tiers.testing import HashEmbedder


class Answers(Embeddings):
    """An embedder that answers whatever it was given, or raises it."""

    model = "answers-1"

    def __init__(self, *answers) -> None:
        self.answers = list(answers)

    def embed_documents(self, texts):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def embed_query(self, text):
        return self.embed_documents([text])


# The default model


@pytest.fixture(scope="module")
def minilm():
    return MiniLM()


@pytest.mark.model
def test_vectors_equal_those_of_chroma(minilm):
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    words = "Judith went to the adoption agency 東京 in Málaga — naïve 👩‍👧 №5 "
    texts = [
        "",
        " ",
        "\n",
        "hi",
        "e\u0301",
        "x" * 500,
        *(words * 40)[:: len(words)],
        *(words[:n] for n in range(1, 60, 7)),
    ]
    texts += [words * 4, words * 40, words * 3000, " " * 30_000 + "late", "z" * 30_000 + " late", "\x00 zero", "。。。"]
    assert np.allclose(minilm.embed_documents(texts), np.stack(ONNXMiniLM_L6_V2()(texts)), atol=1e-5)


@pytest.mark.model
def test_a_query_has_the_vector_of_the_same_document_in_any_company(minilm):
    texts = [f"text {'longer ' * number}" for number in range(20)]
    documents = minilm.embed_documents(texts)
    assert documents.shape == (20, 384)
    assert documents.dtype == np.float32
    assert np.allclose(documents[7], minilm.embed_query(texts[7]), atol=1e-5)
    assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-5)


@pytest.mark.model
def test_lone_surrogates_do_not_stop_a_query(minilm):
    assert minilm.embed_query("half \ud83d of it").shape == (384,)


@pytest.mark.model
def test_no_texts_give_no_rows(minilm):
    assert minilm.embed_documents([]).shape == (0, 384)


@pytest.mark.model
def test_threads_share_one_loaded_model(minilm):
    embedder = MiniLM(minilm.folder)
    loaded = []
    threads = [Thread(target=lambda: loaded.append(embedder._load())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 4
    assert len({id(model) for model in loaded}) == 1


@pytest.mark.model
@pytest.mark.parametrize(("longest", "waits"), [(60.0, True), (0.0, False)])
def test_documents_give_way_to_replies_for_a_limited_time(minilm, monkeypatch, longest, waits):
    monkeypatch.setattr("langmem_tiers.models.minilm.LONGEST_WAY", longest)
    rows = []
    thread = Thread(target=lambda: rows.extend(minilm.embed_documents(["a document"] * 40)))
    with replies.running():
        thread.start()
        thread.join(0.5 if waits else None)
        assert (rows == []) is waits
    thread.join()
    assert len(rows) == 40


@pytest.mark.model
def test_of_texts_of_all_lengths_each_gets_its_own_vector(minilm):
    texts = [f"text {'longer ' * (number * 37 % 260)}" for number in range(120)]
    alone = np.stack([minilm.embed_query(text) for text in texts[::9]])
    assert np.allclose(minilm.embed_documents(texts)[::9], alone, atol=1e-5)


@pytest.mark.model
def test_what_many_texts_need_is_given_up_when_there_were_none_for_a_while(minilm, monkeypatch):
    monkeypatch.setattr("langmem_tiers.models.minilm._CORES", 2)
    monkeypatch.setattr(replies._replies, "_last", -60.0)
    embedder = MiniLM(minilm.folder)
    vectors = embedder.embed_documents([f"document {number}" for number in range(100)])
    assert np.allclose(vectors[7], embedder.embed_query("document 7"), atol=1e-5)
    assert embedder._for_many is not None
    monkeypatch.setattr("langmem_tiers.models.minilm.KEPT_FOR_MANY", 0.0)
    embedder.embed_query("document 7")
    assert embedder._for_many is None


def test_a_missing_model_is_not_available_and_embedding_does_not_download(tmp_path):
    embedder = MiniLM(tmp_path / "missing")
    assert not embedder.available()
    with pytest.raises(EmbeddingUnavailable, match="not downloaded yet"):
        embedder.embed_query("hello")
    assert not (tmp_path / "missing").exists()


@pytest.fixture
def unreachable(monkeypatch):
    for variable in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # nobody listens there
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("unreachable")
def test_preparing_without_a_network_says_which_folder_and_why(tmp_path):
    with pytest.raises(EmbeddingUnavailable, match=str(tmp_path)) as caught:
        MiniLM(tmp_path / "cache").prepare()
    assert caught.value.__cause__ is not None
    assert "copy the folder" in str(caught.value)


def test_preparing_where_no_folder_can_be_made_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddingUnavailable) as caught:
        MiniLM(tmp_path / "file" / "cache").prepare()
    assert isinstance(caught.value.__cause__, OSError)


def damaged(folder: Path, tokenizer: str) -> MiniLM:
    (folder / "onnx").mkdir()
    for file in FILES:
        (folder / "onnx" / file).write_text("{}")
    (folder / "onnx" / "tokenizer.json").write_text(tokenizer)
    return MiniLM(folder)


TOKENIZER = (
    '{"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}'
)


@pytest.mark.parametrize("tokenizer", ["{", TOKENIZER], ids=["tokenizer", "model"])
def test_a_damaged_file_is_named_with_the_way_out_and_not_offered_again(tmp_path, tokenizer):
    embedder = damaged(tmp_path, tokenizer)
    assert embedder.available()
    with pytest.raises(EmbeddingUnavailable, match=r"damaged.*Delete that folder") as caught:
        embedder.prepare()
    assert str(tmp_path / "onnx") in caught.value.message
    assert not embedder.available()


TOO_LITTLE_MEMORY = """
import resource
from pathlib import Path

import onnxruntime, tokenizers
from langmem_tiers.errors import EmbeddingUnavailable
from langmem_tiers.models.minilm import MiniLM

embedder = MiniLM()
if {loaded}:
    embedder.prepare()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {left}, used + {left}))
try:
    embedder.embed_documents(["How much is left? " * 100] * 60)
except EmbeddingUnavailable as error:
    print(error, embedder.available())
"""


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit has no effect")
@pytest.mark.parametrize(("loaded", "left"), [(False, 70_000_000), (True, 10_000_000)])
def test_too_little_memory_is_not_taken_for_a_damaged_model(loaded, left):
    script = TOO_LITTLE_MEMORY.format(loaded=loaded, left=left)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("There is too little memory for the model")
    assert "Delete" not in done.stdout
    assert done.stdout.endswith("True\n")


@pytest.mark.model
def test_a_repaired_model_is_loaded_by_the_next_prepare(minilm, tmp_path):
    embedder = damaged(tmp_path, "{")
    with pytest.raises(EmbeddingUnavailable):
        embedder.prepare()
    for file in FILES:
        (tmp_path / "onnx" / file).unlink()
        (tmp_path / "onnx" / file).symlink_to(minilm.folder / "onnx" / file)
    embedder.prepare()
    assert embedder.available()


# LangChain embedders


def test_vectors_of_a_langchain_embedder_are_normalised_float32():
    embedder = LangChainEmbedder(Answers([[3, 4], [0, 0], [1e300, 1e300], [1e-300, 0]]))
    vectors = embedder.embed_documents(["a", "b", "c", "d"])
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [[0.6, 0.8], [0, 0], [0.5**0.5, 0.5**0.5], [1, 0]])


def test_no_texts_do_not_call_the_provider():
    assert LangChainEmbedder(Answers()).embed_documents([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "NoneType instead of a list"),
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0]], "1 instead of 2 dimensions at index 1"),
        ([[1.0, 2.0], [1.0, float("nan")]], "NaN or infinite numbers at index 1"),
        ([[float("inf"), 2.0], [1.0, 1.0]], "NaN or infinite numbers at index 0"),
        ([[1.0, 2.0], ["a", "b"]], "not numbers at index 1"),
        ([[1.0, 2.0], None], r"index 1"),
        ([1.0, 2.0], r"shape \(\) instead of a vector at index 0"),
        ([[], []], r"shape \(0,\) instead of a vector at index 0"),
        ([[[1.0]], [[1.0]]], r"shape \(1, 1\) instead of a vector at index 0"),
    ],
)
def test_what_is_wrong_with_the_vectors_is_named(answer, message):
    with pytest.raises(InvalidVector, match=message):
        LangChainEmbedder(Answers(answer)).embed_documents(["a", "b"])


def test_the_dimension_may_not_change_later():
    embedder = LangChainEmbedder(Answers([1.0, 2.0], [[1.0, 2.0, 3.0]]))
    embedder.embed_query("a")
    with pytest.raises(InvalidVector, match="answers-1 gave 3 instead of 2 dimensions at index 0"):
        embedder.embed_documents(["b"])


def test_a_failure_of_the_provider_is_unavailable_with_its_cause():
    cause = KeyError("no key")
    with pytest.raises(EmbeddingUnavailable, match="Answers:answers-1 failed: KeyError") as caught:
        LangChainEmbedder(Answers(cause)).embed_query("a")
    assert caught.value.__cause__ is cause


def test_the_name_holds_class_model_and_dimensions():
    class Sized(Answers):
        model = None
        model_name = "m"
        dimensions = 256

    assert LangChainEmbedder(Sized()).name == "Sized:m:256"
    assert LangChainEmbedder(HashEmbedder(32)).name == "HashEmbedder:hash-32"
    assert LangChainEmbedder(Answers(), name="mine").name == "mine"


# Saying which one


def test_resolve_gives_the_embedder_that_is_meant():
    own = LangChainEmbedder(Answers())
    assert resolve(None) is None
    assert resolve("none") is None
    assert isinstance(resolve("minilm"), MiniLM)
    assert resolve(own) is own
    assert isinstance(resolve(HashEmbedder()), LangChainEmbedder)


@pytest.mark.parametrize("embedder", [MiniLM(), LangChainEmbedder(Answers())], ids=["minilm", "langchain"])
def test_the_embedders_are_embedders(embedder):
    assert isinstance(embedder, Embedder)


@pytest.mark.parametrize("given", ["openai", 3, object(), HashEmbedder, np.zeros(3), len])
def test_anything_else_is_refused_with_the_choices(given):
    with pytest.raises(InvalidSettings, match=r"'minilm', a name such as .*, or None or 'none'"):
        resolve(given)


def test_resolving_loads_no_heavy_module():
    code = (
        "import sys; from langmem_tiers.models.embedder import resolve; assert resolve('minilm') is not None; "
        "print([name for name in ('chromadb', 'onnxruntime', 'tokenizers', 'langchain_core') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_unit_leaves_rows_of_zeros_and_no_rows_alone():
    assert unit(np.zeros((2, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert unit(np.zeros((0, 3))).shape == (0, 3)
