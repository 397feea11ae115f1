"""Rerankers: their input and output, and any LangChain document compressor as one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from langmem_tiers.models.chat_model import model_name

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor, Document


log = logging.getLogger(__name__)

SOURCE = "memory_rerank"
"""What the usage of rerankers is booked under."""
LONGEST_QUESTION = 1000
"""Characters of a question that are given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RerankQuery:
    """What was asked, and when."""

    text: str
    asked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A candidate for a reranker: `text` is verbatim, or an excerpt of a long drawer."""

    space: str
    drawer: int
    pointer: str
    session: str
    speaker: str
    said_at: datetime
    text: str
    score: float


Places = tuple[int, ...]
"""Places in the passages given, from 0, best first and each once; empty says that none of them fits."""


@dataclass(frozen=True, slots=True)
class UnclearOrder:
    """A reply without an order, and why; `kind` is the class of the error behind it, or else a word."""

    reason: str
    kind: str = field(default="invalid", repr=False)
    raised: bool = field(default=False, repr=False)


@dataclass(kw_only=True, slots=True)
class Attempt:
    """The usage of one attempt so far; tokens are None until a provider reports them.

    `given_up` is set by the waiting side: nothing more may be asked then. `callbacks` belong to the enclosing run.
    """

    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    given_up: bool = False
    callbacks: Any = None

    def count_tokens(self, given: int | None, made: int | None) -> None:
        """Add the tokens of a call, as far as they are known."""
        if given is not None:
            self.input_tokens = given + (self.input_tokens or 0)
        if made is not None:
            self.output_tokens = made + (self.output_tokens or 0)

    def usage(self) -> dict[str, dict[str, int]]:
        """The known numbers, under `memory_rerank`; empty if no call was made."""
        counted = {"calls": self.calls, "input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        known = {name: number for name, number in counted.items() if number is not None}
        return {SOURCE: known} if self.calls else {}


class Ranker(Protocol):
    """Something that ranks passages by how useful they are for a question.

    `judges` says whether it selects those that fit; otherwise it only orders them, and there always is a first one.
    `name` is the name of the model.
    """

    judges: bool
    name: str

    def rank(
        self, question: RerankQuery, passages: Sequence[Passage], most: int, attempt: Attempt
    ) -> Places | UnclearOrder:
        """The best ones, at most `most`; errors of a provider's client are passed on."""


class ByCompressor:
    """The order of the documents that a compressor returns: it may drop, copy, shorten or score them."""

    # Most compressors return as many as they are told to, whether these fit or not.
    judges = False

    def __init__(self, compressor: BaseDocumentCompressor) -> None:
        self._compressor = compressor
        self.name = model_name(compressor)

    def rank(
        self, question: RerankQuery, passages: Sequence[Passage], most: int, attempt: Attempt
    ) -> Places | UnclearOrder:
        """The places of the documents returned. None at all means that none fits."""
        attempt.calls += 1
        given = list(self._compressor.compress_documents([_document(each) for each in passages], question.text))
        if not given:
            return ()
        places = _places(given, passages)
        return places[:most] or UnclearOrder(
            f"none of the {len(given)} documents given back is one of those it was given"
        )


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
    """What identifies a document, most reliable first: some compressors put a number of their own into `id`."""
    about = getattr(document, "metadata", None) or {}
    pointer = ("pointer", str(about.get("space")), str(about.get("pointer")))
    text = ("text", str(getattr(document, "page_content", None)))
    return pointer, text, ("id", str(about.get("id")))
