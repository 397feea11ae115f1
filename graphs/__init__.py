"""LangGraph nodes over a memory, and a ready-made agent.

The smallest graph is START -> recall -> your model -> track -> END: `recall_node` looks up what earlier
conversations say, `build_prompt` puts it before the model, `track_node` keeps what was said. `memory_agent` is that
graph with tools. Values in the state are plain JSON and the message history stays as it was said.
"""

from langmem_tiers.graphs.agent import AgentGraph, chat, chat_model, converse, memory_agent
from langmem_tiers.graphs.cite import CitedState, CiteNode, cite_node
from langmem_tiers.graphs.dream import DreamGraph, DreamInput, DreamOutput, dream_graph
from langmem_tiers.graphs.flush import FlushNode, flush_before_compaction, flush_node
from langmem_tiers.graphs.identity import Scope, SpaceChoice, resolve_scope, space_template
from langmem_tiers.graphs.messages import window_start
from langmem_tiers.graphs.node import MemoryNode, OnError
from langmem_tiers.graphs.prompt import DEFAULT_SYSTEM_PROMPT, Placement, build_prompt
from langmem_tiers.graphs.recall import RecallNode, recall_node
from langmem_tiers.graphs.state import MemoryContext, MemoryInput, MemoryState
from langmem_tiers.graphs.track import TrackNode, track_node
from langmem_tiers.graphs.working import WorkingNode, working_node

__all__ = [
    "DEFAULT_SYSTEM_PROMPT",
    "AgentGraph",
    "CiteNode",
    "CitedState",
    "DreamGraph",
    "DreamInput",
    "DreamOutput",
    "FlushNode",
    "MemoryContext",
    "MemoryInput",
    "MemoryNode",
    "MemoryState",
    "OnError",
    "Placement",
    "RecallNode",
    "Scope",
    "SpaceChoice",
    "TrackNode",
    "WorkingNode",
    "build_prompt",
    "chat",
    "chat_model",
    "cite_node",
    "converse",
    "dream_graph",
    "flush_before_compaction",
    "flush_node",
    "memory_agent",
    "recall_node",
    "resolve_scope",
    "space_template",
    "track_node",
    "window_start",
    "working_node",
]
