# The named commands of this project. Everything they need goes into .venv; nothing else on the machine is touched.
#
#   make demo     a short conversation over four sessions, and what is remembered of it
#   make test     lint, type check and all tests
#   make lint     ruff: rules and formatting
#   make golden   write the golden files in tests/golden anew: what users see
#   make types    mypy --strict on the library
#   make wheel    the wheel, in dist/
#   make docs     the docs site, in build/site; a warning is an error
#   make smoke    the wheel in a new environment, and the README's quick start run from it
#   make clean    remove everything that these commands made
#
#   make test-browser   the panel in a real browser: Debian's chromium, driven by Playwright
#   make screenshots   the pictures of the panel in docs/images, taken anew
#   make test-compose   compose.yaml in containers, where Docker has compose
#   make test-isolation   50,000 operations of users, agents and teams: nobody reads or writes what is foreign
#   make test-flips   50 bits of the database flipped, a disk full at 100 points, 1,542 names, 3,348 questions, 8 writers:
#                     nothing hangs, no wrong word is served, nothing is lost
#   make test-life   200 kills, a soak of 30,000 turns, random use by two processes, broken input and hostile text
#   make test-servers   the tests of the front door over PostgreSQL and a Chroma server, started for it and stopped; or over
#                       those that POSTGRES and CHROMA name, in a database of its own
#   make test-server   what `langgraph dev` serves, in an environment of its own
#   make test-lowest   nodes, agents, chains and tools with the lowest versions that pyproject.toml allows
#   make test-newest   the same with the newest that can be installed together
#
# PYTHON chooses the interpreter (3.11 to 3.13): make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
# Where tests keep their memories: a file system that never waits for a disk, where it has four gigabytes.
ROOM = $(shell df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
SCRATCH = $(if $(shell [ "$(ROOM)" -gt 4000000 ] 2>/dev/null && echo yes),/dev/shm,$(or $(TMPDIR),/tmp))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

# What touches LangChain and LangGraph, and what its tests need beside the extras.
DOORS := $(wildcard tests/test_nodes*.py) $(patsubst %,tests/test_%.py,agent middleware classic_memory lcel retriever tools dream_graph)
# What is about servers themselves, or about storing, finding and keeping apart what each user says.
SERVERS := $(patsubst %,tests/test_%.py, \
	servers poolers server_commands server_copies server_kills spread workers moving compose examples_service \
	telemetry_otel track recall recall_statements write_statements isolation many_users leaving deleting_spaces \
	flush trips)
# What runs over servers too: the doors of a memory, its commands and pages of its panel. Not here are single files of the
# sources, pure functions, the files of a folder, and what blocks the event loop, as that is not seen in psycopg.
FRONT_DOOR := $(SERVERS) $(patsubst %,tests/test_%.py, \
	agent as_of async_parity bad_input_doors branches browse citations classic_memory cli \
	directives documents dream_apply dream_approve dream_cli dream_consolidate dream_decider dream_deleted \
	dream_feedback dream_gate dream_graph dream_orphans dream_preferences dream_pruned dream_synthesis dream_undo \
	enriching episodes exporting fallbacks feedback_signals forgetting forgetting_canaries forgetting_doors \
	forgetting_dreams forgetting_meanwhile forgetting_selection front_door golden_doors golden_memory golden_rules \
	graph_asking graph_bitemporal graph_cli graph_ending graph_merging graph_names graph_nesting graph_pictures \
	graph_precision graph_projection graph_recall graph_taking graph_tools graph_transfer graph_writing hostile_http hostile_logs \
	hostile_questions identity identity_text import_bounds import_command import_migrating_command import_replay \
	import_speakers introductions knowing knowledge knowledge_cli knowledge_intake later_lines later_marks lcel \
	looking_back message_history middleware mining model_replies naming needed nodes nodes_activities nodes_async \
	nodes_faults nodes_hosts nodes_reruns nodes_sharing note_tools notes palace palace_by_model panel_activity \
	panel_dreams panel_episodes panel_graph panel_live panel_memories panel_palace panel_safety panel_settings \
	panel_usage panel_working profile projects ranking recall_about recall_lines recall_meanwhile replies reports \
	rerank retriever safety setting_right settings_scopes short_answers show_and_edit store_contract store_hosts \
	store_items store_tiers sync tasks teams telemetry_logs telemetry_traces time_questions tool_taint tools trust \
	unheard usage usage_cli vectors why worker working_memory working_node)
TESTING := blockbuster langchain-tests langgraph-checkpoint-sqlite pytest pytest-asyncio pytest-xdist hypothesis

.PHONY: demo test test-browser test-compose screenshots test-isolation test-flips test-life golden pytest lint types docs wheel smoke clean test-server test-servers test-servers-core test-lowest test-newest

demo: $(VENV)/.base
	@$(BIN)/python examples/demo.py

test: lint types pytest

pytest: $(VENV)/.development
	TMPDIR=$(SCRATCH) $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --ignore tests/browser $(ARGS)

golden: $(VENV)/.development
	GOLDEN=write $(BIN)/python -m pytest -q $(wildcard tests/test_golden*.py)

lint: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# A type checker does not follow the import hook of an editable install, and `graphs` and `integrations` live beside
# the package that they belong to: mypy reads a mirror of links that is laid out as the wheel is.
types: $(VENV)/.development
	rm -rf build/types
	mkdir -p build/types/langmem_tiers
	ln -s $(CURDIR)/langmem_tiers/* $(CURDIR)/graphs $(CURDIR)/integrations build/types/langmem_tiers/
	cd build/types && MYPYPATH=. $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml \
		--cache-dir $(CURDIR)/.mypy_cache -p langmem_tiers

# The site's tools are in an environment of their own; of the package they read the sources only.
docs: build/docs/.ready
	build/docs/bin/python docs/site.py
	build/docs/bin/zensical build --strict --clean
	build/docs/bin/python docs/site.py --check

wheel: $(VENV)/.development
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m build --wheel --no-isolation

smoke: wheel
	rm -rf build/smoke
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip --disable-pip-version-check --quiet --quiet install dist/*.whl -c constraints.txt
	sed -n '/^```python/,/^```/{/^```/!p;/^```$$/q}' README.md > build/smoke/quick_start.py
	cd build/smoke && bin/python quick_start.py && bin/langmem-tiers --path memory stats

test-browser: $(VENV)/.development
	$(BIN)/python -m pytest -q tests/browser $(ARGS)

screenshots: $(VENV)/.development
	PICTURES=write $(BIN)/python -m pytest -q tests/browser/test_pictures.py

test-flips: $(VENV)/.development
	LANGMEM_TIERS_TEST_FLIPS=50 DISK_FULL_POINTS=100 HOSTILE_NAMES=1542 HOSTILE_QUESTIONS=4000 WRITERS_CHANGES=500 \
		WRITERS_MESSAGES=2000 $(BIN)/python -m pytest -n $(JOBS) -rP -p no:cacheprovider \
		$(patsubst %,tests/test_%.py,damage disk_full hostile_names hostile_questions writers)

# Of what it starts nothing is left behind, volumes included. Skipped where Docker with compose does not run.
test-compose: $(VENV)/.development
	COMPOSE=run $(BIN)/python -m pytest -q -rs -p no:cacheprovider tests/test_compose.py $(ARGS)

test-isolation: $(VENV)/.development
	ISOLATION_OPERATIONS=50000 $(BIN)/python -m pytest -q -s -p no:cacheprovider tests/test_isolation.py

# The soak takes about as long as all else, so one process has it and the other one the rest.
test-life: $(VENV)/.development
	LIFE_KILLS=200 LIFE_TURNS=30000 LIFE_TEXTS=10000 LIFE_FUZZ=60 LIFE_RUNS=25 LIFE_STEPS=40 \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -rP -p no:cacheprovider tests/life $(ARGS)

# The development server wants other versions of packages that the MCP server needs, so it has its own environment.
test-server: build/server/.ready
	build/server/bin/python -m pytest -p no:cacheprovider tests/test_server.py

# What is about files in a folder has the marker `folder`, and is left out.
test-servers-core: FRONT_DOOR := $(SERVERS)
test-servers test-servers-core: $(VENV)/.development
	TMPDIR=$(SCRATCH) $(BIN)/python -m tests.servers -n $(JOBS) --dist loadgroup $(if $(ARGS),$(ARGS),$(FRONT_DOOR))

test-lowest test-newest: test-%: build/%/.ready
	build/$*/bin/python -m pytest -n $(JOBS) -p no:cacheprovider $(DOORS)

build/docs/.ready: WANTED = $(shell $(PYTHON) -c 'import shlex, tomllib; \
	print(shlex.join(tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["docs"]))') -c constraints.txt
build/server/.ready: WANTED = -e . 'langgraph-cli[inmem]' pytest pytest-asyncio -c constraints-server.txt
build/lowest/.ready: WANTED = -e '.[classic,openai]' $(TESTING) -c constraints-lowest.txt
build/newest/.ready: WANTED = -e '.[classic,openai]' $(TESTING) --upgrade --upgrade-strategy eager

build/%/.ready: pyproject.toml constraints.txt constraints-server.txt constraints-lowest.txt
	@echo "Installing into build/$*"
	@$(PYTHON) -m venv build/$*
	@build/$*/bin/python -m pip --disable-pip-version-check --quiet --quiet install $(WANTED)
	@touch $@

clean:
	rm -rf $(VENV) build dist .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .cache langmem_tiers.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing langmem-tiers and what it needs into $(VENV) (a minute or two, once)"
	@$(PIP) install -e . -c constraints.txt
	@touch $@

# The dependency groups are read from pyproject.toml here, because older pips do not know `--group`.
$(VENV)/.development: $(VENV)/.base
	@echo "Installing what tests and checks need"
	@$(BIN)/python -c 'import tomllib; groups = tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]; \
	print(*groups["test"], *groups["lint"], sep="\n")' > $(VENV)/development.txt
	@$(PIP) install -r $(VENV)/development.txt -c constraints.txt
	@touch $@
