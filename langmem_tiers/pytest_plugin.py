"""The pytest plugin: the fixture `memory_bench`, for tests that hold recall to a standard.

pytest finds it by its entry point; it loads nothing before a test asks for the fixture.

    def test_recall(memory_bench):
        result = memory_bench("memory/", space="users/alice", questions=50)
        assert result.recall_at_5 >= 0.9
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pytest
    from langchain_core.embeddings import Embeddings

    from langmem_tiers.bench.mine import Measured
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.settings import Settings


def pytest_configure(config: pytest.Config) -> None:
    """Add the fixture."""
    import pytest

    class Fixtures:
        @pytest.fixture
        def memory_bench(self) -> MemoryBench:
            """Measure recall on the messages of a space: `memory_bench("memory/", space="users/alice").recall_at_5`."""
            return MemoryBench()

    config.pluginmanager.register(Fixtures(), "langmem-tiers-fixtures")


class MemoryBench:
    """Measures recall on somebody's own messages; call it."""

    def __call__(
        self,
        path: str | Path,
        *,
        space: str,
        questions: int = 100,
        seed: int = 1,
        question_file: str | Path | None = None,
        settings: Settings | None = None,
        embedder: Embeddings | Embedder | Literal["minilm"] | None = "minilm",
    ) -> Measured:
        """How recall does on questions made from the messages of a space; nothing is left in it.

        Args:
            path: The folder of the memory.
            space: The name of the space, such as `users/alice`.
            questions: How many are wanted.
            seed: Another one draws other messages.
            question_file: Ask the questions of this file, which `langmem-tiers bench mine --out` wrote, instead.
            settings: Those that the memory is opened with.
            embedder: The one that the memory is used with, as in `Memory.open`.

        Raises:
            NotAMemoryFolder: there is no memory in the folder.
            InvalidInput: there is no such space, or fewer than five questions can be made from it.
            UnreadableFile: `question_file` is no set of questions.
        """
        from langmem_tiers.bench.mine import measure, mine_questions, open_space, read_questions

        with open_space(path, space, settings=settings, embedder=embedder) as opened:
            if question_file is not None:
                return measure(opened, read_questions(Path(question_file)))
            return measure(opened, mine_questions(opened, questions=questions, seed=seed))
