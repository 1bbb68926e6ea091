"""The way out of a misspelt name."""

from caot.nearest import nearest_name


def test_the_nearest_name_or_all_of_them():
    names = (name for name in ("main", "ablations"))
    assert nearest_name("ablation", names) == "did you mean 'ablations'?"
    assert nearest_name("x", ["main", "ablations"]) == "choose one of main, ablations"
