"""Dates found in sentences: the memory's own reader beside dateparser and parsedatetime, on `date_sentences.tsv`.

A sentence counts as right if exactly the expected date is found, of which a library may name the day as well, or none
where there is none. `false` counts dates found where there is none. Time is that of one sentence, after a first round.
The other two are needed for this comparison only: `pip install dateparser parsedatetime`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from time import perf_counter

from reporting import Row, parser, report

from langmem_tiers.language.dates import times

SENTENCES = Path(__file__).with_name("date_sentences.tsv")
SAID_ON = date(2024, 5, 15)
ROUNDS = 5
Reader = Callable[[str], Sequence[str]]


def main() -> None:
    arguments = parser(__doc__ or "", "date_reading").parse_args()
    told = sentences()
    readers = {"langmem-tiers": own, "dateparser": dateparser_reader(), "parsedatetime": parsedatetime_reader()}
    report("dates in sentences", [row(name, reader, told) for name, reader in readers.items()], arguments.out)


def sentences() -> list[tuple[str, str]]:
    """The sentences, each with its date, or an empty text."""
    with SENTENCES.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return [(each["sentence"], each["date"]) for each in csv.DictReader(lines, delimiter="\t")]


def own(sentence: str) -> Sequence[str]:
    """The dates that the memory reads."""
    return times(sentence, SAID_ON)


def dateparser_reader() -> Reader:
    from dateparser.search import search_dates

    settings = {"RELATIVE_BASE": datetime.combine(SAID_ON, datetime.min.time())}

    def read(sentence: str) -> Sequence[str]:
        found = search_dates(sentence, languages=["en"], settings=settings) or []
        return [moment.date().isoformat() for _, moment in found]

    return read


def parsedatetime_reader() -> Reader:
    from parsedatetime import Calendar

    calendar, base = Calendar(), datetime.combine(SAID_ON, datetime.min.time())

    def read(sentence: str) -> Sequence[str]:
        return [found[0].date().isoformat() for found in calendar.nlp(sentence, sourceTime=base) or ()]

    return read


def row(name: str, reader: Reader, told: Sequence[tuple[str, str]]) -> Row:
    right = sum(is_right(reader(sentence), expected) for sentence, expected in told)
    false = sum(bool(reader(sentence)) for sentence, expected in told if not expected)
    begun = perf_counter()
    for _ in range(ROUNDS):
        for sentence, _ in told:
            reader(sentence)
    took = 1000 * (perf_counter() - begun) / (ROUNDS * len(told))
    return {"reader": name, "sentences": len(told), "right": right, "false": false, "ms a sentence": took}


def is_right(found: Sequence[str], expected: str) -> bool:
    """Whether just the expected date was found; of a month or a year, any day is right."""
    return not found if not expected else len(found) == 1 and found[0].startswith(expected)


if __name__ == "__main__":
    main()
