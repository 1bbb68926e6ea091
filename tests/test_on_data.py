"""The method on a part of a real data set; labels score the result and are nowhere else."""

import numpy as np
import pandas as pd
import pytest

from caot import CAOT
from caot.encoders import load_encoder
from caot.kmeans import kmeans
from caot.metrics import clustering_accuracy

pytestmark = pytest.mark.slow


def test_a_frozen_encoder_with_trained_networks_beats_kmeans(data_dir):
    path = data_dir / "short-text" / "stackoverflow.csv.gz"
    table = pd.read_csv(path, keep_default_na=False).sample(2000, random_state=0)
    encoder = load_encoder("auto")
    vectors = [encoder.encode(table[column]) for column in ("text", "text1_10", "text2_10")]
    accuracy = {"kmeans": [], "caot": []}
    for seed in range(2):
        labels = kmeans(vectors[0], 20, n_init=10, random_state=seed).labels
        accuracy["kmeans"].append(clustering_accuracy(table["label"], labels))
        model = CAOT(20, max_iter=500, random_state=seed)
        model.fit(vectors[0], views=(vectors[1], vectors[2]))
        accuracy["caot"].append(clustering_accuracy(table["label"], model.labels_))
    assert np.mean(accuracy["caot"]) > np.mean(accuracy["kmeans"]) + 0.01
