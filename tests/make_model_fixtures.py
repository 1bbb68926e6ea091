"""Write the saved models of the current format version that later versions must load.

Run once for each format version, `python -m tests.make_model_fixtures`, and never again for an old
one: the point of these folders is that they stay as they are.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caot import CAOT
from caot.persistence import FORMAT_VERSION
from tests.estimator_corpus import corpus, quick_text, quick_vectors, vectors

FIXTURES = Path(__file__).parent / "fixtures"


def write(model: CAOT, kind: str, X: list[str] | NDArray[np.float32]) -> None:
    """Save a model and, beside it, what it predicts."""
    folder = FIXTURES / f"model-v{FORMAT_VERSION}-{kind}"
    model.save_pretrained(folder)
    expected = {
        "inputs": X if isinstance(X, list) else X.tolist(),
        "labels": model.predict(X).tolist(),
        "probabilities": model.predict_proba(X).astype(np.float64).round(6).tolist(),
    }
    text = json.dumps(expected, indent=1)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Write both models; a folder that exists is an error."""
    for_texts = quick_text().fit(corpus()[0])
    # The folder of a temporary model should not be in the files.
    for_texts.set_params(encoder="tiny-bert").encoder_.name = "tiny-bert"
    write(for_texts, "text", corpus(4, seed=3)[0])
    write(quick_vectors().fit(vectors()), "vectors", vectors()[::3])


if __name__ == "__main__":
    main()
