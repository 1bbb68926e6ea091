"""The methods that CAOT is compared with, behind one interface."""

from caot.baselines.making import RivalNotInstalled, make_method
from caot.baselines.registry import METHODS, Method

__all__ = ["METHODS", "Method", "RivalNotInstalled", "make_method"]
