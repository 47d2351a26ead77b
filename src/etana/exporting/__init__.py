"""Policies where no Python is: as C, JavaScript, SQL, Python without packages, JSON, and a page that works offline.

:func:`export` is ``etana.export``. :mod:`etana.exporting.plan` makes plain tables of a model, one module for each
target writes them.
"""

from etana.exporting.writing import export, export_model

__all__ = ["export", "export_model"]
