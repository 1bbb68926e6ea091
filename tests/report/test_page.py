import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from caot.report import render, write_report
from tests.report.samples import HOSTILE, make_data, make_history, make_texts


class Page(HTMLParser):
    """What a browser would find: elements with attributes, and the text of raw elements."""

    def __init__(self, source):
        super().__init__()
        self.elements = []
        self.raw = []
        self.words = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), []))

    def handle_data(self, data):
        if self.cdata_elem:
            self.raw[-1][2].append(data)
        else:
            self.words.append(data)

    def tags(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]

    def content(self, tag, **attributes):
        (found,) = [
            "".join(parts)
            for name, given, parts in self.raw
            if name == tag and all(given.get(key) == value for key, value in attributes.items())
        ]
        return found

    @property
    def data(self):
        return json.loads(self.content("script", id="data"))


@pytest.fixture(scope="module")
def full():
    data = make_data(
        history=make_history(),
        warnings=("Two clusters are nearly the same.",),
        scores={"accuracy": 0.8125, "NMI": 0.7},
        second_labels=np.arange(210) % 6,
        second_confidence=np.full(210, 0.125),
        ids=[f"T-{i}" for i in range(210)],
    )
    return data, render(data)


def test_every_part_is_there(full):
    page = Page(full[1])
    ids = {attributes.get("id") for _, attributes in page.elements}
    parts = {"map", "clusters", "texts", "shape", "similar", "training", "reproduce"}
    assert parts < ids
    text = " ".join(page.words)
    for expected in ("Made-up tickets", "1 May 2026", "0.812", "nearly the same", "random_state"):
        assert expected in text
    assert {"#" + part for part in parts} == {a["href"] for a in page.tags("a")} & {
        "#" + part for part in parts
    }


def test_ids_are_unique_and_links_lead_somewhere(full):
    page = Page(full[1])
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.tags("a")} <= set(ids)
    for name in ("aria-labelledby", "aria-describedby"):
        assert {a[name] for _, a in page.elements if name in a} <= set(ids)


def test_each_cluster_has_a_card_with_its_texts(full):
    data, source = full
    page = Page(source)
    cards = [a for a in page.tags("article") if a["class"] == "card"]
    sizes = [int(card["data-size"]) for card in cards]
    assert sizes == sorted(np.bincount(data.labels).tolist(), reverse=True)
    for cluster in data.description.clusters:
        for row in cluster.examples:
            assert data.texts[row] in page.words


def test_the_table_has_every_text_in_order(full):
    data, source = full
    found = Page(source).data
    assert found["texts"] == list(data.texts)
    assert [found["clusters"][k]["id"] for k in found["cluster"]] == data.labels.tolist()
    assert found["confidence"] == pytest.approx(1000 * data.confidence, abs=1)
    assert found["ids"][:2] == ["T-0", "T-1"]
    assert found["second"][:7] == [0, 1, 2, 3, 4, 5, 0]
    assert found["secondConfidence"] == [125] * 210
    assert found["rows"] is None


def test_the_map_keeps_the_shape_of_the_point_cloud(full):
    data, source = full
    found = Page(source).data
    places = np.stack([found["x"], found["y"]], axis=1)
    assert places.min() == 0
    assert places.max() == 65534
    scale = float(np.ptp(data.coordinates, axis=0).max()) / 65534
    offset = data.coordinates - scale * places
    assert np.ptp(offset, axis=0) == pytest.approx([0, 0], abs=2 * scale)


