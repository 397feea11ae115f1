"""Finding the object in a model's reply, however it is wrapped: thoughts, fences, prose, lists, trailing commas.

What is cut off or ambiguous is not guessed at. Nothing is evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NoReturn

from pydantic import BaseModel, ValidationError

from langmem_tiers.llm.answers import T, Unclear

LONGEST = 100_000
"""Characters of the longest reply that is read."""

_MOST_OBJECTS = 20
_MOST_ERRORS, _ERROR_CHARACTERS = 5, 500
_THOUGHT_BEGIN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OBJECT = re.compile(r'\{(?=\s*["}])')
_STRING_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_REFUSAL = re.compile(
    r"(?:i['’]?m (?:very )?sorry|i am sorry|sorry|i (?:can['’]?t|cannot|can not|won['’]?t|will not)"
    r"|i(?:['’]m| am) (?:unable|not able)|as an ai\b)",
    re.IGNORECASE,
)


def read(schema: type[T], reply: str) -> T | Unclear:
    """The one object in a reply that fits.

    Example:
        >>> class Town(BaseModel):
        ...     name: str
        >>> read(Town, 'Here it is: {"name": "Porto",}')
        Town(name='Porto')
        >>> read(Town, '{"name": "Por').reason
        'its JSON is cut off'
    """
    if len(reply) > LONGEST:
        return Unclear(f"it has {len(reply):,} characters, more than {LONGEST:,}")
    said = _without_thoughts(reply)
    if isinstance(said, Unclear):
        return said
    objects = _objects(said)
    if not isinstance(objects, Unclear):
        return fitting(schema, objects)
    return Unclear(_quoted(said), "refused") if _REFUSAL.match(said) else objects


def fitting(schema: type[T], objects: Sequence[object]) -> T | Unclear:
    """The one of some objects that fits the schema; several that differ are none."""
    tried = [_fitted(schema, each) for each in objects]
    fit = [each for each in tried if not isinstance(each, Unclear)]
    if any(each != fit[0] for each in fit):
        return Unclear("it holds more than one object")
    return fit[0] if fit else tried[0]


def _fitted(schema: type[T], value: object) -> T | Unclear:
    # Where every field has a default, anything at all would fit.
    if isinstance(value, dict) and value and not _names(schema) & value.keys():
        return Unclear(f"it has none of the fields {', '.join(sorted(_names(schema)))}")
    try:
        made = schema.model_validate(value)
        made.model_dump_json()
    except ValidationError as error:
        return Unclear(_in_words(error))
    except ValueError:  # what pydantic raises for a lone surrogate, in both places
        return Unclear("it holds half a character, which can not be stored")
    return made


def _names(schema: type[BaseModel]) -> set[str]:
    return {*schema.model_fields, *schema.model_json_schema().get("properties", ())}


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_ERRORS]
    places = [".".join(map(str, problem["loc"])) or "the object" for problem in problems]
    told = (f"{place}: {problem['msg']}" for place, problem in zip(places, problems, strict=True))
    return "; ".join(told)[:_ERROR_CHARACTERS]


def _without_thoughts(reply: str) -> str | Unclear:
    """A reply without the thoughts that some models put before it."""
    said = reply.strip()
    if not said.startswith("{"):  # else the marks are in what it says
        said = _THOUGHT_END.split(said)[-1].strip()
    if _THOUGHT_BEGIN.match(said):
        return Unclear("it is cut off before it comes to an answer")
    return said or Unclear("it holds no text", "empty")


def _objects(said: str) -> list[object] | Unclear:
    """The JSON objects in a text, those inside others left out."""
    found: list[object] = []
    while (begin := _OBJECT.search(said)) and len(found) < _MOST_OBJECTS:
        decoded = _decoded(said[begin.start() :])
        if isinstance(decoded, Unclear):
            return decoded
        value, said = decoded
        found.append(value)
    return found or Unclear("it holds no JSON object")


def _decoded(text: str) -> tuple[object, str] | Unclear:
    """The object that a text begins with, and what follows it."""
    first = _strictly(text)
    if not isinstance(first, Unclear):
        return first
    # The text begins where JSON does, so that quotes are strings' ends and no comma inside a string is taken.
    mended = _strictly(_STRING_OR_LAST_COMMA.sub(lambda found: found[1] or "", text))
    return first if isinstance(mended, Unclear) else mended


def _strictly(text: str) -> tuple[object, str] | Unclear:
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        what = "cut off" if cut else f"malformed: {error.msg} at character {error.pos + 1}"
        return Unclear(f"its JSON is {what}")
    except RecursionError:
        return Unclear("its JSON is nested too deeply")
    except ValueError as error:  # NaN, an integer of thousands of digits
        return Unclear(f"its JSON is not usable: {error}")
    return value, text[end:]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


# Not strict: small models write line breaks into strings as they are.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def _quoted(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= 100 else line[:99] + "…"
