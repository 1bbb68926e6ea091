import copy
import pickle

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import processors

from caot.encoders import Encoder, Tokens, TransformerEncoder
from tests.tiny_models import (
    FAMILIES,
    HIDDEN,
    MAX_LENGTH,
    plain_folder,
    tiny_tokenizer,
)


def reference(folder, texts):
    return SentenceTransformer(str(folder), device="cpu").encode(texts)


def hand_mean(encoder, texts):
    """Encode one text at a time without padding, and average its tokens."""
    rows = []
    for text in texts:
        ids = torch.from_numpy(encoder.prepare([text]).values)[None]
        with torch.no_grad():
            hidden = encoder.module[0].model.eval()(input_ids=ids).last_hidden_state
        rows.append(hidden[0].mean(dim=0).numpy())
    return np.stack(rows)


def test_same_vectors_as_sentence_transformers(family_folder, family_encoder, texts):
    vectors = family_encoder.encode(texts, batch_size=3)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), family_encoder.width) == (len(texts), HIDDEN)
    np.testing.assert_allclose(vectors, reference(family_folder, texts), rtol=0, atol=1e-5)
    # The models are random, but not so that every text looks the same.
    assert np.abs(vectors[0] - vectors[1]).max() > 0.1


def test_follows_the_protocol(bert, folder_of):
    assert isinstance(bert, Encoder)
    assert bert.name == str(folder_of("bert"))
    assert bert.n_layers == 3
    assert bert.max_length == MAX_LENGTH
    assert bert.device == torch.device("cpu")


@pytest.mark.parametrize("family", FAMILIES)
def test_mean_pooling_is_the_plain_mean_over_tokens(folder_of, family, texts):
    folder = folder_of(family, pooling="cls", normalise=True)
    encoder = TransformerEncoder.load(folder, pooling="mean", device="cpu")
    np.testing.assert_allclose(encoder.encode(texts), hand_mean(encoder, texts), rtol=0, atol=1e-5)


def test_own_pooling_keeps_normalisation_and_later_modules(folder_of, texts):
    folder = folder_of("bert", dense=6, normalise=True)
    encoder = TransformerEncoder.load(folder, device="cpu")
    vectors = encoder.encode(texts)
    assert encoder.width == 6
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(vectors, reference(folder, texts), rtol=0, atol=1e-5)
    assert TransformerEncoder.load(folder, pooling="mean", device="cpu").width == HIDDEN


def test_plain_model_gets_mean_pooling(tmp_path, texts):
    encoder = TransformerEncoder.load(plain_folder(tmp_path), device="cpu")
    np.testing.assert_allclose(encoder.encode(texts), hand_mean(encoder, texts), rtol=0, atol=1e-5)


def test_plain_language_model_gets_mean_pooling_and_no_chat_template(tmp_path, texts):
    folder = plain_folder(tmp_path, "qwen3", chat=True, causal_lm=True)
    encoder = TransformerEncoder.load(folder, device="cpu")
    words = tiny_tokenizer("qwen3").convert_ids_to_tokens(encoder.prepare(["cat dog"]).values)
    assert words == ["cat", "dog", "<|endoftext|>"]
    np.testing.assert_allclose(encoder.encode(texts), hand_mean(encoder, texts), rtol=0, atol=1e-5)


@pytest.mark.parametrize("include_prompt", [True, False])
def test_default_prompt_is_applied(folder_of, texts, include_prompt):
    folder = folder_of(
        "bert",
        include_prompt=include_prompt,
        prompts={"cluster": "what is the ", "other": "red "},
        default_prompt_name="cluster",
    )
    encoder = TransformerEncoder.load(folder, device="cpu")
    bare = TransformerEncoder.load(folder_of("bert"), device="cpu")
    assert encoder.prepare(["cat"]).digest() == bare.prepare(["what is the cat"]).digest()
    vectors = encoder.encode(texts, batch_size=2)
    np.testing.assert_allclose(vectors, reference(folder, texts), rtol=0, atol=1e-5)
    assert np.abs(vectors - bare.encode(texts)).max() > 0.01


