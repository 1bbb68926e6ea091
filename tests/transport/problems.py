"""Random transport problems for the tests."""

import numpy as np
from scipy.special import log_softmax


def predictions(n, k, *, seed=0, spread=2.0, signal=3.0, sizes=None):
    """Log-probabilities of a noisy classifier, (n, k)."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(k, size=n, p=sizes)
    logits = rng.normal(scale=spread, size=(n, k))
    logits[np.arange(n), classes] += signal
    return log_softmax(logits, axis=1)


def cosine(log_prob, *, diagonal=False):
    """Cosine similarity between the rows of P, (n, n)."""
    prob = np.exp(log_prob)
    prob /= np.linalg.norm(prob, axis=1, keepdims=True)
    similarity = prob @ prob.T
    if not diagonal:
        np.fill_diagonal(similarity, 0)
    return similarity


def geometric_sizes(k, ratio):
    """Class shares that fall geometrically, the largest ``ratio`` times the smallest."""
    sizes = ratio ** (-np.arange(k) / (k - 1))
    return sizes / sizes.sum()
