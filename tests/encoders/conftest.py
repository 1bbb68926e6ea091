"""Tiny models of every supported family, made once per run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from caot.encoders import TransformerEncoder
from tests.tiny_models import FAMILIES, Family, tiny_folder

TEXTS = [
    "the cat is red",
    "how to sort a list of words in data",
    "sun",
    "why can not the old car open",
    "zebra 42",
    "sun",
    "the dog is blue and the tree is old",
]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Return texts of different lengths, one of them twice."""
    return list(TEXTS)


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that gives the folder of a model, made on the first call."""
    made: dict[str, Path] = {}

    def folder(family: Family = "bert", **settings: Any) -> Path:
        key = f"{family} {sorted(settings.items())}"
        if key not in made:
            made[key] = tiny_folder(tmp_path_factory.mktemp(family), family, **settings)
        return made[key]

    return folder


@pytest.fixture(params=FAMILIES)
def family_folder(request: pytest.FixtureRequest, folder_of: Callable[..., Path]) -> Path:
    """Return a model folder of each family, pooled as that family's models usually are."""
    pooling = {"qwen3": "lasttoken", "xlmr": "cls"}.get(request.param, "mean")
    return folder_of(request.param, pooling=pooling)


@pytest.fixture
def family_encoder(family_folder: Path) -> TransformerEncoder:
    """Return a fresh encoder of each family."""
    return TransformerEncoder.load(family_folder, device="cpu")


@pytest.fixture
def bert(folder_of: Callable[..., Path]) -> TransformerEncoder:
    """Return a fresh BERT encoder that does not normalise."""
    return TransformerEncoder.load(folder_of("bert"), device="cpu")
