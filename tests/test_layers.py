"""Imports run inward only: integrations -> graphs -> the core, which knows no graph framework."""

import networkx
from source_tree import imports_anywhere, imports_at_start, is_within, library, owner

MODULES = library()
OUTER = ("langgraph", "langmem_tiers.graphs", "langmem_tiers.integrations")
ENTRY_POINTS = ("langmem_tiers.cli", "langmem_tiers.bench", "langmem_tiers.pytest_plugin")


def _in(name, packages):
    return any(is_within(name, package) for package in packages)


CORE = [name for name in MODULES if not _in(name, (*OUTER, *ENTRY_POINTS))]
ENTRIES = [name for name in MODULES if _in(name, ENTRY_POINTS)]
GRAPHS = [name for name in MODULES if is_within(name, "langmem_tiers.graphs")]


def _offenders(modules, imports, forbidden):
    """Modules that import what they must not, each with the names."""
    found = {module: [name for name in imports(MODULES[module]) if _in(name, forbidden)] for module in modules}
    return {module: names for module, names in found.items() if names}


def test_the_core_knows_neither_langgraph_nor_the_outer_layers():
    assert len(CORE) > 100
    assert _offenders(CORE, imports_anywhere, (*OUTER, *ENTRY_POINTS)) == {}


def test_entry_points_reach_for_the_outer_layers_only_inside_functions():
    assert _offenders(ENTRIES, imports_at_start, OUTER) == {}


def test_graphs_do_not_know_the_integrations():
    assert _offenders(GRAPHS, imports_anywhere, ("langmem_tiers.integrations", *ENTRY_POINTS)) == {}


def test_there_are_no_circles_of_modules_also_not_by_imports_in_functions_or_for_types():
    graph = networkx.DiGraph()
    for module, path in MODULES.items():
        found = {owner(name, MODULES) for name in imports_anywhere(path) if is_within(name, "langmem_tiers")}
        # The package as a whole is the list of its public names, each loaded when it is first used.
        graph.add_edges_from((module, other) for other in found if other not in (None, module, "langmem_tiers"))
    assert [sorted(group) for group in networkx.strongly_connected_components(graph) if len(group) > 1] == []


# As docs/architecture.md draws them, the lowest first; what stands on one line may know each other.
LAYERS = (
    "errors clock types settings settings_layers arguments content access naming pointers fencing block_lines matching"
    " paths private_files settings_catalogue threads twins version wording",
    "language records",
    "trust",
    "telemetry",
    "storage",
    "models",
    "store backends context listeners palace recall knowledge knowledge_graph working layers forgetting",
    "writing",
    "dream",
    "background maintenance transfer sync",
    "runtime memory moving space space_records space_upkeep settings_file deleting testing citations",
    "graphs",
    "integrations",
    "bench",
    "cli pytest_plugin",
)
# What an error quotes may hold a secret, which is masked wherever it is raised; masking itself raises none.
MASKING = {(f"langmem_tiers.{name}", "langmem_tiers.trust.secrets.mask") for name in ("errors", "wording")}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}


def _room(module):
    return module.split(".")[1] if "." in module else ""


def test_each_layer_imports_only_those_below_it():
    upward = {
        (module, name)
        for module, path in MODULES.items()
        for name in imports_anywhere(path)
        if is_within(name, "langmem_tiers") and _room(module) and _room(name) in RANK
        if RANK[_room(name)] > RANK[_room(module)]
    }
    assert upward == MASKING


def test_no_sql_stands_outside_the_storage():
    """Others pass a connection on, and name its type; every statement and every table stands in the storage."""
    found = {
        module: names
        for module, path in MODULES.items()
        if not is_within(module, "langmem_tiers.storage")
        if (names := sorted(name for name in imports_anywhere(path) if _tells_sql(name)))
    }
    assert found == {}


def _tells_sql(name):
    if is_within(name, "sqlalchemy"):
        return name not in {"sqlalchemy", "sqlalchemy.Connection"}
    return is_within(name, "langmem_tiers.storage.schema")
