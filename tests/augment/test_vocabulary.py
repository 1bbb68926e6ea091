from types import SimpleNamespace

import pytest

from caot.augment.masked_loading import load_masked_model
from caot.augment.vocabulary import whole_words
from tests.augment.conftest import BERT_SPECIAL, UNSPACED, WORDS


def tokenizer(tokens, special=()):
    ids = {token: i for i, token in enumerate(tokens)}
    return SimpleNamespace(
        all_special_ids=[ids[token] for token in special],
        get_vocab=lambda: ids,
        convert_tokens_to_string=lambda pieces: "".join(pieces).replace("▁", " "),
    )


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["##s", "cat", "2015", "don't", ".", "x", "a", "##数", "数", "数据"], ["cat", "a", "数"]),
        (["Ġcat", "cat", "Ġ", "Ġ12", "Ġx", "Ġi", "ĠIBM"], ["cat", "i", "IBM"]),
        (["▁cat", "cat", "▁", "▁été", "数", "▁.", "▁कि"], ["cat", "été", "数", "कि"]),
        (["cat</w>", "ca", "dog</w>", "</w>"], ["cat", "dog"]),
        (["cat", "dog", "#"], ["cat", "dog"]),
    ],
    ids=["wordpiece", "byte-level", "sentencepiece", "word-end", "words"],
)
def test_only_whole_words_count(tokens, expected):
    found = whole_words(tokenizer(tokens))
    assert found.words == expected
    assert found.ids == sorted(found.ids)


def test_special_tokens_never_count():
    found = whole_words(tokenizer(["pad", "##s", "cat"], special=["pad"]))
    assert found.words == ["cat"]


def test_bert_words(bert):
    model = load_masked_model(bert)
    assert model.words == list(dict.fromkeys([*WORDS, *UNSPACED]))
    assert not set(model.words) & set(BERT_SPECIAL)
    assert model.tokenizer.convert_ids_to_tokens(model.ids.tolist()) == model.words


def test_roberta_words_are_those_with_a_space_before_them(roberta):
    model = load_masked_model(roberta)
    tokens = model.tokenizer.convert_ids_to_tokens(model.ids.tolist())
    assert all(token.startswith("Ġ") for token in tokens)
    assert {"query", "Query", "été", "java"} <= set(model.words)
    assert not any("Ġ" in word or "Ã" in word for word in model.words if word.startswith("été"))
