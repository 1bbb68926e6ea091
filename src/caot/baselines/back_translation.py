"""Back-Trans: a text and its translation there and back are a positive pair."""

from __future__ import annotations

import os
from dataclasses import dataclass

from caot.baselines.contrast import Contrast
from caot.baselines.representation import Representation
from caot.baselines.trained import TrainedMethod
from caot.baselines.training import Objective
from caot.baselines.translation import (
    BackTranslation,
    TranslationNotAvailable,
    require_translator,
)
from caot.inputs import Inputs
from caot.settings import AugmenterSpec


@dataclass(eq=False, repr=False, kw_only=True)
class BackTrans(TrainedMethod):
    """Contrastive learning with back-translation, then K-means.

    ``fit(views=...)`` takes precedence over the models: give (texts, round-trip translations).

    Parameters
    ----------
    translator, back_translator
        Two translation models by hub id or folder: into another language, and back.
    temperature
        Of InfoNCE.

    Notes
    -----
    Further parameters are those of :class:`~caot.baselines.trained.TrainedMethod`; ``augmenter``
    has no part in it. The contrast is SimCSE's, at its temperature, from a text to its
    translation.

    References
    ----------
    Fang, Wang, Zhou, Ding and Xie. CERT: Contrastive Self-supervised Learning for Language
    Understanding. arXiv:2005.12766.
    """

    translator: str | os.PathLike[str] | None = None
    back_translator: str | os.PathLike[str] | None = None
    temperature: float = 0.05

    def _objective(self, source: Representation, n_iter: int) -> Objective:
        return Contrast(source, self.temperature)

    def _check_needs(self, *, has_views: bool) -> None:
        if not has_views and (self.translator is None or self.back_translator is None):
            msg = (
                "Back-Trans needs a translation model: set translator and back_translator, such as "
                "'Helsinki-NLP/opus-mt-en-de' and 'Helsinki-NLP/opus-mt-de-en' (--set translator="
                "... on the command line), or call fit(views=(texts, round-trip translations))"
            )
            raise TranslationNotAvailable(msg)
        for name in () if has_views else (self.translator, self.back_translator):
            require_translator(str(name))

    def _augmenter_for(self, inputs: Inputs, *, frozen: bool) -> AugmenterSpec:
        if self.translator is None or self.back_translator is None:
            return self.augmenter
        return BackTranslation(self.translator, self.back_translator, device=self.device)
