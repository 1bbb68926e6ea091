"""What every test shares: no network, one thread, repeatable examples, the benchmark data."""

import os
from pathlib import Path

# Set before any test imports a library that reads them.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["MPLBACKEND"] = "Agg"

import hypothesis
import pytest
import torch

# One thread per process: workers share the cores, and sums keep one order.
torch.set_num_threads(1)

# The same examples in every run; a slow machine is not a failure.
hypothesis.settings.register_profile("caot", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("caot")

BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that asks for the benchmark data, so that `-m "not data"` leaves it out."""
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)


@pytest.fixture(autouse=True)
def _exact_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train in float32 whatever the processor: a test of bfloat16 asks for it."""
    monkeypatch.setattr("caot.preparation.has_fast_bfloat16", lambda _device: False)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the benchmark data, which the project never ships."""
    named = os.environ.get("CAOT_DATA")
    folder = Path(named) if named else BESIDE_THE_REPOSITORY
    if not folder.is_dir():
        reason = f"CAOT_DATA={named} is not a folder" if named else "CAOT_DATA is not set"
        pytest.skip(f"no benchmark data: {reason}; set it to the folder that holds short-text/")
    return folder
