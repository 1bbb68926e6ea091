from dataclasses import replace

import pytest

from caot.effort import DEFAULT_SECONDS, Choice, Workload, choose

# MiniLM on 20,000 titles of 14 tokens.
TITLES = Workload(
    n_texts=20_000,
    n_tokens=280_000,
    n_layers=6,
    layer_size=1_774_464,
    batch_size=200,
    n_cores=2,
)
NO_BUDGET = float("inf")
QUICKER = 'finetune="none" (--finetune none) gives a quick look'


def test_seconds_count_products_by_hand():
    tiny = Workload(n_texts=10, n_tokens=30, n_layers=2, layer_size=100, batch_size=4, n_cores=1)
    # Each text through two layers, 3 tokens a text, 2 operations a weight.
    assert tiny.seconds("none", 5) == pytest.approx(2 * 10 * 600 / 30e9)
    # Lower layer of three views, upper one for K-means, both for labels; then 7 upper runs.
    assert tiny.seconds(1, 5) == pytest.approx((6 * 10 + 7 * 20) * 600 / 30e9)
    assert tiny.seconds("all", 5) == pytest.approx((4 * 10 + 7 * 2 * 20) * 600 / 30e9)
    # Nothing kept: both layers for K-means and labels; the lower one in every run of the upper.
    again = replace(tiny, keeps_lower=False)
    assert again.seconds(1, 5) == pytest.approx((5 * 10 + (7 + 3) * 20) * 600 / 30e9)
    assert again.seconds("all", 5) == tiny.seconds("all", 5)


def test_a_batch_is_no_larger_than_the_data():
    tiny = replace(TITLES, n_texts=50, n_tokens=700)
    assert tiny.seconds(2, 100) == replace(tiny, batch_size=50).seconds(2, 100)


def test_more_layers_texts_and_iterations_take_longer():
    assert TITLES.seconds("none", 400) < TITLES.seconds(2, 400) < TITLES.seconds("all", 400)
    assert TITLES.seconds(2, 400) < TITLES.seconds(2, 800)
    assert TITLES.seconds("none", 100) == TITLES.seconds("none", 900)


def test_an_accelerator_trains_all():
    choice = choose(replace(TITLES, n_cores=0), NO_BUDGET, 400)
    assert choice == Choice("all", None, f"an accelerator is at hand; {QUICKER}")


def test_a_cpu_trains_layers_only_if_it_is_given_time():
    choice = choose(TITLES, NO_BUDGET, 400)
    assert (choice.layers, choice.n_iter) == ("none", None)
    assert choice.why == "quickest on a CPU; a time budget, or finetune=2, lets layers learn"
    choice = choose(TITLES, 25 * 60.0, 400)
    assert (choice.layers, choice.n_iter) == (2, None)
    assert "min, within the budget of 25 min; " + QUICKER in choice.why


def test_fewer_iterations_where_the_budget_is_short():
    budget = TITLES.seconds(2, 200)
    choice = choose(TITLES, budget, 400)
    assert choice.layers == 2
    assert choice.n_iter == pytest.approx(200, abs=1)
    assert TITLES.seconds(2, choice.n_iter) <= budget
    assert f"{choice.n_iter} iterations instead of 400 fit the budget of" in choice.why
    assert choice.why.endswith(QUICKER)


def test_no_layers_where_the_budget_is_too_short():
    choice = choose(TITLES, 60.0, 400)
    assert (choice.layers, choice.n_iter) == ("none", None)
    assert "more than the budget of 60 s; finetune=2 does so all the same" in choice.why
    assert QUICKER not in choice.why


def test_an_accelerator_trains_less_where_there_is_too_much():
    many = replace(TITLES, n_texts=10**9, n_tokens=14 * 10**9, n_cores=0)
    assert many.seconds(2, 400) > DEFAULT_SECONDS
    assert choose(many, NO_BUDGET, 400).layers == "none"


def test_an_encoder_of_one_layer():
    assert choose(replace(TITLES, n_layers=1), 3600.0, 400).layers == 1
