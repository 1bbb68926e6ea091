"""The benchmark data by name: what it should be, and what lies in the user's folder."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caot.io import read_table
from caot.nearest import nearest_name

Kind: TypeAlias = Literal["short-text", "long-text", "images"]

FETCHED = Path("caot-data")
"""Where data goes that was fetched, and is looked for, if no other folder is named."""

_SUFFIXES = {"short-text": ".csv.gz", "long-text": ".csv.gz", "images": ".npz"}
# Published views of the texts, the first pair that a file has: 10 % of the words, then 20 %.
_VIEW_COLUMNS = (("text1_10", "text2_10"), ("text1", "text2"))


class DatasetError(ValueError):
    """A data set that is unknown, absent, or not what it should be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """A data set as the paper describes it.

    Parameters
    ----------
    name
        What a user types, and the stem of the file.
    title, short
        What tables say, and the paper's abbreviation.
    kind
        The folder that it lies in.
    size, n_classes
        Samples and classes; 0 where nothing is stated.
    words
        Mean words per text, rounded; None for images.
    ratio
        Largest class over smallest, rounded down.
    has_warmup
        Whether the paper warms up on it.
    level
        The imbalance level that a faithful run is told; None estimates it.
    """

    name: str
    title: str
    short: str
    kind: Kind
    size: int = 0
    n_classes: int = 0
    words: int | None = None
    ratio: int | None = None
    has_warmup: bool = True
    level: str | None = None

    @property
    def digest(self) -> str | None:
        """sha256 of inputs and labels, row by row, empty texts left out; None if none is known."""
        return _DIGESTS.get(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkData:
    """A data set in memory. Methods are given ``inputs`` and ``views``; ``truth`` is for scores.

    Parameters
    ----------
    name
        Its name, or the file's.
    inputs
        n texts, or vectors or pixels (n, ...).
    truth
        True classes from 0 on, (n,).
    views
        Two published views of the texts, if there are any.
    views_name
        Where they come from.
    digest
        sha256 of inputs and truth.
    """

    name: str
    inputs: list[str] | NDArray[Any]
    truth: NDArray[np.int64]
    views: tuple[list[str], list[str]] | None
    views_name: str | None
    digest: str

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.truth.max()) + 1


SHORT_TEXTS = (
    DatasetSpec("agnews", "AgNews", "Agn", "short-text", 8000, 4, 23, 1),
    DatasetSpec("searchsnippets", "SearchSnippets", "Sea", "short-text", 12340, 8, 18, 7),
    DatasetSpec(
        "stackoverflow", "StackOverflow", "Sta", "short-text", 20000, 20, 8, 1, has_warmup=False
    ),
    DatasetSpec(
        "biomedical", "Biomedical", "Bio", "short-text", 20000, 20, 13, 1, has_warmup=False
    ),
    # Printed with a coefficient of 0.60, which is "severe", and run as "imbalanced".
    DatasetSpec(
        "googlenews-ts", "GoogleNews-TS", "TS", "short-text", 11109, 152, 28, 143,
        level="imbalanced",
    ),
    DatasetSpec("googlenews-t", "GoogleNews-T", "T", "short-text", 11109, 152, 6, 143),
    DatasetSpec("googlenews-s", "GoogleNews-S", "S", "short-text", 11109, 152, 22, 143),
    DatasetSpec("tweet", "Tweet", "Twe", "short-text", 2472, 89, 9, 249),
)  # fmt: skip
LONG_TEXTS = (
    DatasetSpec("syskillwebert", "SyskillWebert", "SW", "long-text", 333, 4),
    DatasetSpec("20newsgroups", "20Newsgroups", "20News", "long-text", 18846, 20),
    DatasetSpec("mn-ds", "MN-DS", "MN-DS", "long-text"),
    DatasetSpec("reuters-r8", "Reuters (R8)", "Reuters", "long-text", 7674, 8),
)
IMAGES = (
    DatasetSpec("mnist_t10k", "MNIST, test", "MNIST", "images", 10000, 10),
    DatasetSpec("cifar10_test5k", "CIFAR-10, 5,000 of the test", "CIFAR-10", "images", 5000, 10),
    DatasetSpec("stl10", "STL-10", "STL-10", "images"),
    DatasetSpec("cifar100", "CIFAR-100", "CIFAR-100", "images"),
)
_DIGESTS = {
    "agnews": "9cd3d02ade5714973bf7841eb67d4d10fe0d2ff513fedeeff8703947d7b4cfba",
    "searchsnippets": "88291bf90520ecba4e3ddd12d042b4184263623892f7104b126d5d4f58d8d0cb",
    "stackoverflow": "fe7e8c0f3ee33ae8d092412ff4783036673cb1fc09b5929c34a914d39dcf9b48",
    "biomedical": "e83d5b802fe920bf91f417b973469f4d62205674da6b72f9f57c75c814023514",
    "googlenews-ts": "eec3bf0a5fab552594398157e9b583d88b86906cf176be4b4c28e0a62f18fd77",
    "googlenews-t": "a279a6af128065aa3fa7add00d210883dce1f9077ee9ef936478545b85bd64b7",
    "googlenews-s": "192f73faf05ef07baa4d9d48bb1c9862c6be0a2538adbce3cbcf91bee056c17f",
    "tweet": "81ee85c8363c9112a52c856bfbe6150ff10d53576beada8286d9b56c3dc23730",
    "syskillwebert": "2e9559d0037a3455159ebd84d72102fa1c9316e18efb20d749d29c731fbe80a2",
    "20newsgroups": "30a39ad5035c938e7588c8ed388c456889946d5eee57e9efbb5531bf10aafd7e",
    "reuters-r8": "66debc9e498709f1ca8482d0bead992af2bd3593ac89d5d9ac7a22557c91a124",
    "mnist_t10k": "a0863a96c44e5666edbb30c4071ee79ca0514c621e6349c5967fc78e7305c891",
    "cifar10_test5k": "de7948e3c543b297f5344bbc40bf16f0259175a9262826810e4e2038657e5bb1",
}
DATASETS = {spec.name: spec for spec in (*SHORT_TEXTS, *LONG_TEXTS, *IMAGES)}


