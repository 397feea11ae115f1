"""The embedding cache of the benchmarks: same vectors, embedded once, queries always by the model."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from langmem_tiers.bench.asking import CachedEmbedder
from langmem_tiers.models.embedder import Embedder, resolve
from langmem_tiers.testing import HashEmbedder

TEXTS = ["The cat sleeps", "The dog barks", "The cat sleeps", "Rain is coming"]


@pytest.fixture
def counted():
    return HashEmbedder()


@pytest.fixture
def cached(counted, tmp_path):
    return CachedEmbedder(resolve(counted), tmp_path / "cache" / "embeddings.db")


def test_it_is_an_embedder_with_the_name_of_its_model(cached, counted):
    assert isinstance(cached, Embedder)
    assert cached.name == resolve(counted).name
    assert cached.available()


def test_the_vectors_are_those_of_the_model_in_order(cached, counted):
    expected = resolve(counted).embed_documents(TEXTS)
    for _ in range(2):
        vectors = cached.embed_documents(TEXTS)
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, expected)


def test_a_text_is_embedded_once(cached, counted):
    cached.embed_documents(TEXTS)
    cached.embed_documents(TEXTS[1:])
    assert counted.documents_embedded == 3


def test_another_process_finds_the_vectors_in_the_file(cached, tmp_path):
    cached.embed_documents(TEXTS)
    counted = HashEmbedder()
    again = CachedEmbedder(resolve(counted), tmp_path / "cache" / "embeddings.db")
    again.embed_documents(TEXTS)
    assert counted.documents_embedded == 0


def test_models_do_not_share_vectors(cached, tmp_path):
    cached.embed_documents(TEXTS)
    other = CachedEmbedder(resolve(HashEmbedder(dimension=32)), tmp_path / "cache" / "embeddings.db")
    assert other.embed_documents(TEXTS).shape == (4, 32)


def test_queries_always_go_to_the_model(cached, counted):
    cached.embed_documents(TEXTS)
    for _ in range(2):
        cached.embed_query(TEXTS[0])
    assert counted.queries_embedded == 2


def test_nothing_is_no_vectors(cached):
    assert len(cached.embed_documents([])) == 0


def test_more_texts_than_a_statement_has_variables_for(cached, counted):
    texts = [f"text {number}" for number in range(1201)]
    assert np.array_equal(cached.embed_documents(texts), cached.embed_documents(texts))
    assert counted.documents_embedded == 1201


def test_threads_may_share_it(cached):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: cached.embed_documents(TEXTS), range(16)))
    assert all(np.array_equal(result, results[0]) for result in results)
