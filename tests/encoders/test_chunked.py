"""Long texts in chunks: the same as a loop over chunks, and as the plain encoder where they fit."""

import copy
import logging
import pickle

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from caot.encoders import (
    ChunkedEncoder,
    Deferred,
    EmbeddingCache,
    Encoder,
    Features,
    LayeredEncoder,
    Tokens,
    TransformerEncoder,
    keep_lower,
    load_encoder,
)
from tests.fakes import HashEncoder
from tests.tiny_models import FAMILIES, HIDDEN, MAX_LENGTH, WORDS, plain_folder, tiny_tokenizer

ROOM = MAX_LENGTH - 2  # tokens of a text in a chunk of a BERT


def words(n, seed=0):
    return " ".join(np.random.default_rng(seed).choice(WORDS, n))


# One token too many, just full, one more than two chunks, far more than all chunks.
LONG = [words(ROOM + 1, 1), words(2 * ROOM, 2), words(2 * ROOM + 1, 3), words(20 * ROOM + 5, 4)]


@pytest.fixture
def mixed(texts):
    """Return short and long texts, and one that is just full."""
    return [LONG[3], *texts[:3], LONG[0], words(ROOM, 9), LONG[1], texts[3], LONG[2], LONG[0]]


@pytest.fixture
def chunked(bert):
    return ChunkedEncoder(bert)


def naive(plain, text, max_chunks=8, *, n_before=1, n_after=1):
    """Encode a text chunk by chunk, from its words alone."""
    ids = plain.prepare_whole([text]).values.tolist()
    limit = plain.max_length
    if len(ids) <= limit:
        return plain.encode([text])[0]
    head, body, tail = ids[:n_before], ids[n_before : len(ids) - n_after], ids[len(ids) - n_after :]
    room = limit - n_before - n_after
    parts = [body[start : start + room] for start in range(0, len(body), room)]
    if len(parts) > max_chunks:
        step = (len(parts) - 1) / max(1, max_chunks - 1)
        parts = [parts[round(step * place)] for place in range(max_chunks)]
    vectors = [plain.encode(Tokens.from_lists([head + part + tail]))[0] for part in parts]
    mean = np.average(vectors, axis=0, weights=[len(part) for part in parts])
    return mean / np.linalg.norm(mean) if plain.has_unit_vectors else mean


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


# What a vector is


