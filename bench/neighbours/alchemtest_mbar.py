"""MBAR on every data set of alchemtest: ours beside pymbar's, in values, errors and CPU time.

    python bench/neighbours/alchemtest_mbar.py [NAME THE SETS BEGIN WITH]
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pymbar
from alchemlyb.estimators import BAR as TheirBar
from alchemlyb.estimators import MBAR as Theirs
from alchemtest_data import frames

from noisewright.alchemlyb import BAR, MBAR
from noisewright.states import from_u_nk


def timed(work):
    start = time.process_time()
    answer = work()
    return answer, time.process_time() - start


def largest(ours, theirs):
    difference = np.abs(np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float))
    return float(np.nanmax(np.where(np.isfinite(difference), difference, 0.0)))


@dataclass
class Frames:
    delta_f_: np.ndarray
    d_delta_f_: np.ndarray


def by_pymbar(u_nk):
    """pymbar without alchemlyb: the rows in the order of their states."""
    table, origin, _, names = from_u_nk(u_nk)
    order = np.argsort(origin, kind="stable")
    counts = np.bincount(origin, minlength=len(names))
    found = pymbar.MBAR(-table[:, order], counts, relative_tolerance=1e-12).compute_free_energy_differences()
    return Frames(found["Delta_f"], found["dDelta_f"])


def compare_bar(name, u_nk):
    theirs, theirs_cpu = timed(lambda: TheirBar(relative_tolerance=1e-12).fit(u_nk))
    ours, cpu = timed(lambda: BAR(independent=True, progress=False).fit(u_nk))
    df, se = largest(ours.delta_f_, theirs.delta_f_), largest(ours.d_delta_f_, theirs.d_delta_f_)
    print(
        f"| {name}, BAR | {len(ours.states_)} | {len(u_nk)} | {ours.delta_f_.iloc[0, -1]:.10f} | | {df:.1e} | {se:.1e} | {cpu:.3f} "
        f"| {theirs_cpu:.2f} | {theirs_cpu / cpu:.0f} | |",
        flush=True,
    )


def main() -> None:
    warnings.simplefilter("ignore")
    print("| data | states | rows | f of the ends | ± | largest difference of f | of its error | CPU s ours | pymbar | ratio | ± for chains |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, u_nk in frames(" ".join(sys.argv[1:])):
        if u_nk.isna().any(axis=None):
            # NAMD has the energies of neighbouring states alone: enough for BAR.
            compare_bar(name, u_nk)
            continue
        note = ""
        try:
            theirs, theirs_cpu = timed(lambda: Theirs(relative_tolerance=1e-12).fit(u_nk))
        except Exception:  # noqa: BLE001 - alchemlyb cannot read every frame of its own test data
            note = " (pymbar itself)"
            try:
                theirs, theirs_cpu = timed(lambda: by_pymbar(u_nk))
            except Exception as error:  # noqa: BLE001 - nor can pymbar solve all
                print(f"| {name} | | {len(u_nk)} | pymbar: {type(error).__name__} {str(error)[:80]} |", flush=True)
                continue
        ours, cpu = timed(lambda: MBAR(independent=True, progress=False).fit(u_nk))
        chains = MBAR(progress=False).fit(u_nk)
        df, se = largest(ours.delta_f_, theirs.delta_f_), largest(ours.d_delta_f_, theirs.d_delta_f_)
        ends = f"{ours.delta_f_.iloc[0, -1]:.10f} | {ours.d_delta_f_.iloc[0, -1]:.7f}"
        print(
            f"| {name}{note} | {len(ours.states_)} | {len(u_nk)} | {ends} | {df:.1e} | {se:.1e} | {cpu:.3f} | {theirs_cpu:.2f} "
            f"| {theirs_cpu / cpu:.0f} | {chains.d_delta_f_.iloc[0, -1]:.4f} |",
            flush=True,
        )
        if name.startswith("GROMACS benzene"):
            compare_bar(name, u_nk)


if __name__ == "__main__":
    main()
