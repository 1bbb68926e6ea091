"""Short-text clustering by consistency-aware adaptive optimal transport."""

__version__ = "0.1.0"
