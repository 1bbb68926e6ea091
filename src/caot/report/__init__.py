"""The report: what is in the texts, as one HTML page that works offline."""

from caot.report.data import NO_CLUSTER, ReportData
from caot.report.page import render, write_report
from caot.report.projection import project
from caot.report.sampling import fair_sample

__all__ = ["NO_CLUSTER", "ReportData", "fair_sample", "project", "render", "write_report"]
