"""What four ways of making pseudo-labels do to the same predictions.

Three clusters of unequal size are predicted with noise, so that many samples are ambiguous: two
clusters are almost equally likely. Their neighbours know better. Run it with
`python examples/transport_demo.py`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from caot.transport import (
    AdaptiveTransport,
    BalancedTransport,
    ConsistentTransport,
    Prediction,
    Transport,
)

Floats = NDArray[np.float64]

SIZES = (120, 60, 20)
CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 2.6]])
UNIFORMITY = 0.06  # Eq. 15, for the coefficient of variation of the predicted sizes, about 0.5


def toy(random_state: int = 0) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return true labels (n,), log-probabilities (n, k) and similarities (n, n)."""
    rng = np.random.default_rng(random_state)
    truth = np.repeat(np.arange(len(SIZES)), SIZES)
    points = CENTRES[truth] + 0.7 * rng.standard_normal((len(truth), 2))
    logits = 2.0 * np.eye(len(SIZES))[truth] + 1.3 * rng.standard_normal((len(truth), len(SIZES)))
    squared_distance = ((points[:, None] - points) ** 2).sum(axis=-1)
    similarity = np.exp(-2.0 * squared_distance)
    np.fill_diagonal(similarity, 0.0)  # a sample is no evidence for itself
    return truth, log_softmax(logits, axis=1), similarity


def main() -> None:
    """Solve the toy four ways and print a table."""
    truth, log_prob, similarity = toy()
    solvers: dict[str, Transport] = {
        "prediction (argmax)": Prediction(),
        "balanced transport": BalancedTransport(),
        "adaptive transport": AdaptiveTransport(uniformity=UNIFORMITY),
        "consistent transport": ConsistentTransport(uniformity=UNIFORMITY),
    }
    print(f"{len(truth)} samples, true cluster sizes {' / '.join(map(str, SIZES))}\n")
    print(f"{'pseudo-labels by':<22}{'accuracy':>9}   cluster sizes")
    for name, solver in solvers.items():
        labels = solver(log_prob, similarity).labels
        sizes = np.bincount(labels, minlength=len(SIZES))
        accuracy = float((labels == truth).mean())
        print(f"{name:<22}{accuracy:>9.1%}   {' / '.join(map(str, sizes))}")


if __name__ == "__main__":
    main()
