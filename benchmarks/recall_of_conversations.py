"""Recall in a memory of real conversations, before and after they are mined, beside one embedding of each question.

Sessions of LongMemEval haystacks, each once and in the order of their dates, become the memory of one user; the
questions of the file are asked in it, then once more, and again when the sessions have ended and have summaries. A
memory that is there already had all of it from the first question on. The first questions only warm up. After these,
questions about all that was said are asked twice, and again when the user has pasted logs of 3,000 lines.

With `--servers`, the memory is moved to a PostgreSQL and a Chroma server that are started, and the questions are asked
there: while the vectors wait to be sent, when they are, and by eight threads at once.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

from reporting import Row, parser, report, say

from langmem_tiers import Memory, Turn
from langmem_tiers.bench.datasets import read_cases
from langmem_tiers.bench.scoring import spread
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.space import Space
from langmem_tiers.transfer.records import ImportedSession, LineProblem

WARM_UP = 8
OF_ALL = ("What do you know about me?", "What do I have coming up?", "Which books have I read?")
PASTED = 3


def main() -> None:
    arguments = parser(__doc__ or "", "recall_of_conversations")
    arguments.add_argument("--data", type=Path, required=True, help="a LongMemEval file")
    arguments.add_argument("--messages", type=int, default=6_000)
    arguments.add_argument("--work", type=Path, help="make the memory there, or use the one that is there, mined")
    arguments.add_argument("--servers", action="store_true", help="ask on servers too, which are started")
    chosen = arguments.parse_args()
    sessions, questions = read(chosen.data, chosen.messages)
    with tempfile.TemporaryDirectory() as made:
        folder = (chosen.work or Path(made)) / "memory"
        is_new = not folder.exists()
        with Memory.open(folder, background=False) as memory:
            user, rows = memory.user("alice"), list[Row]()
            if is_new:
                say(f"storing {sum(len(each.messages) for each in sessions):,} messages")
                tell(user, sessions)
                memory.flush()
                rows += asked(user, questions, "stored")
                say("mining")
                user.mine()
                memory.flush()
            rows += asked(user, questions, "mined")
            rows += asked(user, questions, "mined, asked again", mark=" ")
            if is_new:
                say("ending the sessions")
                for place in range(len(sessions)):
                    user.end_session(f"s{place}")
                memory.flush()
            rows += asked(user, questions, "sessions ended", mark="  ")
            of_all = [*asked_of_all(user, "mined"), *asked_of_all(user, "mined, asked again")]
        if chosen.servers:
            rows += asked_on_servers(folder, questions)
        shutil.copytree(folder, Path(made) / "pasted")  # what is kept stays as it is
        with Memory.open(Path(made) / "pasted", background=False) as memory:
            user = memory.user("alice")
            user.track([Turn(role="user", content=log(place)) for place in range(PASTED)], session="pasted")
            memory.flush()
            of_all += [*asked_of_all(user, "with logs"), *asked_of_all(user, "with logs, asked again")]
    report("Recall in a memory of real conversations", rows, chosen.out)
    report("Questions about all that was said, in ms", of_all, chosen.out.with_stem(f"{chosen.out.stem}_of_all"))


def read(data: Path, most: int) -> tuple[list[ImportedSession], list[str]]:
    """The sessions with at least so many messages, in the order of their dates, and the questions of the file."""
    sessions: dict[tuple[str, ...], ImportedSession] = {}
    questions: list[str] = []
    for case in read_cases("longmemeval", data):
        if isinstance(case, LineProblem):
            continue
        questions += (question.text for question in case.questions)
        for session in case.sessions:
            sessions.setdefault(tuple(each.content for each in session.messages), session)
    taken: list[ImportedSession] = []
    for session in sorted(sessions.values(), key=lambda each: str(each.messages[0].at)):
        if sum(len(each.messages) for each in taken) >= most:
            break
        taken.append(session)
    return taken, questions


def asked_on_servers(folder: Path, questions: Sequence[str]) -> Iterator[Row]:
    """How long the questions take once the memory was moved to servers."""
    from server_moving import moved  # which needs the extra `postgres`, and makes the tests importable

    from tests import servers

    with ExitStack() as last_to_first:
        postgres, chroma = servers.Postgres(durable=True), servers.Chroma()
        last_to_first.callback(postgres.remove)
        last_to_first.callback(chroma.remove)
        say("moving it to servers")
        moved(str(folder), postgres.address())
        memory = last_to_first.enter_context(Memory.open(postgres.address(), chroma=chroma.address, background=False))
        user = memory.user("alice")
        yield from asked(user, questions, "moved to servers", mark=" .")
        say("sending the vectors")
        if not user.flush():
            raise SystemExit("Not all was sent: see the warning above.")
        yield from asked(user, questions, "on servers", mark="  .")
        yield from asked(user, questions, "on servers, by 8 at once", mark=" . ", threads=8)


def tell(user: Space, sessions: Sequence[ImportedSession]) -> None:
    """Store the sessions."""
    for place, session in enumerate(sessions):
        turns = [Turn(role=each.role, content=each.content, said_at=each.at) for each in session.messages]
        user.track(turns, session=f"s{place}")


def asked(user: Space, questions: Sequence[str], when: str, mark: str = "", threads: int = 1) -> Iterator[Row]:
    """How long the questions take, and an embedding of one, by so many threads at once."""
    embedder = MiniLM()
    for question in questions[:WARM_UP]:
        user.recall(question, keep_receipt=False)
    with ThreadPoolExecutor(threads) as pool:
        taken = list(pool.map(lambda question: seconds(user, f"{question}{mark}"), questions[WARM_UP:]))
        floor = list(pool.map(lambda question: embedding(embedder, f"{question} ?"), questions[WARM_UP:]))
    of_all = spread(taken)
    unit = median(floor)
    yield {
        "memory": when,
        "messages": user.stats().drawers,
        "entries": user.stats().entries,
        "embedding ms": unit * 1000,
        "recall p50 ms": of_all.p50 * 1000,
        "p95 ms": of_all.p95 * 1000,
        "p50 in embeddings": of_all.p50 / unit,
        "p95 in embeddings": of_all.p95 / unit,
    }


def asked_of_all(user: Space, when: str) -> Iterator[Row]:
    """How long the questions about all that was said take."""
    yield {"memory": when} | {question: seconds(user, question) * 1000 for question in OF_ALL}


def log(number: int) -> str:
    """A log that somebody pastes."""
    lines = (f"2026-11-28 10:{each % 60:02d} INFO request {each} took {each % 97} ms" for each in range(3000))
    return "\n".join((f"Why is number {number} so slow?", *lines))


def seconds(user: Space, question: str) -> float:
    """How long a recall takes."""
    began = perf_counter()
    user.recall(question)
    return perf_counter() - began


def embedding(embedder: MiniLM, question: str) -> float:
    """How long one embedding of a question takes."""
    began = perf_counter()
    embedder.embed_query(question)
    return perf_counter() - began


if __name__ == "__main__":
    main()
