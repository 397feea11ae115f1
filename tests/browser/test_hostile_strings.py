"""691 texts that would act as markup, in six fields: nothing of them runs, loads, sends or obeys on any page.

The browser is told to ignore the Content-Security-Policy, so that escaping alone has to do it; one test has the policy
back and looks for what it would have to stop.
"""

from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from langmem_tiers import Turn
from langmem_tiers.errors import MemoryTiersError
from tests.browser.conftest import served
from tests.browser.hostile_strings import COUNT, hostile_strings

TEXTS = hostile_strings()
MARKUP = (Path(__file__).parent / "markup.js").read_text(encoding="utf-8").rstrip().removesuffix(";")
LONGEST_TAG = 64
# Where an address may have any text, which the page then repeats.
PLACES = (
    "/search?q=",
    "/memories?category=",
    "/search?q=x&of=",
    "/forget?query=",
    "/palace?pointer=",
    "/episodes?q=",
    "/graph/entities?q=",
    "/search?q=x&as_of=",
    "/graph?as_of=",
    "/activity?session=",
    "/settings?find=",
    "/settings?agent=",
    "/nowhere/",
)

# Gets pieces and pages as htmx does, puts each into the page that is open, and looks at what has become of it.
INSERT = """async ([addresses, piece]) => {
  const markup = MARKUP
  const stage = document.body.appendChild(document.createElement("div"));
  const found = [];
  const one = async ([address, form]) => {
    const headers = piece ? { "HX-Request": "true" } : {};
    const token = document.querySelector("[name=form_token]").value;
    const body = form ? new URLSearchParams({ ...form, form_token: token }) : undefined;
    const answer = await fetch(address, { method: form ? "POST" : "GET", headers, body, redirect: "follow" });
    const html = await answer.text();
    if (answer.status >= 500) found.push(`${address}: ${answer.status}`);
    const seen = new DOMParser().parseFromString(html, "text/html");
    found.push(...markup(seen).map((each) => `${address}: ${each}`));
    for (const each of seen.querySelectorAll("[hx-trigger]")) each.removeAttribute("hx-trigger");
    stage.innerHTML = (seen.querySelector("main") || seen.body).innerHTML;
    htmx.process(stage);
  };
  while (addresses.length) await Promise.all(addresses.splice(0, 8).map(one));
  stage.remove();
  return found;
}""".replace("MARKUP", MARKUP)


def _tell(space, texts):
    """Every text as a message, speaker, agent, conversation, project, tag, entity, episode and value."""
    clock = space.memory.clock
    space.track([Turn(role="user", content=text, speaker=text) for text in texts], session="all")
    for number, text in enumerate(texts):
        clock.tick(60)
        space.of_agent(text).track([Turn(role="user", content=f"This is {number}.")], session=text, project=text)
        space.archive.write(text, summary=text)
        with suppress(MemoryTiersError):
            space.knowledge.save(f"{number}: {text}", tags=[text[:LONGEST_TAG]], project=text, origin="user")
        with suppress(MemoryTiersError):
            space.graph.add_relation(text, "knows", f"Person {number % 7}", subject_type="person")
        with suppress(MemoryTiersError):
            space.working.save(f"session/{number}/{text.replace('/', '-')}", text)


@pytest.fixture(scope="module")
def alice(memory):
    alice = memory.user("alice")
    _tell(alice, TEXTS)
    alice.recall("img onerror hit", session=TEXTS[3])
    alice.identity.write(TEXTS[1])
    return alice


@pytest.fixture(scope="module")
def link(alice):
    with served(alice) as link:
        yield link


@pytest.fixture(params=[False], ids=["without policy"])
def page(link, chromium, request):
    """A browser that was let in. `page.wrong` has all that ran, was asked for elsewhere, failed or broke the policy."""
    context = chromium.new_context(bypass_csp=not request.param, reduced_motion="reduce")
    page, wrong, address = context.new_page(), [], link()
    context.expose_function("hit", lambda number=None: wrong.append(f"ran: {number}"))
    context.expose_function("broke", lambda said="": wrong.append(said))
    context.add_init_script(
        "addEventListener('securitypolicyviolation', (event) => broke(`${event.violatedDirective} ${event.sample}`))"
    )
    own = address.split("/enter")[0]
    page.on("request", lambda asked: None if asked.url.startswith((own, "data:image/")) else wrong.append(asked.url))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("popup", lambda popup: wrong.append(popup.url))
    page.goto(address)
    page.wrong, page.own = wrong, own
    yield page
    context.close()


def _looked_at(page, path):
    """What is wrong with a page, and the address of the one behind it."""
    page.goto(page.own + path)
    assert page.url.startswith(page.own)
    return [f"{path}: {each}" for each in page.evaluate(f"({MARKUP})(document)")]


