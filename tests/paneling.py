"""The panel without a server: a browser that was let in, and what it sends."""

from html.parser import HTMLParser

from starlette.testclient import TestClient

from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.panel import panel_app
from langmem_tiers.integrations.panel.visits import Visits

ORIGIN = "http://127.0.0.1:8766"
HTMX = {"HX-Request": "true"}


def panel_of(space, **options):
    """The panel of a space and the link into it."""
    visits = Visits()
    app = panel_app(space, addresses=Addresses.of_server("127.0.0.1", 8766), visits=visits, **options)
    return app, f"/enter?token={visits.new_link()}"


class Browser:
    """A browser that was let in. Redirects are followed; `text` of an answer is what a reader sees."""

    def __init__(self, space, **options):
        app, link = panel_of(space, **options)
        self.space = space
        self.client = TestClient(app, base_url=ORIGIN)
        self.get(link)
        self.form_token = self.get("/").html.partition('name="form_token" value="')[2].partition('"')[0]

    def get(self, path, **headers):
        return Seen(self.client.get(path, headers=headers))

    def piece(self, path):
        """What htmx gets."""
        return Seen(self.client.get(path, headers=HTMX))

    def post(self, path, *, htmx=False, **fields):
        """Send a form of the panel."""
        headers = {"Origin": ORIGIN, **(HTMX if htmx else {})}
        return Seen(self.client.post(path, data={"form_token": self.form_token, **fields}, headers=headers))


class Seen:
    """An answer as it is seen."""

    def __init__(self, response):
        self.status = response.status_code
        self.path = response.url.path
        self.headers = response.headers
        self.html = response.text
        reader = _Reader()
        reader.feed(self.html)
        self.text = " ".join("".join(reader.words).split())
        self.links = reader.links
        self.fields = reader.fields


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.links, self.fields = [], [], {}

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "a":
            self.links.append(given.get("href"))
        if tag in ("input", "textarea") and "name" in given:
            self.fields.setdefault(given["name"], given.get("value", ""))

    def handle_data(self, data):
        self.words.append(data + " ")
