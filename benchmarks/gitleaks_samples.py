"""Secrets made up from the patterns of gitleaks, in the places where its own samples stand: writes `positives.jsonl`.

    python benchmarks/gitleaks_samples.py gitleaks.toml GITLEAKS tests/corpora/gitleaks

`gitleaks.toml` is its default configuration, `GITLEAKS` the binary of the same version. The binary reads every
sample, and only those are kept in which it finds that very secret. The samples are the same each time.
"""

import json
import random
import re
import re._constants as op
import re._parser as parser
import string
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

SAMPLES = 4  # of each rule, each in another place
TRIED = 40
# As `GenerateSampleSecrets` of gitleaks has them: settings files, markup and programming languages.
PLACES = (
    *('{i}Token="{s}"', '{i}Token = "{s}"', "{i}Token={s}", "{i}Token = {s}", '{{\n    "{i}_token": "{s}"\n}}'),
    *('\\{{\n    \\"{i}_token\\": \\"{s}\\"\n\\}}', "<{i}Token>{s}</{i}Token>", "<{i}Token>\n    {s}\n</{i}Token>"),
    *("{i}_token: {s}", "{i}_token: '{s}'", '{i}_token: "{s}"', "{i}_token: |\n  {s}", "{i}_token: >\n  {s}"),
    *('string {i}Token = "{s}";', 'var {i}Token string = "{s}"', '{i}Token := "{s}"', "{i}Token := `{s}`"),
    *('String {i}Token = "{s}";', '${i}Token .= "{s}"', "{i}Token = '{s}'", "{i}Token,{s},", '  "{i}Token" => "{s}"'),
    *('{i}_TOKEN = "{s}"', '{i}_TOKEN := "{s}"', '{i}_TOKEN ::= "{s}"', '{i}_TOKEN :::= "{s}"', '{i}_TOKEN ?= "{s}"'),
    *('{i}_TOKEN += "{s}"', '{i}_api_token = "{s}"'),
)
# What these rules look for is more than a value, or only in files of some name.
WHOLE = {"curl-auth-user", "curl-auth-header", "sidekiq-sensitive-url", "hashicorp-tf-password", "jwt-base64"}
FILES = {"hashicorp-tf-password": "main.tf", "freemius-secret-key": "a.php", "nuget-config-password": "nuget.config"}
# No text is drawn for these: one is for files by their name, the others take nearly any text for a secret.
LEFT_OUT = {"pkcs12-file", "kubernetes-secret-yaml", "generic-api-key", "private-key"}
AT_NAME = re.compile(r"\(\?:\[ \\t\\w\.-\]\{0,20\}\)")
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
CATEGORIES = {
    op.CATEGORY_DIGIT: string.digits,
    op.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
    op.CATEGORY_SPACE: " ",
}


def main(config: Path, gitleaks: Path, out: Path) -> None:
    """Writes the samples of every rule that the binary confirms."""
    rules = [rule for rule in tomllib.loads(config.read_text())["rules"] if rule["id"] not in LEFT_OUT]
    tried = [sample for rule in rules for sample in samples(rule)]
    kept: dict[str, list[dict[str, str]]] = {}
    for sample, secrets in zip(tried, found(tried, gitleaks, config), strict=True):
        enough = kept.setdefault(sample["rule"], [])
        new = all(each["place"] != sample["place"] for each in enough)
        if new and len(enough) < SAMPLES and sample["secret"] in secrets:
            enough.append(sample)
    samples_kept = [sample for each in kept.values() for sample in each]
    lines = [json.dumps({**sample, "secret": told(sample)}) for sample in samples_kept]
    (out / "positives.jsonl").write_text("\n".join(lines) + "\n")
    none = [name for name, each in kept.items() if not each]
    print(f"{len(lines)} samples of {len(kept) - len(none)} rules; none of {none}")


