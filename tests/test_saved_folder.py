"""The folder of a saved model: what is in it, and what happens when something is there already."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from caot import CAOT, Variant, __version__
from caot.persistence import CONFIG_FILE, FORMAT_VERSION, NETWORKS_FILE
from tests.estimator_corpus import N_TOPICS, contents, corpus, quick_text, quick_vectors, vectors

TEXTS, _ = corpus()
PICKLES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt", ".npy", ".npz"}


@pytest.fixture(scope="module")
def fitted() -> CAOT:
    """Return a model whose encoder has learned; no test may change it."""
    return quick_text(max_length=12, augmenter="auto").fit(TEXTS)


@pytest.fixture(scope="module")
def saved(fitted: CAOT, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the saved model; no test may change it."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    fitted.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def other() -> CAOT:
    """Return a model whose files are all different."""
    return quick_vectors().fit(vectors())


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    """Return a copy of the saved model that a test may change."""
    return Path(shutil.copytree(saved, tmp_path / "copied"))


# The folder


def test_the_folder_has_no_pickles(saved: Path) -> None:
    names = contents(saved)
    assert {"model.safetensors", "modules.json", NETWORKS_FILE, CONFIG_FILE} <= set(names)
    assert not [name for name in names if Path(name).suffix in PICKLES]
    for name, content in names.items():
        assert not content.startswith((b"\x80", b"PK")), name


def test_no_file_holds_a_text(saved: Path) -> None:
    found = [
        (name, text)
        for name, content in contents(saved).items()
        for text in TEXTS
        if text.encode() in content
    ]
    assert found == []


def test_the_settings_say_what_wrote_them(saved: Path) -> None:
    config = json.loads((saved / CONFIG_FILE).read_text(encoding="utf-8"))
    assert config["format_version"] == FORMAT_VERSION
    assert config["versions"]["caot"] == __version__
    assert {"numpy", "torch", "transformers", "scikit-learn"} <= set(config["versions"])
    assert config["n_clusters"] == N_TOPICS


def test_networks_are_float32_and_without_optimizer(saved: Path) -> None:
    with safe_open(saved / NETWORKS_FILE, framework="np") as file:
        names = set(file.keys())
        kinds = {str(file.get_tensor(name).dtype) for name in names if "networks." in name}
    assert kinds == {"float32"}
    others = {name for name in names if not name.startswith("networks.")}
    assert others == {"labels_", "cluster_centers_", "cluster_sizes_"}


def test_the_model_card_has_the_cluster_table(saved: Path, fitted: CAOT) -> None:
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: sentence-transformers\n")
    assert "| cluster | samples | share |" in card
    for cluster, size in enumerate(fitted.cluster_sizes_.tolist()):
        assert f"| {cluster} | {size} | {size / len(TEXTS):.1%} |" in card
    assert f"| n_clusters | {N_TOPICS} |" in card
    assert "| iterations | 70 |" in card
    assert f"caot {__version__}" in card
    assert 'SentenceTransformer("path/to/this/folder")' in card
    assert fitted.words_ is not None
    assert f"`caot_words.json` holds {len(fitted.words_.vocabulary)} words" in card


def test_a_model_without_words_says_nothing_of_them(tmp_path: Path) -> None:
    model = quick_text(finetune="none", variant=Variant(word_weight=0.0)).fit(TEXTS)
    assert model.words_ is None
    model.save_pretrained(tmp_path / "model")
    assert not list((tmp_path / "model").glob("caot_words*"))
    assert "caot_words" not in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_the_model_card_of_vectors_promises_no_encoder(tmp_path: Path) -> None:
    quick_vectors().fit(vectors()).save_pretrained(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "library_name: caot" in card
    assert "clusters of precomputed vectors" in card
    assert "SentenceTransformer" not in card


# Saving where something is


def test_saving_makes_the_folders_above(tmp_path: Path) -> None:
    quick_vectors().fit(vectors()).save_pretrained(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b" / CONFIG_FILE).is_file()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_a_folder_with_files_is_not_overwritten_unless_told(fitted: CAOT, copied: Path) -> None:
    (copied / "mine.txt").write_text("keep")
    before = contents(copied)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        fitted.save_pretrained(copied)
    assert contents(copied) == before
    fitted.save_pretrained(copied, overwrite=True)
    assert not (copied / "mine.txt").exists()
    np.testing.assert_array_equal(CAOT.from_pretrained(copied).labels_, fitted.labels_)


def test_an_empty_folder_may_be_saved_to(fitted: CAOT, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    fitted.save_pretrained(tmp_path / "empty")
    assert CAOT.from_pretrained(tmp_path / "empty").n_iter_ == fitted.n_iter_


@pytest.mark.parametrize("point", ["model_card", "save_file", "_swap"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_save_that_fails_leaves_what_was_there(
    point: str,
    error: type[BaseException],
    other: CAOT,
    copied: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise error

    before = contents(copied)
    monkeypatch.setattr(f"caot.persistence.{point}", fail)
    with pytest.raises(error):
        other.save_pretrained(copied, overwrite=True)
    assert contents(copied) == before
    assert [path.name for path in copied.parent.iterdir()] == [copied.name]


def test_a_save_that_fails_at_the_last_step_leaves_what_was_there(
    other: CAOT, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if Path(target) == copied and "-old-" not in str(self):
            raise OSError("disk full")
        return replace(self, target)

    before = contents(copied)
    monkeypatch.setattr(Path, "replace", fail_for_the_new)
    with pytest.raises(OSError, match="disk full"):
        other.save_pretrained(copied, overwrite=True)
    assert copied.is_dir()
    assert contents(copied) == before


def test_an_interrupted_overwrite_leaves_the_old_model(
    other: CAOT, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def interrupt(self: Path, target: Path) -> Path:
        if Path(target) == copied and "-old-" not in str(self):
            raise KeyboardInterrupt
        return replace(self, target)

    before = contents(copied)
    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        other.save_pretrained(copied, overwrite=True)
    assert contents(copied) == before


def test_a_folder_that_is_no_model_is_never_overwritten(other: CAOT, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(FileExistsError, match="is not a saved model and is not overwritten"):
        other.save_pretrained(tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_a_config_that_says_no_format_is_refused(copied: Path) -> None:
    (copied / "config_caot.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="does not say which format"):
        CAOT.from_pretrained(copied)
