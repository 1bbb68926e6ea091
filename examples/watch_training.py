"""Watch training, stop it, resume it, and compare two ways of making pseudo-labels.

Observers are functions of frozen events: they can see everything and change nothing.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_blobs

from caot import CAOT, Variant
from caot.metrics import clustering_accuracy
from caot.training import Event, StepDone, TargetsMade


def main() -> None:
    """Run three small trainings in the paper's own mode; real ones take 2,000 iterations."""
    vectors, truth = make_blobs(400, n_features=32, centers=4, cluster_std=7.0, random_state=0)
    model = CAOT(n_clusters=4, mode="faithful", max_iter=60, batch_size=100)

    losses: list[float] = []
    changes: list[float] = []

    def watch(event: Event) -> None:
        match event:
            case StepDone(loss=loss):
                losses.append(loss)
            case TargetsMade(change_rate=rate):
                changes.append(rate)

    model.fit(vectors, callbacks=[watch])
    print(f"{model.n_iter_} iterations: {model.end_reason_.value}")
    print(f"loss {losses[-len(changes)]:.2f} -> {losses[-1]:.2f} after warm-up and head start")
    print("pseudo-labels that changed:", " ".join(f"{rate:.0%}" for rate in changes[::7]))

    def interrupt(event: Event) -> None:
        if isinstance(event, StepDone) and event.iteration == 100:
            raise KeyboardInterrupt  # as Ctrl+C would

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "run.safetensors"
        try:
            clone(model).fit(vectors, callbacks=[interrupt], checkpoint=checkpoint)
        except KeyboardInterrupt:
            resumed = clone(model).fit(vectors, checkpoint=checkpoint)
    print("resumed run gives the same labels:", np.array_equal(resumed.labels_, model.labels_))

    adaptive = clone(model).set_params(variant=Variant(pseudo_labels="adaptive")).fit(vectors)
    for name, fitted in (("consistent", model), ("adaptive", adaptive)):
        print(f"{name:<11} accuracy {clustering_accuracy(truth, fitted.labels_):.1%}")


if __name__ == "__main__":
    main()
