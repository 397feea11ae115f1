"""How the memory's steps are called in traces, such as LangSmith's: tags to filter by, and metadata that say what."""

from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from langmem_tiers.naming import space_mark

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

TAGS = ("langmem-tiers", "memory")
"""What every run of the memory has among its tags; the name of its step is another one."""


def described(
    memory: "Memory", step: str, config: RunnableConfig | None = None, *, space: str | None = None
) -> RunnableConfig:
    """The config of a run, with what says that it is a step of the memory.

    The metadata have `memory_step`, and of a known space `memory_space`: its mark, or its name where
    `Settings.telemetry.space_names` allows for it.

    Args:
        memory: whose step it is.
        step: its kind, such as "recall".
        config: the run's own, which stays as it is.
        space: the name of the space that it works on.
    """
    about: dict[str, Any] = {"memory_step": step}
    if space is not None:
        about["memory_space"] = space if memory.settings.telemetry.space_names else space_mark(space)
    return merge_configs({"tags": [*TAGS, step], "metadata": about}, config)