def test_nothing_runs_or_loads_but_what_the_page_brought(full):
    source = full[1]
    page = Page(source)
    (policy,) = [
        meta["content"]
        for meta in page.tags("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    script = "".join(parts[0] for tag, a, parts in page.raw if tag == "script" and not a)
    for name, content in (("script-src", script), ("style-src", page.content("style"))):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert not [a for _, a in page.elements if "style" in a]
    assert not [n for _, a in page.elements for n in a if n.startswith("on")]
    assert [a["href"] for a in page.tags("link")] == ["data:,"]
    assert not [a for _, a in page.elements if "src" in a]
    assert not re.search(r"@import|url\(|https?://", source)


@pytest.mark.parametrize("where", ["texts", "labels and keywords", "everything else"])
def test_texts_are_never_markup_or_code(where):
    harmless = Page(render(make_data(texts=[f"text {i}" for i in range(len(HOSTILE))], k=3)))
    texts = HOSTILE if where == "texts" else [f"text {i}" for i in range(len(HOSTILE))]
    extra = {}
    if where == "labels and keywords":
        extra = {"names": HOSTILE, "terms": HOSTILE[:7]}
    if where == "everything else":
        extra = {
            "title": HOSTILE[1] + HOSTILE[9],
            "created": HOSTILE[0],
            "settings": {
                **dict.fromkeys(("n_clusters", "random_state"), 1),
                HOSTILE[3]: HOSTILE[4],
            },
            "ids": HOSTILE,
        }
    source = render(make_data(texts=list(texts), k=3, **extra))
    source.encode("utf-8")  # no lone surrogates
    assert not set(source) & set("\x00\x07\x1b\x7f")
    page = Page(source)
    tags, expected = [tag for tag, _ in page.elements], [tag for tag, _ in harmless.elements]
    for tag in ("script", "style", "img", "b", "html", "body"):
        assert tags.count(tag) == expected.count(tag)
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    raw = page.content("script", id="data")
    assert not set(raw) & set("<>&\u2028\u2029")
    assert len(page.data["texts"]) == len(HOSTILE)


def test_odd_texts_come_back_as_they_were_but_for_what_no_page_can_hold():
    found = Page(render(make_data(texts=list(HOSTILE), k=3))).data["texts"]
    assert found[:8] == list(HOSTILE[:8])
    assert found[8] == "NUL ␀ bell ␇ escape ␛ delete ␡"
    assert found[9] == "lone \ufffd surrogate \ufffd"
    assert found[10:17] == list(HOSTILE[10:17])
    assert len(found[17]) <= 1000
    assert found[17].endswith("…")


def test_the_same_data_give_the_same_bytes(tmp_path, full):
    data, source = full
    assert render(data) == source
    path = write_report(tmp_path / "new" / "report.html", data)
    assert path.read_bytes() == source.encode()


def test_twenty_thousand_texts_fit_ten_megabytes():
    n = 20_000
    texts = [f"{text} {'<long & tedious> ' * 24}" for text in make_texts(n)]
    data = make_data(
        texts=texts,
        k=152,
        ids=["<" * 60] * n,
        second_labels=np.zeros(n, dtype=np.int64),
        second_confidence=np.full(n, 0.1),
    )
    source = render(data)
    assert len(source.encode()) < 10_000_000
    found = Page(source).data
    assert len(found["texts"]) == n
    assert len(found["texts"][0]) >= 40
    assert "long texts are cut after" in source


def test_more_texts_than_points_are_sampled_fairly():
    labels = np.repeat([0, 1, 2], [400, 80, 6])
    data = make_data(texts=make_texts(486), labels=labels, k=3)
    source = render(data, max_points=60)
    found = Page(source).data
    assert len(found["texts"]) == len(found["rows"]) == 60
    assert found["texts"] == [data.texts[row] for row in found["rows"]]
    assert found["cluster"].count(2) == 6
    assert found["cluster"].count(0) > found["cluster"].count(1) >= 10
    assert "60 of 486 texts" in source
    assert "<dt>texts</dt><dd>486</dd>" in source


def test_texts_may_be_without_a_cluster_and_ids_may_have_gaps():
    labels = np.array([7, 7, -1, 2, 2, 2, -1, 7])
    found = Page(source := render(make_data(texts=make_texts(8), labels=labels))).data
    assert [c["id"] for c in found["clusters"]] == [2, 7]
    assert found["cluster"] == [1, 1, -1, 0, 0, 0, -1, 1]
    assert "without a cluster" in source


def test_all_texts_may_be_without_a_cluster():
    page = Page(render(make_data(texts=make_texts(3), labels=[-1, -1, -1])))
    assert page.data["clusters"] == []


def test_one_text_makes_a_report():
    page = Page(render(make_data(texts=["alone"], labels=[0])))
    assert page.data["texts"] == ["alone"]
    assert (page.data["x"], page.data["y"]) == ([32767], [32767])


def test_parts_without_data_are_left_out():
    source = render(make_data(labels=[0] * 210))
    assert 'id="training"' not in source
    assert 'id="similar"' not in source
    assert "Please note" not in source
    assert "known labels" not in source


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": np.ones(209)}, "confidence has 209 entries for 210 texts"),
        ({"confidence": np.full(210, 1.1)}, "confidence must hold probabilities"),
        ({"confidence": np.full(210, np.nan)}, "confidence must hold probabilities"),
        ({"coordinates": np.zeros((210, 3))}, r"shape \(210, 2\)"),
        ({"coordinates": np.full((210, 2), np.inf)}, "NaN or infinite"),
        ({"labels": np.full(210, 99)}, "99 is one"),
        ({"second_labels": np.zeros(210, dtype=np.int64)}, "give both or neither"),
        ({"texts": []}, "at least one text"),
    ],
)
def test_data_that_do_not_fit_are_refused(change, message):
    data = make_data()
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(data, **change)
