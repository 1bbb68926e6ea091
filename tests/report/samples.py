"""Data for reports: made-up texts in made-up clusters, and texts that mean harm."""

from dataclasses import fields

import numpy as np

from caot.describe import ClusterDescription, Description, Keyword
from caot.report import ReportData
from caot.training import History

SUBJECTS = ("invoice", "password", "parcel", "printer", "holiday", "battery", "contract")
VERBS = ("is missing", "was changed twice", "came too late", "does not work", "needs approval")

HOSTILE = (
    "<script>window.harm = 1</script>",
    "</script><script>window.harm = 2</script>",
    "<!--<script>",
    "]]><img src=x onerror='window.harm=3'>",
    '" onmouseover="window.harm=4" x="',
    "'; window.harm = 5; //",
    "{{ 7 * 7 }} {% raw %} ${window.harm}",
    "line\u2028separator\u2029paragraph",
    "NUL \x00 bell \x07 escape \x1b delete \x7f",
    "lone \ud800 surrogate \udfff",
    "right to left \u202e override, עברית, العربية",
    "emoji 👩‍👩‍👧 and combining e\u0301",
    "new\nline\ttab\r\nreturn",
    "&lt;b&gt; &amp; &#60;",
    "<style>body{display:none}</style>",
    "\\u003cscript\\u003e \\",
    "",
    "long " * 2000,
)


def make_texts(n):
    return [f"{SUBJECTS[i % 7]} {VERBS[(i // 7) % 5]}, case {i}" for i in range(n)]


def make_description(texts, labels, confidence, *, terms=SUBJECTS, names=None):
    """Describe the clusters by hand, so that these tests are about the report alone."""
    ids = [int(c) for c in np.unique(labels) if c >= 0]
    clusters = []
    for c in ids:
        rows = np.flatnonzero(labels == c)
        others = [other for other in ids if other != c][:3]
        clusters.append(
            ClusterDescription(
                cluster=c,
                label=names[c % len(names)] if names else f"topic {c}",
                keywords=tuple(Keyword(term, 1 / (i + 1)) for i, term in enumerate(terms)),
                size=len(rows),
                share=len(rows) / len(texts),
                mean_confidence=float(confidence[rows].mean()),
                examples=tuple(rows[:5].tolist()),
                doubtful=tuple(rows[-2:].tolist()),
                nearest=tuple((other, 0.9 - abs(other - c) / 100) for other in others),
            )
        )
    return Description(tuple(clusters))


def make_data(n=210, k=6, *, texts=None, labels=None, terms=SUBJECTS, names=None, **changes):
    """Return a report of n texts in k uneven clusters, each a blob of the map."""
    rng = np.random.default_rng(0)
    texts = make_texts(n) if texts is None else texts
    n = len(texts)
    if labels is None:
        weights = 1 / np.arange(1, k + 1)
        labels = np.sort(rng.choice(k, n, p=weights / weights.sum()))
        labels[:k] = np.arange(min(k, n))
    labels = np.asarray(labels, dtype=np.int64)
    angle = 2 * np.pi * labels / max(k, 1)
    middle = 10 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    confidence = rng.uniform(0.2, 1, n)
    values = {
        "title": "Made-up tickets",
        "texts": texts,
        "labels": labels,
        "confidence": confidence,
        "description": make_description(texts, labels, confidence, terms=terms, names=names),
        "coordinates": (middle + rng.normal(size=(n, 2))).astype(np.float32),
        "created": "1 May 2026",
        "settings": {"n_clusters": k, "random_state": 0},
        "versions": {"caot": "0.0"},
    }
    return ReportData(**(values | changes))


def make_history(n_iter=60, n_targets=30, k=3):
    """Return a record with all three stages and the gaps that real ones have."""
    steps = np.arange(n_iter, dtype=np.float64)
    targets = np.arange(n_iter - n_targets, n_iter)
    known = {field.name: np.zeros(n_targets) for field in fields(History)}
    return History(
        **known
        | {
            "stage": np.array(["warm-up"] * 20 + ["head start"] * 10 + ["interactive"] * n_targets),
            "loss": 30 - steps / 10,
            "instance_loss": np.where((steps >= 20) & (steps < 30), np.nan, 5 - steps / 100),
            "attention_loss": np.where((steps >= 20) & (steps < 30), np.nan, 4 - steps / 100),
            "pseudo_label_loss": np.where(steps < 20, np.nan, 3 - steps / 50),
            "target_iteration": targets,
            "change_rate": np.where(targets < targets[0] + 3, np.nan, 5.0 / (targets + 1)),
            "column_mass": np.full((n_targets, k), 1 / k),
            "status": np.array(["converged"] * n_targets),
            "collapsed": np.zeros(n_targets, dtype=bool),
        }
    )
