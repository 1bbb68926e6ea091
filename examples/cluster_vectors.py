"""Cluster vectors that were made elsewhere: here the pixels of scikit-learn's handwritten digits.

Anything with a fixed number of features will do: images, sound, embeddings of another library.
No encoder is needed; two views of a vector are made by noise.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from caot import CAOT
from caot.augment import FeatureNoise
from caot.metrics import score


def main() -> None:
    """Compare with K-means; the true digits are only looked at afterwards."""
    pixels, digits = load_digits(return_X_y=True)
    by_kmeans = KMeans(10, n_init=10, random_state=0).fit_predict(pixels)
    model = CAOT(
        n_clusters=10,
        augmenter=FeatureNoise(scale=0.1, dropout=0.1),
        learning_rate=2e-3,  # networks as narrow as 64 pixels learn slowly
        max_iter=150,
    ).fit(pixels)

    print(f"{len(pixels)} images of {pixels.shape[1]} pixels; agreement with the true digits")
    for name, labels in (("K-means", by_kmeans), ("CAOT", model.labels_)):
        scores = score(digits, labels)
        print(f"  {name:<8} accuracy {scores.accuracy:.1%}   NMI {scores.nmi_geometric:.1%}")

    level, weight = model.imbalance_.level, model.imbalance_.uniformity
    print(f"clusters are taken as {level!r}: penalty weight {weight:g}")
    print("sizes:", " ".join(map(str, np.bincount(model.labels_, minlength=10))))
    unsure = (model.predict(pixels, min_confidence=0.5) == -1).sum()
    print(f"{unsure} images belong to no cluster with a confidence of 50 %")


if __name__ == "__main__":
    main()