def _lists(space):
    """The pages that show many things at once, to their last."""
    rooms = {room.session: room.number for room in space.browse.rooms(limit=1_000)}
    drawers = [each.number for each in space.drawers(session="all")]
    entries = [each.id for each in _all_entries(space)]
    return [
        "/",
        "/palace",
        *(f"/palace/rooms/{rooms['all']}?after={number}" for number in (0, *drawers[49::50])),
        *(f"/memories?after={name}" for name in entries[49::50]),
        "/memories",
        "/memories?layer=archive&most=700",
        "/memories?layer=identity",
        "/identity",
        "/graph?show=500",
        "/graph/entities",
        "/graph/duplicates",
        "/working",
        "/activity",
        "/activity/turns/1",
        "/activity/done",
        "/dreams",
        "/usage",
        "/settings",
        *(f"/episodes?after={after}" for after in range(0, COUNT, 25)),
    ]


def _all_entries(space):
    found = page = space.knowledge.page(limit=200)
    entries = list(found.entries)
    while page.more:
        page = space.knowledge.page(limit=200, after=entries[-1].id)
        entries += page.entries
    return entries


def test_there_are_691_texts_and_the_checks_see_them_where_nothing_is_escaped(page):
    assert len(set(TEXTS)) == COUNT == 691
    seen = page.evaluate(
        """(texts) => {
        const markup = MARKUP;
        const places = [(t) => `<p>${t}</p>`, (t) => `<p title="${t}"></p>`, (t) => `<p title='${t}'></p>`,
          (t) => `<p title=${t}></p>`, (t) => `<a href="${t}">x</a>`, (t) => `<script>x = "${t}"</script>`,
          (t) => `<b style="${t}"></b>`, (t) => `<title>${t}</title>`, (t) => `<textarea>${t}</textarea>`];
        const clean = (place) => place("x");
        const count = (html) => markup(new DOMParser().parseFromString(html, "text/html")).length;
        return texts.filter((t) => places.some((place) => count(place(t)) > count(clean(place)))).length;
        }""".replace("MARKUP", MARKUP),
        list(TEXTS),
    )
    assert seen > 0.85 * COUNT


def test_nothing_runs_on_any_page_that_lists_them(alice, page):
    found = [each for path in _lists(alice) for each in _looked_at(page, path)]
    assert found + page.wrong == []


def test_nothing_runs_on_the_page_of_each(alice, page):
    drawers = [each.number for each in alice.drawers(session="all")]
    rooms = [room.number for room in alice.browse.rooms(limit=1_000)]
    entries = [each.id for each in _all_entries(alice)]
    pages = [
        *(f"/palace/drawers/{number}" for number in drawers),
        *(f"/palace/rooms/{number}" for number in rooms),
        *(f"/memories/{name}" for name in entries),
        *(f"/graph/entities/{each.id}" for each in alice.graph.entities(limit=1_000)),
        *(f"/episodes/{each.id}" for each in alice.archive.recent(100)),
        *(f"/working/entry?key={quote(each.key)}" for each in alice.working.list()[:100]),
    ]
    assert len(pages) > 3 * COUNT
    page.goto(page.own + "/memories")
    found = page.evaluate(INSERT, [[[path] for path in pages], False])
    assert found + page.wrong == []


def test_nothing_runs_in_pieces_nor_in_the_picture(alice, page):
    wings = [wing.number for wing in alice.browse.wings()]
    pieces = [
        *(f"/palace/wings/{number}" for number in wings),
        *(f"/palace/drawers/{each.number}" for each in alice.drawers(session="all")[::3]),
        *(f"/memories/{each.id}" for each in _all_entries(alice)[1::3]),
    ]
    page.goto(page.own + "/graph?show=500")
    page.locator(".graph-stage canvas").first.wait_for()
    found = page.evaluate(INSERT, [[[path] for path in pieces], True])
    page.evaluate("for (const each of document.querySelectorAll('[data-graph-entities] button')) each.click()")
    assert found + page.evaluate(f"({MARKUP})(document)") + page.wrong == []


def test_nothing_runs_where_a_page_repeats_what_was_typed(page):
    asked = [
        f"{path}{quote(text)}"
        for number, text in enumerate(TEXTS)
        for path in ("/memories?q=", PLACES[number % len(PLACES)])
    ]
    forms = [
        (path, form)
        for number, text in enumerate(TEXTS)
        for path, form in (
            ("/memories", {"content": text, "category": text, "tags": text}),
            *(
                (
                    ("/theme", {"theme": text, "back": text}),
                    ("/memories/bulk", {"ids": text, "change": text, "back": text}),
                    ("/working/save", {"namespace": text, "key": text, "value": text, "minutes": text}),
                    ("/forget", {"query": text, "confirm": text}),
                )[number % 4 : number % 4 + (number % 3 == 0)]
            ),
        )
    ]
    page.goto(page.own + "/memories")
    found = page.evaluate(INSERT, [[*([each] for each in asked), *forms], False])
    assert found + page.wrong == []


@pytest.mark.parametrize("page", [True], indirect=True, ids=["with policy"])
def test_the_policy_has_nothing_to_stop(alice, page):
    found = [each for path in _lists(alice)[:12] for each in _looked_at(page, path)]
    found += [each for text in TEXTS[::40] for each in _looked_at(page, f"/search?q={quote(text)}&of={quote(text)}")]
    assert found + page.wrong == []
