"""Short-text clustering by consistency-aware adaptive optimal transport."""

__version__ = "0.1.0"

from caot.estimator import CAOT, EmptyClusterWarning
from caot.settings import Variant

__all__ = ["CAOT", "EmptyClusterWarning", "Variant", "__version__"]