def find_spec(name: str) -> DatasetSpec:
    """Return the data set of that name."""
    if name in DATASETS:
        return DATASETS[name]
    hint = nearest_name(name, DATASETS)
    msg = f"there is no data set {name!r}: {hint} A file is named by its path."
    raise DatasetError(msg)


def data_folder(named: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the benchmark data: as named, ``CAOT_DATA``, or what was fetched."""
    place = named or os.environ.get("CAOT_DATA")
    if not place and FETCHED.is_dir():
        return FETCHED
    if not place:
        msg = (
            "the benchmark data is not part of caot: name its folder with --data-dir or CAOT_DATA, "
            "or fetch what can be had with caot bench fetch"
        )
        raise DatasetError(msg)
    folder = Path(place).expanduser()
    if not folder.is_dir():
        msg = f"there is no folder {folder}: check --data-dir or CAOT_DATA"
        raise DatasetError(msg)
    return folder


def data_file(name: str, folder: Path) -> Path:
    """Return the file of a data set, whether it exists or not; a path stands for itself."""
    if is_file_name(name):
        return Path(name)
    spec = find_spec(name)
    return folder / spec.kind / f"{spec.name}{_SUFFIXES[spec.kind]}"


def load_data(name: str, folder: str | os.PathLike[str] | None = None) -> BenchmarkData:
    """Read a data set of the benchmark, or any table with the columns ``text`` and ``label``.

    Rows without a text are left out: no method is given them.
    """
    path = Path(name) if is_file_name(name) else data_file(name, data_folder(folder))
    if not path.is_file():
        msg = f"there is no file {path}: put the data there, or try caot bench fetch"
        raise DatasetError(msg)
    if path.suffix == ".npz":
        return _read_arrays(path)
    table = read_table(path, text="text").frame.astype(str)
    if "label" not in table.columns:
        msg = f"{path} has no column 'label': it has {', '.join(map(str, table.columns))}"
        raise DatasetError(msg)
    table = table[table["text"].str.strip() != ""]
    texts = table["text"].tolist()
    truth = pd.factorize(table["label"], sort=True)[0].astype(np.int64)
    columns = next((pair for pair in _VIEW_COLUMNS if set(pair) <= set(table.columns)), None)
    views = None if columns is None else (table[columns[0]].tolist(), table[columns[1]].tolist())
    return BenchmarkData(
        name=path.name.split(".")[0],
        inputs=texts,
        truth=truth,
        views=views,
        views_name=None if columns is None else "/".join(columns),
        digest=content_digest(texts, table["label"].tolist()),
    )


def load_known(name: str, folder: str | os.PathLike[str] | None = None) -> BenchmarkData:
    """Read data as `load_data` does, and raise if it is not the data set that bears the name."""
    data = load_data(name, folder)
    known = None if is_file_name(name) else find_spec(name).digest
    if known not in (None, data.digest):
        msg = (
            f"the file of {name} has other rows than the data set of that name: move it away and "
            "get the data anew, or name your own file by its path"
        )
        raise DatasetError(msg)
    return data


def content_digest(texts: list[str], labels: list[str]) -> str:
    """Return a sha256 of texts and labels, row by row."""
    content = hashlib.sha256()
    for text, label in zip(texts, labels, strict=True):
        content.update(f"{label}\t{text}\n".encode(errors="surrogatepass"))
    return content.hexdigest()


def _read_arrays(path: Path) -> BenchmarkData:
    with np.load(path, allow_pickle=False) as arrays:
        if not {"x", "y"} <= set(arrays.files):
            msg = f"{path} must hold arrays x (n, ...) and y (n,): it has {arrays.files}"
            raise DatasetError(msg)
        values, classes = arrays["x"], arrays["y"]
    truth = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    content = hashlib.sha256(np.ascontiguousarray(values).data)
    content.update(np.ascontiguousarray(truth).data)
    return BenchmarkData(path.name.split(".")[0], values, truth, None, None, content.hexdigest())


def is_file_name(name: str) -> bool:
    """Tell the path of a user's file from the name of a data set."""
    return os.sep in name or Path(name).suffix != ""