def test_named_prompt_and_no_prompt_with_mean_pooling(folder_of):
    folder = folder_of(
        "bert",
        prompts={"cluster": "what is the ", "other": "red "},
        default_prompt_name="cluster",
    )
    bare = TransformerEncoder.load(folder_of("bert"), device="cpu")
    named = TransformerEncoder.load(folder, prompt_name="other", device="cpu")
    assert named.prepare(["cat"]).digest() == bare.prepare(["red cat"]).digest()
    mean = TransformerEncoder.load(folder, pooling="mean", device="cpu")
    assert mean.prepare(["cat"]).digest() == bare.prepare(["cat"]).digest()
    with pytest.raises(ValueError, match=r"no prompt 'title'; it has .*'cluster'"):
        TransformerEncoder.load(folder, prompt_name="title", device="cpu")


def test_texts_are_cut_at_max_length(folder_of):
    long_text = " ".join(["cat"] * 100)
    own = TransformerEncoder.load(folder_of("bert"), device="cpu")
    assert own.prepare([long_text]).lengths.tolist() == [MAX_LENGTH]
    short = TransformerEncoder.load(folder_of("bert"), max_length=5, device="cpu")
    assert short.max_length == 5
    assert short.prepare([long_text, "cat"]).lengths.tolist() == [5, 3]


@pytest.mark.parametrize("family", ["bert", "mpnet", "xlmr"])
def test_max_length_stays_within_the_positions(folder_of, family):
    # A tokenizer that allows more than the 32 positions of the model.
    folder = folder_of(family, max_length=500)
    encoder = TransformerEncoder.load(folder, device="cpu")
    assert encoder.max_length == 32
    assert encoder.encode([" ".join(["cat"] * 100)]).shape == (1, HIDDEN)
    for wrong in (2, 33):
        with pytest.raises(ValueError, match=f"at least 3 and at most 32 .* got {wrong}"):
            TransformerEncoder.load(folder, max_length=wrong, device="cpu")


def test_vectors_do_not_depend_on_the_batch(family_encoder, texts):
    whole = family_encoder.encode(texts)
    atol = 5e-6 * np.abs(whole).max()  # kernels of other widths round differently
    for batch_size in (1, 2, 7):
        again = family_encoder.encode(texts, batch_size=batch_size)
        np.testing.assert_allclose(again, whole, rtol=0, atol=atol)
    order = [3, 0, 6, 5, 1, 4, 2]
    shuffled = family_encoder.encode([texts[row] for row in order], batch_size=2)
    np.testing.assert_allclose(shuffled, whole[order], rtol=0, atol=atol)


def test_batches_are_sorted_and_distinct(bert, texts, monkeypatch):
    batches = []
    forward = bert.forward
    monkeypatch.setattr(
        bert, "forward", lambda b: (batches.append(b.lengths.tolist()), forward(b))[1]
    )
    tokens = bert.prepare(texts)
    vectors = bert.encode(tokens, batch_size=2)
    longest = sorted(tokens.take([0, 1, 2, 3, 4, 6]).lengths.tolist(), reverse=True)
    assert batches == [longest[:2], longest[2:4], longest[4:]]
    np.testing.assert_array_equal(vectors[2], vectors[5])


def test_encode_takes_texts_tokens_and_nothing(bert, texts):
    np.testing.assert_array_equal(bert.encode(texts), bert.encode(bert.prepare(texts)))
    np.testing.assert_array_equal(bert.encode(np.array(texts)), bert.encode(tuple(texts)))
    assert bert.encode([]).shape == (0, HIDDEN)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        bert.encode(texts, batch_size=0)


def test_encode_shows_progress_when_asked(bert, texts, capsys):
    bert.encode(texts)
    assert capsys.readouterr().err == ""
    bert.encode(texts, progress=True)
    assert "Encoding" in capsys.readouterr().err


def test_encode_is_in_evaluation_mode_and_leaves_every_mode_as_it_was(bert, texts):
    bert.module.train()
    bert.module[0].model.encoder.layer[0].eval()
    before = [part.training for part in bert.module.modules()]
    state = torch.get_rng_state()
    first = bert.encode(texts)
    np.testing.assert_array_equal(first, bert.encode(texts))
    assert [part.training for part in bert.module.modules()] == before
    assert torch.equal(torch.get_rng_state(), state)


def test_modes_come_back_after_an_error(bert):
    bert.module.train()
    with pytest.raises(IndexError):
        bert.encode(Tokens.from_lists([[10**6]]))
    assert bert.module.training