@pytest.mark.parametrize("max_chunks", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("normalise", [False, True])
def test_equal_to_a_loop_over_chunks(folder_of, mixed, normalise, max_chunks):
    plain = TransformerEncoder.load(folder_of("bert", normalise=normalise), device="cpu")
    encoder = ChunkedEncoder(plain, max_chunks=max_chunks)
    vectors = encoder.encode(mixed)
    assert vectors.dtype == np.float32
    close(vectors, [naive(plain, text, max_chunks) for text in mixed])
    if normalise:
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    if max_chunks > 1:
        assert np.abs(vectors - plain.encode(mixed)).max() > 0.01


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(folder_of, mixed, family):
    pooling = {"qwen3": "lasttoken", "xlmr": "cls"}.get(family, "mean")
    plain = TransformerEncoder.load(folder_of(family, pooling=pooling), device="cpu")
    n_before = 0 if family == "qwen3" else 1  # it marks the end of a text alone
    expected = [naive(plain, text, n_before=n_before) for text in mixed]
    close(ChunkedEncoder(plain).encode(mixed), expected)


@pytest.mark.parametrize("include_prompt", [True, False])
def test_every_chunk_has_the_prompt(folder_of, mixed, include_prompt):
    folder = folder_of(
        "bert",
        include_prompt=include_prompt,
        prompts={"p": "what is the "},
        default_prompt_name="p",
    )
    plain = TransformerEncoder.load(folder, device="cpu")
    tokens = ChunkedEncoder(plain).prepare([LONG[0]])
    start = plain.prepare(["cat"]).values[:4].tolist()  # [CLS] what is the
    assert (
        tokens.values[:4].tolist() == tokens.values[MAX_LENGTH : MAX_LENGTH + 4].tolist() == start
    )
    close(ChunkedEncoder(plain).encode(mixed), [naive(plain, t, n_before=4) for t in mixed])


def test_every_chunk_has_the_chat_template(tmp_path):
    model = SentenceTransformer(str(plain_folder(tmp_path, "qwen3", chat=True)), device="cpu")
    model.max_seq_length = 6
    plain = TransformerEncoder(model, name="chat")
    tokens = ChunkedEncoder(plain).prepare(["the cat is red and the dog is old"])
    pieces = tiny_tokenizer("qwen3").convert_ids_to_tokens(tokens.values)
    told = "open the cat is red close open <unk> the dog is close open old close"
    assert " ".join(pieces) == told
    close(ChunkedEncoder(plain).encode(LONG), [naive(plain, text) for text in LONG])


def test_a_model_that_keeps_only_the_first_numbers(folder_of, mixed):
    folder = folder_of("bert", normalise=True, truncate_dim=4)
    plain = TransformerEncoder.load(folder, device="cpu")
    assert not plain.has_unit_vectors
    close(ChunkedEncoder(plain).encode(mixed), [naive(plain, text) for text in mixed])


def test_texts_that_fit_have_the_plain_vectors(bert, chunked, texts):
    fitting = [*texts, words(ROOM)]
    assert chunked.prepare(fitting).digest() == bert.prepare(fitting).digest()
    np.testing.assert_array_equal(chunked.encode(fitting), bert.encode(fitting))
    tokens = bert.prepare(fitting)
    assert torch.equal(chunked.forward(tokens), bert.forward(tokens))


def test_what_comes_after_the_maximum_counts(bert, chunked):
    pair = [f"{words(ROOM)} cat", f"{words(ROOM)} rain"]
    np.testing.assert_array_equal(*bert.encode(pair))
    assert np.abs(np.subtract(*chunked.encode(pair))).max() > 1e-3


def test_one_chunk_is_what_the_plain_encoder_reads(bert, mixed):
    one = ChunkedEncoder(bert, max_chunks=1)
    assert one.prepare(mixed).digest() == bert.prepare(mixed).digest()
    np.testing.assert_array_equal(one.encode(mixed), bert.encode(mixed))


def test_an_encoder_without_a_maximum_reads_all(bert, texts, monkeypatch):
    monkeypatch.setattr(TransformerEncoder, "max_length", None)
    encoder = ChunkedEncoder(bert)
    assert encoder.max_length is None
    np.testing.assert_array_equal(encoder.encode(texts), bert.encode(texts))


# Prepared texts


def test_chunks_are_the_texts_own_tokens(bert, chunked):
    whole = bert.prepare_whole([LONG[2]]).values
    tokens = chunked.prepare([LONG[2]])
    start, end = whole[0], whole[-1]
    chunks = np.split(tokens.values, [MAX_LENGTH, 2 * MAX_LENGTH])
    assert [chunk.size for chunk in chunks] == [MAX_LENGTH, MAX_LENGTH, 3]
    assert all(chunk[0] == start and chunk[-1] == end for chunk in chunks)
    np.testing.assert_array_equal(np.concatenate([chunk[1:-1] for chunk in chunks]), whole[1:-1])
    np.testing.assert_array_equal(chunks[0], bert.prepare([LONG[2]]).values)


def test_chunks_of_a_very_long_text_are_spread_from_first_to_last(bert):
    encoder = ChunkedEncoder(bert, max_chunks=3)
    whole = bert.prepare_whole([LONG[3]]).values
    tokens = encoder.prepare([LONG[3]])
    assert len(tokens.values) == 2 * MAX_LENGTH + 5 + 2 <= encoder.max_length
    np.testing.assert_array_equal(tokens.values[1 : ROOM + 1], whole[1 : ROOM + 1])
    middle = tokens.values[MAX_LENGTH + 1 : 2 * MAX_LENGTH - 1]
    np.testing.assert_array_equal(middle, whole[1 + 10 * ROOM : 1 + 11 * ROOM])
    np.testing.assert_array_equal(tokens.values[-6:-1], whole[-6:-1])


def test_rows_are_taken_repeated_and_told_apart(bert, chunked, mixed):
    tokens = chunked.prepare(mixed)
    assert len(tokens) == len(mixed)
    assert tokens.digest() != bert.prepare(mixed).digest()
    assert tokens.digest() != ChunkedEncoder(bert, max_chunks=2).prepare(mixed).digest()
    whole = chunked.encode(tokens)
    close(chunked.encode(tokens.take([8, 0, 8, 1])), whole[[8, 0, 8, 1]])
    assert tokens.take([8, 1]).digest() == chunked.prepare([mixed[8], mixed[1]]).digest()


def test_how_many_texts_are_long_is_logged(chunked, mixed, caplog):
    with caplog.at_level(logging.INFO, logger="caot.encoders"):
        chunked.prepare(mixed)
    assert "5 of 10 texts have more than 24 tokens: read in chunks, 1 of them" in caplog.text


def test_reading_whole_texts_makes_no_noise_and_leaves_the_tokenizer_as_it_was(
    chunked, mixed, capsys, caplog
):
    plain = chunked.encoder
    before, fingerprint = plain.prepare(mixed).digest(), plain.fingerprint
    chunked.prepare(mixed)
    assert "sequence length" not in caplog.text + capsys.readouterr().err
    assert (plain.prepare(mixed).digest(), plain.fingerprint) == (before, fingerprint)
    assert plain.max_length == MAX_LENGTH


@pytest.mark.parametrize(
    ("inputs", "message"), [("one text", "got one string"), (["a", None], "text 1 is a NoneType")]
)
def test_only_lists_of_strings_are_read(chunked, inputs, message):
    with pytest.raises(TypeError, match=message):
        chunked.prepare(inputs)


def test_iterators_and_no_texts(chunked, mixed):
    assert chunked.prepare(iter(mixed)).digest() == chunked.prepare(mixed).digest()
    assert chunked.encode([]).shape == (0, HIDDEN)
    assert chunked.forward(chunked.prepare([])).shape == (0, HIDDEN)


# As an encoder


def test_follows_the_protocols(bert, chunked):
    assert isinstance(chunked, Encoder)
    assert isinstance(chunked, LayeredEncoder)
    assert chunked.name == bert.name
    assert chunked.max_length == 8 * MAX_LENGTH
    assert load_encoder(chunked) is chunked
    with pytest.raises(TypeError, match="forward takes Tokens"):
        chunked.forward(["a text"])


@pytest.mark.parametrize("normalise", [False, True])
def test_vectors_do_not_depend_on_the_batch(folder_of, mixed, normalise):
    plain = TransformerEncoder.load(folder_of("bert", normalise=normalise), device="cpu")
    encoder = ChunkedEncoder(plain)
    whole = encoder.encode(mixed)
    for batch_size in (1, 2, 7):
        close(encoder.encode(mixed, batch_size=batch_size), whole)
    order = np.random.default_rng(0).permutation(len(mixed))
    shuffled = encoder.encode([mixed[row] for row in order], batch_size=3)
    close(shuffled, whole[order])
    with torch.no_grad():
        plain.module.eval()
        close(encoder.forward(encoder.prepare(mixed)).numpy(), whole)


def test_equal_texts_have_equal_vectors_and_runs_are_repeatable(chunked, mixed):
    vectors = chunked.encode(mixed, batch_size=3)
    np.testing.assert_array_equal(vectors[4], vectors[9])
    np.testing.assert_array_equal(vectors, chunked.encode(mixed, batch_size=3))


def test_batches_count_chunks(bert, chunked, mixed, monkeypatch):
    sizes = []
    forward = bert.forward
    monkeypatch.setattr(bert, "forward", lambda b: (sizes.append(len(b)), forward(b))[1])
    chunked.encode(mixed, batch_size=4)
    assert max(sizes) == 4


def test_the_fingerprint_knows_the_chunks(bert, chunked):
    prints = {
        bert.fingerprint,
        chunked.fingerprint,
        ChunkedEncoder(bert, max_chunks=2).fingerprint,
    }
    assert len(prints) == 3
    assert chunked.fingerprint == ChunkedEncoder(bert).fingerprint


def test_kept_embeddings_are_those_of_the_chunks(bert, chunked, mixed, texts, tmp_path):
    cache = EmbeddingCache(tmp_path)
    for inputs in (mixed, texts):
        plain = cache.get(bert, inputs)
        assert cache.path(bert, bert.prepare(inputs)) != cache.path(
            chunked, chunked.prepare(inputs)
        )
        np.testing.assert_array_equal(cache.get(chunked, inputs), chunked.encode(inputs))
        np.testing.assert_array_equal(cache.get(bert, inputs), plain)


def test_copies_and_pickles_give_the_same_vectors(chunked, mixed):
    vectors = chunked.encode(mixed)
    for other in (copy.deepcopy(chunked), pickle.loads(pickle.dumps(chunked))):  # noqa: S301
        assert other.module is not chunked.module
        np.testing.assert_array_equal(other.encode(mixed), vectors)


# Learning


@pytest.mark.parametrize("normalise", [False, True])
def test_gradients_come_from_every_chunk(folder_of, normalise):
    """The gradient of a text is that of the mean over its chunks, written out by hand."""
    plain = TransformerEncoder.load(folder_of("bert", normalise=normalise), device="cpu")
    encoder = ChunkedEncoder(plain)
    plain.module.eval()
    weights = encoder.set_trainable("all")
    tokens = encoder.prepare([LONG[2], "cat"])
    direction = torch.linspace(-1, 1, HIDDEN)
    found = torch.autograd.grad((encoder.forward(tokens) @ direction).sum(), weights)

    chunks = np.split(tokens.take([0]).values, [MAX_LENGTH, 2 * MAX_LENGTH])
    vectors = [plain.forward(Tokens.from_lists([chunk.tolist()]))[0] for chunk in chunks]
    mean = (ROOM * vectors[0] + ROOM * vectors[1] + vectors[2]) / (2 * ROOM + 1)
    if normalise:
        mean = mean / mean.norm()
    short = plain.forward(tokens.take([1]))[0]
    expected = torch.autograd.grad((mean + short) @ direction, weights)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    assert any(gradient.abs().max() > 0.01 for gradient in found)


@pytest.mark.parametrize("layers", [0, 1, 2, "all", "none"])
def test_the_same_layers_learn_as_without_chunks(bert, chunked, layers):
    expected = len(bert.set_trainable(layers))
    assert len(chunked.set_trainable(layers)) == expected
    assert chunked.n_frozen == bert.n_frozen


@pytest.mark.parametrize("family", ["bert", "distilbert", "mpnet", "xlmr"])
def test_running_by_parts_gives_the_same(folder_of, mixed, family, monkeypatch):
    monkeypatch.setattr("caot.encoders.chunked._LOWER_TOGETHER", 3)
    encoder = load_encoder(folder_of(family), max_chunks=4, device="cpu")
    assert encoder.can_run_by_parts
    encoder.set_trainable(1)
    encoder.module.eval()
    tokens = encoder.prepare(mixed)
    whole = encoder.forward(tokens)
    below = encoder.lower(tokens)
    torch.testing.assert_close(encoder.forward(below), whole, rtol=0, atol=2e-5)
    close(encoder.encode(below), encoder.encode(tokens))
    rows = [8, 1, 0]
    torch.testing.assert_close(encoder.forward(below.take(rows)), whole[rows], rtol=0, atol=2e-5)
    close(encoder.encode(Deferred(encoder, tokens)), encoder.encode(tokens))
    kept = keep_lower(encoder, tokens, memory=1e9)
    np.testing.assert_allclose(encoder.encode(kept), encoder.encode(tokens), atol=1e-2)


def test_unknown_architectures_run_whole(folder_of):
    encoder = load_encoder(folder_of("qwen3"), max_chunks=4, device="cpu")
    assert not encoder.can_run_by_parts
    with pytest.raises(ValueError, match="cannot run by parts"):
        encoder.lower(encoder.prepare(LONG))


# Asking for it


def test_load_encoder_wraps_what_it_loads_and_what_it_is_given(bert, folder_of, mixed):
    encoder = load_encoder(folder_of("bert"), max_chunks=3, max_length=10, device="cpu")
    assert isinstance(encoder, ChunkedEncoder)
    assert (encoder.max_chunks, encoder.encoder.max_length) == (3, 10)
    given = load_encoder(bert, max_chunks=8)
    assert isinstance(given, ChunkedEncoder)
    assert given.encoder is bert
    faithful = load_encoder(folder_of("bert"), mode="faithful", max_chunks=2, device="cpu")
    assert faithful.max_length == 2 * 32


@pytest.mark.parametrize("encoder", [Features(3), HashEncoder()])
def test_other_encoders_do_not_read_in_chunks(encoder):
    with pytest.raises(TypeError, match=r"only a TransformerEncoder reads in chunks, not a"):
        load_encoder(encoder, max_chunks=2)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "8"])
def test_the_number_of_chunks_is_checked(bert, wrong):
    with pytest.raises(ValueError, match="max_chunks must be an integer of at least 1, got"):
        ChunkedEncoder(bert, max_chunks=wrong)


def test_a_prompt_that_fills_every_chunk_is_refused(folder_of):
    folder = folder_of("bert", prompts={"p": "what is the "}, default_prompt_name="p")
    plain = TransformerEncoder.load(folder, max_length=5, device="cpu")
    with pytest.raises(ValueError, match=r"take 5 tokens, which leaves no room .* max_length is 5"):
        ChunkedEncoder(plain)


def test_save_writes_the_encoders_folder(chunked, mixed, tmp_path):
    chunked.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved", max_chunks=8, device="cpu")
    assert again.fingerprint == chunked.fingerprint
    np.testing.assert_array_equal(again.encode(mixed), chunked.encode(mixed))
