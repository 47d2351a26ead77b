"""A report on labelled rows, as one HTML page; see :func:`make_report`."""

from etana.report.document import make_report
from etana.report.origin import Origin

__all__ = ["Origin", "make_report"]
