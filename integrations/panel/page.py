"""What a page of the panel is made of: a place in the navigation, actions, and the view that these are called with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.integrations.panel.values import Values
from langmem_tiers.integrations.panel.visits import Notice, NoticeKind, Visit
from langmem_tiers.naming import user_of
from langmem_tiers.space import Space

Group = Literal["memory", "agent"]
Theme = Literal["system", "light", "dark"]
THEMES: tuple[Theme, ...] = ("system", "light", "dark")
THEME_COOKIE = "langmem-tiers-panel-theme"
FORM_TOKEN = "form_token"


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """The panel of one space. `space` reads that space only; `recalling` also its fallbacks, as its agents do.

    `memory_settings` says whether it may change what is set for the whole memory, beside what is set for the space.
    """

    space: Space
    recalling: Space
    templates: Environment
    pages: Sequence[Page]
    memory_settings: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """One request, as an action of a page sees it: what was asked for, by whom, and how to answer.

    `query` is what stands behind the question mark of the address, `form` what was sent with POST.
    """

    panel: Panel
    page: Page | None
    request: Request
    visit: Visit
    query: Values
    form: Values
    seen: Mapping[str, int] = field(default_factory=dict)
    """How far the space had come when the request came; see `live.py`."""
    _told: list[Notice] = field(default_factory=list, init=False)

    @property
    def space(self) -> Space:
        """The space that the panel is about."""
        return self.panel.space

    @property
    def wants_piece(self) -> bool:
        """Whether htmx asks for a part of the page; without JavaScript it is always a whole one."""
        headers = self.request.headers
        return headers.get("hx-request") == "true" and headers.get("hx-boosted") != "true"

    def part(self, name: str) -> str:
        """A part of the address, such as the id in `/memories/{id}`."""
        return str(self.request.path_params[name])

    def number(self, name: str) -> int:
        """A part of the address that is a number, such as that of `/palace/rooms/{room:int}`."""
        return int(self.request.path_params[name])

    def tell(self, text: str, *, kind: NoticeKind = "done") -> None:
        """Have a sentence shown at the top of this answer, or of the page that it leads to."""
        self._told.append(Notice(kind, text))

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A whole page; its template extends `base.html`."""
        # A script that reads the page again shows only parts of it, so what is to be told waits for the browser itself.
        before = () if self.request.headers.get("sec-fetch-mode") == "cors" else self.visit.told()
        return HTMLResponse(self._rendered(template, values, notices=(*before, *self._told)), status)

    def piece(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A part of a page for htmx, with what this action has to tell; its template extends nothing."""
        shown = self._rendered(template, values)
        if self._told:
            shown += self._rendered("notices.html", {"swapped": True}, notices=self._told)
        return HTMLResponse(shown, status)

    def go(self, path: str, *, told: str = "") -> Response:
        """Lead the browser to another page of the panel, which begins with the sentence `told`."""
        if told:
            self.tell(told)
        self.visit.tell(*self._told)
        address = quote(path, safe="/?&=%+")
        if self.wants_piece:
            return Response(status_code=204, headers={"hx-redirect": address})
        return RedirectResponse(address, status_code=303)

    def _waiting(self) -> int:
        """How much waits for the user's word; 0 where the memory cannot be read, which the page then says itself."""
        try:
            return self.space.knowledge.page(unconfirmed=True, limit=1).total
        except MemoryTiersError:
            return 0

    @property
    def _here(self) -> str:
        """Where the browser can come back to."""
        if self.request.method != "GET":
            return self.page.path if self.page else "/"
        return self.request.url.path + (f"?{self.request.url.query}" if self.request.url.query else "")

    def _command(self, *words: str) -> str:
        """A command about this space, as it is typed in a terminal."""
        user = user_of(self.space.name)
        whose, named = ([], ["--space", self.space.name]) if user is None else (["--user", user], [])
        return shlex.join(["langmem-tiers", "--path", str(self.space.memory.path), *whose, *words, *named])

    def _rendered(self, template: str, values: dict[str, Any], **more: Any) -> str:
        token = self.visit.form_token
        theme = self.request.cookies.get(THEME_COOKIE, "system")
        common = {
            "panel": self.panel,
            "page": self.page,
            "space": self.space,
            "command": self._command,
            "waiting": self._waiting,
            "query": self.query,
            "form_token": token,
            # To stand in every form that is sent with POST.
            "token_field": Markup('<input type="hidden" name="{}" value="{}">').format(FORM_TOKEN, token),
            "here": self._here,
            "seen": json.dumps(self.seen),
            "theme": theme if theme in THEMES else "system",
            "themes": THEMES,
        }
        return self.panel.templates.get_template(template).render({**common, **more, **values})


Handler = Callable[[View], Response] | Callable[[View], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Action:
    """One address of a page with what answers it: a plain function, called in a thread, or a coroutine function."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler


def get(path: str, handler: Handler) -> Action:
    """What shows something; it must change nothing."""
    return Action("GET", path, handler)


def post(path: str, handler: Handler) -> Action:
    """What changes something. It is called only for a form of the panel itself."""
    return Action("POST", path, handler)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page: what it is called, where it is in the navigation, and its actions.

    `key` is the letter that leads to it behind `g`. `scripts` are files in `static/` that this page needs.
    """

    title: str
    path: str
    key: str
    actions: tuple[Action, ...]
    group: Group = "memory"
    scripts: tuple[str, ...] = ()
