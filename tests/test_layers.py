"""Imports run inward only: integrations -> graphs -> the core, which knows no graph framework."""

import networkx
import pytest
from source_tree import imports_anywhere, imports_at_start, is_within, library, owner

MODULES = library()
OUTER = ("langgraph", "langmem_tiers.graphs", "langmem_tiers.integrations")
ENTRY_POINTS = ("langmem_tiers.cli", "langmem_tiers.bench", "langmem_tiers.pytest_plugin")


def _in(name, packages):
    return any(is_within(name, package) for package in packages)


CORE = [name for name in MODULES if not _in(name, (*OUTER, *ENTRY_POINTS))]
ENTRIES = [name for name in MODULES if _in(name, ENTRY_POINTS)]
GRAPHS = [name for name in MODULES if is_within(name, "langmem_tiers.graphs")]


@pytest.mark.parametrize("module", CORE)
def test_the_core_knows_neither_langgraph_nor_the_outer_layers(module):
    assert [name for name in imports_anywhere(MODULES[module]) if _in(name, (*OUTER, *ENTRY_POINTS))] == []


@pytest.mark.parametrize("module", ENTRIES)
def test_entry_points_reach_for_the_outer_layers_only_inside_functions(module):
    assert [name for name in imports_at_start(MODULES[module]) if _in(name, OUTER)] == []


@pytest.mark.parametrize("module", GRAPHS)
def test_graphs_do_not_know_the_integrations(module):
    outward = ("langmem_tiers.integrations", *ENTRY_POINTS)
    assert [name for name in imports_anywhere(MODULES[module]) if _in(name, outward)] == []


def test_there_are_no_import_cycles():
    graph = networkx.DiGraph()
    for module, path in MODULES.items():
        found = {owner(name, MODULES) for name in imports_at_start(path) if is_within(name, "langmem_tiers")}
        graph.add_edges_from((module, other) for other in found if other not in (None, module))
    assert [sorted(group) for group in networkx.strongly_connected_components(graph) if len(group) > 1] == []
