"""Random models small enough for tests, in the folders that real models come in.

Every function takes an empty or new folder, fills it and returns it. The weights depend on `seed`
alone, so that two calls give equal models.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3Model,
    XLMRobertaConfig,
    XLMRobertaModel,
)

Family = Literal["bert", "distilbert", "mpnet", "xlmr", "qwen3"]

FAMILIES: tuple[Family, ...] = ("bert", "distilbert", "mpnet", "xlmr", "qwen3")

# transformers does not say what its constructors return.
_FastTokenizer: Any = PreTrainedTokenizerFast
_CausalModel: Any = Qwen3ForCausalLM
_MaskedModel: Any = BertForMaskedLM

HIDDEN = 16
N_LAYERS = 3
MAX_LENGTH = 24

_WORD_LIST = """
the a of to in how what is why can not new old big red blue fast slow sort list file
code text data word cat dog tree sun rain sea road car house door key lock open close
"""
WORDS = tuple(_WORD_LIST.split())

_BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ROBERTA_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_QWEN_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>")

# Puts words of its own around a text, as chat models do.
CHAT_TEMPLATE = "{% for message in messages %}open {{ message['content'] }} close {% endfor %}"


def _vocabulary(special: tuple[str, ...], letters: str = "") -> dict[str, int]:
    pieces = [*special, *WORDS]
    for letter in letters:
        pieces += [letter, f"##{letter}"]
    return {piece: row for row, piece in enumerate(dict.fromkeys(pieces))}


def _wordpiece(special: tuple[str, ...], roles: dict[str, str]) -> PreTrainedTokenizerFast:
    vocabulary = _vocabulary(special, "abcdefghijklmnopqrstuvwxyz0123456789")
    unknown, start, end = roles["unk_token"], roles["cls_token"], roles["sep_token"]
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B {end}",
        special_tokens=[(start, vocabulary[start]), (end, vocabulary[end])],
    )
    made: PreTrainedTokenizerFast = _FastTokenizer(
        tokenizer_object=tokenizer, model_max_length=MAX_LENGTH, **roles
    )
    return made


def _qwen_tokenizer(chat: bool) -> PreTrainedTokenizerFast:
    vocabulary = _vocabulary(_QWEN_SPECIAL)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    made: PreTrainedTokenizerFast = _FastTokenizer(
        tokenizer_object=tokenizer,
        model_max_length=MAX_LENGTH,
        unk_token="<unk>",
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        padding_side="left",
    )
    if chat:
        made.chat_template = CHAT_TEMPLATE
    return made


def tiny_tokenizer(family: Family = "bert", *, chat: bool = False) -> PreTrainedTokenizerFast:
    """Return a tokenizer that knows `WORDS` whole and spells other words by their letters."""
    if family == "qwen3":
        return _qwen_tokenizer(chat)
    if family in ("mpnet", "xlmr"):
        start, pad, end, unknown, mask = _ROBERTA_SPECIAL
        special = _ROBERTA_SPECIAL
    else:
        pad, unknown, start, end, mask = _BERT_SPECIAL
        special = _BERT_SPECIAL
    roles = {
        "cls_token": start,
        "pad_token": pad,
        "sep_token": end,
        "unk_token": unknown,
        "mask_token": mask,
    }
    return _wordpiece(special, roles)


def _sizes(n_layers: int) -> dict[str, Any]:
    return {
        "hidden_size": HIDDEN,
        "num_hidden_layers": n_layers,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }


def _config_and_class(
    family: Family, n_tokens: int, n_layers: int
) -> tuple[Any, type[PreTrainedModel]]:
    sizes = _sizes(n_layers)
    config: Any
    if family == "bert":
        config = BertConfig(vocab_size=n_tokens, max_position_embeddings=32, **sizes)
        return config, BertModel
    if family == "distilbert":
        config = DistilBertConfig(
            vocab_size=n_tokens,
            max_position_embeddings=32,
            dim=HIDDEN,
            n_layers=n_layers,
            n_heads=2,
            hidden_dim=32,
        )
        return config, DistilBertModel
    if family == "mpnet":
        config = MPNetConfig(vocab_size=n_tokens, max_position_embeddings=34, **sizes)
        return config, MPNetModel
    if family == "xlmr":
        config = XLMRobertaConfig(
            vocab_size=n_tokens, max_position_embeddings=34, type_vocab_size=1, **sizes
        )
        return config, XLMRobertaModel
    config = Qwen3Config(
        vocab_size=n_tokens, max_position_embeddings=64, num_key_value_heads=1, head_dim=8, **sizes
    )
    return config, Qwen3Model


def plain_folder(
    folder: Path,
    family: Family = "bert",
    *,
    n_layers: int = N_LAYERS,
    chat: bool = False,
    causal_lm: bool = False,
    seed: int = 0,
) -> Path:
    """Write a plain Hugging Face model folder, without any file of sentence-transformers."""
    tokenizer = tiny_tokenizer(family, chat=chat)
    config, model_class = _config_and_class(family, len(tokenizer), n_layers)
    # The default spread of 0.02 makes all texts nearly equal.
    config.initializer_range = 0.5
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _CausalModel(config) if causal_lm else model_class(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def tiny_folder(
    folder: Path,
    family: Family = "bert",
    *,
    pooling: str = "mean",
    include_prompt: bool = True,
    normalise: bool = False,
    dense: int | None = None,
    prompts: dict[str, str] | None = None,
    default_prompt_name: str | None = None,
    max_length: int = MAX_LENGTH,
    n_layers: int = N_LAYERS,
    truncate_dim: int | None = None,
    seed: int = 0,
) -> Path:
    """Write a sentence-transformers folder of the given family, pooling and later modules."""
    folder = Path(folder)
    plain = plain_folder(folder / "plain", family, n_layers=n_layers, seed=seed)
    transformer = Transformer(str(plain))
    transformer.max_seq_length = max_length
    modules: list[Any] = [transformer, Pooling(HIDDEN, pooling, include_prompt=include_prompt)]
    if dense is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            modules.append(Dense(HIDDEN, dense))
    if normalise:
        modules.append(Normalize())
    model = SentenceTransformer(
        modules=modules,
        device="cpu",
        prompts=prompts,
        default_prompt_name=default_prompt_name,
        truncate_dim=truncate_dim,
    )
    target = folder / "model"
    model.save_pretrained(str(target), create_model_card=False)
    return target


def tiny_bert_folder(folder: Path, *, normalise: bool = True, seed: int = 0) -> Path:
    """Write a sentence-transformers BERT: mean pooling, normalised unless told otherwise."""
    return tiny_folder(folder, "bert", normalise=normalise, seed=seed)


def tiny_masked_lm_folder(folder: Path, *, n_layers: int = 2, seed: int = 0) -> Path:
    """Write a BERT with a masked language model head, for fill-mask."""
    tokenizer = tiny_tokenizer("bert")
    config, _ = _config_and_class("bert", len(tokenizer), n_layers)
    config.initializer_range = 0.5
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _MaskedModel(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def tiny_translator(folder: Path) -> Path:
    """Write a random model of the kind that translates, and return its folder."""
    tokenizer = tiny_tokenizer("bert")
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=80,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=3,
        init_std=1.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
