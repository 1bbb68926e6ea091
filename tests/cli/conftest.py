"""A corpus on disk, one run that tests may read, and copies that they may change."""

import shutil

import pytest

from caot.demo import DemoTickets, load_demo
from tests.cli.commands import fit, write_corpus
from tests.estimator_corpus import model_folder


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    """Keep relative paths and cached vectors inside the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CAOT_CACHE", raising=False)


def _fitted(folder, *more):
    source = write_corpus(folder / "tickets.csv")
    result = fit(source, folder / "run", "--text", "subject", *more)
    assert result.exit_code == 0, result.output
    return folder / "run"


@pytest.fixture(scope="session")
def kept_run(tmp_path_factory):
    """Return a run that has found the topics."""
    return _fitted(tmp_path_factory.mktemp("kept"), "--id", "ticket", "--max-iter", 400)


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory):
    """Return a run of a few iterations, to compare other quick ones with."""
    return _fitted(tmp_path_factory.mktemp("quick"))


@pytest.fixture
def tickets(tmp_path):
    return write_corpus(tmp_path / "tickets.csv")


@pytest.fixture
def run(kept_run, tmp_path):
    return shutil.copytree(kept_run, tmp_path / "run")


@pytest.fixture
def small_demo(monkeypatch):
    """Let the demo have few tickets; return its command on a tiny encoder."""
    whole = load_demo()
    few = DemoTickets(whole.texts[:60], whole.topics[:60], whole.topic_names)
    monkeypatch.setattr("caot.demo.load_demo", lambda: few)
    return ("demo", "--encoder", model_folder(), "--max-iter", 2)
