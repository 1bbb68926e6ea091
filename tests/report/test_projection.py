import numpy as np
import pytest

from caot.report import project


def blobs(sizes, dimension=24, spread=0.08, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(sizes), dimension))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    noise = spread * rng.normal(size=(len(labels), dimension))
    return (centres[labels] + noise).astype(np.float32), labels


def kept_neighbours(coordinates, labels):
    """Return how many rows have a nearest neighbour of their own cluster on the map."""
    gaps = ((coordinates[:, None] - coordinates[None]) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return (labels[gaps.argmin(axis=1)] == labels).mean()


@pytest.fixture(scope="module")
def sampled():
    embeddings, labels = blobs([120, 100, 20, 6])
    return embeddings, labels, project(embeddings, 0, labels=labels, max_fit=100)


def test_clusters_stay_together_whether_fitted_or_placed(sampled):
    _, labels, coordinates = sampled
    assert coordinates.shape == (246, 2)
    assert coordinates.dtype == np.float32
    assert np.isfinite(coordinates).all()
    assert kept_neighbours(coordinates, labels) > 0.97


def test_the_same_input_gives_the_same_map(sampled):
    embeddings, labels, coordinates = sampled
    again = project(embeddings, 0, labels=labels, max_fit=100)
    assert (again == coordinates).all()


def test_length_of_a_vector_does_not_matter(sampled):
    embeddings, labels, coordinates = sampled
    # Powers of two are exact, so that the directions are the same to the last bit.
    scaled = embeddings * np.where(np.arange(len(labels)) % 2, 4, 0.5)[:, None]
    assert (project(scaled, 0, labels=labels, max_fit=100) == coordinates).all()


def test_a_placed_copy_of_a_fitted_row_lies_on_it():
    embeddings, labels = blobs([40, 40])
    doubled = np.concatenate([embeddings] * 3)
    coordinates = project(doubled, 0, labels=np.tile(labels, 3), max_fit=80)
    width = np.ptp(coordinates, axis=0).max()
    gaps = ((coordinates[:, None] - coordinates[None]) ** 2).sum(axis=2)
    same = np.tile(np.arange(80), 3)
    nearest_copy = np.where(same[:, None] == same[None], gaps, np.inf)
    np.fill_diagonal(nearest_copy, np.inf)
    assert np.sqrt(np.median(nearest_copy.min(axis=1))) < 0.05 * width


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12])
def test_few_texts_have_a_map(n):
    embeddings, _ = blobs([n])
    coordinates = project(embeddings)
    assert coordinates.shape == (n, 2)
    assert np.isfinite(coordinates).all()
    assert len(np.unique(coordinates, axis=0)) == n


@pytest.mark.parametrize("embeddings", [np.ones((50, 4)), np.zeros((50, 4)), np.eye(50)[:, :1]])
def test_texts_without_differences_have_a_map(embeddings):
    coordinates = project(embeddings.astype(np.float32))
    assert coordinates.shape == (50, 2)
    assert np.isfinite(coordinates).all()


def test_what_has_no_map_is_refused():
    with pytest.raises(ValueError, match="NaN or infinite"):
        project(np.full((3, 2), np.nan, dtype=np.float32))
    with pytest.raises(ValueError, match="got shape"):
        project(np.zeros((0, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="2 entries for 3 embeddings"):
        project(np.eye(3, dtype=np.float32), labels=np.array([0, 1]))
