"""The methods that CAOT is compared with, behind one interface."""

from caot.baselines.registry import METHODS, Method, make_method

__all__ = ["METHODS", "Method", "make_method"]
