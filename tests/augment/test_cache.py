import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from caot.augment.cache import ViewCache, default_cache_dir


@pytest.fixture
def cache(tmp_path):
    return ViewCache(tmp_path / "deep" / "folder", "scope")


def test_views_come_back(cache):
    assert cache.load(["a"]) == {}
    cache.store({"a": "view", "b": "other", "odd \ud83d": "half \ud83d"})
    cache.store({"b": "newer"})
    assert cache.load(["b", "odd \ud83d", "a", "c"]) == {
        "a": "view",
        "b": "newer",
        "odd \ud83d": "half \ud83d",
    }


def test_scopes_do_not_mix(cache):
    cache.store({"a": "view"})
    assert ViewCache(cache.folder, "other scope").load(["a"]) == {}


def test_nothing_to_store_makes_no_file(cache):
    cache.store({})
    assert not cache.path.exists()


def test_the_folder_is_the_owners(cache):
    cache.store({"a": "view"})
    assert cache.folder.stat().st_mode & 0o077 == 0


def test_a_damaged_file_is_replaced(cache, caplog):
    cache.store({"a": "view"})
    cache.path.write_bytes(b"no database at all " * 100)
    with caplog.at_level(logging.WARNING, "caot.augment"):
        assert cache.load(["a"]) == {}
    assert "is damaged" in caplog.text
    cache.store({"a": "again"})
    assert cache.load(["a"]) == {"a": "again"}


def test_a_file_cut_in_the_middle_is_replaced(cache):
    cache.store({f"text {i}": "view " * 50 for i in range(2000)})
    content = cache.path.read_bytes()
    cache.path.write_bytes(content[: len(content) // 2])
    texts = [f"text {i}" for i in range(2000)]
    assert set(cache.load(texts).values()) <= {"view " * 50}
    cache.store({"a": "again"})
    assert cache.load(["a"]) == {"a": "again"}


@pytest.mark.parametrize("value", [b"another view", "view", 5, None])
def test_a_damaged_row_counts_as_absent(cache, value):
    cache.store({"a": "view", "b": "view"})
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        key = cache._key("a")
        connection.execute("UPDATE views SET view = ? WHERE key = ?", (value, key))
    assert cache.load(["a", "b"]) == {"b": "view"}


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, caplog):
    file = tmp_path / "file"
    file.write_text("in the way")
    cache = ViewCache(file, "scope")
    with caplog.at_level(logging.WARNING, "caot.augment"):
        cache.store({"a": "view"})
        assert cache.load(["a"]) == {}
    assert "is not used" in caplog.text
    assert file.read_text() == "in the way"


def test_the_default_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("CAOT_CACHE", "/some/where")
    assert default_cache_dir() == Path("/some/where/augment")
    monkeypatch.delenv("CAOT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert default_cache_dir() == Path("/xdg/caot/augment")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_dir() == Path.home() / ".cache" / "caot" / "augment"
