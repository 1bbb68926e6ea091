"""A cell has one place for its record, and settings that can be compared."""

import dataclasses

import pytest

from caot.bench.cells import Cell
from caot.bench.methods import METHODS, find_method
from caot.bench.running import cell_hash
from caot.bench.variants import GRIDS, VARIANTS, find_variant, grid_variants
from caot.variant import Variant

CELL = Cell("tweet", "caot-faithful", max_iter=1000)
OTHERS = [
    {"dataset": "agnews"},
    {"method": "caot"},
    {"encoder": "paper"},
    {"variant": "without-cosine"},
    {"variant": "epsilon=0.5"},
    {"variant": "epsilon=5"},
    {"finetune": "2"},
    {"max_iter": None},
    {"seed": 1},
]


def test_every_part_has_a_place_in_the_path(tmp_path):
    paths = {dataclasses.replace(CELL, **change).path(tmp_path) for change in OTHERS}
    assert len(paths | {CELL.path(tmp_path)}) == len(OTHERS) + 1
    hashes = {cell_hash(dataclasses.replace(CELL, **change), 5) for change in OTHERS}
    assert len(hashes | {cell_hash(CELL, 5)}) == len(OTHERS) + 1


def test_paths_stay_in_the_folder(tmp_path):
    odd = Cell("../data/my texts.csv", encoder="../../etc/passwd")
    path = odd.path(tmp_path)
    assert path.parent.parent == tmp_path
    assert path.resolve().is_relative_to(tmp_path.resolve())


def test_a_cell_survives_json():
    assert Cell(**CELL.as_dict()) == CELL


def made(cell, n_clusters):
    return find_method(cell.method).make(cell, n_clusters)


def test_faithful_cells_are_set_as_the_paper_sets_them():
    assert made(Cell("stackoverflow", "caot-faithful"), 20).warmup_iter == 0
    assert made(Cell("agnews", "caot-faithful"), 4).warmup_iter is None
    assert made(Cell("googlenews-ts", "caot-faithful"), 152).imbalance == "imbalanced"
    assert made(Cell("googlenews-ts", "caot"), 152).imbalance == "auto"
    assert made(CELL, 89).mode == "faithful"


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("without-cosine", {"variant": Variant(similarity="attention")}),
        ("without-attention", {"variant": Variant(similarity="cosine")}),
        ("without-similarity", {"variant": Variant(similarity="none")}),
        ("without-contrast", {"contrast_weight": 0.0}),
        ("prediction", {"variant": Variant(pseudo_labels="prediction")}),
        ("adaptive", {"variant": Variant(pseudo_labels="adaptive")}),
        ("conventional", {"variant": Variant(pseudo_labels="balanced")}),
        ("conventional-similar", {"imbalance": 1e6}),
        ("without-pseudo-labels", {"warmup_iter": 1000}),
        ("contrast_weight=20", {"contrast_weight": 20.0}),
    ],
)
def test_a_variant_changes_its_parameters_and_no_others(name, changed):
    full = METHODS["caot-faithful"].make(CELL, 5).get_params(deep=False)
    variant = METHODS["caot-faithful"].make(dataclasses.replace(CELL, variant=name), 5)
    parameters = variant.get_params(deep=False)
    assert {key: parameters[key] for key in full if parameters[key] != full[key]} == changed


@pytest.mark.parametrize(("finetune", "max_iter"), [("none", 1000), ("2", 200), ("all", None)])
def test_without_pseudo_labels_nothing_but_the_warm_up_is_left(finetune, max_iter):
    cell = dataclasses.replace(
        CELL, variant="without-pseudo-labels", finetune=finetune, max_iter=max_iter
    )
    model = METHODS["caot-faithful"].make(cell, 5)
    assert model.warmup_iter == model.max_iter == (max_iter or 2000)


def test_files_of_one_name_have_records_of_their_own(tmp_path):
    paths = {Cell(str(tmp_path / part / "tickets.csv")).path(tmp_path) for part in "ab"}
    assert len(paths) == 2
    assert all(path.parent.name.startswith("tickets-csv-") for path in paths)


def test_grids_are_the_papers():
    assert grid_variants("epsilon") == ["epsilon=0.5", "epsilon=1", "epsilon=5", "epsilon=10"]
    assert sum(map(len, GRIDS.values())) == 22
    for parameter in GRIDS:
        for name in grid_variants(parameter):
            assert parameter in find_variant(name).parameters


@pytest.mark.parametrize("name", ["without-everything", "epsilon=", "epsilon=x", "n_clusters=3"])
def test_unknown_variants_are_refused(name):
    with pytest.raises(ValueError, match=r"there is no variant .* choose one of full"):
        find_variant(name)


@pytest.mark.parametrize(
    ("method", "variant"),
    [
        ("kmeans", "without-cosine"),
        ("sccl", "without-pseudo-labels"),
        ("tfidf", "chunks"),
        ("kmeans", "finds-k"),
        ("caot", "finds-k"),
    ],
)
def test_a_variant_that_a_method_does_not_have_is_refused(method, variant):
    cell = dataclasses.replace(CELL, method=method, variant=variant)
    with pytest.raises(ValueError, match="no variant '"):
        METHODS[method].make(cell, 5)


@pytest.mark.parametrize(("dataset", "expected"), [("biomedical", 0), ("tweet", None)])
def test_rstc_warms_up_where_it_does_as_published(dataset, expected):
    cell = dataclasses.replace(CELL, dataset=dataset, method="rstc")
    assert METHODS["rstc"].make(cell, 5).get_params()["warmup_iter"] == expected


def test_other_methods_have_the_variants_that_they_can():
    for method, variant, parameter, expected in (
        ("bertopic", "finds-k", "n_clusters", None),
        ("sccl", "noise-views", "augmenter", "feature-noise"),
        ("fnscc", "without-smoothing", "smoothing", 0.0),
        ("fnscc", "one-neighbour", "n_neighbors", 1),
        ("kmeans", "full", "n_clusters", 5),
    ):
        cell = dataclasses.replace(CELL, method=method, variant=variant)
        assert METHODS[method].make(cell, 5).get_params()[parameter] == expected


def test_unknown_methods_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="there is no method 'kmean': did you mean 'kmeans'"):
        find_method("kmean")
    assert all(variant.title for variant in VARIANTS.values())
