"""Vectors of several spaces in one collection."""

import numpy as np
import pytest

from langmem_tiers.storage.shared_collection import SPACES, seated, similarity


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def vectors(count, dimension=8):
    drawn = np.random.default_rng(7).standard_normal((count, dimension)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("seat", [0, SPACES - 1])
def test_within_a_space_similarities_are_those_of_the_vectors(seat):
    held = vectors(20)
    query = held[3]
    stored, asked = seated(held, seat), seated(query[np.newaxis], seat, asked=True)[0]
    measured = [similarity(1 - cosine(each, asked)) for each in stored]
    assert measured == pytest.approx((held @ query).tolist(), abs=1e-5)


def test_the_same_of_another_space_is_no_nearer_than_the_opposite_of_the_own():
    [query] = held = vectors(1)
    asked = seated(held, 2, asked=True)[0]
    opposite = seated(-query[np.newaxis], 2)[0]
    assert cosine(seated(held, 5)[0], asked) == pytest.approx(cosine(opposite, asked), abs=1e-6)
    for seat in {*range(SPACES)} - {2}:
        assert cosine(seated(held, seat)[0], asked) < cosine(seated(vectors(2)[1:], 2)[0], asked)


def test_a_vector_of_zeros_is_like_nothing():
    nothing, held = np.zeros((1, 8), np.float32), vectors(1)
    for stored, query in ((nothing, held), (held, nothing), (nothing, nothing)):
        found = similarity(1 - cosine(seated(stored, 1)[0], seated(query, 1, asked=True)[0]))
        assert found == pytest.approx(0, abs=1e-5)
