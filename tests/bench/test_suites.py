"""The suites hold the cells that the paper's experiments need."""

import pytest

from caot.bench.choosing import free_cells, suite_cells
from caot.bench.datasets import IMAGES
from caot.bench.scheduling import check_cells
from caot.bench.suites import BUDGETS, EIGHT, ENCODERS, SUITES


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_cell_of_a_suite_can_be_made(name, budget):
    cells = SUITES[name].at(budget)
    assert cells
    assert len(set(cells)) == len(cells)
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells)
    check_cells(cells)


def test_budgets_differ_in_what_learns():
    layers = {budget: {c.finetune for c in SUITES["main"].at(budget)} for budget in BUDGETS}
    assert layers == {"frozen": {"none"}, "quick": {"none", "2"}, "paper": {"none", "all"}}


def test_the_main_suite_is_eight_sets_by_methods_by_seeds():
    cells = SUITES["main"].at("frozen")
    assert len(cells) == 8 * 3 * 5
    assert {cell.dataset for cell in cells} == set(EIGHT)
    assert len(SUITES["main"].at("frozen", [7])) == 24


def test_suites_share_cells():
    shared = set(SUITES["main"].at("frozen")) & set(SUITES["ablations"].at("frozen"))
    assert len(shared) == 9  # three sets and seeds, complete


def test_noise_on_vectors_is_left_to_frozen_encoders():
    cells = [cell for budget in BUDGETS for cell in SUITES["contributions"].at(budget)]
    assert {cell.finetune for cell in cells if cell.variant == "noise-views"} == {"none"}
    assert {cell.finetune for cell in cells if cell.variant == "without-words"} > {"none"}


def test_choosing_from_suites():
    cells = suite_cells(
        ["main", "ablations"], "frozen", [0], data=["tweet", "stackoverflow"], methods=["caot"]
    )
    assert [cell.dataset for cell in cells] == ["stackoverflow", "tweet"]
    assert suite_cells(["encoders"], "quick", encoders=["paper"])[0].encoder == "paper"
    assert len(ENCODERS) == 7
    with pytest.raises(ValueError, match="no suite 'man': did you mean 'main"):
        suite_cells(["man"], "frozen")
    with pytest.raises(ValueError, match="no budget 'huge': choose one of frozen, quick, paper"):
        suite_cells(["main"], "huge")
    with pytest.raises(ValueError, match="no cell of these suites fits"):
        suite_cells(["main"], "frozen", variants=["prediction"])


def test_free_cells_are_all_combinations():
    cells = free_cells(["my.csv"], "frozen", [0, 1], methods=["kmeans", "caot", "caot-faithful"])
    assert len(cells) == 6
    by_method = {cell.method: cell for cell in cells}
    assert by_method["kmeans"].max_iter is None
    assert by_method["caot"].max_iter is None
    assert by_method["caot-faithful"].max_iter == 1000
    (lone,) = free_cells(["my.csv"], "quick", None)
    assert (lone.method, lone.finetune) == ("caot", "2")


def test_all_methods_are_compared_at_the_same_effort():
    from caot.baselines import METHODS

    cells = SUITES["methods"].at("quick")
    trained = [cell for cell in cells if cell.finetune != "none"]
    assert {(cell.finetune, cell.max_iter, cell.seed) for cell in trained} == {("2", 200, 0)}
    light = [cell for cell in cells if cell.finetune == "none"]
    assert {(cell.max_iter, cell.seed) for cell in light} == {(None, 0), (None, 1), (None, 2)}
    finetuned = {name for name, method in METHODS.items() if method.finetunes}
    assert {cell.method for cell in trained} == {*finetuned, "caot"} - {"cc"}
    assert {cell.method for cell in light} == set(METHODS) - finetuned - {"tcllm"}
    assert {cell.dataset for cell in trained} == {cell.dataset for cell in light} == set(EIGHT)
    assert {cell.method for cell in light if cell.variant == "finds-k"} == {"bertopic"}
    assert {cell.seed for cell in SUITES["methods"].at("quick", [7])} == {7}


def test_methods_of_long_texts_and_images_are_compared_there():
    bert = [cell for cell in SUITES["long-texts"].at("quick") if cell.method == "tcllm"]
    assert {cell.encoder for cell in bert} == {"google-bert/bert-base-uncased"}
    contrast = [cell for cell in SUITES["images"].at("quick") if cell.method == "cc"]
    assert {cell.finetune for cell in contrast} == {"none"}
    assert {cell.dataset for cell in contrast} == {spec.name for spec in IMAGES}


@pytest.mark.parametrize("name", ["representations", "cost"])
def test_rivals_are_measured_beside_ours(name):
    cells = SUITES[name].at("quick")
    for method in ("sccl", "rstc", "caot"):
        own = [c for c in cells if c.method == method and c.max_iter == 200]
        assert {cell.dataset for cell in own} == set(EIGHT)
    assert set(own) <= set(SUITES["methods"].at("quick"))
    frozen = {cell.method for cell in SUITES[name].at("frozen")}
    assert frozen == {"kmeans", "caot", "caot-faithful"}


def test_what_the_registry_says_of_a_method_is_so():
    from caot.baselines import METHODS

    for method in METHODS.values():
        known = method.load()._get_param_names()
        assert ("encoder" in known) == method.encodes
        assert ("finetune" in known) == method.finetunes
