"""The paper's short texts from their public homes, brought to the rows that the benchmark knows."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from caot.bench.datasets import DatasetError, content_digest, data_file, find_spec, load_known
from caot.files import atomic_file

_HOME = "https://raw.githubusercontent.com"
_SECONDS = 60

Rows = tuple[list[str], list[int]]
"""Texts and the class numbers that their home gives them."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set can be had: files at a fixed state of a repository, and how to read them."""

    repository: str
    commit: str
    files: tuple[str, ...]
    read: Callable[..., Rows]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The address of each file."""
        return tuple(f"{_HOME}/{self.repository}/{self.commit}/{file}" for file in self.files)


def read_json_lines(content: str) -> Rows:
    """Read rows such as ``{"text": "...", "cluster": 65}``."""
    rows = [json.loads(line) for line in content.splitlines() if line.strip()]
    return [row["text"] for row in rows], [int(row["cluster"]) for row in rows]


def read_label_first(content: str) -> Rows:
    """Read rows of a class number, a tab, and a text."""
    rows = [line.split("\t", 1) for line in content.splitlines() if line.strip()]
    return [text for _, text in rows], [int(label) for label, _ in rows]


def read_beside(texts: str, labels: str) -> Rows:
    """Read a file of texts and a file of class numbers, line by line."""
    return texts.splitlines(), [int(line) for line in labels.split()]


def _gsdmm(file: str) -> Source:
    commit = "1b344d9de28faee43ec0df0c3cf7ea57737fe14e"
    return Source("jackyin12/GSDMM", commit, (f"data/{file}",), read_json_lines)


def _stc2(name: str) -> Source:
    files = (f"dataset/{name}.txt", f"dataset/{name}_gnd.txt")
    return Source("jacoxu/STC2", "34a28c5", files, read_beside)


SOURCES: Mapping[str, Source] = {
    "agnews": Source(
        "rashadulrakib/short-text-clustering-enhancement",
        "f363b66",
        ("data/agnewsdataraw-8000",),
        read_label_first,
    ),
    "searchsnippets": _stc2("SearchSnippets"),
    "stackoverflow": _stc2("StackOverflow"),
    "biomedical": _stc2("Biomedical"),
    "googlenews-ts": _gsdmm("TS"),
    "googlenews-t": _gsdmm("T"),
    "googlenews-s": _gsdmm("S"),
    "tweet": _gsdmm("Tweet"),
}


def fetch_dataset(name: str, folder: Path, *, download: Callable[[str], str] | None = None) -> Path:
    """Download a data set, check that it is the known one, and write it; return the file.

    The published views are not there: they come from other homes, and our augmenter makes some.

    Raises
    ------
    DatasetError
        If there is no known home, it cannot be reached, or it gives other rows: nothing is written.
        Likewise if a file of that name is there and has other rows.
    """
    spec = find_spec(name)
    if name not in SOURCES:
        msg = f"no public home of {name} is known: put its file at {data_file(name, folder)}"
        raise DatasetError(msg)
    path = data_file(name, folder)
    if path.exists():
        load_known(name, folder)
        return path
    source = SOURCES[name]
    texts, labels = source.read(*map(download or _download, source.addresses))
    table = normalised(texts, labels)
    kept = table[table["text"].str.strip() != ""]
    if content_digest(kept["text"].tolist(), kept["label"].astype(str).tolist()) != spec.digest:
        msg = f"{source.repository} now gives other rows for {name}: nothing was written"
        raise DatasetError(msg)
    with atomic_file(path) as temporary:
        table.to_csv(temporary, index=False, compression="gzip")
    return path


def normalised(texts: list[str], labels: list[int]) -> pd.DataFrame:
    """Return texts and classes from 0 on, in the order of the numbers that they had."""
    if len(texts) != len(labels):
        msg = f"there are {len(texts)} texts and {len(labels)} labels: the files do not belong"
        raise DatasetError(msg)
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    return pd.DataFrame({"text": [text.strip() for text in texts], "label": codes})


def _download(address: str) -> str:
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            content: bytes = answer.read()
    except (urllib.error.URLError, TimeoutError) as error:
        msg = f"{address} cannot be reached ({error}): check the network"
        raise DatasetError(msg) from error
    return content.decode("utf-8")
