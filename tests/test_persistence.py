"""Saved models: what is in the folder, what comes back, and what goes wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from caot import CAOT, Variant, load_model
from caot.encoders import Features
from caot.persistence import CONFIG_FILE, FORMAT_VERSION, NETWORKS_FILE, ModelFormatError
from caot.words import WORDS_FILES
from tests.estimator_corpus import (
    N_TOPICS,
    contents,
    corpus,
    model_folder,
    quick,
    quick_text,
    quick_vectors,
    vectors,
)

TEXTS, _ = corpus()
FIXTURES = Path(__file__).parent / "fixtures"


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
def loaded(saved: Path) -> CAOT:
    return CAOT.from_pretrained(saved)


def clear_rows(probabilities: Any) -> Any:
    """Return which rows have a best cluster that is more than rounding ahead."""
    ordered = np.sort(probabilities, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 1e-4


# There and back


@pytest.mark.parametrize("batch_size", [1, 7, 32, len(TEXTS)])
@pytest.mark.parametrize("order", ["as given", "reversed", "shuffled"])
def test_a_loaded_model_predicts_the_labels(
    batch_size: int, order: str, fitted: CAOT, loaded: CAOT
) -> None:
    rows = np.arange(len(TEXTS))
    if order == "reversed":
        rows = rows[::-1]
    elif order == "shuffled":
        rows = np.random.default_rng(batch_size).permutation(rows)
    texts = [TEXTS[row] for row in rows]
    clear = clear_rows(fitted.predict_proba(TEXTS))[rows]
    assert clear.mean() > 0.8
    found = loaded.predict(texts, batch_size=batch_size)
    np.testing.assert_array_equal(found[clear], fitted.labels_[rows][clear])
    np.testing.assert_allclose(
        loaded.predict_proba(texts, batch_size=batch_size),
        fitted.predict_proba(TEXTS)[rows],
        atol=1e-5,
    )


def test_sentence_transformers_gives_the_same_embeddings(saved: Path, fitted: CAOT) -> None:
    module = SentenceTransformer(str(saved), device="cpu")
    np.testing.assert_allclose(module.encode(TEXTS), fitted.transform(TEXTS), atol=1e-5)
    assert module.max_seq_length == 12
    long = " ".join(["dog", "cat"] * 10)
    np.testing.assert_allclose(module.encode([long]), fitted.transform([long]), atol=1e-5)


def test_others_may_read_a_saved_model(saved: Path) -> None:
    modes = {path.stat().st_mode & 0o777 for path in saved.rglob("*") if path.is_file()}
    assert modes == {0o644}


def test_the_saved_encoder_is_the_trained_one(saved: Path) -> None:
    before = SentenceTransformer(str(model_folder()), device="cpu").encode(TEXTS)
    after = SentenceTransformer(str(saved), device="cpu").encode(TEXTS)
    assert np.abs(before - after).max() > 1e-4


def test_fitted_attributes_come_back(fitted: CAOT, loaded: CAOT) -> None:
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    np.testing.assert_array_equal(loaded.cluster_centers_, fitted.cluster_centers_)
    np.testing.assert_array_equal(loaded.cluster_sizes_, fitted.cluster_sizes_)
    assert loaded.labels_.dtype == np.int64
    assert loaded.imbalance_ == fitted.imbalance_
    assert loaded.n_iter_ == fitted.n_iter_
    assert loaded.n_iter_saved_ == fitted.n_iter_saved_
    assert loaded.encoder_.name == fitted.encoder_.name  # and not the folder that it came from
    np.testing.assert_array_equal(loaded.get_feature_names_out(), fitted.get_feature_names_out())


def test_parameters_come_back_but_for_those_of_the_machine(fitted: CAOT, loaded: CAOT) -> None:
    ours, theirs = fitted.get_params(deep=False), loaded.get_params(deep=False)
    for name in ("encoder", "augmenter", "device", "verbose"):
        del ours[name], theirs[name]
    assert theirs == ours


def test_a_loaded_model_can_be_saved_again(loaded: CAOT, saved: Path, tmp_path: Path) -> None:
    loaded.save_pretrained(tmp_path / "again")
    first, second = contents(saved), contents(tmp_path / "again")
    assert sorted(first) == sorted(second)
    assert first["model.safetensors"] == second["model.safetensors"]
    assert first[NETWORKS_FILE] == second[NETWORKS_FILE]


def test_a_model_of_vectors_comes_back(tmp_path: Path) -> None:
    X = vectors()
    model = quick_vectors(augmenter="feature-noise").fit(X)
    model.save_pretrained(tmp_path / "model")
    back = CAOT.from_pretrained(str(tmp_path / "model"))
    assert isinstance(back.encoder_, Features)
    assert back.n_features_in_ == 8
    np.testing.assert_array_equal(back.predict(X), model.labels_)
    with pytest.raises(ValueError, match="have 5 columns"):
        back.predict(X[:, :5])


def test_a_model_with_an_own_cluster_for_empty_texts_comes_back(tmp_path: Path) -> None:
    texts = [*TEXTS, ""]
    model = quick_text(finetune="none", on_empty="own-cluster").fit(texts)
    model.save_pretrained(tmp_path / "model")
    back = CAOT.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(texts), model.labels_)
    assert back.predict([""]).tolist() == [N_TOPICS]


def test_a_variant_comes_back(tmp_path: Path) -> None:
    variant = Variant(attention="transformer", head_iter=60, kmeans_restarts=2)
    model = quick_text(finetune="none", variant=variant).fit(TEXTS)
    model.save_pretrained(tmp_path / "model")
    back = CAOT.from_pretrained(tmp_path / "model")
    assert back.variant == variant
    np.testing.assert_array_equal(back.predict(TEXTS), model.labels_)


def test_numbers_of_numpy_can_be_saved(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"n_clusters": np.int64(N_TOPICS), "random_state": np.int64(0)}
    model = quick_vectors(**changes).fit(vectors())
    model.save_pretrained(tmp_path / "model")
    assert CAOT.from_pretrained(tmp_path / "model").n_clusters == N_TOPICS


# Loading what is not there


def test_a_newer_format_is_refused(saved: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "newer"))
    path = folder / CONFIG_FILE
    config = json.loads(path.read_text(encoding="utf-8"))
    config["format_version"] = FORMAT_VERSION + 1
    config["versions"]["caot"] = "9.9"
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelFormatError, match=r"caot 9\.9 in a newer format .* use that version"):
        CAOT.from_pretrained(folder)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _without_width(path: Path) -> None:
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["width"]
    path.write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (NETWORKS_FILE, _cut),
        (CONFIG_FILE, _cut),
        (CONFIG_FILE, _without_width),
        (WORDS_FILES[0], _cut),
        (WORDS_FILES[1], _cut),
    ],
)
def test_a_damaged_model_says_so(
    saved: Path, tmp_path: Path, file: str, damage: Callable[[Path], None]
) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "damaged"))
    damage(folder / file)
    with pytest.raises(ModelFormatError, match=r"the model in .*damaged is damaged .*restore it"):
        load_model(folder)


def test_a_version_that_is_no_number_is_refused(saved: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "odd"))
    path = folder / CONFIG_FILE
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "format_version": "2"}), encoding="utf-8")
    with pytest.raises(ModelFormatError, match="does not say which format it has"):
        load_model(folder)


@pytest.mark.parametrize("name", ["tickets-run/mdel", "odd name/model"])
def test_a_name_that_neither_folder_nor_hub_knows(name: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"there is no folder {name}, and the hub gives no"):
        load_model(name)


def test_a_folder_may_be_named_from_home(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(saved.parent))
    assert isinstance(load_model(f"~/{saved.name}"), CAOT)


def test_a_folder_that_is_no_model_is_refused() -> None:
    with pytest.raises(ModelFormatError, match=f"not a saved model: it has no {CONFIG_FILE}"):
        CAOT.from_pretrained(model_folder())


@pytest.mark.parametrize("name", ["/no/such/folder", "./missing", "missing", "a/b/c"])
def test_a_missing_folder_is_an_error(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        CAOT.from_pretrained(name)


# The hub


def test_a_hub_id_is_fetched_with_everything_passed_on(
    saved: Path, fitted: CAOT, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []

    def fetch(repo_id: str, **options: Any) -> str:
        calls.append((repo_id, options))
        return str(saved)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    model = CAOT.from_pretrained(
        "someone/topics", revision="v2", token="t", cache_dir=tmp_path, local_files_only=True
    )
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    options = {"revision": "v2", "token": "t", "cache_dir": tmp_path, "local_files_only": True}
    assert calls == [("someone/topics", options)]


def test_a_folder_is_never_looked_for_on_the_hub(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: Any, **__: Any) -> None:
        pytest.fail("the hub was asked")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    monkeypatch.chdir(saved.parent)
    assert CAOT.from_pretrained("model").n_clusters == N_TOPICS


@pytest.mark.parametrize("private", [True, False])
def test_push_uploads_a_whole_model(
    private: bool, fitted: CAOT, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def upload(*, folder_path: str, repo_id: str, delete_patterns: list[str]) -> str:
        seen.update(files=sorted(contents(Path(folder_path))), repo_id=repo_id)
        seen["deleted"] = delete_patterns
        return f"https://hub/{repo_id}"

    def make_api(token: str | None) -> SimpleNamespace:
        seen["token"] = token
        return SimpleNamespace(
            create_repo=lambda repo_id, **options: seen.update(created=(repo_id, options)),
            upload_folder=upload,
        )

    monkeypatch.setattr(huggingface_hub, "HfApi", make_api)
    options: dict[str, Any] = {} if private else {"private": False}
    assert fitted.push_to_hub("me/topics", token="t", **options) == "https://hub/me/topics"
    assert seen["created"] == ("me/topics", {"private": private, "exist_ok": True})
    assert (seen["token"], seen["repo_id"]) == ("t", "me/topics")
    assert seen["files"] == sorted(contents(saved))
    # Words of an earlier model must not outlive it.
    words = {name for name in seen["files"] if name.startswith("caot_words")}
    assert words
    assert words <= set(seen["deleted"])


# Every format version that ever was


@pytest.mark.parametrize(
    "name", ["model-v1-text", "model-v1-vectors", "model-v2-text", "model-v2-vectors"]
)
def test_models_of_every_format_version_load(name: str) -> None:
    folder = FIXTURES / name
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    X = expected["inputs"]
    if "vectors" in name:
        X = np.array(X, dtype=np.float32)
    model = CAOT.from_pretrained(folder)
    probabilities = np.array(expected["probabilities"])
    np.testing.assert_allclose(model.predict_proba(X), probabilities, atol=1e-4)
    clear = clear_rows(probabilities)
    assert clear.mean() > 0.8
    labels = np.array(expected["labels"])
    np.testing.assert_array_equal(model.predict(X)[clear], labels[clear])


def test_a_model_that_has_lost_its_words_says_so(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "model")
    (folder / "caot_words.json").unlink()
    with pytest.raises(ModelFormatError, match=r"is not complete: caot_words.json and caot_words"):
        CAOT.from_pretrained(folder)


def test_every_format_version_has_its_fixtures() -> None:
    names = {path.name for path in FIXTURES.glob("model-v*")}
    versions = range(1, FORMAT_VERSION + 1)
    assert names == {f"model-v{v}-{kind}" for v in versions for kind in ("text", "vectors")}


def test_a_model_with_an_encoder_of_ones_own_says_how_to_load_it(tmp_path: Path) -> None:
    quick().fit(TEXTS).save_pretrained(tmp_path / "model")
    with pytest.raises((OSError, ValueError)):
        CAOT.from_pretrained(tmp_path / "model")


def test_parameters_set_after_fit_do_not_reach_the_saved_model(tmp_path: Path) -> None:
    model = quick_vectors().fit(vectors())
    expected = model.predict_proba(vectors())
    model.set_params(n_clusters=7, on_empty="own-cluster", variant=Variant(attention="transformer"))
    model.save_pretrained(tmp_path / "model")
    loaded = CAOT.from_pretrained(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(vectors()), expected, atol=1e-6)
