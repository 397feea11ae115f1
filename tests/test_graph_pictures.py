"""Pictures of the graph: readable, the same every time, and no name of anybody does any harm."""

import builtins
import subprocess
import sys
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import pytest

from langmem_tiers.errors import InvalidInput, MissingExtra, StorageError
from langmem_tiers.knowledge_graph.pictures import draw, draw_timeline
from langmem_tiers.knowledge_graph.pictures.png import Lettering
from langmem_tiers.knowledge_graph.types import Subgraph, Timeline
from tests.graph_samples import NOW, Sample, family, hub

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title></svg><script>alert(1)</script><img src=x onerror=alert(2)>"
NAMES = (
    "李小龍",
    "مرحبا بالعالم",
    "नमस्ते",
    "😀🧑‍🚀",
    "$x^2$ $\\nosuch$",
    "𒀀𒀁",
    "a\x00b\u202ec\ud800d",
    HOSTILE,
    "w" * 200,
    " ",
)


@pytest.fixture
def svg(tmp_path):
    """Draws a part or a timeline; the root of the SVG."""

    def make(shown, **options):
        drawn = draw_timeline if isinstance(shown, Timeline) else draw
        return ElementTree.parse(drawn(shown, tmp_path / "drawn.svg", at=NOW, **options)).getroot()

    return make


def _words(root):
    return [each.text for each in root.iter(f"{SVG}text")]


def _boxes(root):
    """The rectangles of names, values and labels: not the paper, nor what is in the legend."""
    groups = root.findall(f"{SVG}g")[2:-1]
    rects = [rect for group in groups for rect in group.findall(f"{SVG}rect")]
    return [tuple(float(rect.get(side)) for side in ("x", "y", "width", "height")) for rect in rects]


def _overlap(one, other):
    return all(one[axis] < other[axis] + other[axis + 2] and other[axis] < one[axis] + one[axis + 2] for axis in (0, 1))


def _many(relations):
    sample = Sample()
    for n in range(relations):
        sample.relate("Anna", f"did_{n}", "Bob", f"{1990 + n}", f"{1991 + n}" if n % 2 else None)
    return sample


def test_all_that_is_shown_can_be_read(svg):
    words = _words(svg(family().part("Anna")))
    assert {"Anna", "Li-Ion 625", "20 Ah", "lives in", "since 2024-05", "2021 – 2024-05", "from 2026-09"} <= set(words)
    assert {"person", "organisation", "place", "item", "pet", "value"} <= set(words)
    assert {"holds", "ended", "still to come", "only spoken of together"} <= set(words)


def test_the_caption_says_what_was_cut(svg):
    root = svg(family().part(cut=("25 of 1,204 relations of Berlin",)), captions=["As of 2026-03-02."])
    assert _words(root)[-2:] == ["As of 2026-03-02.", "Not all is shown: 25 of 1,204 relations of Berlin."]


@pytest.mark.parametrize(
    "sample", [family(), hub(5), hub(25), hub(60), hub(90), _many(30)], ids=lambda each: f"{len(each.relations)}"
)
def test_nothing_lies_over_anything_else(svg, sample):
    boxes = _boxes(svg(sample.part()))
    assert len(boxes) >= len(sample.entities)
    assert [pair for pair in combinations(boxes, 2) if _overlap(*pair)] == []


def test_all_of_it_is_on_the_paper(svg):
    root = svg(hub(40).part())
    width, height = float(root.get("width")), float(root.get("height"))
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in _boxes(root))


def test_what_has_ended_is_dashed_and_what_was_only_mentioned_has_no_arrow(svg):
    lives = Sample().relate("Anna", "lives_in", "Lisbon", "2021", "2024")
    line, _ = svg(lives.part()).findall(f"{SVG}g")[2].findall(f"{SVG}path")
    assert line.get("stroke-dasharray")
    mentioned = Sample().relate("Anna", "mentioned_with", "Bob", kind="mentioned")
    assert len(svg(mentioned.part()).findall(f"{SVG}g")[2].findall(f"{SVG}path")) == 1
    current = Sample().relate("Anna", "lives_in", "Porto", "2024")
    assert svg(current.part()).findall(f"{SVG}g")[2].find(f"{SVG}path").get("stroke-dasharray") is None


