"""First turns by keyword only: small talk and general requests get no block, and what needs something known gets it."""

import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from first_turns import Answer, Line, of_user, read


def test_an_answer_is_right_by_what_its_block_has():
    nothing, needed = Line(kind="nothing", message="hi", says=""), Line(kind="needed", message="hi", says="Ghent|Gent")
    right = [Answer(line=line, block=block, tokens=0).right for line in (nothing, needed) for block in ("", "in Ghent")]
    assert right == [True, False, False, True]


def test_most_first_messages_get_what_they_need_and_no_more():
    lines = read()
    assert Counter(line.kind for line in lines if line.kind != "told") == {"nothing": 60, "needed": 20}
    right = Counter(answer.line.kind for answer in of_user(lines, "none") if answer.right)
    assert (right["nothing"] >= 57, right["needed"] >= 18) == (True, True)
