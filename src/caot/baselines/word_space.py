"""What word-vector methods share: from texts through word vectors and a network to features."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from caot.baselines.base import Vectors
from caot.baselines.word_vectors import WordVectors

_WORDS_FILE = "words.json"
_WEIGHTS_FILE = "words.safetensors"
_ROWS = 4096


class Reader(Protocol):
    """Turns texts into what a network reads."""

    words: WordVectors

    def read(self, texts: Iterable[str]) -> Tensor:
        """Return one row a text."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return what, besides the words, the reader is made of."""
        ...


class WordSpace:
    """Texts to features: a reader and a trained network."""

    def __init__(self, reader: Reader, network: nn.Module, width: int, name: str) -> None:
        self.reader, self.module = reader, network.eval()
        self.width, self.name = width, name

    def encode(
        self, inputs: Iterable[str], batch_size: int = 64, progress: bool = False
    ) -> Vectors:
        """Return the features, (n, width); the batch size changes nothing here."""
        return features_of(self.module, self.reader.read(inputs))

    def save(self, folder: Path) -> None:
        """Write words, vectors and network."""
        words = self.reader.words
        text = json.dumps(list(words.words), ensure_ascii=False)
        (folder / _WORDS_FILE).write_text(text + "\n", encoding="utf-8")
        tensors = {f"network.{n}": t.contiguous() for n, t in self.module.state_dict().items()}
        tensors |= {f"reader.{name}": t.contiguous() for name, t in self.reader.tensors().items()}
        tensors["vectors"] = torch.from_numpy(np.ascontiguousarray(words.vectors))
        tensors["counts"] = torch.from_numpy(words.counts)
        save_file(tensors, folder / _WEIGHTS_FILE)


def read_space(folder: Path) -> tuple[WordVectors, dict[str, Tensor], dict[str, Tensor]]:
    """Return the words, the reader's and the network's tensors that `WordSpace.save` wrote."""
    words = json.loads((folder / _WORDS_FILE).read_text(encoding="utf-8"))
    tensors = load_file(folder / _WEIGHTS_FILE)
    counts: NDArray[np.int64] = tensors["counts"].numpy()
    parts: list[dict[str, Tensor]] = [
        {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
        for prefix in ("reader.", "network.")
    ]
    return WordVectors(tuple(words), tensors["vectors"].numpy(), counts), parts[0], parts[1]


def features_of(network: nn.Module, rows: Tensor) -> Vectors:
    """Run a network over all rows without gradients, (n, width)."""
    with torch.no_grad():
        parts = [network(rows[i : i + _ROWS]).numpy() for i in range(0, len(rows), _ROWS)]
    return np.concatenate(parts)
