"""The paper's experiments as suites: which cells each is made of, at which budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, TypeAlias

from caot.baselines import METHODS
from caot.bench.cells import Cell
from caot.bench.datasets import IMAGES, LONG_TEXTS, SHORT_TEXTS
from caot.bench.variants import GRIDS, grid_variants

Budget: TypeAlias = Literal["frozen", "quick", "paper"]
BUDGETS: tuple[Budget, ...] = ("frozen", "quick", "paper")

EIGHT = tuple(spec.name for spec in SHORT_TEXTS)
THREE = ("searchsnippets", "stackoverflow", "googlenews-ts")  # of ablations and pseudo-labels
FOUR = ("stackoverflow", "searchsnippets", "googlenews-t", "tweet")  # of the sensitivity
DEVELOPMENT = ("tweet", "searchsnippets", "stackoverflow")  # whose labels chose the defaults
ENCODERS = (
    "auto",
    "sentence-transformers/all-mpnet-base-v2",
    "paper",
    "BAAI/bge-small-en-v1.5",
    "BAAI/bge-base-en-v1.5",
    "BAAI/bge-large-en-v1.5",
    "Qwen/Qwen3-Embedding-0.6B",
)
# Methods that the paper compares with on long texts and on images, not on short texts.
OF_LONG_TEXTS, OF_IMAGES = "tcllm", "cc"
BERT = "google-bert/bert-base-uncased"
RIVALS = ("sccl", "rstc", "caot")  # whose representations and cost the paper compares
ABLATIONS = (
    "without-cosine",
    "without-attention",
    "without-similarity",
    "without-contrast",
    "without-pseudo-labels",
)
LONG_TEXT_READINGS = ("noise-views", "chunks")
ADDITIONS = (
    "kmeans-start",
    "batch-alone",
    "without-words",
    "plain-words",
    "printed-penalty",
    "without-neighbours",
    "alternating",
    "dropout-predictions",
    "noise-views",
)


@dataclass(frozen=True, slots=True)
class Effort:
    """What a budget allows: which layers learn, how many iterations, which seeds."""

    finetune: str
    faithful_iter: int | None
    usual_iter: int | None  # of every other method; None is its own number
    seeds: tuple[int, ...]


# "frozen" trains the networks alone, "quick" the top two layers too, "paper" everything, as long as
# the paper does, which takes an accelerator.
EFFORTS: Mapping[Budget, Effort] = {
    "frozen": Effort("none", 1000, None, (0, 1, 2, 3, 4)),
    "quick": Effort("2", 200, 200, (0,)),
    "paper": Effort("all", None, None, (0, 1, 2, 3, 4)),
}


_FROZEN = EFFORTS["frozen"]
_LIGHT_SEEDS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Suite:
    """An experiment of the paper.

    Parameters
    ----------
    title
        What it shows.
    cells
        Makes its cells for a budget and seeds.
    max_seeds
        How many of the budget's seeds it takes.
    light
        Makes cells that take the same at every budget; they have three seeds.
    """

    title: str
    cells: Callable[[Effort, Sequence[int]], Iterable[Cell]]
    max_seeds: int = 5
    light: Callable[[Sequence[int]], list[Cell]] | None = None

    def at(self, budget: Budget, seeds: Sequence[int] | None = None) -> list[Cell]:
        """Return the cells at a budget, seed by seed, so that a part of them is of use."""
        effort = EFFORTS[budget]
        chosen = effort.seeds[: self.max_seeds] if seeds is None else seeds
        cells = list(self.cells(effort, chosen))
        if self.light is not None:
            cells = _by_seed(self.light(_LIGHT_SEEDS if seeds is None else seeds), cells)
        return list(dict.fromkeys(cells))


def _faithful(
    effort: Effort,
    seeds: Sequence[int],
    datasets: Sequence[str],
    variants: Sequence[str] = ("full",),
) -> list[Cell]:
    return [
        Cell(
            data, "caot-faithful", variant=variant, finetune=effort.finetune,
            max_iter=effort.faithful_iter, seed=seed,
        )
        for seed, data, variant in product(seeds, datasets, variants)
    ]  # fmt: skip


def _default(
    effort: Effort,
    seeds: Sequence[int],
    datasets: Sequence[str],
    variants: Sequence[str] = ("full",),
) -> list[Cell]:
    return [
        Cell(
            data, "caot", variant=variant, finetune=effort.finetune, max_iter=effort.usual_iter,
            seed=seed,
        )
        for seed, data, variant in product(seeds, datasets, variants)
    ]  # fmt: skip


def _compared(
    effort: Effort, seeds: Sequence[int], datasets: Sequence[str], methods: Sequence[str]
) -> list[Cell]:
    """Return cells of methods that fine-tune, all with the same layers and iterations."""
    return [
        Cell(data, method, finetune=effort.finetune, max_iter=effort.usual_iter, seed=seed)
        for seed, method, data in product(seeds, methods, datasets)
    ]


def _kmeans(seeds: Sequence[int], datasets: Sequence[str]) -> list[Cell]:
    return [Cell(data, "kmeans", seed=seed) for seed, data in product(seeds, datasets)]


def _by_seed(*groups: Iterable[Cell]) -> list[Cell]:
    """Return the cells of all groups, lower seeds first."""
    return sorted((cell for group in groups for cell in group), key=lambda cell: cell.seed)


def _main(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    return _by_seed(
        _kmeans(seeds, EIGHT), _default(effort, seeds, EIGHT), _faithful(effort, seeds, EIGHT)
    )


def _ablations(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    sets = THREE if effort.finetune == "none" else ("stackoverflow",)
    return _faithful(effort, seeds, sets, ("full", *ABLATIONS))


def _sensitivity(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    sets = ("stackoverflow", "tweet") if effort.finetune != "all" else FOUR
    variants = ["full", *(name for parameter in GRIDS for name in grid_variants(parameter))]
    return _faithful(effort, seeds, sets, variants)


def _imbalanced(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    return _faithful(effort, seeds, EIGHT, ("full", "conventional", "conventional-similar"))


def _pseudo_labels(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    kinds = ("full", "prediction", "adaptive")
    return _by_seed(
        _faithful(effort, seeds, THREE, kinds),
        _default(effort, seeds, ("stackoverflow",), (*kinds, "conventional")),
    )


def _convergence(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    # Frozen runs are cheap enough for the paper's number; the others have that of their budget.
    long = replace(effort, faithful_iter=2000) if effort.finetune == "none" else effort
    return _faithful(long, seeds, EIGHT)


def _imbalance(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    return _by_seed(_kmeans(seeds, EIGHT), _faithful(effort, seeds, EIGHT))


def _representations(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    return _by_seed(
        _kmeans(seeds, EIGHT),
        _faithful(effort, seeds, EIGHT),
        _rivals(effort, seeds),
    )


def _rivals(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    """Return cells of ours and of the methods beside it, which must learn to have something."""
    methods = ("caot",) if effort.finetune == "none" else RIVALS
    return _compared(effort, seeds, EIGHT, methods)


def _cost(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    return _by_seed(_main(effort, seeds), _rivals(effort, seeds))


def _methods(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    trained = [name for name, method in METHODS.items() if method.finetunes and name != OF_IMAGES]
    return _compared(effort, seeds, EIGHT, [*trained, "caot"])


def _light_methods(seeds: Sequence[int]) -> list[Cell]:
    light = [name for name, method in METHODS.items() if not method.finetunes]
    kinds = [Cell("", name) for name in light if name != OF_LONG_TEXTS]
    kinds.append(Cell("", "bertopic", variant="finds-k"))  # its own defaults
    return [
        replace(kind, dataset=data, seed=seed) for seed, kind, data in product(seeds, kinds, EIGHT)
    ]


def _encoders(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    iterations = effort.faithful_iter
    return [
        Cell(data, "caot-faithful", encoder, finetune=effort.finetune, max_iter=iterations, seed=s)
        for s, encoder, data in product(seeds, ENCODERS, EIGHT)
    ]


def _effort(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    """Return the cells that settle layers, iterations and rate, on the sets for such choices."""
    del effort  # what a budget sets is what is asked here
    kinds = [
        Cell("", "caot", finetune=layers, max_iter=iterations, variant=variant)
        for layers, iterations, variant in (
            ("none", 200, "full"),
            ("1", 200, "full"),
            ("2", 200, "full"),
            ("2", 400, "full"),
            ("3", 200, "full"),
            ("2", 200, "learning_rate_encoder=5e-05"),
            ("2", 200, "learning_rate_encoder=0.0002"),
        )
    ]
    return [
        replace(kind, dataset=data, seed=s) for s, data, kind in product(seeds, DEVELOPMENT, kinds)
    ]


def _contributions(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    left_out = () if effort.finetune == "none" else ("noise-views",)  # vectors would not stay
    additions = [name for name in ADDITIONS if name not in left_out]
    return _default(effort, seeds, DEVELOPMENT, ("full", *additions))


def _long_texts(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    sets = [spec.name for spec in LONG_TEXTS]
    classical = [
        *_kmeans(seeds, sets),
        *(Cell(data, OF_LONG_TEXTS, BERT, seed=seed) for seed, data in product(seeds, sets)),
    ]
    if effort.finetune == "all":
        return _by_seed(classical, _default(effort, seeds, sets))
    # Layers that learn from long texts take an accelerator, and views of texts three encodings.
    return _by_seed(classical, _default(_FROZEN, seeds, sets, LONG_TEXT_READINGS))


def _images(effort: Effort, seeds: Sequence[int]) -> list[Cell]:
    del effort  # there is no encoder to train
    sets = [spec.name for spec in IMAGES]
    return _by_seed(
        _kmeans(seeds, sets),
        _compared(_FROZEN, seeds, sets, (OF_IMAGES,)),
        _default(_FROZEN, seeds, sets),
    )


SUITES: Mapping[str, Suite] = {
    "main": Suite("Clustering results", _main),
    "methods": Suite(
        "All methods, with the same layers and iterations where they fine-tune",
        _methods,
        1,
        _light_methods,
    ),
    "ablations": Suite("What each part contributes", _ablations, 3),
    "sensitivity": Suite("The effect of ε1, ε2, ε3 and λ", _sensitivity, 1),
    "imbalance": Suite("The coefficient of variation and the penalty", _imbalance, 1),
    "imbalanced": Suite("Conventional transport on imbalanced data", _imbalanced),
    "pseudo-labels": Suite("Kinds of pseudo-labels", _pseudo_labels, 3),
    "convergence": Suite("The change rate of the pseudo-labels", _convergence, 1),
    "representations": Suite("The quality of the representations", _representations, 3),
    "encoders": Suite("Other encoders", _encoders, 1),
    "cost": Suite("Parameters, time and memory", _cost, 1),
    "effort": Suite("Which layers learn, and how fast", _effort, 1),
    "contributions": Suite("What the default mode adds to the paper", _contributions, 3),
    "long-texts": Suite("Long texts", _long_texts, 3),
    "images": Suite("Images", _images, 3),
}
