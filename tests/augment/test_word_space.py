from types import SimpleNamespace

import numpy as np
import pytest

from caot.augment import WordSpace, word_space
from caot.augment.word_space import has_words, nearest_words
from caot.encoders import Features
from tests.augment.conftest import WORDS


def space_of(**vectors):
    return WordSpace(list(vectors), np.array(list(vectors.values()), dtype=np.float32))


def look_up(space, words, *, n_neighbors=10, min_similarity=-1.0):
    return nearest_words(space, words, n_neighbors=n_neighbors, min_similarity=min_similarity)


def test_words_and_vectors_come_from_the_encoder(word_encoder):
    encoder = word_encoder([*WORDS, "##s", "x1"])
    space = word_space(encoder)
    assert space.words == WORDS
    np.testing.assert_array_equal(space.vectors, encoder.vectors[: len(WORDS)])


def test_words_come_from_inside_a_sentence_transformer(bert):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    transformer = Transformer(bert)
    pooling = Pooling(transformer.get_embedding_dimension(), "mean")
    encoder = SimpleNamespace(module=SentenceTransformer(modules=[transformer, pooling]))
    assert has_words(encoder)
    space = word_space(encoder)
    weight = transformer.model.get_input_embeddings().weight.detach().numpy()
    row = transformer.tokenizer.get_vocab()["query"]
    np.testing.assert_array_equal(space.vectors[space.words.index("query")], weight[row])


def test_an_encoder_without_words_is_explained():
    assert not has_words(Features(3))
    assert not has_words(None)
    with pytest.raises(ValueError, match="Features has no words to substitute"):
        word_space(Features(3))


def test_neighbours_agree_with_a_double_loop():
    generator = np.random.default_rng(0)
    words = [f"w{'x' * i}" for i in range(1, 701)]  # more than one block
    space = WordSpace(words, generator.normal(size=(700, 8)).astype(np.float32) + 3)
    found = look_up(space, words, n_neighbors=5, min_similarity=0.3)
    centred = space.vectors.astype(np.float64) - space.vectors.mean(axis=0, dtype=np.float64)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    for row in (0, 1, 511, 512, 699):
        cosine = unit @ unit[row]
        cosine[row] = -2
        best = [i for i in np.argsort(-cosine)[:5] if cosine[i] >= 0.3]
        assert found[words[row]].words == [words[i] for i in best]
        np.testing.assert_allclose(found[words[row]].similarities, cosine[best], atol=1e-5)


def test_function_words_are_neither_replaced_nor_put_in():
    space = space_of(query=[1, 0], the=[1, 0.01], select=[1, 0.1], river=[-3, -1])
    found = look_up(space, ["query", "the"])
    assert "the" not in found
    assert found["query"].words == ["select", "river"]


def test_other_spellings_of_the_word_are_no_neighbours():
    space = space_of(query=[1, 0], Query=[1, 0.1], QUERY=[1, 0.2], select=[0, 1], Select=[0, 1.1])
    found = look_up(space, ["query", "Query"])
    assert found["query"].words in (["select"], ["Select"])
    assert found["Query"].words in (["select"], ["Select"])


def test_words_are_looked_up_as_written_then_in_lower_case():
    space = space_of(apple=[1, 0], Apple=[0, 1], pear=[1, 0.1], phone=[0.1, 1])
    found = look_up(space, ["apple", "Apple", "APPLE", "unknown"], n_neighbors=1)
    assert {word: near.words for word, near in found.items()} == {
        "apple": ["pear"],
        "Apple": ["phone"],
        "APPLE": ["pear"],
    }


def test_scripts_without_spaces_keep_to_themselves():
    space = WordSpace(["word", "数", "据", "text"], np.eye(4, dtype=np.float32))
    found = look_up(space, ["word", "数"])
    assert found["word"].words == ["text"]
    assert found["数"].words == ["据"]


def test_distant_words_have_no_neighbours():
    space = space_of(one=[1, 0, 0], two=[0, 1, 0], three=[0, 0, 1])
    assert look_up(space, ["two"], min_similarity=0.9) == {}
    assert look_up(space, []) == {}


def test_a_zero_vector_does_no_harm():
    space = space_of(query=[1, 0], select=[-1, 0], blank=[0, 0])
    with np.errstate(all="raise"):
        found = look_up(space, ["blank", "query"], min_similarity=-1.0)
    assert all(np.isfinite(near.similarities).all() for near in found.values())
