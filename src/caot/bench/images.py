"""Plain features of small images: what the records here use in place of a trained extractor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

_PATCH, _WORDS, _SAMPLES, _SEED = 6, 200, 40_000, 0
_WIDTH = 64
NAME = (
    f"{_WORDS} patch prototypes ({_PATCH}x{_PATCH} pixels, K-means), soft counts in 4 quadrants, "
    f"standardised, PCA to {_WIDTH}; not the paper's extractor"
)


def image_features(images: NDArray[Any]) -> tuple[NDArray[np.float32], str]:
    """Return features (n, 64) of images, and their name; vectors (n, d) stay as they are.

    Patches are compared with prototypes that K-means finds among them; how near they come, summed
    over each quadrant of the image, describes it. No label is needed, and no other data.

    Parameters
    ----------
    images
        (n, height, width) or (n, height, width, channels) of uint8, or vectors.
    """
    if images.ndim == 2:
        return images.astype(np.float32), "as given"
    pixels: NDArray[np.float32] = images.astype(np.float32) / np.float32(255)
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    rng = np.random.default_rng(_SEED)
    mean, whiten = _whitening(_random_patches(pixels, rng))
    words = MiniBatchKMeans(_WORDS, n_init=3, batch_size=2048, random_state=_SEED)
    words.fit((_random_patches(pixels, rng) - mean) @ whiten)
    centers = words.cluster_centers_.astype(np.float32)
    counts = np.stack([_quadrants(_patches(image), mean, whiten, centers) for image in pixels])
    alike = StandardScaler().fit_transform(counts)
    reduced = PCA(min(_WIDTH, *counts.shape), random_state=_SEED).fit_transform(alike)
    return reduced.astype(np.float32), NAME


def _patches(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return all patches, contrast normalised, (height', width', pixels)."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (_PATCH, _PATCH), axis=(0, 1))
    flat = windows.reshape(*windows.shape[:2], -1)
    centred = flat - flat.mean(axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = centred / np.sqrt(flat.var(axis=-1, keepdims=True) + 0.01)
    return scaled


def _random_patches(pixels: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return patches from random places of random images, (m, pixels)."""
    chosen = rng.integers(len(pixels), size=_SAMPLES // 20)
    found = [
        rng.permutation(_patches(pixels[row]).reshape(-1, _PATCH**2 * pixels.shape[-1]))[:20]
        for row in chosen
    ]
    return np.concatenate(found)


def _whitening(
    patches: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean, and the map that makes the directions of the patches alike."""
    mean = patches.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(patches - mean, rowvar=False))
    whiten = vectors @ np.diag(1 / np.sqrt(values + 0.1)) @ vectors.T
    return mean, whiten.astype(np.float32)


def _quadrants(
    patches: NDArray[np.float32],
    mean: NDArray[np.float32],
    whiten: NDArray[np.float32],
    centers: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return how near the patches of each quadrant are to the prototypes, (4 × words,)."""
    whitened = (patches - mean) @ whiten
    squared = (
        (whitened**2).sum(axis=-1, keepdims=True)
        - 2 * whitened @ centers.T
        + (centers**2).sum(axis=1)
    )
    distance = np.sqrt(np.maximum(squared, 0))
    near = np.maximum(0, distance.mean(axis=-1, keepdims=True) - distance)
    middle = np.array(near.shape[:2]) // 2
    parts = [
        near[rows, columns].sum(axis=(0, 1))
        for rows in (slice(middle[0]), slice(middle[0], None))
        for columns in (slice(middle[1]), slice(middle[1], None))
    ]
    return np.concatenate(parts)
