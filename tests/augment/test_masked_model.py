import shutil

import pytest
import torch

from caot.augment.masked_loading import is_available, load_masked_model, revision_of
from caot.augment.masked_model import token_spans
from caot.augment.words import split_words
from tests.augment.conftest import HARD_TEXTS, TEXTS


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model(request):
    return load_masked_model(request.getfixturevalue(request.param))


def test_one_mask_stands_for_each_word(model):
    text = "query results, (windows) 😀 java"  # results and windows are several tokens
    words = split_words(text)
    masked = model.tokenize([text], [words], 64)[0]
    assert list(masked.spans) == words
    whole, places = model._mask(masked, [])
    assert whole == masked.ids
    assert places == []
    ids, places = model._mask(masked, words[1:3])
    assert [i for i, token in enumerate(ids) if token == model.tokenizer.mask_token_id] == places
    assert len(places) == 2
    shown = model.tokenizer.decode(ids, skip_special_tokens=False)
    for gone in ("results", "windows", "result", "window"):
        assert gone not in shown
    for kept in ("query", "java", "(", ")", ","):
        assert kept in shown


def test_words_that_share_a_token_or_are_cut_off_are_left_alone():
    text = "数据 word last"
    words = split_words(text)
    spans = token_spans(text, words, [(0, 0), (0, 2), (3, 5), (5, 7), (0, 0)])
    assert spans == {words[2]: (2, 4)}


def test_logits_at_the_masks_are_those_of_the_full_output(model):
    words = [split_words(text) for text in TEXTS]
    chosen = [own[:2] for own in words]
    masked = model.tokenize(TEXTS, words, 64)
    rows = [model._mask(text, own) for text, own in zip(masked, chosen, strict=True)]
    logits = model._logits_at_masks(rows)
    expected = []
    for ids, places in rows:
        with torch.no_grad():
            full = model.model(input_ids=torch.tensor([ids])).logits[0]
        expected.extend(full[place] for place in places)
    assert logits.shape == (sum(map(len, chosen)), model.model.config.vocab_size)
    torch.testing.assert_close(logits, torch.stack(expected), rtol=1e-4, atol=1e-4)


def test_candidates_are_the_best_whole_words_but_the_word_itself(model):
    text = "Query java"
    words = split_words(text)
    masked = model.tokenize([text], [words], 64)
    columns, logits = model.fill(masked, [words[:1]], top_k=3)
    full = model._logits_at_masks([model._mask(masked[0], words[:1])])[0]
    allowed = [
        (float(full[token_id]), column)
        for column, (token_id, word) in enumerate(zip(model.ids.tolist(), model.words, strict=True))
        if (word.lower() != "query" and word.isascii()) or word == "été"
    ]
    best = sorted(column for _, column in sorted(allowed)[-3:])
    assert columns[0].tolist() == best
    assert logits[0].tolist() == [float(full[model.ids[column]]) for column in best]


def test_a_character_without_spaces_gets_its_like_only(bert, roberta):
    for folder, expected in ((bert, True), (roberta, False)):
        model = load_masked_model(folder)
        text = "学习java"
        words = split_words(text)
        assert model.can_fill(words[0]) is expected
        assert model.can_fill(words[2])
        if expected:
            masked = model.tokenize([text], [words], 64)
            columns, logits = model.fill(masked, [words[:1]], top_k=100)
            possible = {
                model.words[column]
                for column, logit in zip(columns[0], logits[0], strict=True)
                if logit > -torch.inf
            }
            assert possible == set("我你他好习数据库们文字")


def test_the_maximum_length_holds(model):
    texts = [*TEXTS, *HARD_TEXTS]
    words = [split_words(text) for text in texts]
    for row in model.tokenize(texts, words, 16):
        assert len(row.ids) <= 16
    for row in model.tokenize(texts, words, 10_000):
        assert len(row.ids) <= 64


def test_logits_that_are_no_numbers_are_an_error(bert):
    broken = load_masked_model(bert)
    with torch.no_grad():
        broken.model.get_output_embeddings().bias.fill_(torch.nan)
    words = split_words("java")
    masked = broken.tokenize(["java"], [words], 16)
    with pytest.raises(RuntimeError, match="not numbers"):
        broken.fill(masked, [words], 5)


def test_loading_leaves_the_global_draws_alone(bert):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    load_masked_model(bert)
    assert torch.equal(torch.rand(3), expected)


def test_a_model_that_is_not_here_is_explained():
    for name in ("roberta-base", "no/such-model", "./no/such/folder"):
        assert not is_available(name)
        assert revision_of(name) is None
        with pytest.raises(OSError, match="hf download") as caught:
            load_masked_model(name, local_files_only=True)
        assert name in str(caught.value)
        assert "substitute" in str(caught.value)


def test_weights_without_a_head_are_no_masked_model(bert, tmp_path):
    from transformers import BertForMaskedLM

    BertForMaskedLM.from_pretrained(bert).bert.save_pretrained(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(f"{bert}/{file}", tmp_path)
    with pytest.raises(ValueError, match="is no masked language model: it has no weights for"):
        load_masked_model(str(tmp_path))


def test_damaged_weights_are_explained(bert, tmp_path):
    shutil.copytree(bert, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(OSError, match="is not available"):
        load_masked_model(str(tmp_path / "model"))


def test_the_revision_follows_the_files(bert, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    assert is_available(str(folder))
    before = revision_of(str(folder))
    assert before == revision_of(str(folder))
    config = folder / "config.json"
    config.write_text(config.read_text() + " ")
    assert revision_of(str(folder)) != before
    (folder / "model.safetensors").unlink()
    assert not is_available(str(folder))


def test_a_model_in_the_hub_cache_is_found_under_either_name(bert, tmp_path, monkeypatch):
    from huggingface_hub import constants

    commit = "0" * 40
    repository = tmp_path / "models--FacebookAI--roberta-base"
    shutil.copytree(bert, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for name in ("roberta-base", "FacebookAI/roberta-base"):
        assert is_available(name)
        assert revision_of(name) == commit
