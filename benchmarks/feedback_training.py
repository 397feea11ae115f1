"""Fits the classifier that hears feedback in messages, and writes its weights into the package.

It is a multinomial logistic regression on runs of up to three words and on how a message stands to the reply before it
(`langmem_tiers/language/feedback_classifier.py`). The lists are invented messages: of a language model that did not
know the rules (`judged/feedback_training.tsv`), and those that the rules were made with
(`judged/feedback_signals_development.tsv`). The strongest features are kept and fitted again. `feedback_signals.py`
says how good it is, on a list that neither has seen. Needs `pip install scikit-learn`.
"""

from __future__ import annotations

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from feedback_signals import LIST, NO_REPLY, messages

from langmem_tiers.dream import feedback
from langmem_tiers.language.feedback_classifier import KINDS, features
from langmem_tiers.language.objections import Reply

TRAINING = Path(__file__).parent / "judged" / "feedback_training.tsv"
WEIGHTS = Path(str(files("langmem_tiers.language"))) / "data" / "feedback_weights.tsv"
NOTE = "% Made by benchmarks/feedback_training.py: log odds in hundredths for {kinds}, by feature\n"


def main() -> None:
    arguments = ArgumentParser(description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    arguments.add_argument("--features", type=int, default=6000, help="how many are kept")
    arguments.add_argument("--strength", type=float, default=1.0, help="C of the regression: lower smooths more")
    arguments.add_argument("--out", type=Path, default=WEIGHTS, help="where the weights go")
    given = arguments.parse_args()
    # The rules know the list that they were made with by heart: what they hear there says nothing of how good they are.
    told = [*shown(TRAINING, with_rules=True), *shown(LIST, with_rules=False)]
    lines = fitted(told, kept=given.features, strength=given.strength)
    given.out.write_text(NOTE.format(kinds=", ".join(KINDS)) + "".join(lines), encoding="utf-8")
    print(f"{len(lines)} features of {len(told)} messages are in {given.out}")


def shown(path: Path, *, with_rules: bool) -> Iterator[tuple[str, list[str]]]:
    """The kind and the features of each message of a list."""
    for each in messages(path):
        reply = Reply.read(each.before or NO_REPLY)
        heard = feedback.heard(each.text, reply) if with_rules else None
        yield each.kind, sorted(features(each.text, reply, heard))


def fitted(told: Sequence[tuple[str, list[str]]], *, kept: int, strength: float) -> list[str]:
    """The lines of the file of weights, the one that always counts first."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    kinds, listed = zip(*told, strict=True)

    def fit(**which: object) -> tuple[list[str], np.ndarray, np.ndarray]:
        vectors = CountVectorizer(analyzer=lambda each: each, binary=True, **which)
        model = LogisticRegression(C=strength, max_iter=3000).fit(vectors.fit_transform(listed), kinds)
        places, none = [[*model.classes_].index(kind) for kind in KINDS], [*model.classes_].index("none")
        weights, always = model.coef_[places] - model.coef_[none], model.intercept_[places] - model.intercept_[none]
        return [*vectors.get_feature_names_out()], weights, always

    names, weights, _ = fit(min_df=2)
    strongest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:kept]
    names, weights, always = fit(vocabulary=sorted(names[place] for place in strongest))
    return [line("", always), *(line(name, weights[:, place]) for place, name in enumerate(names))]


def line(name: str, weights: np.ndarray) -> str:
    return "\t".join([name, *(str(round(100 * each)) for each in weights)]) + "\n"


if __name__ == "__main__":
    main()