def samples(rule: dict) -> list[dict[str, str]]:
    """Texts that the rule may find something in."""
    chance = random.Random(rule["id"])
    pattern = rule["regex"].replace(END, "")
    name, value = rule["keywords"][0], pattern
    if AT_NAME.search(pattern) and rule["id"] not in WHOLE:
        head, value = AT_NAME.split(pattern, maxsplit=1)
        name, value = head.split("?(?:", 1)[1].rsplit(")", 1)[0], value[value.index("{0,5}") + 5 :]
    made = []
    for _ in range(TRIED):
        secret, place = drawn(value, chance).strip("\n"), chance.choice(PLACES)
        if rule["id"] in WHOLE or (rule["id"] in FILES and name == rule["keywords"][0] and value == pattern):
            text, place = secret, secret
        else:
            text = place.format(i=drawn(name, chance) if name != rule["keywords"][0] else service(rule), s=secret)
        match = re.search(python(rule["regex"]), text)
        if match:
            groups = [each for each in match.groups() if each]
            held = match[rule["secretGroup"]] if "secretGroup" in rule else (groups[0] if groups else match[0])
            made.append({"rule": rule["id"], "secret": held, "text": text, "place": place})
    return made


def told(sample: dict[str, str]) -> str:
    """The secret without what stands around it: its quotes, and the user that it is the password of."""
    held = sample.pop("place") and sample["secret"].strip("\"'")
    if sample["rule"] == "jwt-base64":
        return sample["text"]
    return held.strip(":").split(":")[-1] if sample["rule"] == "curl-auth-user" else held


def service(rule: dict) -> str:
    """What the service is called, by the id of its rule."""
    return rule["id"].split("-")[0]


def found(tried: list[dict[str, str]], gitleaks: Path, config: Path) -> list[list[str]]:
    """The secrets that gitleaks finds in each sample."""
    with tempfile.TemporaryDirectory() as folder:
        for number, sample in enumerate(tried):
            home = Path(folder, str(number))
            home.mkdir()
            (home / FILES.get(sample["rule"], "a.txt")).write_text(sample["text"])
        report = Path(folder, "report.json")
        into = ["--config", config, "--report-path", report, "--report-format", "json", "--exit-code", "0"]
        subprocess.run([*map(str, [gitleaks, "dir", folder, *into]), "--no-banner", "--log-level", "error"], check=True)
        secrets: list[list[str]] = [[] for _ in tried]
        for each in json.loads(report.read_text()):
            secrets[int(Path(each["File"]).parent.name)].append(each["Secret"])
        return secrets


def python(pattern: str) -> str:
    """A pattern of Go's as Python takes it: flags in the middle hold up to the end of their group."""
    pattern = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    while inside := re.search(r"(?<!^)\(\?i\)", pattern):
        stop = _end_of_group(pattern, inside.end())
        pattern = f"{pattern[: inside.start()]}(?i:{pattern[inside.end() : stop]}){pattern[stop:]}"
    return pattern


def _end_of_group(pattern: str, place: int) -> int:
    depth, listed = 0, False
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            place += 1
        elif listed or sign == "[":
            listed = sign != "]"
        elif sign == "(":
            depth += 1
        elif sign == ")":
            if not depth:
                return place
            depth -= 1
        place += 1
    return place


def drawn(pattern: str, chance: random.Random) -> str:
    """A text that the pattern matches."""
    return "".join(_drawn(step, chance) for step in parser.parse(python(pattern)))


def _drawn(step: tuple, chance: random.Random) -> str:  # noqa: PLR0911
    kind, given = step
    if kind is op.LITERAL:
        return chr(given)
    if kind is op.ANY:  # a dot that means a dot, as in the name of a host
        return "."
    if kind is op.IN:
        return chance.choice(_signs(given))
    if kind is op.BRANCH:
        return "".join(_drawn(each, chance) for each in chance.choice(given[1]))
    if kind is op.SUBPATTERN:
        return "".join(_drawn(each, chance) for each in given[3])
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inner = given
        many = most > least + 1_000 or (least == 0 and most > 5)
        times = least if many else chance.randint(least, min(most, least + 20))
        if inner[0][0] is op.ANY:
            return "".join(chance.choice(string.ascii_letters) for _ in range(times))
        return "".join(_drawn(each, chance) for _ in range(times) for each in inner)
    return ""


def _signs(given: list[tuple]) -> str:
    signs: set[str] = set()
    for kind, held in given:
        if kind is op.LITERAL:
            signs.add(chr(held))
        elif kind is op.RANGE:
            signs |= {chr(code) for code in range(held[0], held[1] + 1)}
        elif kind is op.CATEGORY:
            signs |= set(CATEGORIES.get(held, string.ascii_letters))
        elif kind is op.NEGATE:
            return string.ascii_letters + string.digits
    return "".join(sorted(signs - {"\r", "\n", "\t"})) or " "


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
