"""Nobody reads or writes what is not theirs, whatever users, agents and teams do, and through which door.

Each space has a word of its own in all that is stored in it, so a row in the wrong place says where it is from.
`make test-isolation` does 50,000 operations.
"""

import asyncio
import os
import random
import re
from collections import Counter, defaultdict

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import InvalidInput
from langmem_tiers.graphs import recall_node, track_node
from langmem_tiers.integrations import TieredRetriever, TieredStore, memory_tools, recall_runnable, space_tools
from langmem_tiers.integrations.store.naming import user_id
from langmem_tiers.naming import user_space
from langmem_tiers.pointers import beside

OPERATIONS = int(os.environ.get("ISOLATION_OPERATIONS", "400"))
SEED = int(os.environ.get("ISOLATION_SEED", "7"))

# Ids that look like one another, or like the names of spaces.
USERS = ("ana", "Ana", "an", "ana2", "ana/x", "users/ana", "teams/red", "%61na", "ａna", "ana ", "ben", "agents/scout")
AGENTS = ("agents/scout", "agents/scout2", "agents/Scout")
SHARED = ("teams/red", "teams/Red", "teams/red2", "teams/red/plans", "teams/re", "global")
OWN = {user_space(user): user_space(user) for user in USERS} | {agent: agent for agent in AGENTS}
# Callers may also be named by their ids, but for those that read like an own space.
IDS = {user_space(user): user for user in USERS if not user.startswith(("users/", "agents/"))}
SPACES = (*OWN, *SHARED)
CANARIES = {name: f"kanari{chr(97 + number // 26)}{chr(97 + number % 26)}q" for number, name in enumerate(SPACES)}
CANARY = re.compile(r"kanari[a-z]{2}q")
MARK = re.compile(r"mark(\d+)x")
THINGS = ("kettle", "ladder", "violin", "anchor", "lantern", "saddle")
QUESTIONS = tuple(f"Where does the {thing} stand, and what colour has the {thing}?" for thing in THINGS)


class World:
    """A memory with its spaces, what was let through, and what anybody may expect of it."""

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.roles = {
            "teams/red": {"users/ana": "leader", "users/ben": "member", "agents/scout": "member"},
            "teams/red2": {"users/ana2": "leader", "users/an": "member"},
            "teams/Red": {"users/Ana": "leader"},
            "users/ana": {"agents/scout": "member"},
            "agents/scout": {"users/ana": "leader"},
        }
        self.memory = Memory.open(folder, embedder=None, background=False, roles=self.role)
        self.store = TieredStore(self.memory, space_of=lambda namespace: user_id(namespace[0]))
        self.accepted = defaultdict(set)
        self.ids = []
        self.marks = 0
        self.done = Counter()
        for name in SPACES:
            self.write_all(self.memory.space(name, fallbacks=()), name)

    def role(self, who, space):
        """The host's answer; what is everybody's own it is not asked for."""
        return "leader" if space == "global" else self.roles.get(space, {}).get(who)

    def may(self, caller, space):
        """What a caller may do, said in another way than the memory does."""
        if caller is None or OWN.get(space) == caller:
            return "leader"
        return None if not caller else self.role(caller, space)

    def text(self, space):
        self.marks += 1
        thing, colour = self.random.choice(THINGS), self.random.choice(("red", "green", "blue", "white"))
        return f"The {colour} {thing} of {CANARIES[space]} stands in room mark{self.marks}x.", self.marks

    def write_all(self, space, name):
        for write in (self.track, self.save, self.note, self.summarise):
            write(space, name)

    def track(self, space, name):
        said, mark = self.text(name)
        space.track([Turn(role="user", content=said)], session=f"s{self.random.randrange(5)}")
        self.accepted[name].add(mark)

    def save(self, space, name):
        said, mark = self.text(name)
        entry = space.knowledge.save(said, category="rooms").entry
        self.accepted[name].add(mark)
        self.ids.append((name, entry.id))

    def note(self, space, name):
        said, mark = self.text(name)
        space.documents.append("memory/rooms.md", f"{said}\n\n")
        self.accepted[name].add(mark)

    def summarise(self, space, name):
        said, mark = self.text(name)
        session = f"t{mark}"
        episode = space.archive.write(session, summary=said)
        self.accepted[name].add(mark)
        if episode is not None:
            self.ids.append((name, episode.id))

    def put(self, space, name):
        said, mark = self.text(name)
        self.store.put((name, "rooms"), f"k{self.random.randrange(20)}", {"content": said})
        self.accepted[name].add(mark)


# What is done: each takes a world, a handle (None where a run says who it is) and whom it is for.


def question(world):
    return world.random.choice(QUESTIONS)


