"""The paper's own figures, for the tables to stand beside; encoder distilbert-base-nli-stsb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Printed(NamedTuple):
    """Accuracy and NMI in percent, as printed."""

    accuracy: float
    nmi: float | None = None


_EIGHT = (
    "agnews", "searchsnippets", "stackoverflow", "biomedical",
    "googlenews-ts", "googlenews-t", "googlenews-s", "tweet",
)  # fmt: skip
_THREE = ("searchsnippets", "stackoverflow", "googlenews-ts")


def _pairs(names: tuple[str, ...], *figures: float | None) -> dict[str, Printed]:
    """Return data set → (accuracy, NMI) from figures that alternate; None where none is printed."""
    found: dict[str, Printed] = {}
    for place, name in enumerate(names):
        accuracy = figures[2 * place]
        if accuracy is not None:
            found[name] = Printed(accuracy, figures[2 * place + 1])
    return found


def _accuracies(names: tuple[str, ...], *figures: float) -> dict[str, Printed]:
    return {name: Printed(figure) for name, figure in zip(names, figures, strict=True)}


MAIN: Mapping[str, Mapping[str, Printed]] = {
    "TF-IDF": _pairs(
        _EIGHT, 34.39, 12.19, 30.85, 18.67, 58.52, 59.02, 29.13, 25.12,
        69.00, 87.78, 58.36, 79.14, 62.30, 83.00, 54.34, 78.47,
    ),
    "Back-Trans": _pairs(
        _EIGHT, 82.70, 57.50, 78.30, 64.80, 77.30, 75.50, None, None,
        72.20, 89.80, 60.80, 80.70, 67.10, 85.00, 59.70, 82.30,
    ),
    "STCC": _pairs(_EIGHT[:4], None, None, 76.98, 62.56, 51.14, 49.10, 43.37, 38.02),
    "Self-Train": _pairs(_EIGHT[:4], None, None, 72.69, 56.74, 59.38, 52.81, 40.06, 34.46),
    "SimCSE": _pairs(
        _EIGHT, 81.60, 55.50, 74.00, 58.50, 75.20, 73.60, None, None,
        71.40, 89.10, 60.10, 80.30, 63.80, 83.60, 61.10, 82.90,
    ),
    "ESimCSE": _pairs(
        _EIGHT, 82.90, 57.80, 73.40, 61.20, 76.20, 74.90, None, None,
        72.00, 89.80, 62.70, 82.00, 65.20, 84.90, 57.90, 82.10,
    ),
    "SCCL": _pairs(
        _EIGHT, 83.10, 61.96, 79.90, 63.78, 70.83, 69.21, 42.49, 39.16,
        82.51, 93.01, 69.01, 85.10, 73.44, 87.98, 73.10, 86.66,
    ),
    "RSTC": _pairs(
        _EIGHT, 85.99, 64.14, 79.83, 68.76, 80.07, 72.28, 45.69, 38.57,
        83.30, 92.62, 73.10, 87.47, 78.11, 89.01, 77.75, 86.07,
    ),
    "SCL": _pairs(
        _EIGHT, 84.10, 63.30, 78.90, 66.20, 77.80, 75.40, None, None,
        74.30, 89.60, 63.20, 82.20, 68.80, 85.10, 64.20, 84.10,
    ),
    "SCPCL": _pairs(
        _EIGHT, 85.71, 64.51, 79.04, 67.27, 80.95, 72.12, 44.27, 38.17,
        86.97, 92.08, 72.95, 85.83, 79.06, 88.35, 80.34, 86.64,
    ),
    "FNSCC": _pairs(
        _EIGHT, 87.05, 65.49, 85.16, 67.02, 70.87, 71.69, 35.54, 33.36,
        81.04, 92.17, 68.61, 84.43, 71.73, 85.72, 81.65, 87.17,
    ),
    "OURS": _pairs(
        _EIGHT, 87.30, 66.55, 80.12, 67.40, 85.96, 75.43, 47.37, 39.12,
        83.53, 93.15, 73.47, 87.54, 79.57, 89.30, 82.36, 89.49,
    ),
}  # fmt: skip

ABLATIONS: Mapping[str, Mapping[str, Printed]] = {
    "without-cosine": _pairs(_THREE, 78.81, 66.14, 83.52, 73.89, 81.83, 92.68),
    "without-attention": _pairs(_THREE, 76.86, 65.93, 79.11, 70.89, 80.34, 91.03),
    "without-similarity": _pairs(_THREE, 78.93, 66.21, 80.31, 72.45, 81.27, 91.18),
    "without-contrast": _pairs(_THREE, 56.65, 30.66, 80.51, 71.74, 75.12, 90.26),
    "without-pseudo-labels": _pairs(_THREE, 79.13, 67.32, 61.89, 57.17, 77.77, 92.27),
    "full": _pairs(_THREE, 80.12, 67.40, 85.96, 75.43, 83.53, 93.15),
}

PSEUDO_LABELS: Mapping[str, Mapping[str, Printed]] = {
    # The row of GoogleNews-TS repeats StackOverflow's figures: a slip of the paper.
    "prediction": _pairs(_THREE, 72.43, 59.42, 69.18, 63.54, 69.18, 63.54),
    "adaptive": _pairs(_THREE, 76.81, 63.82, 79.63, 69.78, 78.34, 88.88),
    "full": _pairs(_THREE, 78.22, 65.11, 83.84, 72.21, 81.32, 90.07),
}

CONVENTIONAL: Mapping[str, Printed] = _accuracies(
    _EIGHT, 87.32, 73.89, 85.83, 46.98, 62.03, 58.42, 61.52, 47.09
)

COEFFICIENTS: Mapping[str, float] = {
    "agnews": 0.03,
    "stackoverflow": 0.17,
    "biomedical": 0.18,
    "searchsnippets": 0.31,
    "googlenews-ts": 0.60,
    "googlenews-t": 0.52,
    "googlenews-s": 0.54,
    "tweet": 0.61,
}

REPRESENTATIONS: Mapping[str, Mapping[str, Printed]] = {
    "untrained": _accuracies(_EIGHT, 64.40, 54.47, 60.50, 38.30, 65.49, 59.75, 59.54, 53.80),
    "on RSTC": _accuracies(_EIGHT, 78.53, 71.21, 73.20, 42.58, 78.54, 66.09, 69.83, 68.71),
    "on OURS": _accuracies(_EIGHT, 82.10, 77.06, 78.24, 44.05, 78.81, 66.93, 71.47, 72.42),
}

ENCODERS: Mapping[str, Mapping[str, Printed]] = {
    "paper": _accuracies(_EIGHT, 87.30, 80.12, 85.96, 47.37, 83.53, 73.47, 79.57, 82.36),
    "BAAI/bge-small-en-v1.5": _accuracies(
        _EIGHT, 89.14, 82.11, 88.90, 52.29, 86.93, 79.28, 81.35, 84.34
    ),
    "BAAI/bge-base-en-v1.5": _accuracies(
        _EIGHT, 90.21, 86.33, 90.45, 53.17, 87.53, 82.36, 83.42, 86.04
    ),
    "Qwen/Qwen3-Embedding-0.6B": _accuracies(
        _EIGHT, 91.06, 83.28, 92.38, 54.33, 90.19, 85.32, 86.81, 90.60
    ),
}

# Model size in millions of parameters, and training time in minutes and seconds.
MODEL_SIZE: Mapping[str, tuple[float, ...]] = {
    "SCCL": (67.05, 67.06, 67.07, 67.07, 67.17, 67.17, 67.17, 67.12),
    "RSTC": (68.24, 68.24, 68.25, 68.25, 68.35, 68.35, 68.35, 68.30),
    "OURS": (68.36, 68.37, 68.38, 68.38, 68.48, 68.48, 68.48, 68.43),
}
TRAINING_TIME: Mapping[str, tuple[str, ...]] = {
    "SCCL": ("27:41", "28:23", "29:53", "29:59", "29:16", "28:25", "28:41", "25:17"),
    "RSTC": ("15:47", "8:59", "23:16", "23:47", "21:41", "20:13", "21:56", "12:41"),
    "OURS": ("16:32", "17:41", "22:56", "23:43", "19:44", "18:16", "20:27", "15:03"),
}
GROWTH: Mapping[str, tuple[str, str, str]] = {
    "RSTC": ("23:16", "38:56", "1:01:12"),
    "OURS": ("22:56", "25:20", "30:53"),
}

LONG_TEXTS: Mapping[str, Mapping[str, Printed]] = {
    "TCLLM-BERT": _accuracies(
        ("syskillwebert", "20newsgroups", "mn-ds", "reuters-r8"), 74.13, 43.25, 43.06, 51.58
    ),
    "OURS": _accuracies(
        ("syskillwebert", "20newsgroups", "mn-ds", "reuters-r8"), 83.24, 49.96, 43.55, 54.32
    ),
}

IMAGES: Mapping[str, Mapping[str, Printed]] = {
    "CC": _accuracies(("stl10", "cifar10_test5k", "cifar100"), 85.00, 79.00, 42.90),
    "ICC-SPC": _accuracies(("stl10", "cifar10_test5k", "cifar100"), 80.60, 83.20, 45.70),
    "discDC": _accuracies(("stl10", "cifar10_test5k", "cifar100"), 90.18, 85.28, 47.93),
    "OURS": _accuracies(("stl10", "cifar10_test5k", "cifar100"), 89.41, 85.96, 47.86),
}
