"""Reranking by any LangChain document compressor, such as a cross-encoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from langmem_tiers.llm.guarded_model import model_name
from langmem_tiers.recall.rerank import Attempt, Passage, Places, Question, Unclear

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor, Document


class ByCompressor:
    """The order of the documents that a compressor gives back: it may drop, copy, shorten or score them."""

    # Most compressors give back as many as they are told to, whether these fit or not.
    judges = False

    def __init__(self, compressor: BaseDocumentCompressor) -> None:
        self._compressor = compressor
        self.name = model_name(compressor)

    def rank(self, question: Question, passages: Sequence[Passage], most: int, attempt: Attempt) -> Places | Unclear:
        """The places of the documents given back. No document at all says that none fits."""
        attempt.calls += 1
        given = list(self._compressor.compress_documents([_document(each) for each in passages], question.text))
        if not given:
            return ()
        places = _places(given, passages)
        return places[:most] or Unclear(f"none of the {len(given)} documents given back is one of those it was given")


def _document(passage: Passage) -> Document:
    from langchain_core.documents import Document

    metadata = {
        "id": passage.drawer,
        "space": passage.space,
        "pointer": passage.pointer,
        "session": passage.session,
        "speaker": passage.speaker,
        "date": passage.said_at.isoformat(),
        "score": passage.score,
    }
    return Document(page_content=passage.text, metadata=metadata)


def _places(given: Iterable[Any], passages: Sequence[Passage]) -> Places:
    known: dict[tuple[str, ...], int] = {}
    for place, passage in enumerate(passages):
        for key in _keys(_document(passage)):
            known.setdefault(key, place)
    found = (next((known[key] for key in _keys(document) if key in known), None) for document in given)
    return tuple(dict.fromkeys(place for place in found if place is not None))


def _keys(document: Any) -> tuple[tuple[str, ...], ...]:
    """What a document is known by, surest first: there are compressors that put a number of their own into `id`."""
    about = getattr(document, "metadata", None) or {}
    pointer = ("pointer", str(about.get("space")), str(about.get("pointer")))
    text = ("text", str(getattr(document, "page_content", None)))
    return pointer, text, ("id", str(about.get("id")))
