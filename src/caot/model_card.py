"""The README of a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caot.encoders import ChunkedEncoder, Features

if TYPE_CHECKING:
    from caot.estimator import CAOT

_CARD = """\
---
library_name: {library}
tags:
- caot
- clustering
- sentence-similarity
---

# {n_clusters} clusters of short texts

A model of caot, a library that clusters short texts: {description}, trained without
labels on {n_samples} samples.

```python
from caot import CAOT

model = CAOT.from_pretrained("path/to/this/folder")
labels = model.predict({example})
```
{embeddings}
## Clusters

| cluster | samples | share |
|---:|---:|---:|
{rows}

## Settings

| setting | value |
|---|---|
{settings}

## Versions

{versions}
"""

_EMBEDDINGS = """
The fine-tuned encoder alone: `SentenceTransformer("path/to/this/folder")`.
"""

_WORDS = """
Words count beside the embeddings: `caot_words.json` holds {count:,} words, each of which stands in
at least two of the texts that the model was trained on.
"""

_CHUNKS = """
Texts of more than {length} tokens are read in up to {chunks} chunks, whose mean is their vector.
`SentenceTransformer` knows nothing of chunks: its `encode` cuts such texts after {length} tokens.
"""


def model_card(model: CAOT) -> str:
    """Return a model card in Markdown, without any of the texts."""
    from caot.persistence import library_versions  # noqa: PLC0415 - it imports this module

    sizes = model.cluster_sizes_
    total = int(sizes.sum())
    is_vectors = isinstance(model.encoder_, Features)
    parameters = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, str | int | float | bool | type(None))
        and name not in ("device", "verbose")
    }
    parameters["penalty weight ε2, as used"] = f"{model.imbalance_.uniformity:g}"
    parameters["iterations"] = model.n_iter_
    return _CARD.format(
        library="caot" if is_vectors else "sentence-transformers",
        n_clusters=model.n_clusters,
        n_samples=f"{total:,}",
        description="clusters of precomputed vectors"
        if is_vectors
        else f"the encoder `{model.encoder_.name}` with a clustering network on top",
        example="vectors" if is_vectors else '["a new text"]',
        embeddings="" if is_vectors else _EMBEDDINGS + _on_words(model) + _on_long_texts(model),
        rows="\n".join(f"| {i} | {n} | {n / total:.1%} |" for i, n in enumerate(sizes)),
        settings="\n".join(f"| {name} | {value} |" for name, value in parameters.items()),
        versions=", ".join(f"{name} {value}" for name, value in library_versions().items()),
    )


def _on_words(model: CAOT) -> str:
    """Say which words the folder holds."""
    return "" if model.words_ is None else _WORDS.format(count=len(model.words_.vocabulary))


def _on_long_texts(model: CAOT) -> str:
    """Say how long texts are read, where it is not how the encoder alone reads them."""
    encoder = model.encoder_
    if not isinstance(encoder, ChunkedEncoder):
        return ""
    return _CHUNKS.format(length=encoder.encoder.max_length, chunks=encoder.max_chunks)
