"""A chat service for many users: one process, one memory, replies streamed as server-sent events.

    pip install fastapi uvicorn
    python examples/fastapi_service.py --port 8000

    pip install "langmem-tiers[postgres]" langgraph-checkpoint-postgres
    python examples/fastapi_service.py --path postgresql://app@db.internal/memories --no-background

    curl -N http://127.0.0.1:8000/chat/monday -H 'Authorization: Bearer alice-token' \
        -H 'Content-Type: application/json' -d '{"text": "I moved to Lisbon in March."}'

A reply is a task of the service, the response only listens to it: when a client leaves in mid-stream, the reply is
still made to its end and stored. On SIGTERM no more clients are let in, replies under way are finished, and the memory
is closed. The model is the one in $LANGMEM_TIERS_MODEL; without one it answers offline, by quoting its memory.

With a folder, threads are kept in this process. With a database, LangGraph's own checkpointer and store are in it,
too: any number of these processes serve the same threads, and `langmem-tiers worker` does the work of the memory. GET
/health says that the process is alive, GET /ready whether what the memory is kept by answers.

It listens on this machine only. Before others reach it, put a proxy before it that has TLS, knows by which names it is
reached (Host), drops clients whose headers or reading take long (nginx: client_header_timeout, send_timeout), and says
how often each may ask; and put your authentication in place of TOKENS.
"""

import argparse
import asyncio
import json
import logging
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hmac import compare_digest
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel, Field

from langmem_tiers import Memory
from langmem_tiers.graphs import AgentGraph, memory_agent
from langmem_tiers.integrations import model_or_offline
from langmem_tiers.paths import is_address, separate

TOKENS = {"alice-token": "alice", "bob-token": "bob"}  # in place of your authentication
LAST_REPLIES = 30.0  # seconds that a shutdown waits for replies nobody listens to any more
MOST_BODY = 100_000  # bytes
BODY_SECONDS = 20.0  # that a client may take to send a body
SETUP_TRIES = 30  # of making LangGraph's tables beside others who do
# h11 is the parser whose limit on headers can be set.
LIMITS = {"http": "h11", "h11_max_incomplete_event_size": 16_384, "limit_concurrency": 100, "timeout_keep_alive": 5}

Event = tuple[str, Any]
logger = logging.getLogger(__name__)


class Said(BaseModel):
    """What a user says."""

    text: str = Field(min_length=1, max_length=20_000)


