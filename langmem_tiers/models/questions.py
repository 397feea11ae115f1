"""One question to a model: structured output if it works, else the schema in words, read leniently, repaired once.

Written once, as a generator that yields calls and receives their outcome; `asker` runs it both sync and async.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NoReturn

from pydantic import BaseModel, ValidationError

from langmem_tiers.models.calls import Call, Failed, ModelReply, Prompt, T, UnclearReply
from langmem_tiers.models.chat_model import GuardedModel

_SHAPE = """

Reply with one JSON object and nothing else: no explanation before or after it, no code fence. Its form:
{form}

Example of a reply:
{example}"""
_AGAIN = """

Your last reply could not be used: {reason}. Reply again, with one JSON object that fits."""

_SAMPLES: dict[str, object] = {"string": "…", "integer": 1, "number": 1.5, "boolean": True, "null": None, "object": {}}
# Schemas may be recursive; an example that deep shows nothing more.
_DEEPEST = 6


def shaped(schema: type[BaseModel], prompt: Prompt) -> Prompt:
    """The prompt with the form of the reply and an example: the prompt's own, or else one generated from the schema.

    The form says what the JSON schema says, in a third of its tokens.

    Example:
        >>> class Town(BaseModel):
        ...     name: str
        >>> prompt = shaped(Town, Prompt(system="Name a town.", user="In Portugal."))
        >>> form, _, _, example = prompt.system.splitlines()[-4:]
        >>> form, example
        ('{"name": string}', '{"name": "…"}')
    """
    described = schema.model_json_schema()
    named = described.get("$defs", {})
    given = prompt.example
    example = _sample(described, named, 0) if given is None else given.model_dump(mode="json")
    told = _SHAPE.format(form=_form(described, named, ()), example=_text(example))
    return replace(prompt, system=prompt.system + told)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _form(node: dict[str, Any], named: dict[str, Any], inside: tuple[str, ...]) -> str:
    """A part of a schema as one would write it down: `{"name": string, "tags": [string]}`."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return "{…}" if name in inside else _form(named[name], named, (*inside, name))
    if choices := node.get("anyOf") or node.get("allOf") or node.get("oneOf"):
        return " or ".join(dict.fromkeys(_form(each, named, inside) for each in choices))
    if "properties" in node:
        fields = (f"{_text(name)}: {_described(part, named, inside)}" for name, part in node["properties"].items())
        return f"{{{', '.join(fields)}}}"
    if node.get("type") == "array":
        return f"[{_form(node.get('items', {}), named, inside)}]"
    stated = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    return " or ".join(map(_text, stated)) or str(node.get("type", "anything"))


def _described(node: dict[str, Any], named: dict[str, Any], inside: tuple[str, ...]) -> str:
    about = node.get("description", "").rstrip(".")
    return f"{_form(node, named, inside)} ({about})" if about else _form(node, named, inside)


def _sample(node: dict[str, Any], named: dict[str, Any], depth: int) -> object:
    """An example value for a part of a schema."""
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
    stated = [*node.get("examples", ()), *node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    return stated[0] if stated else _SAMPLES.get(node.get("type", "string"))


LONGEST = 100_000
"""Characters of the longest reply that is read."""

_MOST_OBJECTS = 20
_MOST_ERRORS, _ERROR_CHARACTERS = 5, 500
_THOUGHT_BEGIN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OBJECT = re.compile(r'\{(?=\s*["}])')
_STRING_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_REFUSAL = re.compile(
    r"(?:i['’]?m (?:very )?sorry|i am sorry|sorry|i (?:can['’]?t|cannot|cannot|won['’]?t|will not)"
    r"|i(?:['’]m| am) (?:unable|not able)|as an ai\b)",
    re.IGNORECASE,
)


def read(schema: type[T], reply: str) -> T | UnclearReply:
    """The single matching object in a reply.

    Example:
        >>> class Town(BaseModel):
        ...     name: str
        >>> read(Town, 'Here it is: {"name": "Porto",}')
        Town(name='Porto')
        >>> read(Town, '{"name": "Por').reason
        'its JSON is cut off'
    """
    if len(reply) > LONGEST:
        return UnclearReply(f"it has {len(reply):,} characters, more than {LONGEST:,}")
    said = reply.strip()
    if not said.startswith("{"):  # otherwise the marks of thoughts are part of the reply
        said = _THOUGHT_END.split(said)[-1].strip()
    if _THOUGHT_BEGIN.match(said):
        return UnclearReply("it is cut off before it comes to an answer")
    if not said:
        return UnclearReply("it holds no text", "empty")
    objects = _objects(said)
    if not isinstance(objects, UnclearReply):
        return fitting(schema, objects)
    return UnclearReply(_quoted(said), "refused") if _REFUSAL.match(said) else objects


def fitting(schema: type[T], objects: Sequence[object]) -> T | UnclearReply:
    """The one of these objects that fits the schema; several different ones count as none."""
    tried = [_fitted(schema, each) for each in objects]
    fit = [each for each in tried if not isinstance(each, UnclearReply)]
    if any(each != fit[0] for each in fit):
        return UnclearReply("it holds more than one object")
    return fit[0] if fit else tried[0]


def _fitted(schema: type[T], value: object) -> T | UnclearReply:
    # If every field has a default, anything at all would fit.
    if isinstance(value, dict) and value and not _names(schema) & value.keys():
        return UnclearReply(f"it has none of the fields {', '.join(sorted(_names(schema)))}")
    try:
        made = schema.model_validate(value)
        made.model_dump_json()
    except ValidationError as error:
        return UnclearReply(_in_words(error))
    except ValueError:  # what pydantic raises for a lone surrogate, in both places
        return UnclearReply("it holds half a character, which cannot be stored")
    return made


def _names(schema: type[BaseModel]) -> set[str]:
    return {*schema.model_fields, *schema.model_json_schema().get("properties", ())}


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_ERRORS]
    places = [".".join(map(str, problem["loc"])) or "the object" for problem in problems]
    told = (f"{place}: {problem['msg']}" for place, problem in zip(places, problems, strict=True))
    return "; ".join(told)[:_ERROR_CHARACTERS]


