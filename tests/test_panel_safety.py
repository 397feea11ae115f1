"""The panel lets in one browser by a link that works once, and refuses every request that is not of that browser."""

import re

import pytest
from starlette.testclient import TestClient

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.panel import panel_app, run_panel
from langmem_tiers.integrations.panel.pages import PAGES
from langmem_tiers.integrations.panel.rendering import TEMPLATES, visible
from langmem_tiers.integrations.panel.visits import Visits
from langmem_tiers.integrations.serving import MOST_BODY
from tests.paneling import ORIGIN, Browser, panel_of

HOST = "127.0.0.1:8766"
FORM = "application/x-www-form-urlencoded"
CHANGE = "/identity"
FIELDS = "text=Lives+in+Lisbon.&version=1"

FOREIGN_HOSTS = (
    "127.0.0.1:evil.example",
    "127.0.0.1:8766.evil.example",
    "127.0.0.1.evil.example:8766",
    "localhost.evil.example",
    "localhost.evil.example:8766",
    "evil.example",
    "evil.example:8766",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:8765",
    "127.0.0.1:87660",
    "0.0.0.0:8766",
    "127.1:8766",
    "127.0.0.2:8766",
    "2130706433:8766",
    "[::1]:8766",
    "localhost",
    "user@127.0.0.1:8766",
    "127.0.0.1:8766@evil.example",
    "",
)
FOREIGN_ORIGINS = (
    "null",
    "http://evil.example",
    "https://127.0.0.1:8766",
    "http://127.0.0.1",
    "http://127.0.0.1:8765",
    "http://127.0.0.1:8766.evil.example",
    "http://localhost.evil.example:8766",
    "http://localhost:3000",
    "http://127.0.0.1:8766/",
    "HTTP://127.0.0.1:8766",
    "file://",
    "chrome-extension://abcdefghijklmnop",
    "",
)
FOREIGN_TYPES = (
    "text/plain",
    "application/json",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/x-www-form-urlencodedx",
    "",
)
WRONG_FORM_TOKENS = ("", "x", "0" * 43, "null", "ünicode")
OTHER_METHODS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
FOREIGN_SITES = ("cross-site", "same-site", "none")


def _own(token, **headers):
    """The headers of a form that the panel's own page sends."""
    return {"Host": HOST, "Origin": ORIGIN, "Content-Type": FORM, "X-Form-Token": token, **headers}


