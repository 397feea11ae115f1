"""The panel as an ASGI application: the pages behind the guard, and errors as pages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from langmem_tiers.errors import (
    AccessDenied,
    EmbeddingUnavailable,
    InvalidInput,
    MemoryClosed,
    MemoryOff,
    MemoryTiersError,
    StorageError,
)
from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.panel import live
from langmem_tiers.integrations.panel.guard import ENTRANCE, NO_VISIT, TOO_LARGE, Guard, Refusal
from langmem_tiers.integrations.panel.page import FORM_TOKEN, THEME_COOKIE, THEMES, Action, Page, Panel, View
from langmem_tiers.integrations.panel.pages import PAGES
from langmem_tiers.integrations.panel.rendering import environment
from langmem_tiers.integrations.panel.values import Values
from langmem_tiers.integrations.panel.visits import Visits
from langmem_tiers.integrations.serving import MOST_BODY
from langmem_tiers.space import Space

FRESH_TOKEN = "x-form-token"
UNTOUCHED = {"hx-reswap": "none"}  # htmx leaves the page as it is
STATIC = Path(__file__).parent / "static"
_A_YEAR = 365 * 24 * 3600
# The HTTP status of an error; the first that fits.
_STATUS: tuple[tuple[type[BaseException], HTTPStatus], ...] = (
    (AccessDenied, HTTPStatus.FORBIDDEN),
    (MemoryOff, HTTPStatus.FORBIDDEN),
    (LookupError, HTTPStatus.NOT_FOUND),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (MemoryClosed, HTTPStatus.SERVICE_UNAVAILABLE),
    (EmbeddingUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    # Somebody else was first: a record has changed, or has a higher authority.
    (RuntimeError, HTTPStatus.CONFLICT),
)


def panel_app(space: Space, *, addresses: Addresses, visits: Visits, memory_settings: bool = False) -> ASGIApp:
    """The panel of one space, for an ASGI server that listens at these addresses.

    Pages read and change this space only; its fallbacks are read where the page shows what an agent recalls. With
    `memory_settings`, the settings of the whole memory can be changed, too.
    """
    own = space.source(space.name)
    panel = Panel(space=own, recalling=space, templates=environment(), pages=PAGES, memory_settings=memory_settings)
    entrance = _Entrance(visits, panel, cookie=_cookie_name(addresses), secure=addresses.secure)
    routes: list[BaseRoute] = [
        Route(ENTRANCE, entrance.enter, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
        _route(panel, None, Action("POST", "/theme", _set_theme)),
        _route(panel, None, Action("GET", live.PATH, live.tell)),
        *(_route(panel, page, action) for page in panel.pages for action in page.actions),
    ]
    handlers: dict[Any, Callable[..., Any]] = {
        HTTPException: lambda request, error: _http_error(panel, request, error),
        Exception: lambda request, error: _bug(panel, request, error),
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, addresses=addresses, visits=visits, cookie=entrance.cookie, answer=entrance.refused)


def _cookie_name(addresses: Addresses) -> str:
    """Cookies are not told apart by port, so the name does it; browsers accept a `__Host-` cookie only over TLS."""
    port = addresses.first.rpartition(":")[2]
    name = f"langmem-tiers-panel-{port}" if port.isdecimal() else "langmem-tiers-panel"
    return f"__Host-{name}" if addresses.secure else name


class _Entrance:
    """Exchanges a link for a cookie, and says how to come in to whoever has neither."""

    def __init__(self, visits: Visits, panel: Panel, *, cookie: str, secure: bool) -> None:
        self.cookie = cookie
        self._visits = visits
        self._panel = panel
        self._secure = secure

    def enter(self, request: Request) -> Response:
        if request.method != "GET":
            return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED)
        visit = self._visits.enter(request.query_params.get("token", ""))
        if visit is None and request.state.visit is None:
            return self._page(Refusal(NO_VISIT.status, "This link is wrong, or was used already."), request)
        response = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
        if visit is not None:
            response.set_cookie(self.cookie, visit.token, httponly=True, samesite="strict", secure=self._secure)
        return response

    def refused(self, refusal: Refusal) -> ASGIApp:
        """The answer to a request that the guard refuses: a page for those who have only lost their cookie."""
        if refusal.status != NO_VISIT.status:
            return PlainTextResponse(refusal.text, refusal.status)

        async def application(scope: Any, receive: Any, send: Any) -> None:
            request = Request(scope, receive)
            answer = self._page(refusal, request, kept=await _kept(request))
            await answer(scope, receive, send)

        return application

    def _page(self, refusal: Refusal, request: Request, kept: Kept = ()) -> Response:
        """What was sent stays in the page; pages that are open stay as they are, and `panel.js` says why."""
        if request.headers.get("hx-request"):
            return Response(status_code=refusal.status, headers=UNTOUCHED)
        template = self._panel.templates.get_template("refused.html")
        shown = template.render(said=refusal.text, kept=kept, path=_own_path(request.url.path), token_field="")
        return HTMLResponse(shown, refusal.status)


Kept = tuple[tuple[str, str], ...]


async def _kept(request: Request) -> Kept:
    """What a form sent that nobody may send any more, to be sent again; nothing if it cannot be read."""
    if request.method != "POST":
        return ()
    try:
        return _own_fields(Values.parsed(await _body(request)))
    except (InvalidInput, HTTPException):
        return ()


def _own_fields(form: Values) -> Kept:
    return tuple((name, value) for name, value in form.pairs() if name != FORM_TOKEN)


def _route(panel: Panel, page: Page | None, action: Action) -> Route:
    """The route of an action: errors of the memory become pages, and forms are checked before it is called."""

    async def answer(request: Request) -> Response:
        view = _view(panel, page, request)
        try:
            view = replace(view, query=Values.parsed(request.scope["query_string"]))
            if action.method == "POST":
                view = replace(view, form=Values.parsed(await _body(request)))
                if not _is_own_form(view):
                    return _again(view)
            if inspect.iscoroutinefunction(action.handler):
                return cast("Response", await action.handler(view))
            return await run_in_threadpool(_handled, cast("Callable[[View], Response]", action.handler), view)
        except MemoryTiersError as error:
            return error_answer(view, error.message, error.way_out, status=_status_of(error))

    return Route(action.path, answer, methods=[action.method])


def _handled(handler: Callable[[View], Response], view: View) -> Response:
    """The answer of a plain function; what is written while it reads is new to the page that it makes."""
    return handler(replace(view, seen=live.seen(view.space)))


def _view(panel: Panel, page: Page | None, request: Request) -> View:
    """A view of a request before what it sent is read."""
    nothing = Values({})
    return View(panel=panel, page=page, request=request, visit=request.state.visit, query=nothing, form=nothing)


async def _body(request: Request) -> bytes:
    """The body, unless it is too large; not all of them say their size before."""
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > MOST_BODY:
            raise HTTPException(TOO_LARGE.status, TOO_LARGE.text)
    return bytes(held)


def _is_own_form(view: View) -> bool:
    """Whether a form has the token of this browser, so that it was made by a page of this panel."""
    token = view.form.text(FORM_TOKEN) or view.request.headers.get("x-form-token", "")
    return view.visit.made_form(token)


def _again(view: View) -> Response:
    """What was sent by a page from before a restart, to be sent again by a person; nothing is done by itself.

    Only the panel's own pages can read the answer, so it may have the token that is right now; `panel.js` takes it.
    """
    if view.wants_piece:
        return Response(status_code=HTTPStatus.FORBIDDEN, headers={**UNTOUCHED, FRESH_TOKEN: view.visit.form_token})
    path = _own_path(view.request.url.path)
    return view.show("again.html", status=HTTPStatus.FORBIDDEN, kept=_own_fields(view.form), path=path)


def _status_of(error: BaseException) -> HTTPStatus:
    fitting = (status for kind, status in _STATUS if isinstance(error, kind))
    return next(fitting, HTTPStatus.INTERNAL_SERVER_ERROR)


def error_answer(view: View, said: str, way_out: str, *, status: int) -> Response:
    """An error as a page; to htmx, as a notice on the page that asked."""
    if not view.wants_piece:
        return view.show("error.html", status=status, said=said, way_out=way_out)
    view.tell(f"{said} {way_out}".strip(), kind="problem")
    answer = view.piece("nothing.html", status=status)
    answer.headers.update(UNTOUCHED)
    return answer


_ANSWERS = {
    HTTPStatus.NOT_FOUND: ("There is no such page.", "The navigation leads to those there are."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("This cannot be done here.", "Go back, and use the buttons of the page."),
}


def _http_error(panel: Panel, request: Request, error: HTTPException) -> Response:
    said, way_out = _ANSWERS.get(HTTPStatus(error.status_code), (error.detail, "Load the page again, and repeat it."))
    if request.state.visit is None:
        return PlainTextResponse(said, error.status_code)
    return error_answer(_view(panel, None, request), said, way_out, status=error.status_code)


def _bug(panel: Panel, request: Request, error: Exception) -> Response:
    """The page for what nobody foresaw; the server raises the error again, and so it is in the log."""
    said = f"The panel made a mistake ({type(error).__name__}); nothing more was changed."
    way_out = "The terminal that it was started in says more; please report it."
    if request.state.visit is None:
        return PlainTextResponse(said, HTTPStatus.INTERNAL_SERVER_ERROR)
    return error_answer(_view(panel, None, request), said, way_out, status=HTTPStatus.INTERNAL_SERVER_ERROR)


def _set_theme(view: View) -> Response:
    theme = view.form.choice("theme", THEMES)
    response = view.go(_own_path(view.form.text("back")))
    response.set_cookie(THEME_COOKIE, theme, max_age=_A_YEAR, httponly=True, samesite="strict")
    return response


def _own_path(path: str) -> str:
    """A path within the panel: nothing that a browser could take for another host."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() else "/"
