"""Every pattern of the product, and texts made to slow it down: run as a script, it prints the slow ones as JSON.

Whatever is compiled while all modules are imported is collected, so are string literals given to `re`. From the parse
tree of a pattern come texts in which each of its repeats has much to repeat and fails at the end. Time is that of the
processor, as a multiple of what `REFERENCE` takes in the same moment: so neither a slow machine nor a busy one changes
much. A pattern may take five times as long, which is 50 ms on two shared cores; three times that if it only ever reads
single clauses of up to 240 characters, or a sentence of up to 1,000, as what ends a fact does.
"""

import ast
import contextlib
import gc
import importlib
import json
import pkgutil
import re
import re._constants as op
import re._parser as parser
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

SMALL, LARGE = 2_000, 100_000  # characters
REFERENCE, REFERENCE_TEXT = re.compile(r"(?:\w+ ){1,3}\d"), "ab " * (LARGE // 3)
REFERENCE_SECONDS = 0.01  # on two shared cores
MOST_SECONDS = 0.05  # for the large text, there: what is not linear takes minutes
MOST_SECONDS_OF_CLAUSES = 0.15
WORST = 2  # attacks of a pattern, by the small text, that are tried with the large one
TRIALS = 10  # all of which must be too slow: a busy machine has slow moments, none of them a fast one
FASTER = 5  # times: no machine is so much faster than those two cores
NEVER_ENDING = 1.0  # seconds for the small text
GIVEN_UP = 5.0  # seconds of the clock: a timer of the processor's time would make that coarse
METHODS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}
# Records whose pattern is matched from the beginning of a clause only.
MATCHED_AT_THE_START = {"Rule", "Shape"}
# Records whose pattern reads nothing but clauses and short sentences.
READING_CLAUSES = {"_Ending", "FeedbackKind"}
ANYTHING = (
    "a", " ", "\n", "a ", "A", "1", "Aa ", "a, ", ".", "- ", '"', "I really ", "my ", "no, ", "and ", "really really ",
    "I a ", "x@y", "0 1", "A'", "A-", "\u201c", "\t", "((",
)  # fmt: skip
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
CATEGORIES = {
    op.CATEGORY_WORD: "a", op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a", op.CATEGORY_NOT_WORD: "!", op.CATEGORY_NOT_DIGIT: "a",
}  # fmt: skip


def import_all() -> list[str]:
    """The names of all modules of the product, imported; what needs an extra is left out."""
    import langmem_tiers

    names = []
    for module in pkgutil.walk_packages(langmem_tiers.__path__, "langmem_tiers."):
        try:
            importlib.import_module(module.name)
        except ImportError:
            continue
        names.append(module.name)
    return names


def collected() -> tuple[dict[re.Pattern[str], set[str]], set[re.Pattern[str]]]:
    """Each pattern with the methods called on it, "search" where that cannot be told; and those that read clauses."""
    compiled: list[re.Pattern[str]] = []
    plain = re._compile

    def recording(pattern, flags):
        made = plain(pattern, flags)
        caller = sys._getframe(1)
        while caller and not caller.f_globals.get("__name__", "").startswith("langmem_tiers"):
            caller = caller.f_back if caller.f_globals.get("__name__") == "re" else None
        if caller and isinstance(made.pattern, str):
            compiled.append(made)
        return made

    re._compile = recording
    names = import_all()
    compile_formats()
    re._compile = plain
    found: dict[re.Pattern[str], set[str]] = defaultdict(set)
    reading_clauses = set()
    called = Calls(names)
    for name in names:
        for variable, value in vars(sys.modules[name]).items():
            for owner, pattern in patterns_in(value):
                found[pattern] |= {"match"} if owner in MATCHED_AT_THE_START else called.of(name, variable)
                reading_clauses |= {pattern} if owner in READING_CLAUSES else set()
    for pattern in compiled:
        found.setdefault(pattern, {"search"})
    for method, literal in called.literals:
        found[re.compile(literal)].add(method)
    return found, reading_clauses


