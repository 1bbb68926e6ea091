"""Adapters on other libraries: with the libraries where they are, with stand-ins where not."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from caot import EmptyClusterWarning
from caot.baselines import make_method
from caot.baselines.rivals import RivalNotInstalled, import_rival
from caot.metrics import clustering_accuracy
from tests.estimator_corpus import corpus, model_folder

TEXTS, TOPICS = corpus(16)
NAMES = ("bertopic", "umap-hdbscan", "evoc")


class FakeUMAP:
    """Keeps the first dimensions, and draws the topics apart."""

    def __init__(self, n_components: int, **settings: Any) -> None:
        self.n_components, self.settings = n_components, settings

    def fit_transform(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        assert self.settings["n_jobs"] == 1
        return 10 * np.eye(3, self.n_components)[TOPICS] + vectors[:, : self.n_components]


class FakeEVoC:
    """Labels by topic, far from zero, with one text of noise."""

    def __init__(self, **settings: Any) -> None:
        assert settings["random_state"] == 0

    def fit_predict(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        labels = 7 + 2 * TOPICS
        labels[0] = -1
        return labels


class FakeBERTopic:
    """Reduces and clusters with what it was given."""

    def __init__(self, *, umap_model: Any, hdbscan_model: Any, **settings: Any) -> None:
        self.umap_model, self.model = umap_model, hdbscan_model

    def fit_transform(
        self, documents: list[str], embeddings: NDArray[np.float32]
    ) -> tuple[list[int], None]:
        assert all(isinstance(text, str) for text in documents)
        if self.model is None:
            return FakeEVoC(random_state=0).fit_predict(embeddings).tolist(), None
        return self.model.fit_predict(embeddings).tolist(), None


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put stand-ins in the place of the libraries."""
    for name, kind in (("umap", FakeUMAP), ("evoc", FakeEVoC), ("bertopic", FakeBERTopic)):
        module = ModuleType(name)
        setattr(module, kind.__name__.removeprefix("Fake"), kind)
        monkeypatch.setitem(sys.modules, name, module)


def adapter(name: str, n_clusters: int | None = 3, **changes: Any) -> Any:
    model = make_method(name, n_clusters, encoder=str(model_folder()))
    return model.set_params(**changes)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("name", NAMES)
def test_labels_are_the_librarys_and_survive_saving(name: str, tmp_path: Path) -> None:
    model = adapter(name).fit(TEXTS)
    known = model.labels_ >= 0
    assert clustering_accuracy(TOPICS[known], model.labels_[known]) > 0.6
    np.testing.assert_array_equal(model.predict(TEXTS), model.labels_)
    model.save_pretrained(tmp_path / "model")
    loaded = type(model).from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(TEXTS), model.labels_)
    new = loaded.predict(["the a of to in a"])
    assert 0 <= new[0] < len(model.cluster_sizes_)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("name", ["evoc", "bertopic"])
def test_noise_stays_noise_unless_told_otherwise(name: str) -> None:
    noisy = adapter(name, None).fit(TEXTS)
    assert noisy.labels_[0] == -1
    assert noisy.predict(TEXTS[:1])[0] == -1
    assert sorted(set(noisy.labels_)) == [-1, 0, 1, 2]
    tidy = adapter(name, None, outliers="nearest").fit(TEXTS)
    assert tidy.labels_[0] >= 0
    np.testing.assert_array_equal(tidy.labels_[1:], noisy.labels_[1:])


@pytest.mark.usefixtures("libraries")
def test_bertopic_uses_kmeans_where_k_is_given() -> None:
    assert (adapter("bertopic", 5).fit(TEXTS).cluster_sizes_ > 0).sum() == 5
    with pytest.raises(ValueError, match="needs n_clusters"):
        adapter("bertopic", None, clustering="kmeans").fit(TEXTS)


def test_a_library_that_silences_warnings_does_so_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "muting.py").write_text("import warnings\nwarnings.simplefilter('ignore')\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(warnings.filters)
    assert import_rival("muting").__name__ == "muting"
    assert warnings.filters == before


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_library_is_named_with_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("umap", "evoc", "bertopic"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RivalNotInstalled, match=r'pip install .*\[rivals\]"'):
        adapter(name).fit(TEXTS)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("name", "library"), list(zip(NAMES, ("bertopic", "umap", "evoc"), strict=True))
)
def test_the_real_library_where_it_is_installed(name: str, library: str) -> None:
    pytest.importorskip(library)
    model = adapter(name).fit(TEXTS)
    again = adapter(name).fit(TEXTS)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    known = model.labels_ >= 0
    assert clustering_accuracy(TOPICS[known], model.labels_[known]) > 0.6
    np.testing.assert_array_equal(model.predict(TEXTS), model.labels_)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("name", ["bertopic", "umap-hdbscan"])
def test_too_few_texts_for_umap_are_an_error_that_says_so(name: str) -> None:
    with pytest.raises(ValueError, match="needs at least 7 texts, got 6"):
        adapter(name, 2).fit(TEXTS[:6])


@pytest.mark.usefixtures("libraries")
def test_fewer_clusters_than_asked_for_are_told_unless_density_decides() -> None:
    with pytest.warns(EmptyClusterWarning, match="only 3 of 5 clusters hold texts"):
        adapter("evoc", 5).fit(TEXTS)
    adapter("umap-hdbscan", 5).fit(TEXTS)  # warnings are errors here
    with pytest.warns(EmptyClusterWarning, match="only 3 of 5 clusters hold texts"):
        adapter("evoc", 5, on_empty="own-cluster").fit([*TEXTS, ""])
