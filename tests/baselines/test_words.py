"""Word vectors, and the two methods that work on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from caot.baselines.binary_codes import binary_codes
from caot.baselines.dynamic_cnn import fold, k_max
from caot.baselines.word_readers import Sif
from caot.baselines.word_vectors import WordVectors, co_occurrences, ppmi
from tests.baselines.quick import CORPUS, accuracy, quick
from tests.estimator_corpus import vectors

WORDS = WordVectors.learn(CORPUS.texts, 16, min_count=1)


def test_co_occurrences_count_words_within_the_window_of_a_text() -> None:
    counts = co_occurrences([[0, 1, 2], [2], [0, 2]], 3, window=1).toarray()
    np.testing.assert_array_equal(counts, [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    wide = co_occurrences([[0, 1, 2], [2], [0, 2]], 3, window=2).toarray()
    np.testing.assert_array_equal(wide, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])


def test_information_is_positive_and_high_where_words_keep_together() -> None:
    information = ppmi(co_occurrences([[0, 1]] * 5 + [[2, 3]] * 5, 4, 2)).toarray()
    assert (information >= 0).all()
    assert information[0, 1] == information.max() > 0
    assert information[0, 2] == 0


def test_words_of_a_topic_are_near_each_other() -> None:
    unit = WORDS.vectors / np.linalg.norm(WORDS.vectors, axis=1, keepdims=True)
    topic = np.array([word[:6] for word in WORDS.words])
    same = topic[:, None] == topic
    cosines = unit @ unit.T
    assert cosines[same].mean() > 0.5 + cosines[~same].mean()


def test_vectors_are_read_from_word2vec_text(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    lines = [
        f"{w} {' '.join(map(str, v))}" for w, v in zip(WORDS.words, WORDS.vectors, strict=True)
    ]
    path.write_text("\n".join([f"{len(lines)} 16", *lines, "unheard 1 2"]), encoding="utf-8")
    read = WordVectors.read(path, CORPUS.texts)
    assert read.words == WORDS.words
    np.testing.assert_allclose(read.vectors, WORDS.vectors, rtol=1e-6)
    np.testing.assert_array_equal(read.counts, WORDS.counts)
    for name in ("self-train", "stcc"):
        model = quick(name, word_vectors=str(path)).fit(CORPUS.texts)
        assert accuracy(model) > 0.9
    path.write_text("nothing here", encoding="utf-8")
    with pytest.raises(ValueError, match="word2vec"):
        WordVectors.read(path, CORPUS.texts)


def test_sif_weighs_common_words_down_and_drops_the_common_direction() -> None:
    words = WordVectors(("often", "seldom"), np.eye(2, dtype=np.float32), np.array([900, 100]))
    plain = Sif(words, 0.1, torch.zeros(2), torch.ones(1))
    row = plain.read(["often seldom"])[0]
    torch.testing.assert_close(row, torch.tensor([0.1 / 1.0, 0.1 / 0.2]) / 2)
    reader = Sif.learn(WORDS, CORPUS.texts, 0.1)
    rows = reader.read(CORPUS.texts)
    assert (rows @ reader.direction).abs().max() < 1e-4
    assert (reader.read(["no known word"]) == 0).all()


def test_self_training_makes_assignments_surer() -> None:
    short, long = (quick("self-train", max_iter=n).fit(CORPUS.texts) for n in (1, 60))
    first, last = (m.predict_proba(CORPUS.texts).max(axis=1).mean() for m in (short, long))
    assert last > first


def test_self_training_is_one_training_of_two_stages() -> None:
    events: list[object] = []
    model = quick("self-train").fit(CORPUS.texts, callbacks=(events.append,))
    settings = model.get_params()
    first, second = settings["pretrain_iter"], settings["max_iter"]
    assert model.n_iter_ == first + second == len(model.history_.loss)
    assert model.history_.stage.tolist() == ["warm-up"] * first + ["interactive"] * second
    kinds = [type(event).__name__ for event in events]
    assert (kinds.count("StageStarted"), kinds.count("Finished")) == (2, 1)


def test_codes_are_balanced_bits_that_agree_within_topics() -> None:
    codes = binary_codes(CORPUS.texts, 4, 8, 0).numpy()
    assert set(np.unique(codes)) == {0.0, 1.0}
    np.testing.assert_allclose(codes.mean(axis=0), 0.5, atol=0.05)
    same = CORPUS.labels[:, None] == CORPUS.labels
    agree = (codes[:, None] == codes).mean(axis=2)
    assert agree[same].mean() > agree[~same].mean() + 0.2


def test_k_max_keeps_the_greatest_in_their_order_and_fold_adds_neighbours() -> None:
    rows = torch.tensor([[3.0, 1, 5, 4, 2]])
    assert k_max(rows, 3).tolist() == [[3, 5, 4]]
    assert k_max(rows, 7).shape == (1, 7)
    two_maps = torch.arange(8.0).reshape(1, 8, 1)  # four dimensions of two maps each
    assert fold(two_maps, 2).flatten().tolist() == [2, 4, 10, 12]


@pytest.mark.parametrize("name", ["stcc", "self-train"])
def test_vectors_have_no_words(name: str) -> None:
    with pytest.raises(TypeError, match="texts, not vectors"):
        quick(name).fit(vectors())