def compile_formats() -> None:
    """Have the patterns of `gitleaks_rules.toml` compiled, which otherwise are when a text has their keywords."""
    from langmem_tiers.trust.key_formats import formats

    for each in formats():
        assert each.pattern


def patterns_in(value: object, owner: str = "", depth: int = 0) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns that a global holds, each with the class of the record that it stands in."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield owner, value
    elif isinstance(value, dict):
        yield from patterns_in((*value.keys(), *value.values()), owner, depth)
    elif isinstance(value, list | tuple | set | frozenset) and depth < 6:
        kind = type(value).__name__ if hasattr(value, "_fields") else owner
        for each in value:
            yield from patterns_in(each, kind, depth + 1)
    elif fields := getattr(type(value), "__dataclass_fields__", None):
        # Some compile theirs when it is first needed.
        for each in (*fields, "pattern") if depth < 6 else ():
            yield from patterns_in(getattr(value, each, None), type(value).__name__, depth + 1)


class Calls:
    """Which methods the sources call on which global, and the literals that they give to `re`."""

    def __init__(self, modules: list[str]) -> None:
        """Read the sources of modules."""
        self._methods: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._imported: dict[tuple[str, str], str] = {}
        self.literals: set[tuple[str, str]] = set()
        for module in modules:
            tree = ast.parse(Path(sys.modules[module].__file__ or "").read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    for each in node.names:
                        whole = f"{node.module}.{each.name}"
                        origin = whole if whole in sys.modules else node.module
                        self._imported[module, each.asname or each.name] = origin
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    self._read(module, node)

    def of(self, module: str, variable: str) -> set[str]:
        """The methods called on a global, or near it where it holds several patterns."""
        return self._methods[self._imported.get((module, variable), module), variable] or {"search"}

    def _read(self, module: str, block: ast.FunctionDef) -> None:
        direct: set[int] = set()
        methods: set[str] = set()
        for node in ast.walk(block):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                value = node.value
                if isinstance(value, ast.Name) and value.id.isupper():
                    self._methods[self._imported.get((module, value.id), module), value.id].add(node.attr)
                    direct.add(id(value))
                elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.attr.isupper():
                    self._methods[self._imported.get((module, value.value.id), ""), value.attr].add(node.attr)
                elif not (isinstance(value, ast.Name) and value.id == "re"):
                    methods.add(node.attr)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                called, first = node.func.value, node.args[0]
                if isinstance(called, ast.Name) and called.id == "re" and isinstance(first, ast.Constant):
                    self.literals |= {(node.func.attr, first.value)} if node.func.attr in METHODS else set()
        for node in ast.walk(block):
            if isinstance(node, ast.Name) and node.id.isupper() and id(node) not in direct:
                self._methods[self._imported.get((module, node.id), module), node.id] |= methods - {"split"}


def attacks(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """What stands first, and what is repeated behind it."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    found = {("", sample(tree, pick) + end): None for pick in range(6) for end in ("", " ")}
    found |= dict.fromkeys(of_repeats(tree, ""))
    found |= {("", before + repeated): None for before, repeated in [*found]}
    found |= {("", each): None for each in ANYTHING}
    return [each for each in found if each[1]]


def of_repeats(tree, before: str) -> Iterator[tuple[str, str]]:
    """What each repeat of a tree has to repeat, with a text that leads there."""
    for place, (kind, value) in enumerate(tree):
        here = before + sample([*tree][:place], 0)
        if kind in REPEATS and value[1] > 1:
            yield from ((here, sample(value[2], pick)) for pick in range(min(alternatives(value[2]), 24)))
        for child in children(kind, value):
            yield from of_repeats(child, here)


def alternatives(tree) -> int:
    """How many ways the widest branch of a tree has."""
    below = (alternatives(child) for kind, value in tree for child in children(kind, value))
    return max([2, *(len(value[1]) for kind, value in tree if kind is op.BRANCH), *below])


def children(kind, value) -> list:
    """The trees below a node."""
    if kind in REPEATS:
        return [value[2]]
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.BRANCH:
        return [*value[1]]
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    return [value] if kind is op.ATOMIC_GROUP else []


def sample(tree, pick: int) -> str:
    """A text that a tree fits, the `pick`th way."""
    return "".join(_sample(kind, value, pick) for kind, value in tree)


def _sample(kind, value, pick: int) -> str:
    if kind in (op.LITERAL, op.IN):
        found = [chr(value)] if kind is op.LITERAL else characters(value)
        return found[pick % len(found)]
    if kind in REPEATS:
        return sample(value[2], pick) * max(value[0], pick % 2 if value[1] else 0)
    if kind is op.BRANCH:
        return sample(value[1][pick % len(value[1])], pick)
    if kind in (op.ANY, op.NOT_LITERAL):
        return "b" if value == ord("a") else "a"
    empty = kind in (op.ASSERT, op.ASSERT_NOT, op.AT, op.GROUPREF)
    return "" if empty else "".join(sample(child, pick) for child in children(kind, value))


def characters(items) -> list[str]:
    """A few characters of a class."""
    negated = any(kind is op.NEGATE for kind, _ in items)
    found = [chr(value) for kind, value in items if kind is op.LITERAL]
    found += [chr(value[0]) for kind, value in items if kind is op.RANGE]
    found += [CATEGORIES[value] for kind, value in items if kind is op.CATEGORY]
    if negated:
        return [each for each in "a 1.,!A\n\u2603" if each not in found][:1] or ["\u2603"]
    return found[:8]


class GivenUpError(Exception):
    """It took too long."""


def seconds(run: Callable[[str], object], text: str) -> float:
    """The time of the processor that a call takes until it is given up."""
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, GIVEN_UP)
    with contextlib.suppress(GivenUpError):
        run(text)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return time.process_time() - begun


def give_up(*_: object) -> None:
    """Leave a match that takes too long: `re` looks for signals."""
    raise GivenUpError


def runner(pattern: re.Pattern[str], method: str) -> Callable[[str], object]:
    """A call that reads a whole text."""
    if method in {"match", "fullmatch", "search"}:
        return getattr(pattern, method)
    return pattern.findall


def text_of(attack: tuple[str, str], length: int) -> str:
    """A text of about this length, which ends in what no pattern expects."""
    before, repeated = attack
    return before + repeated * (length // len(repeated)) + "\u2603"


def slow(pattern: re.Pattern[str], method: str, most: float) -> tuple[str, str, float] | None:
    """An attack on a pattern that takes more than `most` seconds: what it begins with, repeats, and its seconds."""
    run = runner(pattern, method)
    timed = []
    for attack in attacks(pattern):
        took = seconds(run, text_of(attack, SMALL))
        if took > NEVER_ENDING:
            return *attack, took
        timed.append((took, attack))
    for _, attack in sorted(timed, reverse=True)[:WORST]:
        if all((took := scaled(run, attack, most)) > most for _ in range(TRIALS)):
            return *attack, took
    return None


def scaled(run: Callable[[str], object], attack: tuple[str, str], most: float) -> float:
    """The seconds that an attack takes on two shared cores; those of this machine where they are few on any."""
    took = seconds(run, text_of(attack, LARGE))
    return took if took < most / FASTER else took * REFERENCE_SECONDS / seconds(REFERENCE.search, REFERENCE_TEXT)


def main() -> None:
    """Print the number of patterns and the slow ones."""
    signal.signal(signal.SIGALRM, give_up)
    gc.disable()  # a collection looks at all that was imported, which takes longer than most patterns
    found, reading_clauses = collected()
    told = []
    for pattern, methods in found.items():
        most = MOST_SECONDS_OF_CLAUSES if pattern in reading_clauses else MOST_SECONDS
        for method in sorted({"match" if each == "fullmatch" else each for each in methods}):
            if attack := slow(pattern, method, most):
                told.append([pattern.pattern[:160], method, *attack])
    print(json.dumps({"patterns": len(found), "slow": told}))


if __name__ == "__main__":
    main()
