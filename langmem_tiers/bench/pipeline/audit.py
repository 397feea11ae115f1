"""Lists of questions whose gold answers are wrong, so that they can be left out of a score.

Made for dial481/locomo-audit (`errors.json`, `errors_conv_N.json`): a JSON list of objects with `question_id`
("locomo_0_qa12": conversation by its place in locomo10.json, question by its place in it), `question` and `error_type`.
Also taken: plain question ids, and objects with `sample_id` and a question's place or text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from langmem_tiers.errors import UnreadableFile

# The gold answer of such an entry is right; only the evidence named for it is not.
_RIGHT_ANSWER = frozenset({"WRONG_CITATION"})
_CONVERSATIONS = (26, 30, 41, 42, 43, 44, 47, 48, 49, 50)  # of locomo10.json, in order
_AUDITED_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_OTHER_ID = re.compile(r"(.+?)[:/_#](?:qa?)?(\d+)")
_ID_KEYS = ("question_id", "id", "qid")
_SAMPLE_KEYS = ("sample_id", "sample", "conversation", "conversation_id", "conv_id")
_PLACE_KEYS = ("question_index", "qa_index", "index", "question_number")


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What a list says about some questions.

    `excluded` are in the list and have wrong answers. `citation_only` entries have right ones, and `elsewhere` entries
    are about no question asked here.
    """

    excluded: tuple[str, ...] = ()
    citation_only: int = 0
    elsewhere: int = 0


def read_audit(path: Path, questions: Mapping[str, str]) -> Audit:
    """What the list in `path` says about these questions (text by id).

    An entry that names a question by id and by text must agree with itself; where it does not, the text counts.

    Raises:
        UnreadableFile: it is no JSON list of entries that name questions.
    """
    entries = _entries(path)
    by_text = _by_text(questions)
    wrong = [entry for entry in entries if not _is_right(entry)]
    found = [_found(path, entry, questions, by_text) for entry in wrong]
    excluded = {name for name in found if name is not None}
    return Audit(
        excluded=tuple(name for name in questions if name in excluded),
        citation_only=len(entries) - len(wrong),
        elsewhere=found.count(None),
    )


def _entries(path: Path) -> list[object]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"it can not be read as JSON ({error})") from error
    if isinstance(told, dict):  # a report with the list inside
        told = next((value for value in told.values() if isinstance(value, list)), told)
    if not isinstance(told, list):
        raise _unreadable(path, "it is no JSON list")
    return told


def _is_right(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("error_type") in _RIGHT_ANSWER


def _found(path: Path, entry: object, questions: Mapping[str, str], by_text: Mapping[str, list[str]]) -> str | None:
    """The id of the question that an entry names, None when it is not asked here."""
    named = [*_names(entry)]
    text = entry.get("question") if isinstance(entry, dict) else None
    by_name = next((name for name in named if name in questions), None)
    if isinstance(text, str):
        agrees = by_name is not None and _plain(questions[by_name]) == _plain(text)
        return by_name if agrees else _found_by_text(text, named, by_text)
    if not named:
        raise _unreadable(path, f"the entry {json.dumps(entry)[:100]} names no question")
    return by_name


def _found_by_text(text: str, named: Iterable[str], by_text: Mapping[str, list[str]]) -> str | None:
    """The one question of this text, in the conversation named if one was."""
    samples = {name.rpartition(":")[0] for name in named if ":" in name}
    alike = [name for name in by_text.get(_plain(text), ()) if not samples or name.rpartition(":")[0] in samples]
    return alike[0] if len(alike) == 1 else None


def _names(entry: object) -> Iterator[str]:
    """The ids that an entry may mean."""
    if isinstance(entry, str):
        yield from _ids(entry)
    if not isinstance(entry, dict):
        return
    for told in _first(entry, _ID_KEYS):
        yield from _ids(str(told))
    for sample in _first(entry, _SAMPLE_KEYS):
        yield from (f"{sample}:{place}" for place in (*_first(entry, _PLACE_KEYS), ""))


def _ids(told: str) -> Iterator[str]:
    yield told
    if audited := _AUDITED_ID.fullmatch(told):
        place = int(audited[1])
        if place < len(_CONVERSATIONS):
            yield f"conv-{_CONVERSATIONS[place]}:{int(audited[2])}"
    elif other := _OTHER_ID.fullmatch(told):
        yield f"{other[1]}:{int(other[2])}"


def _first(entry: Mapping[str, object], keys: Iterable[str]) -> Iterator[object]:
    yield from [entry[key] for key in keys if entry.get(key) is not None][:1]


def _by_text(questions: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, text in questions.items():
        found.setdefault(_plain(text), []).append(name)
    return found


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _unreadable(path: Path, reason: str) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is no list of wrong answers: {reason}.",
        way_out="Give a JSON list of question ids, or of objects with 'question_id', or 'sample_id' and 'question'.",
    )
