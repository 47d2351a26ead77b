"""Fit and classify data that do not fit into memory, or lie on many machines.

Counts add, so :func:`fit` counts each part where it lies and sends only counts: two passes over the data, the first
for bins, the second for counts, each merged along a tree. With the same bins the result is the one-machine fit, bit for
bit, whatever the parts are and however many machines there are; with fractional sample weights it depends on how rows
are cut into parts, in the last bits, and on nothing else. :func:`predict`, :func:`predict_proba` and :func:`acquire`
are lazy and work by partition. Classifiers that choose among candidates, or learn what does not add up, do so on a
sample of rows that the second pass draws; see :func:`fit`.

Dask arrays, Dask data frames and delayed blocks run wherever Dask does: in threads, or on the cluster of the active
client. Tasks have no side effects, so those of a worker that dies are done again elsewhere. Lists of blocks that are
not delayed are read one after the other in this process, without Dask.
"""

from etana.distributed.applying import LazyAcquisition, acquire, predict, predict_proba
from etana.distributed.fitting import fit
from etana.distributed.sampling import FittedRows
from etana.distributed.sketch import Sketch

__all__ = ["FittedRows", "LazyAcquisition", "Sketch", "acquire", "fit", "predict", "predict_proba"]