def test_what_is_not_believed_says_why(svg):
    sample = Sample().relate("Anna", "lives_in", "Faro", "2024", "2024", reason="outranked")
    assert "not believed: outranked" in _words(svg(sample.part()))
    assert "not believed: outranked" in _words(svg(sample.timeline("Anna")))


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_the_same_picture_comes_of_the_same_part(tmp_path, suffix):
    drawn = [draw(family().part("Anna"), tmp_path / f"{n}.{suffix}", at=NOW).read_bytes() for n in range(2)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_any_name_in_any_script_is_drawn_without_a_word(tmp_path, suffix, capfd, caplog):
    sample = Sample()
    for name in NAMES:
        sample.relate("Anna", name, name, "2024").relate("Anna", "has", value=name)
    assert draw(sample.part("Anna"), tmp_path / f"names.{suffix}", at=NOW, title=HOSTILE).stat().st_size > 1000
    if suffix != "html":
        draw_timeline(sample.timeline("Anna"), tmp_path / f"names.{suffix}", at=NOW, title=HOSTILE)
    assert (capfd.readouterr(), caplog.text) == (("", ""), "")


def test_what_no_font_of_this_machine_has_is_a_dot_in_a_png():
    text = "Anna \U00010ffe\U00010fff!"
    assert Lettering([text]).drawable(text) == "Anna ·!"


def test_a_png_is_one_and_is_fine_enough_to_be_read(tmp_path):
    data = draw(family().part("Anna"), tmp_path / "family.png", at=NOW).read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    assert int.from_bytes(data[16:20], "big") > 1500


@pytest.mark.parametrize("name", ["family.SVG", "family.svg"])
def test_the_kind_of_file_is_that_of_the_name(tmp_path, name):
    assert draw(family().part(), tmp_path / name, at=NOW).read_text().startswith("<?xml")


@pytest.mark.parametrize("sample", [Sample(), Sample().relate("Anna", "likes", "Anna"), _many(1)])
def test_nothing_one_and_a_circle_can_be_drawn(tmp_path, sample):
    for suffix in ("svg", "png", "html"):
        draw(sample.part(), tmp_path / f"small.{suffix}", at=NOW)


def test_another_suffix_is_refused_and_nothing_is_written(tmp_path):
    for name in ("family.pdf", "family", ".svg"):
        with pytest.raises(InvalidInput, match=r"End it in \.svg"):
            draw(family().part(), tmp_path / name)
    with pytest.raises(InvalidInput):
        draw_timeline(family().timeline("Anna"), tmp_path / "anna.html")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_can_not_be_written_is_named_and_what_was_there_stays(tmp_path):
    with pytest.raises(StorageError, match=r"no-folder/family\.svg cannot be written"):
        draw(family().part(), tmp_path / "no-folder" / "family.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(StorageError):
        draw(family().part(), tmp_path / "folder.svg")
    assert [each.name for each in tmp_path.iterdir()] == ["folder.svg"]


def test_without_matplotlib_a_png_says_what_to_install_and_all_else_is_drawn(tmp_path, monkeypatch):
    really = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return really(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(MissingExtra, match=r"'matplotlib'.*pip install 'langmem-tiers\[pictures\]'"):
        draw(family().part(), tmp_path / "family.png")
    draw(family().part(), tmp_path / "family.html")
    draw_timeline(family().timeline("Anna"), tmp_path / "anna.svg")


def test_drawing_an_svg_loads_no_matplotlib(offline_environment):
    code = "import sys; from langmem_tiers.knowledge_graph.pictures import draw; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=offline_environment, capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


# Timelines.


def test_a_timeline_has_a_bar_for_each_relation_grouped_by_predicate(svg):
    words = _words(svg(family().timeline("Anna")))
    lives = words.index("lives in")
    assert words[lives + 1 : lives + 5] == ["Lisbon", "2021 – 2024-05", "Porto", "since 2024-05"]
    assert "… has sister Anna" in words
    assert "2026-03-02" in words


def test_an_open_end_is_an_arrow_and_an_unknown_beginning_fades(svg):
    open_end = Sample().relate("Anna", "lives_in", "Porto", "2024").timeline("Anna")
    closed = Sample().relate("Anna", "lives_in", "Porto", "2024", "2025").timeline("Anna")
    unknown = Sample().relate("Anna", "lives_in", "Porto", None, "2025").timeline("Anna")
    filled = [len([p for p in svg(each).iter(f"{SVG}path") if p.get("fill") != "none"]) for each in (open_end, closed)]
    assert filled == [1, 0]
    shades = {rect.get("fill-opacity") for rect in svg(unknown).iter(f"{SVG}rect")}
    assert len(shades) > 10


@pytest.mark.parametrize(
    ("start", "end"),
    [("0001", None), ("0001", "9999-12-31"), ("2026-03-01", "2026-03-02"), ("9999", None), (None, "0002")],
)
def test_any_time_can_be_drawn(svg, tmp_path, start, end):
    timeline = Sample().relate("Anna", "lives_in", "Porto", start, end).timeline("Anna")
    assert "Porto" in _words(svg(timeline))
    draw_timeline(timeline, tmp_path / "anna.png", at=NOW)


def test_a_timeline_of_nothing_is_drawn(svg):
    sample = Sample()
    assert "Anna" in _words(svg(Timeline(entity=sample.entity("Anna"))))


# The page.


class _Page(HTMLParser):
    """What a browser makes of a page: its elements, its texts, and what is in the cells of the table."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.rows, self._inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if "td" in self._inside:
            self.rows[-1][-1] += data


@pytest.fixture
def page(tmp_path):
    """Draws a part as a page; what a browser makes of it."""
    return lambda part: _Page(draw(part, tmp_path / "page.html", at=NOW).read_text())


def test_a_page_lists_every_relation_with_both_times(page):
    rows = page(family().part("Anna")).rows[1:]
    assert len(rows) == len(family().relations)
    lisbon = ["Anna", "lives in", "Lisbon", "2021", "2024-05", "ended", "2026-03-02 09:00"]
    assert [*lisbon, "§W-001/R-01/D-003", "000000abc003"] in rows


def test_a_hostile_name_is_shown_and_not_obeyed(page):
    sample = Sample().relate(HOSTILE, '"><script>alert(3)</script>', HOSTILE + "2", said='" onmouseover="alert(4)')
    shown = page(sample.part(HOSTILE, cut=(HOSTILE,)))
    assert [tag for tag, _ in shown.elements if tag in ("script", "img", "iframe")] == ["script"]
    assert not any(name.startswith("on") for _, given in shown.elements for name in given)
    assert shown.rows[1][0] == HOSTILE


def test_a_page_loads_nothing_and_runs_only_its_own_script(tmp_path, page):
    elements = page(family().part("Anna")).elements
    assert not any(name in given for _, given in elements for name in ("src", "href", "xlink:href", "style"))
    policy = next(given["content"] for tag, given in elements if given.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_a_page_can_be_used_by_keyboard(page):
    elements = page(family().part("Anna")).elements
    heads = [place for place, (tag, _) in enumerate(elements) if tag == "th"]
    assert {elements[place + 1][0] for place in heads} == {"button"}
    assert ("label", {"for": "search"}) in elements


def test_a_page_of_nothing_is_a_page(page):
    assert len(page(Subgraph()).rows) == 1


def test_a_part_with_too_many_entities_is_drawn_as_far_as_it_can_be_read(alice, tmp_path):
    for number in range(230):
        alice.graph.add_relation("Hub", "knows", f"Person {number}")
    picture = draw(alice.graph.neighbours("Hub", limit=1000), tmp_path / "hub.svg").read_text()
    assert "of 230 relations are drawn" in picture