def guess(world, name):
    """An id or a pointer, right or wrong, with the name of a space or without."""
    where, found = world.random.choice(world.ids)
    reference = world.random.choice((found, f"§W-001/R-0{world.random.randrange(1, 4)}/D-001"))
    return world.random.choice((reference, beside(reference, where), beside(reference, world.random.choice(SPACES))))


READS = {
    "recall": lambda world, space: space.recall(question(world), session="r", threshold=0.0),
    "search": lambda world, space: space.search(question(world)),
    "knowledge": lambda world, space: space.knowledge.search(world.random.choice((question(world), None))),
    "archive": lambda world, space: space.archive.search(world.random.choice((question(world), ""))),
    "documents": lambda world, space: space.documents.search(question(world)),
    "document": lambda world, space: space.documents.read("memory/rooms.md"),
    "entry": lambda world, space: space.knowledge.get(guess(world, space.name)),
    "episode": lambda world, space: space.archive.get(guess(world, space.name)),
    "drawer": lambda world, space: space.drawer(guess(world, space.name)),
    "drawers": lambda world, space: space.drawers(session="s1"),
    "receipts": lambda world, space: space.receipts(limit=2),
    "prompt": lambda world, space: space.prompt_block(),
}
WRITES = ("track", "save", "note", "summarise")
TOOLS = ("search_memory", "search_history", "get_memory", "explain_recall", "list_memory_categories", "search_notes")


def arguments_of(world, tool, name):
    if tool == "get_memory":
        return {"id_or_pointer": guess(world, name)}
    return {"query": question(world)} if tool.startswith("search") else {}


def by_handle(world, caller, name, beside_it):
    """The API, or the tools of one space."""
    named = world.random.choice((caller, IDS.get(caller, caller)))
    space = world.memory.space(name, caller=named, fallbacks=beside_it)
    kind = world.random.random()
    if kind < 0.35:
        return "api write", name, lambda: getattr(world, world.random.choice(WRITES))(space, name)
    if kind < 0.8:
        door = world.random.choice([*READS])
        return f"api {door}", None, lambda: READS[door](world, space)
    return by_tools(world, name, space_tools(space, only=(*TOOLS, "save_memory")), None)


def by_tools(world, name, tools, config):
    tool = world.random.choice(tools)
    if tool.name != "save_memory":
        return f"tool {tool.name}", None, lambda: tool.invoke(arguments_of(world, tool.name, name), config)

    def save():
        said, mark = world.text(name)
        answer = tool.invoke({"content": said}, config)
        if "Saved as" not in answer:
            raise PermissionError(answer)
        world.accepted[name].add(mark)
        return answer

    return "tool save", name, save


def by_run(world, user, name, beside_it):
    """Nodes, tools, chains, retrievers and the store, in a run of a user."""
    config = {"configurable": {"thread_id": "r"} | ({"user_id": user} if user else {})}
    kind = world.random.randrange(6)
    if kind == 0:
        node = recall_node(world.memory, space=name, fallbacks=beside_it, on_error="raise")
        message = HumanMessage(question(world), id=f"m{world.random.randrange(10**9)}")
        return "node recall", None, lambda: node.invoke({"messages": [message]}, config)
    if kind == 1:

        def track():
            said, mark = world.text(name)
            node = track_node(world.memory, space=name, on_error="raise")
            node.invoke({"messages": [HumanMessage(said, id=f"m{mark}")]}, config)
            world.accepted[name].add(mark)

        return "node track", name, track
    if kind == 2:
        tools = memory_tools(world.memory, space=name, fallbacks=beside_it, only=(*TOOLS, "save_memory"))
        return by_tools(world, name, tools, config)
    if kind == 3:
        step = recall_runnable(world.memory, space=name, fallbacks=beside_it, on_error="raise")
        return "chain", None, lambda: step.invoke(question(world), config)
    if kind == 4:
        retriever = TieredRetriever(memory=world.memory, space=name, fallbacks=beside_it, tier="all", k=9)
        return "retriever", None, lambda: retriever.invoke(question(world), config)
    return in_store(world, name, config)


def in_store(world, name, config):
    def within(work):
        return lambda: RunnableLambda(lambda _: work()).invoke(None, config)

    namespace = (name, "rooms")
    kind = world.random.randrange(4)
    if kind == 0:
        return "store put", name, within(lambda: world.put(None, name))
    if kind == 1:
        return "store get", None, within(lambda: world.store.get(namespace, f"k{world.random.randrange(20)}"))
    if kind == 2:
        return "store search", None, within(lambda: world.store.search(namespace, query=question(world)))
    return "store all", None, within(lambda: world.store.search(("users/ana",), query=question(world)))


