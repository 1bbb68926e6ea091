"""The two views of a data set: the published ones, or those of our augmenter, made once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from caot.augment import Substitute
from caot.bench.datasets import BenchmarkData
from caot.encoders import load_encoder
from caot.files import atomic_file

# All seeds of a method see the same views, as they do with the published ones.
_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class NamedViews:
    """Two views of n texts, and where they come from."""

    views: tuple[list[str], list[str]] | None
    name: str | None


NO_VIEWS = NamedViews(None, None)


def views_of(data: BenchmarkData, cache: Path) -> NamedViews:
    """Return the published views of a data set, or those that words of the encoder give.

    What the augmenter makes is kept in ``cache``: the same texts give the same views again.
    """
    if data.views is not None:
        return NamedViews(data.views, data.views_name)
    if not isinstance(data.inputs, list):
        return NO_VIEWS
    augmenter = Substitute()
    name = f"{augmenter}, embedded encoder, seed {_SEED}"
    key = hashlib.sha256(json.dumps([name, data.inputs]).encode()).hexdigest()
    path = cache / "views" / f"{key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.is_file():
            made = augmenter(data.inputs, encoder=load_encoder("auto"), random_state=_SEED)
            with atomic_file(path) as temporary:
                temporary.write_text(json.dumps(made), encoding="utf-8")
        first, second = json.loads(path.read_text(encoding="utf-8"))
    return NamedViews((first, second), name)
