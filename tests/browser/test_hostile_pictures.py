"""1,014 and more texts of XSS as names, predicates, values and evidence: none runs in a picture or on a page.

The browser is told to ignore the Content-Security-Policy, so that escaping alone has to do it. Whatever runs, asks for
something elsewhere or opens a dialog is noticed; what is drawn is also looked through for elements that could.
"""

import json
from contextlib import suppress
from time import monotonic

import pytest

from langmem_tiers import Turn
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.knowledge_graph.pictures import draw, draw_timeline
from langmem_tiers.records import GraphEvidence
from tests.browser.conftest import served
from tests.browser.test_hostile_strings import INSERT, MARKUP
from tests.browser.xss_payloads import LEAST, xss_payloads
from tests.graph_samples import NOW, Sample

TEXTS = xss_payloads()
DRAWN = 40
MADE = 400
# Whatever a payload may call instead of `hit`.
CALLED = """for (const name of ["alert", "confirm", "prompt", "print", "open"])
  window[name] = (said) => hit(`${name} ${said}`);
"""
# Elements and attributes that a picture has no use for, on the page or in the SVG.
FOREIGN = """() => {
  const never = "img,iframe,object,embed,form,a,foreignObject,animate,set,use,image,link,base,video,audio,math";
  const odd = /^on|^(style|src|srcdoc|href|xlink:href|action|formaction)$/;
  const found = [...document.querySelectorAll(never)].map((each) => each.outerHTML.slice(0, 100));
  if (document.querySelectorAll("script").length > 1) found.push("scripts");
  for (const each of document.querySelectorAll("parsererror")) found.push(each.textContent.slice(0, 200));
  for (const element of document.querySelectorAll("*"))
    for (const { name } of element.attributes) if (odd.test(name)) found.push(`${name} of ${element.localName}`);
  return found;
}"""
CLICK_ALL = "for (const each of document.querySelectorAll('g.named, th button')) each.dispatchEvent(new Event('click'))"


@pytest.fixture
def page(chromium):
    """A page that keeps in `wrong` what ran, was asked for, opened or failed."""
    context = chromium.new_context(bypass_csp=True, reduced_motion="reduce")
    page, wrong = context.new_page(), []
    context.expose_function("hit", lambda said=None: wrong.append(f"ran: {said}"))
    context.add_init_script(CALLED)
    page.on("request", lambda asked: None if asked.url.startswith(page.own) else wrong.append(asked.url))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("popup", lambda popup: wrong.append(popup.url))
    page.wrong, page.own = wrong, ("file://", "data:image/", "about:")
    yield page
    context.close()


def _samples():
    """Graphs in which each text is once a name, a predicate, what was said of it, a value and a place of evidence."""
    for start in range(0, len(TEXTS), DRAWN):
        texts, sample = TEXTS[start : start + DRAWN], Sample()
        for place, text in enumerate(texts):
            evidence = (GraphEvidence(drawer=1, pointer=text),)
            other = texts[place - 1]
            sample.entity(text, type=text, aliases=(text,))
            if place % 2:
                sample.relate(text, text, other, said=text + " ", evidence=evidence)
            else:
                sample.relate(text, text, value=text, said=other, evidence=evidence)
        yield texts, sample


def test_the_texts_run_where_nothing_is_escaped(page):
    assert len(TEXTS) >= LEAST
    page.goto("about:blank")
    page.goto("about:blank")
    page.evaluate(
        """(texts) => { for (const text of texts) {
          const place = document.body.appendChild(document.createElement("div"));
          place.innerHTML = `<p title="x">${text}</p>`;
        } }""",
        list(TEXTS[-MADE:]),
    )
    end = monotonic() + 60
    while len(ran := [each for each in page.wrong if each.startswith("ran: ")]) <= 50 and monotonic() < end:
        page.wait_for_timeout(50)  # Playwright hears of what ran meanwhile
    assert len(ran) > 50


def test_nothing_runs_in_a_picture_of_them(page, tmp_path):
    for number, (texts, sample) in enumerate(_samples()):
        said = {"at": NOW, "title": texts[0], "captions": texts[:5]}
        part = sample.part(texts[0], cut=texts[:3])
        for name in ("html", "svg"):
            file = draw(part, tmp_path / f"{number}.{name}", **said)
            page.goto(file.as_uri())
            assert (page.evaluate(FOREIGN), page.wrong) == ([], [])
            if name == "html":
                page.evaluate(CLICK_ALL)
                cells = page.evaluate("[...document.querySelectorAll('tbody tr')].length")
                assert cells == len(texts)
        file = draw_timeline(sample.timeline(texts[1]), tmp_path / f"{number}-time.svg", **said)
        page.goto(file.as_uri())
        assert (page.evaluate(FOREIGN), page.wrong) == ([], [])
        # As it is when somebody puts it into a page.
        page.goto("about:blank")
        page.set_content(f"<main>{file.read_text()}{(tmp_path / f'{number}.svg').read_text()}</main>")
        assert (page.evaluate(FOREIGN), page.wrong) == ([], [])


@pytest.fixture(scope="module")
def alice(memory):
    """Each text is the name of somebody, what relates two, and the message that this rests on."""
    alice = memory.user("alice")
    alice.track([Turn(role="user", content=text) for text in TEXTS], session="all")
    drawers = [each.number for each in alice.drawers(session="all")]
    for text, drawer, other in zip(TEXTS, drawers, (*TEXTS[1:], TEXTS[0]), strict=False):
        with suppress(MemoryTiersError):
            alice.graph.add_relation(text, text, other, evidence=[drawer])
        with suppress(MemoryTiersError):
            alice.graph.add_relation(text, "knows", value=text, evidence=[drawer])
    return alice


def test_nothing_runs_on_the_pages_of_the_graph(alice, page):
    entities = alice.graph.entities(limit=2_000)
    assert len(entities) > 0.9 * len(TEXTS)
    with served(alice) as link:
        address = link()
        page.own = (address.split("/enter")[0], "data:image/")
        page.goto(address)
        page.goto(f"{page.own[0]}/graph?show=500")
        page.locator(".graph-stage canvas").first.wait_for()
        pages = [[f"/graph/entities/{each.id}"] for each in entities[::2]]  # a page has two
        found = page.evaluate(INSERT, [pages, False])
        found += page.evaluate(f"({MARKUP})(document)")
    assert json.dumps(found + page.wrong, indent=1) == "[]"