def user_of(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> str:
    """Whose request it is: what the token says, and nothing else in the request."""
    told = given.credentials.encode()
    users = [user for token, user in TOKENS.items() if compare_digest(token.encode(), told)]
    if not users:
        raise HTTPException(401, "no such token")
    return users[0]


class BoundedBodies:
    """Refuses a body that is too large, whether it says its size or not, or that takes too long to come."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        """Read the whole body, then pass the request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        body, more = b"", True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more and len(body) <= MOST_BODY:
                    message = await receive()
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            return await Response(status_code=408, headers={"Connection": "close"})(scope, receive, send)
        if len(body) > MOST_BODY:
            return await Response(status_code=413, headers={"Connection": "close"})(scope, receive, send)
        whole = iter([{"type": "http.request", "body": body}])

        async def read():
            return next(whole, None) or await receive()

        return await self.app(scope, read, send)


@asynccontextmanager
async def langgraph_tables(place: str | None) -> AsyncIterator[tuple[BaseCheckpointSaver, BaseStore]]:
    """What LangGraph keeps of its own: threads and a store. In the database of the memory, or else in this process."""
    if place is None or not is_address(place):
        yield InMemorySaver(), InMemoryStore()
        return
    # pip install langgraph-checkpoint-postgres
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from langgraph.store.postgres.aio import AsyncPostgresStore
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool

    # The first of several databases; its schema is the memory's own.
    server, _, options = separate(place)[0].partition("?")
    others = "&".join(each for each in options.split("&") if not each.startswith("schema="))
    database = f"postgresql://{server.partition('://')[2]}?{others}"
    wanted = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    # Connections that a restart of the database closed are not given out.
    checked = AsyncConnectionPool.check_connection
    async with AsyncConnectionPool(database, min_size=1, max_size=8, kwargs=wanted, check=checked) as pool:
        checkpointer, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
        await made(checkpointer)
        await made(store)
        yield checkpointer, store


async def made(tables: Any) -> None:
    """Make the tables of a checkpointer or a store.

    Of several processes that begin with a new database at the same time, all but one fail at a step of that: whoever
    does goes on behind it.
    """
    from psycopg.errors import DeadlockDetected, DuplicateTable, UniqueViolation

    for _ in range(SETUP_TRIES):
        try:
            await tables.setup()
        except (DeadlockDetected, DuplicateTable, UniqueViolation):
            await asyncio.sleep(random.uniform(0.1, 1))
        else:
            return
    await tables.setup()


def service(place: str | None = None, model: BaseChatModel | None = None, *, background: bool = True) -> FastAPI:
    """The service; `place` is the folder of the memory or the address of its database.

    Without `background`, the work of the memory is left to `langmem-tiers worker`.
    """

    @asynccontextmanager
    async def open_memory(app: FastAPI) -> AsyncIterator[None]:
        async with Memory.open(place, background=background) as memory:
            print(f"The memory is in {memory.backend.where}.")
            async with langgraph_tables(place) as (checkpointer, store):
                app.state.memory = memory
                app.state.agent = memory_agent(
                    model or model_or_offline(), memory, checkpointer=checkpointer, store=store
                )
                app.state.replies = set()
                # The first reply takes no longer than the others then, and no garbage collection delays them.
                await memory.awarm_up()
                yield
                if app.state.replies:
                    await asyncio.wait(app.state.replies, timeout=LAST_REPLIES)

    app = FastAPI(lifespan=open_memory)
    app.add_middleware(BoundedBodies)
    app.add_exception_handler(RequestValidationError, refused)

    @app.post("/chat/{thread}")
    async def chat(thread: str, said: Said, user: Annotated[str, Depends(user_of)], request: Request):
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        # The user stands in the thread's id: else two who name a thread alike would share it.
        run = {"configurable": {"user_id": user, "thread_id": f"{user}/{thread}"}}
        state = request.app.state
        reply = asyncio.create_task(speak(state.agent, said.text, run, events))
        state.replies.add(reply)
        reply.add_done_callback(state.replies.discard)
        return StreamingResponse(server_sent(events), media_type="text/event-stream")

    @app.get("/health")
    async def health():
        """Whether the process is alive: restart it if not."""
        return {"alive": True}

    @app.get("/ready")
    async def ready(request: Request, response: Response):
        """Whether requests can be served. Without `vectors` they are, with recall by words."""
        found = await request.app.state.memory.ahealth()
        for problem in found.problems:
            logger.warning("not_answering reason=%s", problem)
        response.status_code = 200 if found.records else 503
        return {"records": found.records, "vectors": found.vectors}

    return app


async def refused(_: Request, error: RequestValidationError) -> JSONResponse:
    """What is wrong with a request, without quoting it: JSON can hold half a character, which no reply can."""
    faults = [{name: each[name] for name in ("type", "loc", "msg")} for each in error.errors()]
    return JSONResponse({"detail": faults}, 422)


async def speak(agent: AgentGraph, text: str, run: dict, events: "asyncio.Queue[Event | None]") -> None:
    """Have the agent reply, and tell what the memory does and each piece of the reply; at last None."""
    try:
        async for mode, told in agent.astream({"messages": text}, run, stream_mode=["custom", "messages"]):
            if mode == "custom":
                events.put_nowait(("memory", told))
            elif isinstance(told[0], AIMessageChunk) and told[0].text:
                events.put_nowait(("token", told[0].text))
    except Exception:
        logger.exception("reply_failed thread=%s", run["configurable"]["thread_id"])
        events.put_nowait(("error", "The reply failed. Please try again."))
    finally:
        events.put_nowait(None)


async def server_sent(events: "asyncio.Queue[Event | None]") -> AsyncIterator[str]:
    while (event := await events.get()) is not None:
        kind, data = event
        yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve an agent with memory to many users.")
    parser.add_argument(
        "--path",
        default=os.environ.get("LANGMEM_TIERS_PATH"),
        help="the memory's folder, or its database; default $LANGMEM_TIERS_PATH, else in the user's data folder",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--no-background", action="store_true", help="leave the work of the memory to `langmem-tiers worker`"
    )
    chosen = parser.parse_args()
    app = service(chosen.path, background=not chosen.no_background)
    uvicorn.run(app, host=chosen.host, port=chosen.port, **LIMITS)