def _objects(said: str) -> list[object] | UnclearReply:
    """The top-level JSON objects in a text."""
    found: list[object] = []
    while (begin := _OBJECT.search(said)) and len(found) < _MOST_OBJECTS:
        text = said[begin.start() :]
        decoded = _strictly(text)
        if isinstance(decoded, UnclearReply):
            # The text begins with the JSON, so that quotes delimit strings and no comma inside a string is removed.
            mended = _strictly(_STRING_OR_LAST_COMMA.sub(lambda found: found[1] or "", text))
            if isinstance(mended, UnclearReply):
                return decoded
            decoded = mended
        value, said = decoded
        found.append(value)
    return found or UnclearReply("it holds no JSON object")


def _strictly(text: str) -> tuple[object, str] | UnclearReply:
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        what = "cut off" if cut else f"malformed: {error.msg} at character {error.pos + 1}"
        return UnclearReply(f"its JSON is {what}")
    except RecursionError:
        return UnclearReply("its JSON is nested too deeply")
    except ValueError as error:  # NaN, an integer of thousands of digits
        return UnclearReply(f"its JSON is not usable: {error}")
    return value, text[end:]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


# Not strict: small models write raw line breaks into strings.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def _quoted(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= 100 else line[:99] + "…"


Outcome = ModelReply | Failed


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Generic[T]):
    """A question to a model with a token limit; `left` returns the seconds until nobody waits any more."""

    schema: type[T]
    prompt: Prompt
    model: GuardedModel
    tokens: int
    left: Callable[[], float]

    def structured(self) -> Call | None:
        """The request with structured output, if that is worth trying."""
        model = self.model.structured(self.schema, self.tokens)
        sent = self.prompt.system + self.prompt.user + _text(self.schema.model_json_schema())
        return None if model is None else Call(model=model, prompt=self.prompt, sent=sent)

    def in_words(self) -> Call:
        """The request with the schema in the prompt."""
        prompt = shaped(self.schema, self.prompt)
        return Call(model=self.model.limited(self.tokens), prompt=prompt, sent=prompt.system + prompt.user)


def asking(question: Question[T]) -> Generator[Call, Outcome, T | Failed]:
    """Ask, read, and if the reply is unusable, ask once more with the reason."""
    call, outcome = yield from _asked(question)
    if isinstance(outcome, Failed):
        return outcome
    value = _read(question, outcome)
    if isinstance(value, UnclearReply):
        call = call if outcome.objects else question.in_words()
        outcome = yield from _patiently(_repeated(call, value.reason), question.left)
        value = outcome if isinstance(outcome, Failed) else _read(question, outcome)
    return Failed(failure=value.failure, reason=value.reason) if isinstance(value, UnclearReply) else value


def _asked(question: Question[T]) -> Generator[Call, Outcome, tuple[Call, Outcome]]:
    """The first reply, and the call that brought it."""
    call = question.structured()
    if call is not None:
        outcome = yield from _patiently(call, question.left)
        if not (isinstance(outcome, Failed) and outcome.unsupported):
            return call, outcome
    in_words = question.in_words()
    outcome = yield from _patiently(in_words, question.left)
    if call is not None and isinstance(outcome, ModelReply):
        question.model.ask_in_words(question.schema)  # it replies to everything but the schema
    return in_words, outcome


def _patiently(call: Call, left: Callable[[], float]) -> Generator[Call, Outcome, Outcome]:
    """Make a call; a busy provider gets a second one if there is time for the pause it asks for."""
    outcome = yield call
    if isinstance(outcome, Failed) and outcome.retry_after is not None and outcome.retry_after < left():
        outcome = yield replace(call, pause=outcome.retry_after)
    return outcome


def _repeated(call: Call, reason: str) -> Call:
    """The call again, with the reason why the last reply was unusable."""
    told = _AGAIN.format(reason=reason)
    return replace(call, prompt=replace(call.prompt, user=call.prompt.user + told), sent=call.sent + told)


def _read(question: Question[T], reply: ModelReply) -> T | Failed | UnclearReply:
    """The object in a reply; a refusal declared by the provider is accepted as it is."""
    if reply.refusal:
        return Failed(failure="refused", reason=reply.refusal)
    if reply.objects:
        return fitting(question.schema, reply.objects)
    value = read(question.schema, reply.text)
    if isinstance(value, UnclearReply):
        return replace(value, reason=f"{value.reason}, at its longest") if reply.cut_off else value
    question.model.ask_in_words(question.schema)  # it follows the conversation rather than the schema it was given
    return value
