"""Chroma's default model, all-MiniLM-L6-v2, run without its padding: the same vectors many times faster.

Chroma's embedding function pads every text to 256 tokens. Here a batch is as wide as its longest text, and texts of
similar length share a batch. The model files are Chroma's own, in the same cache folder and from the same download.
"""

from __future__ import annotations

import logging
import os
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langmem_tiers import replies
from langmem_tiers.errors import EmbeddingUnavailable
from langmem_tiers.models.langchain_embedder import unit
from langmem_tiers.models.threads import in_thread, leaving
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

DIMENSION = 384
MAX_TOKENS = 256
# Tokens and texts of a batch for all threads. Smaller ones take a tenth more.
BATCH_TOKENS, BATCH_TEXTS = 1024, 32
# Of one for a single thread, which is as fast and has less padding, or while others reply: they share the processor.
SMALL_BATCH_TOKENS = 256
# So many texts at once are embedded by a second session, of which each batch has one thread: a seventh faster than all
# threads for one batch. It takes 130 MB, until there was nothing for it for so many seconds.
MANY_TEXTS = 64
KEPT_FOR_MANY = 60.0
# Seconds that documents give way to replies at most, so that they are embedded however many there are.
LONGEST_WAY = 0.25
HEAD_CHARACTERS = 20_000
# What ONNX Runtime says where it cannot have the memory that it asks for.
_OUT_OF_MEMORY = ("bad_alloc", "Failed to allocate", "Cannot allocate memory")
_CORES = os.cpu_count() or 1
FILES = ("config.json", "model.onnx", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


class MiniLM:
    """The default embedder: 384 dimensions, local, no API key and no service.

    `folder` is the one that holds Chroma's `onnx/` folder; the default is Chroma's cache in the home folder.
    Only `prepare` downloads (about 80 MB); loading from disk takes under half a second and happens once.
    """

    name = "all-MiniLM-L6-v2"
    runs_here = True
    """It cannot hang, so it needs no deadline; its first load may take a while."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path.home() / ".cache" / "chroma" / "onnx_models" / self.name
        self._lock = Lock()
        self._turn = Lock()
        self._model: _Model | None = None
        self._for_many: _Model | None = None
        self._last_many = 0.0
        self._damaged = False

    def available(self) -> bool:
        """Whether the model is loaded, or its files exist and are not known to be damaged."""
        return self._model is not None or (not self._damaged and self._on_disk())

    def prepare(self) -> None:
        """Download the model if it is missing, and load it.

        Raises:
            EmbeddingUnavailable: the download failed, or the files are damaged.
        """
        if self._model is None and not self._on_disk():
            _download(self.folder)
        self._load()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of `text`, shape (384,).

        Raises:
            EmbeddingUnavailable: the model is not downloaded yet, or damaged.
        """
        model = self._load()
        self._drop_unused()
        with replies.running():
            vector: NDArray[np.float32] = model.vectors([model.tokens(text)])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of `texts`, shape (n, 384). Only the first 256 tokens of a text count.

        Raises:
            EmbeddingUnavailable: the model is not downloaded yet, or damaged.
        """
        many = len(texts) >= MANY_TEXTS and _CORES > 1 and not replies.expected()
        model = self._load_for_many() if many else self._load()
        tokens = [model.tokens(text) for text in texts]
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        batches, lock = _batches(tokens, small=many), Lock()

        def embed() -> None:
            while True:
                with lock:
                    batch = next(batches, None)
                if batch is None:
                    return
                replies.give_way(LONGEST_WAY)
                vectors[batch] = model.vectors([tokens[index] for index in batch])

        # One call after the other, but no core waits: the next begins when this one has no batch left to begin.
        with self._turn if many else nullcontext():
            others = [in_thread(embed) for _ in range(_CORES - 1 if many else 0)]
            embed()
        for each in others:
            each.result()
        return vectors

    def _on_disk(self) -> bool:
        try:
            return all((self.folder / "onnx" / file).exists() for file in FILES)
        except OSError:  # an inaccessible folder on the way
            return False

    def _load(self) -> _Model:
        if self._model is not None:
            return self._model
        with self._lock:
            if self._model is None:
                self._model = self._open()
            return self._model

    def _load_for_many(self) -> _Model:
        model = self._load()
        with self._lock:
            self._last_many = monotonic()
            if self._for_many is None:
                self._for_many = _Model(model.tokenizer, _session(self.folder / "onnx", threads=1))
            return self._for_many

    def _drop_unused(self) -> None:
        if self._for_many is not None and monotonic() - self._last_many > KEPT_FOR_MANY:
            self._for_many = None

    def _open(self) -> _Model:
        if not self._on_disk():
            raise EmbeddingUnavailable(f"The model {self.name} is not in {self.folder}: it is not downloaded yet.")
        self._damaged = True  # until it is open
        folder = self.folder / "onnx"
        try:
            model = _Model.open(folder)
        except EmbeddingUnavailable:  # for want of memory, of which there may be enough later
            self._damaged = False
            raise
        except Exception as error:  # both libraries raise bare Exception subclasses of their own for a bad file
            raise EmbeddingUnavailable(
                f"The model files in {folder} cannot be read: they are damaged or not readable.",
                way_out="Delete that folder and open the memory again: it is then downloaded anew.",
            ) from error
        self._damaged = False
        return model


def _batches(tokens: Sequence[Sequence[int]], *, small: bool) -> Iterator[list[int]]:
    """The places of all texts, those of similar length together, the shortest first."""
    batch: list[int] = []
    most = _most_tokens(small)
    for place in sorted(range(len(tokens)), key=lambda place: len(tokens[place])):
        if batch and (len(batch) == BATCH_TEXTS or (len(batch) + 1) * len(tokens[place]) > most):
            yield batch
            most = _most_tokens(small)
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _most_tokens(small: bool) -> int:
    return SMALL_BATCH_TOKENS if small or replies.expected() else BATCH_TOKENS


@dataclass(frozen=True)
class _Model:
    """The open tokenizer and ONNX session; both may be used from several threads at once."""

    tokenizer: Any
    session: Any

    @classmethod
    def open(cls, folder: Path) -> _Model:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # For a query, as many threads as there are: of 16 tokens, two take 4.8 ms and one takes 6.1.
        session = _session(folder, threads=0)
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=MAX_TOKENS)
        return cls(tokenizer, session)

    def tokens(self, text: str) -> list[int]:
        """The ids of the first 256 tokens of `text`."""
        sendable = text.encode("utf-8", "replace").decode("utf-8")  # the tokenizer refuses lone surrogates
        head = self.tokenizer.encode(sendable[:HEAD_CHARACTERS])
        # The start of a long text determines its tokens, unless nearly all of the start is white space or one word.
        if len(sendable) > HEAD_CHARACTERS and len(head.overflowing) < 2:
            head = self.tokenizer.encode(sendable)
        ids: list[int] = head.ids
        return ids

    def vectors(self, batch: Sequence[list[int]]) -> NDArray[np.float32]:
        """Unit vectors of texts given as token ids: the mean over each text's tokens."""
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        leaving()
        with _memory_needed():
            hidden = self.session.run(None, feed)[0]
        share = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        return unit(np.einsum("ntd,nt->nd", hidden, share))


def _session(folder: Path, *, threads: int) -> Any:
    """An ONNX session with so many threads for each call; 0 for one a core."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    # Threads that spin between two steps take half as much again of the processor, from those who wait for it.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with _memory_needed():
        return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


@contextmanager
def _memory_needed() -> Iterator[None]:
    """Tell too little memory from all else that goes wrong in the block.

    Raises:
        EmbeddingUnavailable: there is too little memory.
    """
    try:
        yield
    except Exception as error:  # ONNX Runtime has no type of its own for this
        if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in _OUT_OF_MEMORY):
            raise
        raise EmbeddingUnavailable(
            f"There is too little memory for the model {MiniLM.name}.",
            way_out="Recall goes on by keywords; leave the process some 300 MB more, or use no embedder.",
        ) from error


def _download(folder: Path) -> None:
    """Have Chroma fetch and unpack its model files into `folder`."""
    import httpx
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2
    from filelock import FileLock

    fetcher = ONNXMiniLM_L6_V2()
    fetcher.DOWNLOAD_PATH = folder
    fetcher.tqdm = partial(fetcher.tqdm, disable=True)  # no progress bar in the caller's terminal
    say(log, logging.INFO, "model_download_started", folder=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "download.lock"):  # two processes would write the same archive
            fetcher._download_model_if_not_exists()
    # ValueError: the download does not have the checksum that Chroma expects.
    except (httpx.HTTPError, OSError, tarfile.TarError, ValueError) as error:
        raise EmbeddingUnavailable(
            f"The model {MiniLM.name} could not be downloaded to {folder}: {error}.",
            way_out="Recall goes on by keywords; the vectors are filled in once the download succeeds. "
            "On a machine without a network, copy the folder from one that has it.",
        ) from error
