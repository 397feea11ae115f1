"""Looking at the vectors in the embedding cache."""

from __future__ import annotations

from collections import Counter

import numpy as np
from sqlalchemy import Connection, select

from langmem_tiers.storage.schema import embeddings


def unusable(connection: Connection, space: str, model: str) -> list[bytes]:
    """The text hashes of vectors that are cut off, not finite, or of another length than most."""
    wanted = select(embeddings.c.text_hash, embeddings.c.vector)
    found = connection.execute(wanted.where(embeddings.c.space == space, embeddings.c.model == model)).all()
    if not found:
        return []
    usual = Counter(len(row.vector) for row in found).most_common(1)[0][0]
    return [row.text_hash for row in found if len(row.vector) != usual or not _is_finite(row.vector)]


def _is_finite(vector: bytes) -> bool:
    return len(vector) % 4 == 0 and bool(np.isfinite(np.frombuffer(vector, dtype="<f4")).all())
