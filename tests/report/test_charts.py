import numpy as np
import pytest

from caot.report.charts import Scale, confidence_chart, nice_values, size_chart, spread_chart
from caot.report.training_charts import path, stage_bounds, thin, training_charts
from tests.report.samples import make_history


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 1176, [0, 500, 1000]),
        (4.6, 5.3, [4.6, 4.8, 5.0, 5.2]),
    ],
)
def test_axes_have_round_values(low, high, expected):
    assert nice_values(low, high, 5 if high != 1176 else 3) == pytest.approx(expected)


def test_ticks_are_written_as_precisely_as_they_are_apart():
    assert [tick.label for tick in Scale(0, 2000, 0, 100).ticks(4)] == [
        "0", "500", "1,000", "1,500", "2,000",
    ]  # fmt: skip
    assert [tick.label for tick in Scale(0.1, 0.3, 0, 1).ticks(2)] == ["0.1", "0.2", "0.3"]


def test_columns_are_as_high_as_clusters_are_large():
    chart = size_chart(np.array([10, 40, 20]), ["a", "b", "c"], [1, 2, 0], total=70)
    assert [bar.cluster for bar in chart.bars] == [1, 2, 0]
    heights = [bar.height for bar in chart.bars]
    assert heights == pytest.approx([heights[0], heights[0] / 2, heights[0] / 4], abs=0.2)
    assert chart.bars[0].title == "b: 40 texts, 57.1%"
    assert chart.rule is not None
    assert chart.rule.label == "even share 23"


def test_every_text_is_in_the_histogram():
    chart = confidence_chart(np.array([0.0, 0.049, 0.5, 1.0, 1.0]))
    counts = [int(bar.title.split(": ")[1].split()[0]) for bar in chart.bars]
    assert sum(counts) == 5
    assert (counts[0], counts[10], counts[-1]) == (2, 1, 2)
    assert "40.0% of the texts are below 50%" in chart.summary


def test_spans_hold_the_middle_of_each_cluster():
    confidence = np.concatenate([np.linspace(0, 1, 101), [0.5]])
    positions = np.array([0] * 101 + [1])
    first, second = spread_chart(confidence, positions, ["a", "b"], [0, 1]).spans
    assert first.title == "a: median 50%, 80% between 10% and 90%"
    assert first.low > first.middle > first.high  # pixels count downwards
    assert second.low == second.high == second.middle


def test_stages_are_found_with_their_bounds():
    stage = np.array(["a", "a", "b", "a"])
    assert stage_bounds(stage) == [("a", 0, 2), ("b", 2, 3), ("a", 3, 4)]


def test_thinning_keeps_means_and_gaps():
    values = np.arange(4800, dtype=np.float64)
    values[:100] = np.nan
    at, means = thin(np.arange(4800), values)
    assert len(at) == 240
    assert np.isnan(means[:5]).all()
    assert means[5:] == pytest.approx(at[5:])


def test_lines_break_where_values_are_missing():
    scale = Scale(0, 10, 0, 10)
    drawn = path(np.arange(5.0), np.array([1, 2, np.nan, 4, 5]), scale, scale)
    assert drawn == "M0 1L1 2M3 4L4 5"


def test_training_shows_losses_and_change_rate_with_stages():
    charts = {chart.title: chart for chart in training_charts(make_history())}
    assert {"Total loss", "Instance loss", "Attention loss", "Pseudo-label loss"} < set(charts)
    assert [band.name for band in charts["Total loss"].bands] == [
        "warm-up", "", "interactive",
    ]  # fmt: skip
    assert charts["Instance loss"].path.count("M") == 2  # no part in the head start
    assert charts["Change rate"].y_ticks[0].label == "0%"
    assert charts["Total loss"].summary.endswith("30 → 24.1")
