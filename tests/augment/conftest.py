"""Tiny masked language models with random weights, and a text encoder made of word vectors."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import nn

_LISTED = (
    "the a how do you page collection query result set client directory window studio user brain "
    "fluid delay president economy coast protest reform start java excel spring apple database "
    "server file folder text cluster model train word language image sound river house green red"
)
WORDS = _LISTED.split()
PIECES = ["##s", "##ing", "##ed", "##er"]
LETTERS = list("bcdefghjklmnopqrstuvwxyz")
UNSPACED = list("我你他好学习数据库我们文字")
SYMBOLS = [*"0123456789.,?!()#+-", "2015"]
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]

TEXTS = [
    "How do you page a collection with LINQ?",
    "brain fluid delay (again), president!",
    "query result set of the database server, file and folder directory window studio user",
    "java",
    "Excel spring apple",
    "the economy of the coast: a protest, a reform",
]
HARD_TEXTS = [
    "😀😀 👩‍👩‍👧",
    "我你他好学习数据库",
    "学习 java 数据库 query",
    "كيف حالك اليوم يا صديقي",
    "מה שלומך היום",
    "สวัสดีครับ ผม",
    "half a surrogate \ud83d here",
    "e\u0301te\u0301 cafe\u0301 na\u00efve",
    "zero\u200bwidth \u202eright to left",
    "<mask> [MASK] </s> [SEP] java",
    "???",
    "x" * 5000,
    "java " * 600,
]


def _bert_tokenizer() -> Tokenizer:
    vocabulary = dict.fromkeys([*BERT_SPECIAL, *WORDS, *PIECES, *LETTERS, *UNSPACED, *SYMBOLS])
    ids = {token: i for i, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _roberta_tokenizer() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    ids = {token: i for i, token in enumerate([*ROBERTA_SPECIAL, *alphabet])}
    merges: list[tuple[str, str]] = []
    # Merges that build each word letter by letter, with and without a space before it; Query and
    # été give a word that differs in case alone and one that is spelt by bytes.
    for word in [*WORDS, "Query", "Java", "Ã©tÃ©"]:
        for start in ("Ġ", ""):
            built = start or word[0]
            for letter in word if start else word[1:]:
                if built + letter not in ids:
                    ids[built + letter] = len(ids)
                    merges.append((built, letter))
                built += letter
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return tokenizer


def _save(folder: Path, kind: str) -> str:
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        PreTrainedTokenizerFast,
        RobertaConfig,
        RobertaForMaskedLM,
    )

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 66,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if kind == "bert":
            own = _bert_tokenizer()
            names = BERT_SPECIAL
            model = BertForMaskedLM(
                BertConfig(vocab_size=own.get_vocab_size(), initializer_range=0.5, **sizes)
            )
        else:
            own = _roberta_tokenizer()
            names = [ROBERTA_SPECIAL[i] for i in (1, 3, 0, 2, 4)]
            model = RobertaForMaskedLM(
                RobertaConfig(vocab_size=own.get_vocab_size(), initializer_range=0.5, **sizes)
            )
    pad, unknown, start, end, mask = names
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=own,
        pad_token=pad,
        unk_token=unknown,
        cls_token=start,
        sep_token=end,
        mask_token=mask,
        model_max_length=64,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a tiny BERT with whole words, pieces and Han characters."""
    return _save(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a tiny RoBERTa with a byte-level vocabulary."""
    return _save(tmp_path_factory.mktemp("roberta"), "roberta")


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep cached views of a test to itself."""
    monkeypatch.setenv("CAOT_CACHE", str(tmp_path))
    return tmp_path / "augment"


class WordEncoder:
    """A text is the mean of its words' vectors: related words, of which there are pairs, agree."""

    def __init__(self, words: Sequence[str], *, width: int = 24) -> None:
        generator = np.random.default_rng(0)
        base = generator.normal(size=(len(words) // 2 + 1, width))
        near = generator.normal(size=(len(words), width))
        vectors = np.repeat(base, 2, axis=0)[: len(words)] + 0.2 * near
        self.words = list(words)
        self.index = {word: row for row, word in enumerate(words)}
        self.vectors = vectors.astype(np.float32)
        self.module = nn.Embedding.from_pretrained(torch.from_numpy(self.vectors))
        # As transformers' models offer it.
        self.module.get_input_embeddings = lambda: self.module
        self.tokenizer = SimpleNamespace(
            all_special_ids=[],
            get_vocab=lambda: dict(self.index),
            convert_tokens_to_string="".join,
        )
        self.n_encoded = 0

    def encode(self, texts: list[str], batch_size: int = 64, progress: bool = False) -> np.ndarray:
        self.n_encoded += len(texts)
        rows = [[self.index[w] for w in text.lower().split() if w in self.index] for text in texts]
        width = self.vectors.shape[1]
        return np.stack(
            [self.vectors[own].mean(axis=0) if own else np.ones(width, np.float32) for own in rows]
        )


@pytest.fixture
def word_encoder() -> Callable[..., WordEncoder]:
    """Return the class `WordEncoder`."""
    return WordEncoder
