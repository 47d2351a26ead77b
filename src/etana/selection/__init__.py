"""The six streaming feature selectors that the paper compares with, as scikit-learn selectors.

=======================  ===============================================================  ===========
selector                 keeps a column that                                              can drop it
=======================  ===============================================================  ===========
:class:`AlphaInvesting`  improves a regression by more than its wealth-dependent price    no
:class:`OSFS`            no few kept columns make independent of the class                yes
:class:`FastOSFS`        the same, with the new column tested first                       yes
:class:`SAOLA`           no single kept column makes superfluous                          yes
:class:`OFSDensity`      raises the agreement of neighbours (density neighbourhoods)      yes
:class:`OFSA3M`          raises the agreement of neighbours (gap neighbourhoods)          yes
=======================  ===============================================================  ===========

All take columns in order of arrival: at once with ``fit``, or in pieces with ``partial_fit_features``.
The tests of independence are in :mod:`etana.selection.independence`.
"""

from etana.selection.alpha_investing import AlphaInvesting
from etana.selection.fast_osfs import FastOSFS
from etana.selection.ofs_a3m import OFSA3M
from etana.selection.ofs_density import OFSDensity
from etana.selection.osfs import OSFS
from etana.selection.saola import SAOLA

__all__ = ["OFSA3M", "OSFS", "SAOLA", "AlphaInvesting", "FastOSFS", "OFSDensity"]
