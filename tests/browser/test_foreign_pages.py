"""A page of somebody else in the browser that was let in: it reads nothing of the panel, and changes nothing."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from langmem_tiers import Turn
from tests.browser.conftest import served

SECRET = "Mara lives in Lisbon"

ATTACK = (Path(__file__).parent / "foreign.js").read_text(encoding="utf-8").rstrip().removesuffix(";")


class _Nothing(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Elsewhere</title><body>Elsewhere</body>")

    def log_message(self, *_):
        pass


@contextmanager
def elsewhere():
    """The server of somebody else on this machine; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Nothing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def mara(memory):
    mara = memory.user("mara")
    mara.track([Turn(role="user", content=f"{SECRET}.")], session="monday")
    mara.knowledge.save(f"{SECRET}.", origin="user")
    mara.identity.write(SECRET)
    return mara


def _state(space):
    return space.identity.read(), space.stats().log_position, len(space.knowledge.page().entries)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.test"])
def test_a_page_of_another_origin_reads_and_changes_nothing(mara, chromium, host):
    with served(mara) as link, elsewhere() as port:
        context = chromium.new_context()
        page, panel = context.new_page(), link().split("/enter")[0]
        page.goto(link())
        page.get_by_role("heading", level=1).wait_for()
        before, answers = _state(mara), []
        context.on("response", lambda answer: answers.append((answer.request.method, answer.url, answer.status)))
        page.goto(f"http://{host}:{port}/")
        got = page.evaluate(ATTACK, panel)
        assert got == []
        assert _state(mara) == before
        posts = [status for method, url, status in answers if method == "POST" and url.startswith(panel)]
        assert len(posts) >= 3  # the forms; of what scripts sent, the browser does not even tell the answer
        assert set(posts) == {403}
        page.goto(f"{panel}/identity")
        assert page.get_by_label("The text").input_value() == SECRET
        context.close()


@pytest.mark.parametrize("name", ["rebound.test", "127.0.0.1.test"])
def test_a_name_that_is_pointed_at_this_machine_is_no_address_of_the_panel(mara, chromium, name):
    with served(mara) as link:
        context = chromium.new_context()
        page, address = context.new_page(), link()
        page.goto(link())
        port = address.split(":")[2].partition("/")[0]
        for path in ("/", "/identity", "/live", "/static/panel.js", "/" + address.split("/")[3]):
            answer = page.goto(f"http://{name}:{port}{path}")
            assert (answer.status, page.locator("body").inner_text()) == (421, "This panel is not at this address.")
        assert page.evaluate("document.cookie") == ""
        context.close()


def test_another_page_may_link_to_the_panel(mara, chromium):
    with served(mara) as link, elsewhere() as port:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(link())
        panel = page.url
        page.goto(f"http://127.0.0.1:{port}/")
        page.evaluate("(href) => document.body.append(Object.assign(document.createElement('a'), { href }))", panel)
        page.evaluate("document.querySelector('a').click()")
        page.wait_for_url(panel)
        page.get_by_role("heading", level=1).wait_for()
        context.close()
