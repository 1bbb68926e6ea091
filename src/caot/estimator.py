"""The method as a scikit-learn estimator."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from caot import persistence
from caot.calibration import ENOUGH_TEXTS, neighbour_temperature
from caot.clusterer import EmptyClusterWarning, Probabilities, TextClusterer
from caot.encoders import Encoder
from caot.fitting import FitPlan
from caot.imbalance import Imbalance, ImbalanceSpec
from caot.prediction import network_input, network_shares
from caot.quantities import seconds
from caot.settings import (
    AugmenterSpec,
    EncoderSpec,
    FineTune,
    FitSettings,
    Mode,
    OnEmpty,
    Variant,
)
from caot.threads import compute_threads
from caot.training import Callback, EndReason, History, Networks
from caot.words import Words

logger = logging.getLogger("caot")


class CAOT(TextClusterer):
    """Short-text clustering by consistency-aware adaptive optimal transport.

    Fine-tunes a sentence encoder, or networks on top of a frozen one, without labels: pseudo-labels
    from optimal transport (Eq. 4) teach the networks, which in turn improve the pseudo-labels.

    Parameters
    ----------
    n_clusters
        The number of clusters, at least 2.
    encoder
        "auto" (the embedded all-MiniLM-L6-v2), "paper" (the paper's DistilBERT), a hub id, a
        folder, or an :class:`~caot.encoders.Encoder`. A matrix of numbers as X needs none.
    finetune
        Which encoder layers learn: "all", a number of top layers, "none", or "auto", which decides
        by device, number of texts and time budget, and logs what it chose and why.
    augmenter
        How the two views of a text are made: a name, an :class:`~caot.augment.Augmenter`, a
        function of a list of texts, or "auto": noise on the vectors of a frozen encoder, except in
        faithful mode, and else the best that needs no download. ``fit(views=...)`` goes before it.
    imbalance
        How uneven the clusters are: "auto", "balanced", "slight", "imbalanced", "severe", or the
        penalty weight ε2 as a number.
    mode
        "default", or "faithful": the paper as printed.
    max_iter, warmup_iter
        Iterations, and how many of them are warm-up. By default 2,000 in faithful mode, 1,000 for a
        frozen encoder, 200 to 400 by the number of texts for one that learns; 30 % of them are
        warm-up, but none in the default mode for an encoder that learns.
    patience
        Training ends early when the pseudo-labels and the transport's objective have stood still
        for so many iterations; 0 never ends early, None is 100, 150 for a
        frozen encoder, 0 in faithful mode.
    batch_size
        Samples an iteration.
    max_length
        The most tokens of a text that are read; None is the encoder's own, 32 in faithful mode.
    max_chunks
        Texts of more tokens are read in up to so many chunks of that length, whose mean is their
        vector; None cuts them.
    epsilon, consistency
        ε1 and ε3 of the transport (Eq. 4).
    contrast_weight, temperature_instance, temperature_attention
        Weight of L_I and the temperatures of L_I and L_A (Eqs. 19, 23, 26).
    learning_rate, learning_rate_encoder
        Adam's step sizes of the networks and of the encoder; None for the encoder's is 5e-6 in
        faithful mode, else 1e-4 for top layers and 2e-5 for all.
    on_empty
        "error", or "own-cluster": texts without content get the label ``n_clusters``.
    time_budget
        Training ends after this time, as seconds or "10min"; results then depend on the machine's
        speed.
    cache_memory
        How much of what frozen layers give is kept in memory when top layers learn, in bytes or as
        "2GB"; more goes to a temporary file.
    device
        "cpu", "cuda", ...; None takes the best at hand.
    variant
        Choices that the paper leaves open, see :class:`~caot.Variant`.
    random_state
        Seed of everything random: the same seed, data and thread count give the same labels.
    verbose
        1 shows progress.

    Attributes
    ----------
    labels_
        (n,) int64, the cluster of each text.
    cluster_centers_
        (k, width) means of ``transform(X)`` by cluster; NaN for an empty one.
    cluster_sizes_
        (k,) how many texts each cluster holds; one more with ``on_empty="own-cluster"``, as in
        ``cluster_centers_``.
    has_own_cluster_
        Whether empty texts have a cluster of their own.
    temperature_
        What the probabilities are softened by, so that they agree with the clusters of near texts
        (Eq. 32); 1 in faithful mode, which leaves them as the network gives them.
    words_
        :class:`~caot.words.Words`: the words that count beside the embeddings, or None.
    imbalance_
        :class:`~caot.imbalance.Imbalance`: the penalty weight and where it comes from.
    history_
        :class:`~caot.training.History` of the run.
    n_iter_
        Iterations done, the head start included.
    n_iter_saved_
        Iterations that were not needed, because the pseudo-labels had settled before.
    end_reason_
        Why training ended.
    sample_ids_
        What ``fit(sample_ids=...)`` was given.

    Examples
    --------
    >>> from caot import CAOT
    >>> model = CAOT(n_clusters=20).fit(texts)  # doctest: +SKIP
    >>> model.predict(["how do I join two tables?"])  # doctest: +SKIP
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        encoder: EncoderSpec = "auto",
        finetune: FineTune = "auto",
        augmenter: AugmenterSpec = "auto",
        imbalance: ImbalanceSpec = "auto",
        mode: Mode = "default",
        max_iter: int | None = None,
        warmup_iter: int | None = None,
        patience: int | None = None,
        batch_size: int = 200,
        max_length: int | None = None,
        max_chunks: int | None = None,
        epsilon: float = 1.0,
        consistency: float = 25.0,
        contrast_weight: float = 5.0,
        temperature_instance: float = 1.0,
        temperature_attention: float = 1.0,
        learning_rate: float = 5e-4,
        learning_rate_encoder: float | None = None,
        on_empty: OnEmpty = "error",
        time_budget: float | str | None = None,
        cache_memory: float | str = "2GB",
        device: str | None = None,
        variant: Variant | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.encoder = encoder
        self.finetune = finetune
        self.augmenter = augmenter
        self.imbalance = imbalance
        self.mode = mode
        self.max_iter = max_iter
        self.warmup_iter = warmup_iter
        self.patience = patience
        self.batch_size = batch_size
        self.max_length = max_length
        self.max_chunks = max_chunks
        self.epsilon = epsilon
        self.consistency = consistency
        self.contrast_weight = contrast_weight
        self.temperature_instance = temperature_instance
        self.temperature_attention = temperature_attention
        self.learning_rate = learning_rate
        self.learning_rate_encoder = learning_rate_encoder
        self.on_empty = on_empty
        self.time_budget = time_budget
        self.cache_memory = cache_memory
        self.device = device
        self.variant = variant
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Iterable[str] | ArrayLike,
        y: object = None,
        *,
        views: tuple[Iterable[str] | ArrayLike, Iterable[str] | ArrayLike] | None = None,
        sample_ids: Sequence[object] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 100,
    ) -> Self:
        """Cluster the texts, or the rows of a matrix of numbers.

        Parameters
        ----------
        X
            n texts (list, array, Series), or vectors (n, width).
        y
            Ignored: labels never reach training.
        views
            Two augmented views of X, in the same order.
        sample_ids
            Names of the n samples, kept as ``sample_ids_``.
        callbacks
            Functions that are called with every training event and cannot change the result.
        checkpoint
            A file that the state is written to every ``checkpoint_every`` iterations and at the
            end. If it exists, training goes on from it, on a CPU bit for bit; interrupted training
            loses at most what came after the last write.
        """
        started = time.monotonic()
        settings = self._settings_as(FitSettings)
        if checkpoint_every < 1:
            msg = f"checkpoint_every must be at least 1, got {checkpoint_every}"
            raise ValueError(msg)
        inputs = self._read_samples(X, sample_ids)
        with compute_threads():
            plan = FitPlan.make(settings, self.n_clusters, inputs, views)
            outcome = plan.run(
                deadline=started + seconds(self.time_budget),
                callbacks=callbacks,
                checkpoint=None if checkpoint is None else Path(checkpoint),
                checkpoint_every=checkpoint_every,
            )
            embeddings = plan.prepared.final_embeddings()
        self._take(plan.prepared.encoder, plan.reading.words, outcome.networks, outcome.imbalance)
        self.history_: History = outcome.history
        self.n_iter_ = outcome.n_iter
        self.n_iter_saved_ = outcome.n_saved
        self.end_reason_: EndReason = outcome.reason
        self.sample_ids_ = None if sample_ids is None else list(sample_ids)
        self.temperature_ = 1.0
        if not settings.is_faithful:
            self.temperature_ = self._temperature(plan, embeddings)
        self._label(inputs, embeddings)
        self._warn_about(outcome.reason)
        return self

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model: a sentence-transformers folder with the networks and a model card.

        The words that count (``words_``) are among it, the texts are not. All or nothing: an
        interrupted save leaves what was there before.
        """
        check_is_fitted(self)
        persistence.save(self, Path(folder), overwrite=overwrite)

    @classmethod
    def from_pretrained(
        cls,
        name_or_folder: str | os.PathLike[str],
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        local_files_only: bool = False,
        device: str | None = None,
    ) -> Self:
        """Load a saved model from a folder, or from a model hub by its id."""
        folder = persistence.locate(
            name_or_folder,
            revision=revision,
            token=token,
            cache_dir=cache_dir,
            local_files_only=local_files_only,
        )
        return persistence.load(cls, folder, device=device)

    def push_to_hub(self, repo_id: str, *, token: str | None = None, private: bool = True) -> str:
        """Upload the model to a model hub, by default where only you see it; return its address."""
        check_is_fitted(self)
        return persistence.push(self, repo_id, token=token, private=private)

    def shares(self, vectors: NDArray[np.float32]) -> Probabilities:
        """Return the probability of each of the k clusters, (n, k), from what networks read."""
        return network_shares(self.networks_, vectors, self.temperature_)

    def _take(
        self, encoder: Encoder, words: Words | None, networks: Networks, imbalance: Imbalance
    ) -> None:
        """Keep what prediction needs."""
        self._keep_encoder(encoder)
        self.words_ = words
        self.networks_: Networks = networks.eval()
        self.imbalance_: Imbalance = imbalance

    def _temperature(self, plan: FitPlan, embeddings: NDArray[np.float32]) -> float:
        """Return what makes the probabilities agree with near texts, by vectors from before."""
        inputs = plan.prepared.inputs
        rows = np.random.default_rng(self.random_state).permutation(len(inputs.filled))
        rows = rows[:ENOUGH_TEXTS]
        asked = inputs.filled[rows]
        values = [inputs.values[row] for row in asked]
        device = next(self.networks_.parameters()).device
        with torch.no_grad():
            chosen = torch.tensor(network_input(self, embeddings[asked], values), device=device)
            log_prob = self.networks_.predict(chosen).cpu().numpy()
        before = np.asarray(plan.reading.vectors[rows])
        return neighbour_temperature(log_prob, before, random_state=self.random_state)

    def _warn_about(self, reason: EndReason) -> None:
        used = int(np.count_nonzero(self.cluster_sizes_[: self.n_clusters]))
        weight = f"{self.imbalance_.uniformity:g}"
        if used < self.n_clusters:
            why = (
                "small clusters lost their texts to larger ones: ask for fewer clusters, or use a "
            )
            why += f"higher penalty weight than imbalance={weight}"
            if self.history_.collapsed.any():
                why = "the similarity drew texts together against the predictions: use a higher "
                why += f"penalty weight than imbalance={weight}, or a lower consistency"
            msg = f"only {used} of {self.n_clusters} clusters hold texts; {why}"
            warnings.warn(msg, EmptyClusterWarning, stacklevel=3)
        if reason is EndReason.DIVERGED:
            msg = f"training stopped after {self.n_iter_} iterations because {reason.value}: "
            msg += "use lower learning rates, or check the inputs for extreme values"
            warnings.warn(msg, RuntimeWarning, stacklevel=3)
        elif reason is EndReason.TIME and not self.history_.change_rate.size:
            msg = f"{reason.value} after {self.n_iter_} iterations, before any transport: the "
            msg += "labels mean little. Give more time, or set a smaller max_iter"
            warnings.warn(msg, RuntimeWarning, stacklevel=3)
        elif reason is EndReason.TIME:
            logger.info("training stopped after %d iterations: %s", self.n_iter_, reason.value)
        elif reason is EndReason.SETTLED:
            told = "training stopped after %d iterations, %d before the last: %s"
            logger.info(told, self.n_iter_, self.n_iter_saved_, reason.value)

    def _restore(self, attributes: dict[str, Any]) -> None:
        """Set fitted attributes that a saved model brings."""
        for name, value in attributes.items():
            setattr(self, name, value)
