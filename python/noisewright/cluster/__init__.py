"""Fits past one process: the same passes over the same blocks of rows, summed by workers, with the same bits.

The calling process decides, and workers sum. `sources` says where the rows are, `worker` is what runs in the other processes,
`engines` reaches them (Dask, `concurrent.futures`, processes of our own), and `coordinator` asks for the sums of a pass and sees to
it that all of them come.
"""

from __future__ import annotations

from .coordinator import fit_on, ratio_on
from .mapping import map_on
from .replicates import Replicates, is_elsewhere

__all__ = ["Replicates", "fit_on", "is_elsewhere", "map_on", "ratio_on"]