def _hostile(token, other):
    """(name, method, path, headers, body): requests by a browser that was let in, each wrong in one thing."""
    for host in FOREIGN_HOSTS:
        yield f"host {host}", "POST", CHANGE, _own(token, Host=host), FIELDS
    for origin in FOREIGN_ORIGINS:
        yield f"origin {origin}", "POST", CHANGE, _own(token, Origin=origin), FIELDS
    for kind in FOREIGN_TYPES:
        yield f"type {kind}", "POST", CHANGE, {**_own(token), "Content-Type": kind}, FIELDS
    for wrong in (*WRONG_FORM_TOKENS, other):
        yield f"form token {wrong}", "POST", CHANGE, _own(wrong.encode()), FIELDS
    for method in OTHER_METHODS:
        yield f"method {method}", method, CHANGE, _own(token), FIELDS
    for site in FOREIGN_SITES:
        yield f"site {site}", "POST", CHANGE, _own(token, **{"Sec-Fetch-Site": site}), FIELDS
    without = {name: value for name, value in _own(token).items() if name != "Origin"}
    yield "no origin", "POST", CHANGE, without, FIELDS
    yield "changing by GET", "GET", f"/identity/undo?{FIELDS}", _own(token), ""
    yield (
        "an image elsewhere",
        "GET",
        "/",
        {"Host": HOST, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        "",
    )
    yield "too large", "POST", CHANGE, _own(token), FIELDS + "&x=" + "x" * MOST_BODY
    yield "packed", "POST", CHANGE, {**_own(token), "Content-Encoding": "gzip"}, FIELDS
    yield "not UTF-8", "POST", CHANGE, _own(token), FIELDS + "&x=%ff"


def _refusal(name):
    """The status of the answer to a hostile request: each is refused for what is wrong in it, and nothing else."""
    of_name = {"changing by GET": 405, "too large": 413, "packed": 415, "not UTF-8": 422}
    of_kind = {"host": 421, "type": 415, "method": 405}  # what comes from elsewhere, and wrong tokens: 403
    return of_name.get(name) or of_kind.get(name.split()[0], 403)


def test_of_60_hostile_requests_each_is_refused_and_nothing_changes(alice):
    alice.identity.write("## Notes\n- Lives in Porto.")
    browser, other = Browser(alice), Browser(alice)
    before = (alice.identity.read(), alice.stats().log_position)
    answers = {
        name: browser.client.request(method, path, headers=headers, content=body, follow_redirects=False)
        for name, method, path, headers, body in _hostile(browser.form_token, other.form_token)
    }
    assert len(answers) >= 60
    assert {name: answer.status_code for name, answer in answers.items()} == {name: _refusal(name) for name in answers}
    assert [name for name, answer in answers.items() if "set-cookie" in answer.headers or "Porto" in answer.text] == []
    assert (alice.identity.read(), alice.stats().log_position) == before
    browser.client.post(CHANGE, headers=_own(browser.form_token), content=FIELDS)
    assert alice.identity.read().text == "Lives in Lisbon."


@pytest.mark.parametrize("cookie", ["", "x", "0" * 43, "two"])
def test_without_the_cookie_nothing_but_the_assets_is_shown(alice, cookie):
    alice.identity.write("## Notes\n- Lives in Porto.")
    let_in = Browser(alice).client
    name = next(iter(let_in.cookies))
    app, _ = panel_of(alice)
    stranger = TestClient(app, base_url=ORIGIN)
    own = let_in.cookies[name]
    given = {"Cookie": f"{name}={own}; {name}={own}" if cookie == "two" else f"{name}={cookie}"}
    for path in ("/", "/enter", "/enter?token=", "/enter?token=x", "/identity", "/nowhere"):
        answer = stranger.get(path, headers=given)
        assert answer.status_code == 401
        assert "Porto" not in answer.text
        assert "langmem-tiers panel" in answer.text
    refused = stranger.post(CHANGE, content=FIELDS, headers={**_own("x"), **given})
    assert refused.status_code == 401
    assert stranger.get("/static/panel.css").status_code == 200


def test_a_link_works_once(alice):
    app, link = panel_of(alice)
    first, second = TestClient(app, base_url=ORIGIN), TestClient(app, base_url=ORIGIN)
    assert first.head(link).status_code == 405
    entered = first.get(link, follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    for part in ("HttpOnly", "SameSite=strict"):
        assert part in entered.headers["set-cookie"]
    assert first.get("/").status_code == 200
    assert second.get(link).status_code == 401
    assert second.get("/").status_code == 401
    # Going back in the browser that came in by it does no harm.
    assert first.get(link).status_code == 200


def test_every_answer_forbids_scripts_of_others_frames_and_storing(alice):
    browser = Browser(alice)
    for path in ("/", "/nowhere", "/static/panel.js", "/enter"):
        headers = browser.get(path).headers
        policy = dict(each.split(" ", 1) for each in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")
    assert browser.get("/static/../app.py").status == 404
    assert browser.get("/static/%2e%2e/app.py").status == 404


def test_a_link_on_another_page_leads_to_the_panel_but_loads_nothing(alice):
    browser = Browser(alice)
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert browser.get("/", **foreign, **{"Sec-Fetch-Dest": "document"}).status == 200
    assert browser.get("/", **foreign, **{"Sec-Fetch-Dest": "iframe"}).status == 403


def test_a_theme_leads_back_within_the_panel_only(alice):
    browser = Browser(alice)
    for back in ("//evil.example", "/\\evil.example", "https://evil.example", "/\r\nSet-Cookie: x=1", ""):
        assert browser.post("/theme", theme="dark", back=back).path == "/"
    assert 'data-theme="dark"' in browser.get("/").html


def test_templates_have_no_inline_scripts_or_styles_and_print_nothing_unescaped():
    for template in TEMPLATES.glob("*.html"):
        text = template.read_text()
        for forbidden in ("|safe", "| safe", "style=", "<style", "javascript:", "hx-on", "|e}", "autoescape"):
            assert forbidden not in text, (template.name, forbidden)
        assert text.count("<script") == text.count("<script src="), template.name
        assert not [event for event in ("onclick", "onload", "onerror", "onsubmit") if event in text]
        posts = text.count('method="post"')
        assert text.count("{{ token_field }}") == posts, template.name


def test_what_browsers_would_obey_or_hide_is_shown_as_its_code_point():
    assert visible("a\u202eb\u2066c\x1b[31m\x00\U000e0041\U000e0100\ud800") == (
        "a⟨U+202E⟩b⟨U+2066⟩c⟨U+001B⟩[31m⟨U+0000⟩⟨U+E0041⟩⟨U+E0100⟩⟨U+D800⟩"
    )
    family, england, text = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f3f4", "Zeile 1\n\tZeile 2 ‌می‌خواهم"
    flag = england + "".join(map(chr, (0xE0067, 0xE0062, 0xE0065, 0xE006E, 0xE0067, 0xE007F)))
    assert visible(family + flag + text) == family + flag + text


def test_another_address_than_this_machine_needs_tls_or_a_clear_word(alice):
    with pytest.raises(InvalidInput, match="--tls-cert"):
        run_panel(alice, listening=print, host="0.0.0.0")
    with pytest.raises(InvalidInput, match="--origin"):
        run_panel(alice, listening=print, host="0.0.0.0", unencrypted=True)


@pytest.mark.parametrize(
    "origin", ["evil", "ftp://x.example", "https://x.example/panel", "https://u@x.example", "https://[x"]
)
def test_what_is_no_address_is_refused(origin):
    with pytest.raises(InvalidInput, match="https://memory"):
        Addresses.of_server("127.0.0.1", 8766, public=[origin])


def test_a_proxy_is_named_by_its_address():
    addresses = Addresses.of_server("127.0.0.1", 8766, public=["https://Memory.example.com:443"])
    assert addresses.first == "https://memory.example.com"
    for host in (b"memory.example.com", b"127.0.0.1:8766", b"localhost:8766"):
        assert addresses.has_host({b"host": [host]})


@pytest.mark.parametrize("host", ["FD00::1", "fd00::1"])
def test_an_address_of_ipv6_is_allowed_as_browsers_write_it(host):
    assert Addresses.of_server(host, 8766).has_host({b"host": [b"[fd00::1]:8766"]})


ODD = (
    "",
    "\x00",
    "'\"><script>",
    "a" * 5_000,
    "%",
    "-1",
    "9" * 30,
    "1e3",
    "null",
    "\u202e",
    "\U0001f468\u200d\U0001f469",
    "..",
    "@x",
)
PLACES = {
    "/": ("x",),
    "/palace": ("pointer",),
    "/palace/rooms/1": ("after", "closet"),
    "/palace/wings/1": ("after",),
    "/search": ("q", "as_of", "session"),
    "/memories": ("q", "category", "tag", "project", "origin", "status", "pinned", "after", "layer", "most"),
    "/forget": ("query", "person", "session", "project", "speaker", "messages", "entries", "since", "until"),
}


@pytest.mark.parametrize("place", PLACES)
def test_odd_values_in_an_address_are_answered_in_the_page(alice, place):
    alice.track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="monday")
    browser = Browser(alice)
    for name in PLACES[place]:
        for value in ODD:
            answer = browser.client.get(place, params={name: value})
            assert answer.status_code in {200, 404, 422}, (name, value)
            assert "<script>" not in answer.text
            # A field has what was typed; everywhere else it is shown as its code point.
            assert "\u202e" not in answer.text.replace('value="\u202e"', "")
    assert browser.client.get(f"{place}?x=%ff").status_code == 422
    assert browser.client.get(place + "?" + "&".join(["x=1"] * 6_000)).status_code == 422


def test_a_memory_that_is_off_says_so_in_the_page(tmp_path):
    with Memory.open(tmp_path, embedder=None, background=False, settings=Settings(enabled=False)) as memory:
        visits = Visits()
        app = panel_app(memory.user("alice"), addresses=Addresses.of_server("127.0.0.1", 8766), visits=visits)
        client = TestClient(app, base_url=ORIGIN)
        answer = client.get(f"/enter?token={visits.new_link()}")
        assert answer.status_code == 403
        assert "is off" in answer.text


CHANGES = sorted({action.path for page in PAGES for action in page.actions if action.method == "POST"})


@pytest.mark.parametrize("path", CHANGES)
def test_whatever_changes_something_needs_the_cookie_and_the_token_of_the_form(alice, path):
    address = re.sub(r"\{\w+(:int)?\}", "1", path)
    browser = Browser(alice)
    headers = {"Host": HOST, "Origin": ORIGIN, "Content-Type": FORM}
    assert browser.client.post(address, headers=headers, content="x=1").status_code == 403
    assert browser.client.post(address, headers={**headers, "X-Form-Token": "x"}, content="x=1").status_code == 403
    stranger = TestClient(panel_of(alice)[0], base_url=ORIGIN)
    own = {**headers, "X-Form-Token": browser.form_token}
    assert stranger.post(address, headers=own, content=f"form_token={browser.form_token}").status_code == 401


def test_every_page_of_the_navigation_opens_in_an_empty_memory_and_has_a_key_of_its_own(alice):
    browser = Browser(alice)
    keys = [page.key for page in PAGES]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & {"j", "k", "g", "/", "?"}
    for page in PAGES:
        seen = browser.get(page.path)
        assert (seen.status, page.path) == (200, page.path)
        assert f"<title>{page.title}" in seen.html
