"""An embedder for tests of ranking: it is told what each text means."""

import math

from langchain_core.embeddings import Embeddings

from langmem_tiers import Turn


class Meanings(Embeddings):
    """An embedder that is told the cosine of a text to every question: by the first of its keys that the text holds."""

    model = "meanings"

    def __init__(self, **cosines: float) -> None:
        self.cosines = cosines

    def embed_documents(self, texts):
        found = [next((cosine for key, cosine in self.cosines.items() if key in text), 0.0) for text in texts]
        return [[cosine, math.sqrt(1 - cosine * cosine)] for cosine in found]

    def embed_query(self, text):
        return [1.0, 0.0]


def user(content, message_id=None, **fields) -> Turn:
    """A message of the user."""
    return Turn(role="user", content=content, message_id=message_id, **fields)


def assistant(content, message_id=None, **fields) -> Turn:
    """A message of the assistant."""
    return Turn(role="assistant", content=content, message_id=message_id, **fields)