def by_mcp(world, caller, name, beside_it):
    from mcp import Client

    from langmem_tiers.integrations.mcp import mcp_server

    tool = world.random.choice(TOOLS[:5])

    async def ask():
        async with Client(mcp_server(world.memory.space(name, caller=caller, fallbacks=beside_it))) as client:
            answer = await client.call_tool(tool, arguments_of(world, tool, name))
            return answer.content[0].text

    return f"mcp {tool}", None, lambda: asyncio.run(ask())


def drawn(world, who):
    """A space and fallbacks: mostly such as this caller may read, else any."""
    theirs = [each for each in SPACES if world.may(who, each)]
    if not theirs or world.random.random() < 0.3:
        theirs = SPACES
    beside_it = world.random.sample(SPACES, world.random.choice((0, 0, 1, 3)))
    return world.random.choice(theirs), tuple(dict.fromkeys((*beside_it, world.random.choice(theirs))))


def operation(world):
    """Somebody, a space with fallbacks, and what they do: a door, the space written to if any, and the work."""
    kind = world.random.random()
    user = world.random.choice((*USERS, None)) if kind > 0.6 else None
    who = world.random.choice((*OWN, "")) if kind <= 0.6 else "" if user is None else user_space(user)
    name, beside_it = drawn(world, who)
    if kind > 0.6:
        return who, name, beside_it, by_run(world, user, name, beside_it)
    return who, name, beside_it, (by_mcp if kind < 0.002 else by_handle)(world, who, name, beside_it)


def bounds(world, door, who, name, beside_it):
    """The caller's role where it counts, and the spaces that an answer may be from."""
    if door.startswith("store"):
        where = "users/ana" if door == "store all" else name
        role = world.may(who, where)
        return role, {where} if role else set()
    role = world.may(who, name)
    return role, {each for each in (name, *beside_it) if world.may(who, each)} if role else set()


def step(world):
    """One operation, which must not go beyond its bounds."""
    if world.random.random() < 0.01:
        change_a_role(world)
    who, name, beside_it, (door, target, work) = operation(world)
    allowed, readable = bounds(world, door, who, name, beside_it)
    refused, shown = False, ""
    try:
        shown = repr(work())
    except (PermissionError, InvalidInput) as error:
        refused, shown = isinstance(error, PermissionError), str(error)
    world.done[door, refused] += 1
    foreign = set(CANARY.findall(shown)) - {CANARIES[each] for each in readable}
    assert not foreign, (door, who, name, beside_it, foreign, shown[:2000])
    if target is not None:
        assert refused == (allowed != "leader"), (door, who, name, allowed, shown[:500])


def change_a_role(world):
    space = world.random.choice([*world.roles])
    who = world.random.choice([*OWN])
    role = world.random.choice(("leader", "member", None))
    world.roles[space] = {**world.roles[space], who: role}


def require_whole(world):
    """Every row of every space is its own, and was let through."""
    for name in SPACES:
        space = world.memory.space(name, fallbacks=())
        rows = [each.content for each in space.drawers()]
        rows += [each.entry.content for each in space.knowledge.search(status="all", limit=100_000)]
        rows += [each.summary for each in space.archive.recent(100_000)]
        rows += [each.content for path in space.documents.list() if (each := space.documents.read(path.path))]
        rows += [str(each.value) for each in world.store.search((name,), limit=100_000)]
        for row in rows:
            assert set(CANARY.findall(row)) <= {CANARIES[name]}, (name, row)
            assert {int(each) for each in MARK.findall(row)} <= world.accepted[name], (name, row)
        for receipt in space.receipts(limit=1000):
            assert not CANARY.findall(receipt.query)


def test_no_operation_reads_or_writes_what_is_foreign(tmp_path):
    world = World(tmp_path, SEED)
    try:
        for _ in range(OPERATIONS):
            step(world)
        require_whole(world)
    finally:
        world.memory.close()
    kinds = {door.partition(" ")[0] for door, _ in world.done}
    assert kinds >= {"api", "tool", "node", "chain", "retriever", "store"}
    assert any(refused for _, refused in world.done)
    print(f"{OPERATIONS:,} operations, seed {SEED}: 0 foreign rows; {sum(world.done.values()):,} done")
    for (door, refused), count in sorted(world.done.items()):
        print(f"  {door:<30} {'refused' if refused else 'done':<8} {count:,}")


def test_the_check_finds_a_row_that_is_foreign(tmp_path):
    world = World(tmp_path, SEED)
    world.memory.user("ben").knowledge.save(f"The kettle of {CANARIES['users/ana']} stands in room 5.")
    with pytest.raises(AssertionError, match="kanari"):
        require_whole(world)
    world.memory.close()
