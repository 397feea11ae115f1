"""Asking for an object in words, where a model can not be given a schema: the schema as text, and one example."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from langmem_tiers.llm.answers import Prompt

_SHAPE = """

Reply with one JSON object and nothing else: no explanation before or after it, no code fence. \
It has to fit this JSON schema:
{schema}

Example of a reply:
{example}"""
_AGAIN = """

Your last reply could not be used: {reason}. Reply again, with one JSON object that fits."""

_SAMPLES: dict[str, object] = {"string": "…", "integer": 1, "number": 1.5, "boolean": True, "null": None, "object": {}}
# Schemas may hold themselves; an example that deep shows nothing more.
_DEEPEST = 6


def shaped(schema: type[BaseModel], prompt: Prompt) -> Prompt:
    """The prompt with the schema and an example: the prompt's own, else one made of the schema.

    Example:
        >>> class Town(BaseModel):
        ...     name: str
        >>> prompt = shaped(Town, Prompt(system="Name a town.", user="In Portugal."))
        >>> prompt.system.splitlines()[-1]
        '{"name": "…"}'
    """
    described = schema.model_json_schema()
    given = prompt.example
    example = _sample(described, described.get("$defs", {}), 0) if given is None else given.model_dump(mode="json")
    told = _SHAPE.format(schema=_text(described), example=_text(example))
    return replace(prompt, system=prompt.system + told)


def again(prompt: Prompt, reason: str) -> Prompt:
    """The prompt once more, with why the last reply was of no use."""
    return replace(prompt, user=prompt.user + _AGAIN.format(reason=reason))


def schema_text(schema: type[BaseModel]) -> str:
    """The schema as a model gets it."""
    return _text(schema.model_json_schema())


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _sample(node: dict[str, Any], named: dict[str, Any], depth: int) -> object:
    """A value that shows what a part of a schema looks like."""
    choices = node.get("anyOf") or node.get("allOf") or node.get("oneOf")
    if depth > _DEEPEST:
        return None
    if "$ref" in node:
        return _sample(named[node["$ref"].rpartition("/")[2]], named, depth + 1)
    if choices:
        return _sample(choices[0], named, depth + 1)
    if "properties" in node:
        return {name: _sample(part, named, depth + 1) for name, part in node["properties"].items()}
    if node.get("type") == "array":
        return [_sample(node.get("items", {}), named, depth + 1)]
    return _value(node)


def _value(node: dict[str, Any]) -> object:
    """A value that a part of a schema states, else any of its type."""
    stated = [*node.get("examples", ()), *node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    return stated[0] if stated else _SAMPLES.get(node.get("type", "string"))
