"""A report on labelled rows, as one HTML page; see :func:`make_report`."""

from etana.report.document import make_report
from etana.report.provenance import Provenance

__all__ = ["Provenance", "make_report"]
