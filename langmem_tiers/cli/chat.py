"""`langmem-tiers chat`: talk to an agent that remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from langmem_tiers.cli.target import OfSpace, in_words_of_commands, target_of
from langmem_tiers.cli.terminal import OutputFailed, print_error, print_text, shortened
from langmem_tiers.errors import InvalidInput, InvalidSettings, MemoryTiersError, StorageError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import HumanMessage

    from langmem_tiers.cli.target import Target
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space


# Lines that only end a chat, and those that do so behind a slash or a colon.
_LEAVING = frozenset({"quit", "exit"})
_LEAVING_AS_COMMANDS = _LEAVING | {"q", "bye"}

RerankOption = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="A chat model that picks the best of what is found, such as openai:gpt-5-mini."),
]


def chat(
    context: typer.Context,
    *,
    model: Annotated[
        str | None,
        typer.Option(envvar="LANGMEM_TIERS_MODEL", help="A model as init_chat_model names it: openai:gpt-5-mini."),
    ] = None,
    session: Annotated[str | None, typer.Option(help="The session to continue. Default: a new one.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print each block that was recalled.")] = False,
    rerank: RerankOption = None,
    space: OfSpace = None,
) -> None:
    """Talk to an agent that remembers; Ctrl-D, 'quit' or 'exit' ends it, and none of them is remembered."""
    target = target_of(context, space=space)
    # Whatever may be refused is looked at before a folder is made.
    name = target.space_name()
    chosen, reranker = chat_model(model), reranking_model(rerank)
    with target.memory(reranker=reranker) as memory:
        whose = target.space or str(target.user)
        talk = _Talk(chosen, memory, target.open(memory, name), user=whose, thread=session or f"chat-{uuid4().hex[:8]}")
        print_text(f"Session {talk.thread} of {whose}, memory in {memory.backend.where}. Ctrl-D, or /quit, ends it.")
        if note := _not_stored(talk.settings, target):
            print_text(note)
        whole = talk.answer_lines(show=show)
        print_text("")
    if not whole:
        raise typer.Exit(1)


def chat_model(name: str | None) -> BaseChatModel:
    """The model with this name, or the offline responder; a name that cannot be used ends the command."""
    from langmem_tiers.integrations import OfflineResponder, model_or_offline

    try:
        model = model_or_offline(name)
    except InvalidSettings as error:  # says itself which model it is about
        print_error(shortened(str(error), 600))
        raise typer.Exit(1) from error
    except (MemoryTiersError, ImportError) as error:
        print_error(f"The model {name!r} cannot be used: {shortened(str(error), 600)}")
        raise typer.Exit(1) from error
    if isinstance(model, OfflineResponder):
        print_text("No --model given: what answers is no model, it quotes what was recalled.")
    return model


def reranking_model(name: str | None) -> BaseChatModel | None:
    """The model given with `--rerank`, if there is one."""
    return chat_model(name) if name else None


class _Talk:
    """A session with an agent; it begins only where its space can be opened."""

    def __init__(self, model: BaseChatModel, memory: Memory, space: Space, *, user: str, thread: str) -> None:
        from langgraph.checkpoint.memory import InMemorySaver

        from langmem_tiers.graphs import memory_agent

        self.thread = thread
        self.settings = space.context.settings
        self._space = space
        self._user = user
        self._agent = memory_agent(
            model, memory, space=space.name, fallbacks=space.fallbacks, checkpointer=InMemorySaver()
        )
        # Opens the space, and loads what storing needs: Ctrl-C right after the first message is then no matter.
        self._space.track([], session=thread)

    def answer_lines(self, *, show: bool) -> bool:
        """Answer each line until the input ends or is broken off; returns whether all of them could be stored."""
        whole = True
        while (line := _line()) is not None and not _leaves(line):
            if line.strip():
                whole = self._answer(line, show=show) and whole
        return whole

    def _answer(self, line: str, *, show: bool) -> bool:
        from langchain_core.messages import HumanMessage

        from langmem_tiers.graphs import converse

        message = HumanMessage(line, id=str(uuid4()))
        if refused := self._refused(message):
            print_error(f"Not stored, and not answered: {shortened(str(refused), 600)}")
            return False
        try:
            reply, block = converse(self._agent, message, user_id=self._user, thread_id=self.thread)
        except (MemoryTiersError, OutputFailed):
            raise
        except Exception as error:  # whatever a provider's client raises: a wrong key, no network, a model retired
            raise model_error(error) from error
        if show and block:
            print_text(block)
        print_text(reply)
        return True

    def _refused(self, message: HumanMessage) -> MemoryTiersError | None:
        """Store a message before anything slow is done with it; why it could not be, if it could not."""
        from langmem_tiers.types import Turn

        turn = Turn(role="user", content=str(message.content), message_id=message.id)
        try:
            with in_words_of_commands():
                self._space.track([turn], session=self.thread).raise_rejected()
        except KeyboardInterrupt:
            self._space.track([turn], session=self.thread)  # what was sent is kept; storing takes no time
            raise
        except (InvalidInput, StorageError) as error:
            return error
        return None


def _leaves(line: str) -> bool:
    """Whether a line only ends the chat: "quit", "/exit", "Exit.", ":q", "quit()"."""
    said = line.strip().casefold()
    word = said.strip("/:\\.!() ")
    return word in _LEAVING or (said[:1] in {"/", ":"} and word in _LEAVING_AS_COMMANDS)


def _not_stored(settings: Settings, target: Target) -> str:
    """That nothing of a chat is stored, where that is so, and what says which setting it is."""
    where = "" if target.user is None and target.space is None else f" --space {target.space_name()}"
    if not settings.enabled:
        return f"Nothing is recalled or stored: the memory is off. See `langmem-tiers config show enabled{where}`."
    if not settings.tracks:
        return f"Nothing that is said is stored. See `langmem-tiers config show tracking.enabled{where}`."
    return ""


def _line() -> str | None:
    """The next line; None at the end of the input (Ctrl-D), or if it is broken off (Ctrl-C)."""
    try:
        return input("> ")
    except (EOFError, KeyboardInterrupt):
        return None


def model_error(error: Exception) -> typer.Exit:
    """Print a provider's error in one line: its traceback says no more. What was said before is remembered."""
    print_error(f"The model failed: {type(error).__name__}: {error}")
    return typer.Exit(1)
