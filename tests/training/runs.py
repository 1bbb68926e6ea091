"""Small training runs of each kind, and what the tests look at in them."""

import numpy as np
import torch

from caot.augment import FeatureNoise
from caot.encoders import Features
from caot.start import StartSettings
from caot.training import Objective, Schedule, Trainer, TrainingConfig, TrainingData
from caot.transport import ConsistentTransport
from tests.corpora import topic_texts
from tests.fakes import HashEncoder

N_CLUSTERS = 4
CORPUS = topic_texts(15, N_CLUSTERS, seed=0)
# 8 iterations of warm-up, 6 of head start, 16 interactive.
SCHEDULE = Schedule(max_iter=24, warmup_iter=8, head_iter=6, batch_size=40)
KINDS = ("trainable", "frozen", "noise")


def settings(**changes):
    """Return the settings of a short run."""
    usual = {
        "n_clusters": N_CLUSTERS,
        "schedule": SCHEDULE,
        "objective": Objective(learning_rate=5e-3, learning_rate_encoder=1e-3),
        "transport": ConsistentTransport(consistency=5.0),
        "predict_in_evaluation": True,
        "start": StartSettings(restarts=2),
        "embedding_scale": 3.0,
    }
    return TrainingConfig(**{**usual, **changes})


def make_trainer(kind="frozen", *, callbacks=(), layers="all", width=16, **changes):
    """Return a trainer on fresh networks: texts, their vectors, or vectors with noise."""
    texts = HashEncoder(width)
    views = [CORPUS.texts, CORPUS.first, CORPUS.second]
    config = settings(**changes)
    if kind == "trainable":
        data = TrainingData(*(texts.prepare(view) for view in views))
        return Trainer(texts, data, config, texts.set_trainable(layers), callbacks)
    vectors = Features(texts.width)
    parts = [vectors.prepare(texts.encode(view)) for view in views]
    if kind == "noise":
        return Trainer(
            vectors, TrainingData(parts[0], noise=FeatureNoise()), config, callbacks=callbacks
        )
    return Trainer(vectors, TrainingData(*parts), config, callbacks=callbacks)


def weights(trainer):
    """Return copies of all weights by name: encoder.*, clustering.*, projecting.*, attention.*."""
    parts = {f"encoder.{k}": v for k, v in trainer.encoder.module.state_dict().items()}
    parts |= trainer.networks.state_dict()
    return {name: value.detach().clone() for name, value in parts.items()}


def changed_parts(before, after):
    """Return the first parts of the names of the weights that differ."""
    return {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}


def predicted_labels(trainer):
    """Return the clusters of all samples without dropout, (n,)."""
    vectors = torch.from_numpy(trainer.encoder.encode(trainer.data.original))
    trainer.networks.eval()
    with torch.no_grad():
        return trainer.networks.predict(vectors).argmax(dim=1).numpy()


def assert_same_run(left, right):
    """Assert that two trainers ended alike, bit for bit."""
    assert left.iteration == right.iteration
    assert changed_parts(weights(left), weights(right)) == set()
    for name, array in left.recorder.arrays().items():
        np.testing.assert_array_equal(array, right.recorder.arrays()[name], err_msg=name)
    np.testing.assert_array_equal(left.last_labels, right.last_labels)
    np.testing.assert_array_equal(left.start, right.start)
    np.testing.assert_array_equal(predicted_labels(left), predicted_labels(right))


def events_of(events, kind):
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]
