"""The whole state of a training run, in memory to fall back on and in a file to resume from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from caot.files import atomic_file
from caot.neighbours import Neighbours

if TYPE_CHECKING:
    from caot.training.algorithm import Trainer

CHECKPOINT_VERSION = 4


class CheckpointError(ValueError):
    """A checkpoint that cannot be resumed from; the message says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Copies of all that training changes: tensors by name, and plain values."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]

    @classmethod
    def take(cls, trainer: Trainer) -> Snapshot:
        """Copy the state of a trainer between two iterations."""
        generator, queue = trainer.sampler.state()
        tensors = {
            "rng": trainer.rng_state,
            "noise": trainer.noise.get_state(),
            "queue": torch.from_numpy(queue),
            "start": torch.from_numpy(trainer.start),
            "last_labels": torch.from_numpy(trainer.last_labels),
        }
        if trainer.neighbours is not None:
            tensors["neighbours"] = torch.from_numpy(trainer.neighbours.index)
        for name, value in trainer.networks.state_dict().items():
            tensors[f"networks.{name}"] = value
        for index, parameter in enumerate(trainer.parameters):
            tensors[f"encoder.{index}"] = parameter.detach()
        for index, moments in trainer.optimizer.state_dict()["state"].items():
            for name, value in moments.items():
                tensors[f"adam.{index}.{name}"] = value
        for name, array in trainer.recorder.arrays().items():
            tensors[f"history.{name}"] = torch.from_numpy(np.array(array))
        values = {"iteration": trainer.iteration, "sampler": generator}
        return cls({name: value.clone() for name, value in tensors.items()}, values)

    def restore(self, trainer: Trainer) -> None:
        """Put the trainer back to where the copy was taken."""
        tensors = self.tensors
        trainer.iteration = int(self.values["iteration"])
        trainer.forget_embeddings()
        trainer.rng_state = tensors["rng"].clone()
        trainer.noise.set_state(tensors["noise"])
        trainer.sampler.restore(self.values["sampler"], tensors["queue"].numpy())
        trainer.start = tensors["start"].numpy().copy()
        if "neighbours" in tensors:
            trainer.neighbours = Neighbours(tensors["neighbours"].numpy().copy())
        trainer.last_labels = tensors["last_labels"].numpy().copy()
        trainer.networks.load_state_dict(self._part("networks."))
        with torch.no_grad():
            for index, weights in enumerate(trainer.parameters):
                weights.copy_(tensors[f"encoder.{index}"])
        adam = trainer.optimizer.state_dict()
        adam["state"] = {}
        for name, value in self._part("adam.").items():
            parameter, moment = name.split(".")
            adam["state"].setdefault(int(parameter), {})[moment] = value.clone()
        trainer.optimizer.load_state_dict(adam)
        trainer.recorder.restore({k: v.numpy() for k, v in self._part("history.").items()})

    def _part(self, prefix: str) -> dict[str, Tensor]:
        return {
            name.removeprefix(prefix): value
            for name, value in self.tensors.items()
            if name.startswith(prefix)
        }

    def save(self, path: Path, run: str) -> None:
        """Write the snapshot of the run with identity ``run`` to a file, all or nothing."""
        metadata = {
            "version": str(CHECKPOINT_VERSION),
            "run": run,
            "values": json.dumps(self.values),
        }
        with atomic_file(path) as temporary:
            tensors = {name: value.contiguous() for name, value in self.tensors.items()}
            save_file(tensors, temporary, metadata)

    @classmethod
    def load(cls, path: Path, run: str) -> Snapshot:
        """Read a snapshot back, if it belongs to the run with identity ``run``."""
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            msg = f"the checkpoint {path} cannot be read ({error}): delete it to start anew"
            raise CheckpointError(msg) from error
        if metadata.get("version") != str(CHECKPOINT_VERSION):
            msg = (
                f"the checkpoint {path} has version {metadata.get('version')}, this is version "
                f"{CHECKPOINT_VERSION}: resume with the caot that wrote it, or delete it"
            )
            raise CheckpointError(msg)
        if metadata.get("run") != run:
            msg = (
                f"the checkpoint {path} is of another run: the settings, the encoder or the texts "
                "differ. Use the same ones to resume, or another checkpoint file"
            )
            raise CheckpointError(msg)
        return cls(tensors, json.loads(metadata["values"]))
