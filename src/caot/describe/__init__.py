"""Clusters in words: keywords, labels, typical and doubtful texts, near clusters."""

from caot.describe.describing import describe
from caot.describe.endpoint import LabelWarning, labels_from_endpoint
from caot.describe.languages import LANGUAGES, detect_language
from caot.describe.tables import cluster_info, document_info
from caot.describe.values import ClusterDescription, DescribeSettings, Description, Keyword

__all__ = [
    "LANGUAGES",
    "ClusterDescription",
    "DescribeSettings",
    "Description",
    "Keyword",
    "LabelWarning",
    "cluster_info",
    "describe",
    "detect_language",
    "document_info",
    "labels_from_endpoint",
]
