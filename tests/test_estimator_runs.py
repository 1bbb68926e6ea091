"""The same run again: in a fresh process, after an interruption, from a checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caot import CAOT, Variant
from caot.augment import FeatureNoise
from caot.training import Event, StepDone
from caot.training.state import CheckpointError
from tests.estimator_corpus import (
    corpus,
    model_folder,
    quick,
    quick_text,
    quick_vectors,
    same,
    vectors,
)
from tests.fakes import HashEncoder

TEXTS, _ = corpus()

# Reads the folder of the encoder and the texts, and prints what the labels and the networks are.
SCRIPT = """
import hashlib, json, sys
import torch
from caot import CAOT, Variant
torch.set_num_threads(1)
folder, texts = json.load(sys.stdin)
variant = Variant(head_iter=60, kmeans_restarts=2)
settings = dict(imbalance="balanced", learning_rate=2e-2, max_iter=10, variant=variant)
for finetune in ("none", 1):
    model = CAOT(3, encoder=folder, finetune=finetune, **settings).fit(texts)
    for array in (model.labels_, model.predict_proba(texts)):
        print(hashlib.sha256(array.tobytes()).hexdigest())
"""

RUNS: dict[str, tuple[Callable[..., CAOT], dict[str, Any], Any]] = {
    "frozen": (quick, {}, TEXTS),
    "frozen transformer": (quick_text, {"finetune": "none"}, TEXTS),
    "top layer": (quick_text, {}, TEXTS),
    "all layers": (quick_text, {"finetune": "all", "augmenter": "dropout"}, TEXTS),
    "vectors": (quick_vectors, {}, vectors()),
    "own encoder": (quick, {"finetune": "all", "learning_rate_encoder": 1e-2}, TEXTS),
}


class Interruption:
    """A callback that counts steps and, like Ctrl-C, ends the run after some of them."""

    def __init__(self, after: int | None = None) -> None:
        self.n_steps = 0
        self._after = after

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepDone):
            self.n_steps += 1
            if self.n_steps == self._after:
                raise KeyboardInterrupt


def interrupt(model: CAOT, X: Any, file: Path, after: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, checkpoint=file, checkpoint_every=4, callbacks=[Interruption(after)])
    assert file.exists()


def test_fresh_processes_give_identical_labels() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=json.dumps([str(model_folder()), TEXTS]),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert len(set(found[0])) >= 3  # labels may agree, probabilities do not
    assert found[0] == found[1]


@pytest.mark.parametrize("run", RUNS)
def test_a_resumed_run_ends_as_an_uninterrupted_one(run: str, tmp_path: Path) -> None:
    make, changes, X = RUNS[run]
    expected = make(**changes).fit(X)
    for after in (expected.n_iter_ // 2, expected.n_iter_ - 1):
        file = tmp_path / f"{after}.safetensors"
        model = make(**changes)
        interrupt(model, X, file, after)
        rest = Interruption()
        model.fit(X, checkpoint=file, callbacks=[rest])
        assert same(model, expected)
        np.testing.assert_array_equal(model.history_.loss, expected.history_.loss)
        done = 4 * ((after - 1) // 4)
        assert rest.n_steps == expected.n_iter_ - done


def test_a_run_can_be_interrupted_more_than_once(tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    interrupt(quick(), TEXTS, file, after=9)
    interrupt(quick(), TEXTS, file, after=9)
    assert same(quick().fit(TEXTS, checkpoint=file), quick().fit(TEXTS))


def test_a_checkpoint_changes_nothing(tmp_path: Path) -> None:
    with_file = quick().fit(TEXTS, checkpoint=str(tmp_path / "new" / "run.safetensors"))
    assert same(with_file, quick().fit(TEXTS))


def test_a_finished_run_is_not_done_again(tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    first = quick_text().fit(TEXTS, checkpoint=file)
    again = Interruption()
    assert same(quick_text().fit(TEXTS, checkpoint=file, callbacks=[again]), first)
    assert again.n_steps == 0


def test_an_interrupted_fit_leaves_no_half_fitted_model(tmp_path: Path) -> None:
    model = quick()
    interrupt(model, TEXTS, tmp_path / "run.safetensors", after=9)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    "changes",
    [
        {"random_state": 1},
        {"epsilon": 0.9},
        {"max_iter": 11},
        {"variant": Variant(head_iter=29, kmeans_restarts=2)},
        {"augmenter": "feature-noise"},
        {"encoder": HashEncoder(seed=1)},
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    interrupt(quick(), TEXTS, file, after=9)
    with pytest.raises(CheckpointError, match="another run"):
        quick(**changes).fit(TEXTS, checkpoint=file)


def test_a_checkpoint_of_other_texts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    interrupt(quick(), TEXTS, file, after=9)
    with pytest.raises(CheckpointError, match="another run"):
        quick().fit(TEXTS[::-1], checkpoint=file)


def test_a_checkpoint_of_other_noise_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    interrupt(quick_vectors(augmenter=FeatureNoise(0.1)), vectors(), file, after=9)
    with pytest.raises(CheckpointError, match="another run"):
        quick_vectors(augmenter=FeatureNoise(0.4)).fit(vectors(), checkpoint=file)


@pytest.mark.filterwarnings("ignore::caot.EmptyClusterWarning")
@pytest.mark.filterwarnings("ignore:faithful mode")
@pytest.mark.parametrize("mode", ["default", "faithful"])
def test_a_checkpoint_of_another_encoder_is_refused(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    changes: dict[str, Any] = {"mode": mode, "imbalance": 100.0}
    interrupt(quick_text(**changes), TEXTS, file, after=9)
    other = quick_text(encoder=str(model_folder(seed=1)), **changes)
    with pytest.raises(CheckpointError, match="another run"):
        other.fit(TEXTS, checkpoint=file)


def test_a_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    file.write_bytes(b"no checkpoint")
    with pytest.raises(CheckpointError, match="delete it to start anew"):
        quick().fit(TEXTS, checkpoint=file)
