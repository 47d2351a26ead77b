"""All errors that etana raises on purpose, as one tree.

::

    EtanaError
    ├── InputError (ValueError)         what was handed in cannot be used
    │   ├── CostError                   a price, a group or a misclassification cost
    │   ├── ProblemError                priors or likelihoods that are no probabilities
    │   └── ValueTypeError (TypeError)  a value of a kind that cannot be read
    ├── ModelFileError                  a model file that is damaged, foreign or too new
    └── SolverError (RuntimeError)      a solver that cannot serve this problem

    CostWarning (UserWarning)           costs that are legal but look like a mistake
    PlausibilityWarning (UserWarning)   a value that is taken but lies outside of what was seen in training
    TableWarning (UserWarning)          cells, columns or labels that can be read but are perhaps not what was meant
    └── IdentifierWarning               columns that number the rows, and are left out
    SampleWarning (UserWarning)         a fit on parts that learnt from some of the rows only

Every message names what was given, what is allowed and what to do about it.
"""

__all__ = [
    "CostError",
    "CostWarning",
    "EtanaError",
    "IdentifierWarning",
    "InputError",
    "ModelFileError",
    "PlausibilityWarning",
    "ProblemError",
    "SampleWarning",
    "SolverError",
    "TableWarning",
    "ValueTypeError",
]


class EtanaError(Exception):
    """Base of all errors raised by etana."""


class InputError(EtanaError, ValueError):
    """Data or a parameter that cannot be used as it is."""


class CostError(InputError):
    """A feature cost, a group or a misclassification cost that makes no sense."""


class ProblemError(InputError):
    """Priors or likelihoods that are not probabilities, or do not fit together."""


class ValueTypeError(InputError, TypeError):
    """A value that is neither a number nor text nor missing."""


class ModelFileError(EtanaError):
    """A model file that is damaged, cut short, foreign, or made by a newer version."""


class SolverError(EtanaError, RuntimeError):
    """A solver was given a problem that it does not serve."""


class CostWarning(UserWarning):
    """Costs that are allowed but are probably not what was meant."""


class PlausibilityWarning(UserWarning):
    """A value that lies outside of the training range: taken as it is, but perhaps in another unit or a slip."""


class TableWarning(UserWarning):
    """Cells, columns or class labels of a table that can be read, but perhaps not as they were meant."""


class IdentifierWarning(TableWarning):
    """Columns that only number the rows; they are left out unless ``identifiers=[]`` says otherwise."""


class SampleWarning(UserWarning):
    """A fit on parts whose classifier learnt from a sample: what it learns cannot be added up from parts."""
