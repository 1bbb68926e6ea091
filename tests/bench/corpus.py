"""A labelled table with views on disk, and cells of it that run in a moment."""

import csv

from caot.bench.cells import Cell
from tests.estimator_corpus import corpus, model_folder


def write_data(path, *, n_per_topic=12, shift=0, views=True):
    """Write texts of three topics; ``shift`` gives every text another topic's label."""
    texts, labels = corpus(n_per_topic=n_per_topic, seed=0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", *(["text1", "text2"] if views else [])])
        for text, label in zip(texts, labels, strict=True):
            words = text.split()
            more = [" ".join(words[1:]), " ".join(words[:-1])] if views else []
            writer.writerow([text, (int(label) + shift) % 3, *more])
    return path


def cell(path, method="caot", **changes):
    """Return a cell with the tiny encoder and a few iterations."""
    usual = {"encoder": str(model_folder()), "max_iter": None if method == "kmeans" else 12}
    return Cell(str(path), method, **{**usual, **changes})
