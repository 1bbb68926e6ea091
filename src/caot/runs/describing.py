"""How the clusters of a run are put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from caot.describe import LANGUAGES, Description, describe, labels_from_endpoint
from caot.runs.errors import RunError

_AUTO, _NONE = "auto", "none"


@dataclass(frozen=True, slots=True)
class Describing:
    """Settings of a description.

    Parameters
    ----------
    languages
        Whose function words are no keywords: codes or English names; "auto" finds them, "none"
        lets all words be keywords.
    n_examples, n_keywords
        Example texts and keywords of a cluster.
    """

    languages: tuple[str, ...] = (_AUTO,)
    n_examples: int = 5
    n_keywords: int = 10

    def __post_init__(self) -> None:
        for name, value in (("examples", self.n_examples), ("keywords", self.n_keywords)):
            if value < 1:
                msg = f"the number of {name} is {value}: ask for at least 1"
                raise RunError(msg)
        alone = {_AUTO, _NONE} & set(self.languages)
        if alone and len(self.languages) > 1:
            msg = f"the language {min(alone)!r} stands alone: leave the other languages out"
            raise RunError(msg)
        for name in () if alone else self.languages:
            if name.lower() not in LANGUAGES and name.title() not in LANGUAGES.values():
                msg = (
                    f"the function words of the language {name!r} are not known: choose among "
                    f"{', '.join(LANGUAGES)}, or auto, or none"
                )
                raise RunError(msg)

    @property
    def stop_words(self) -> str | list[str] | None:
        """The setting as `caot.describe.describe` takes it."""
        if self.languages == (_NONE,):
            return None
        return _AUTO if self.languages in ((_AUTO,), ()) else list(self.languages)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A language model that writes labels; keywords and example texts are sent to it."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)


def described(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    probabilities: NDArray[np.float32],
    embeddings: NDArray[np.float32],
    *,
    describing: Describing,
    endpoint: Endpoint | None = None,
    names: Mapping[int, str] = MappingProxyType({}),
) -> Description:
    """Describe the clusters of n texts; labels (n,), the matrices (n, k) and (n, width).

    Clusters keep their ``names`` unless the endpoint writes others.
    """
    description = describe(
        texts,
        labels,
        probabilities,
        embeddings,
        n_keywords=describing.n_keywords,
        n_examples=describing.n_examples,
        stop_words=describing.stop_words,
    ).with_labels(names)
    if endpoint is None:
        return description
    return labels_from_endpoint(
        description,
        texts,
        base_url=endpoint.base_url,
        model=endpoint.model,
        api_key=endpoint.api_key,
    )
