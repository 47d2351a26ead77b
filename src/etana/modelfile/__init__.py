"""Model files: a fitted classifier on disk, without pickle.

:func:`save` and :func:`load` are ``etana.save`` and ``etana.load``; :func:`load_model` gives what classification needs
and does not import scikit-learn. :mod:`etana.modelfile.model` says what a file holds, :mod:`etana.modelfile.container`
how its bytes are laid out and checked, :mod:`etana.modelfile.values` how parameters and labels are written.
"""

from etana.errors import ModelFileError
from etana.modelfile.model import load, load_model, read_metadata, save

__all__ = ["ModelFileError", "load", "load_model", "read_metadata", "save"]