def test_forward_follows_the_modules_mode_and_torchs_grad_mode(bert, texts):
    tokens = bert.prepare(texts)
    bert.module.train()
    torch.manual_seed(0)
    assert not torch.equal(bert.forward(tokens), bert.forward(tokens))
    bert.module.eval()
    vectors = bert.forward(tokens)
    assert torch.equal(vectors, bert.forward(tokens))
    assert vectors.requires_grad
    with torch.no_grad():
        assert not bert.forward(tokens).requires_grad
    with pytest.raises(TypeError, match="forward takes Tokens"):
        bert.forward(texts)


def test_half_precision_weights_are_read_as_float32(tmp_path, folder_of, texts):
    model = SentenceTransformer(str(folder_of("bert")), device="cpu").bfloat16()
    model.save_pretrained(str(tmp_path), create_model_card=False)
    encoder = TransformerEncoder.load(tmp_path, device="cpu")
    assert {weight.dtype for weight in encoder.module.parameters()} == {torch.float32}


def test_model_that_keeps_only_the_first_numbers(folder_of, texts):
    folder = folder_of("bert", truncate_dim=4)
    encoder = TransformerEncoder.load(folder, device="cpu")
    assert encoder.width == 4
    np.testing.assert_allclose(encoder.encode(texts), reference(folder, texts), atol=1e-5)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [("one text", "got one string"), (["a", None], "text 1 is a NoneType"), ([1.5], "text 0 is a")],
)
def test_only_lists_of_strings_are_read(bert, inputs, message):
    with pytest.raises(TypeError, match=message):
        bert.prepare(inputs)


def test_text_without_any_token_is_named(folder_of):
    encoder = TransformerEncoder.load(folder_of("qwen3"), device="cpu")
    encoder.module.tokenizer.backend_tokenizer.post_processor = processors.Sequence([])
    assert encoder.prepare(["cat"]).lengths.tolist() == [1]
    with pytest.raises(ValueError, match=r"text 1 \(''\) has no tokens"):
        encoder.prepare(["cat", ""])


def test_tokenizer_without_padding_token(tmp_path, texts):
    folder = plain_folder(tmp_path, "qwen3")
    with_pad = TransformerEncoder.load(folder, device="cpu").encode(texts)
    tokenizer = tiny_tokenizer("qwen3")
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    encoder = TransformerEncoder.load(folder, device="cpu")
    np.testing.assert_allclose(encoder.encode(texts), with_pad, rtol=0, atol=1e-5)


def test_model_without_a_transformer_is_refused():
    model = SentenceTransformer(
        modules=[StaticEmbedding(tiny_tokenizer(), embedding_dim=4)], device="cpu"
    )
    with pytest.raises(ValueError, match=r"starts with StaticEmbedding.*Features"):
        TransformerEncoder(model, name="static")


def test_unknown_pooling_is_refused(folder_of):
    with pytest.raises(ValueError, match='pooling must be "own" or "mean"'):
        TransformerEncoder.load(folder_of("bert"), pooling="max", device="cpu")


def test_copies_and_pickles_give_the_same_vectors(bert, texts):
    vectors = bert.encode(texts)
    for other in (copy.deepcopy(bert), pickle.loads(pickle.dumps(bert))):  # noqa: S301 - our own
        assert other.module is not bert.module
        assert other.fingerprint == bert.fingerprint
        np.testing.assert_array_equal(other.encode(texts), vectors)


def test_within_a_block_no_text_is_encoded_twice(bert, texts, monkeypatch):
    expected = bert.encode(texts)
    n_forward = []
    forward = bert.forward
    monkeypatch.setattr(bert, "forward", lambda b: (n_forward.append(len(b)), forward(b))[1])
    with bert.remembering(1e6):
        first = bert.encode(texts)
        seen = sum(n_forward)
        again = bert.encode([*texts[::-1], "a new old cat"])
        assert sum(n_forward) == seen + 1
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(again[:-1], expected[::-1])
    bert.encode(texts)
    assert sum(n_forward) == 2 * seen + 1  # nothing is kept after the block
    with bert.remembering(0):  # no room
        bert.encode(texts)
        bert.encode(texts)
    assert sum(n_forward) == 4 * seen + 1
