"""The demo tickets are what their documentation says, and look like people's texts."""

import csv
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from caot.demo import load_demo


@pytest.fixture(scope="module")
def demo():
    return load_demo()


def test_there_are_a_thousand_tickets_in_twelve_uneven_topics(demo):
    sizes = np.bincount(demo.topics)
    assert len(demo.texts) == len(demo.topics) == sizes.sum() == 1000
    assert len(demo.topic_names) == len(sizes) == len(set(demo.topic_names)) == 12
    assert (sizes.max(), sizes.min()) == (172, 22)
    assert (np.diff(sizes) <= 0).all()


def test_topics_are_those_of_the_file(demo):
    with files("caot.demo").joinpath("tickets.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(1001 + i) for i in range(1000)]
    assert [row["text"] for row in rows] == list(demo.texts)
    assert [row["topic"] for row in rows] == [demo.topic_names[topic] for topic in demo.topics]


def test_topics_are_mixed_in_the_file(demo):
    assert np.mean(demo.topics[1:] == demo.topics[:-1]) < 0.2


def test_texts_are_short_and_clean(demo):
    words = np.array([len(text.split()) for text in demo.texts])
    assert words.min() >= 2
    assert words.max() <= 21
    assert 7 < words.mean() < 11
    assert all(text == text.strip() and text.isprintable() for text in demo.texts)


def test_texts_are_written_in_many_ways(demo):
    counts = Counter(demo.texts)
    assert 2 <= sum(count > 1 for count in counts.values()) <= 10
    plain = sum(text == text.lower() and text[-1].isalnum() for text in demo.texts)
    assert 100 < plain < 700
    openings = Counter(" ".join(text.lower().split()[:3]) for text in demo.texts)
    assert openings.most_common(1)[0][1] <= 30


def test_topics_share_words(demo):
    used = [
        " ".join(t for t, topic in zip(demo.texts, demo.topics, strict=True) if topic == i).lower()
        for i in range(12)
    ]
    for word in ("camera", "code", "cancel", "app", "money"):
        assert sum(word in texts for texts in used) >= 3


def test_demo_is_frozen(demo):
    with pytest.raises(AttributeError):
        demo.texts = ()
    with pytest.raises(ValueError, match="read-only"):
        demo.topics[0] = 1
