"""Citations as a step of a chain: `prompt | model | citation_runnable(memory)`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from langchain_core.runnables import Runnable, RunnableConfig

from langmem_tiers import arguments
from langmem_tiers.citations import check_citations
from langmem_tiers.citations.mentions import text_of
from langmem_tiers.citations.types import Markup, Style
from langmem_tiers.graphs import node
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.node import OnError
from langmem_tiers.graphs.runs import described
from langmem_tiers.integrations.inputs import faults, scope_of
from langmem_tiers.threads import to_thread

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

_WAY_OUT = (
    "Pass config={'configurable': {'user_id': ...}} to the chain, or give the step a fixed space: "
    "citation_runnable(memory, space='users/alice')."
)


class CitationRunnable(Runnable[Any, str]):
    """Turns the reply of a model into text with what it cites in words; see `citation_runnable`."""

    def __init__(
        self,
        memory: "Memory",
        *,
        style: Style,
        markup: Markup,
        space: SpaceChoice | None,
        fallbacks: Sequence[str] | None,
        on_error: OnError,
        name: str,
    ) -> None:
        self.memory = node.memory_of(memory)
        self.name = arguments.text(name, "name")
        self._style: Style = arguments.one_of(style, "style", get_args(Style))
        self._markup: Markup = arguments.one_of(markup, "markup", get_args(Markup))
        self._space: SpaceChoice | None = node.space_of(space)
        self._fallbacks = node.fallbacks_of(fallbacks)
        self._on_error: OnError = arguments.one_of(on_error, "on_error", get_args(OnError))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:
        """The reply with what it cites in words."""
        return self._call_with_config(self._cited, input, described(self.memory, "cite", config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:
        """`invoke` in a thread."""
        return await self._acall_with_config(self._acited, input, described(self.memory, "cite", config))

    async def _acited(self, given: Any, run_manager: Any, config: RunnableConfig) -> str:
        return await to_thread(self._cited, given, run_manager, config)

    def _cited(self, given: Any, run_manager: Any, config: RunnableConfig) -> str:
        with faults(str(self.name), self._on_error):
            scope = scope_of(config, space=self._space, way_out=_WAY_OUT)
            space = self.memory.space(scope.space, agent=scope.agent, fallbacks=self._fallbacks, caller=scope.caller)
            checked = check_citations(space, given, session=scope.session)
            return checked.render(self._style, markup=self._markup)
        return text_of(given) or ""


def citation_runnable(
    memory: "Memory",
    *,
    style: Style = "notes",
    markup: Markup = "markdown",
    space: SpaceChoice | None = None,
    fallbacks: Sequence[str] | None = None,
    on_error: OnError = "log",
    name: str = "cite",
) -> CitationRunnable:
    """A step that gives the text of a model's reply with what it cites in words; put it behind the model.

    What was recalled in the session of the run counts as shown. The run says whose memory it is, just as for
    `recall_runnable`. For the records instead of the text there is `langmem_tiers.citations.check_citations`.

    Args:
        memory: the open memory.
        style: "notes" at the end, or "inline" where it is cited; see `Citations.render`.
        markup: "markdown" or "text".
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces that may be cited; by default those of the settings.
        on_error: "log" gives the reply as it is when the memory fails or no user is named, "raise" ends the chain.
        name: its name in traces.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> chain = prompt | model | citation_runnable(memory)  # doctest: +SKIP
    """
    options: dict[str, Any] = {"space": space, "fallbacks": fallbacks, "on_error": on_error, "name": name}
    return CitationRunnable(memory, style=style, markup=markup, **options)
