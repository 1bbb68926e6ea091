"""A saved model of any method, loaded by what its folder says of itself."""

from __future__ import annotations

import os

from caot import persistence
from caot.baselines.base import Baseline
from caot.clusterer import TextClusterer
from caot.estimator import CAOT


def load_model(
    name_or_folder: str | os.PathLike[str], *, device: str | None = None
) -> TextClusterer:
    """Load a saved model, whichever method it is of.

    Parameters
    ----------
    name_or_folder
        A folder that ``save_pretrained`` wrote, or the id of a model of a hub.
    device
        "cpu", "cuda", ...; None takes the best at hand.

    Examples
    --------
    >>> from caot import load_model
    >>> load_model("tickets-run/model").predict(["my parcel is late"])  # doctest: +SKIP
    """
    folder = persistence.locate(
        name_or_folder, revision=None, token=None, cache_dir=None, local_files_only=False
    )
    if "method" in persistence.read_config(folder):
        return Baseline.from_pretrained(folder, device=device)
    return CAOT.from_pretrained(folder, device=device)
