"""MBAR and BAR on every data set of alchemtest: ours beside alchemlyb's (pymbar), in values, errors and CPU time.

    python bench/neighbours/alchemtest_mbar.py [NAME THE SETS BEGIN WITH]

Either runs in a process of its own for every data set: the first fit there is "cold" (imports are not counted, compilation by JAX is),
the least of the fits after it "warm". CPU time is that of all threads of the process.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

#: Fits after the first.
REPEATS = {"ours": 9, "theirs": 5}


def fits(work, repeats):
    """What a fit gives, and the CPU seconds of the first and the least of those after it."""
    seconds = []
    for _ in range(1 + repeats):
        start = time.process_time()
        answer = work()
        seconds.append(time.process_time() - start)
    return answer, seconds[0], min(seconds[1:])


def ours(u_nk, kind):
    from noisewright import alchemlyb

    estimator = getattr(alchemlyb, kind)
    found, cold, warm = fits(lambda: estimator(independent=True, progress=False).fit(u_nk), REPEATS["ours"])
    chains = estimator(progress=False).fit(u_nk).d_delta_f_.to_numpy()
    return {"f": found.delta_f_.to_numpy(), "se": found.d_delta_f_.to_numpy(), "cold": cold, "warm": warm, "chains": chains}


def theirs(u_nk, kind):
    from alchemlyb import estimators

    estimator, note = getattr(estimators, kind), ""

    def fit():
        found = estimator(relative_tolerance=1e-12).fit(u_nk)
        return found.delta_f_.to_numpy(), found.d_delta_f_.to_numpy()

    try:
        (f, se), cold, warm = fits(fit, REPEATS["theirs"])
    except Exception:  # noqa: BLE001 - alchemlyb cannot read every frame of its own test data
        if kind == "BAR":
            raise
        note = " (pymbar itself)"
        (f, se), cold, warm = fits(lambda: by_pymbar(u_nk), REPEATS["theirs"])
    if kind == "BAR":
        f, se, one_sided = by_pairs(u_nk, f)
        note = " (exponential averaging)" if one_sided else ""
    return {"f": f, "se": se, "cold": cold, "warm": warm, "note": note}


def by_pairs(u_nk, f):
    """Free energies and errors of neighbours by pymbar.

    alchemlyb's free energies with the errors of MBAR for two states, where it takes Bennett's; exponential averaging of the one
    direction, and its errors, where there is only one: alchemlyb's free energies are guesses there.
    """
    import pymbar

    from noisewright.states import from_u_nk

    table, origin, _, _ = from_u_nk(u_nk)
    states = len(table)
    steps, se, one_sided = np.zeros(states - 1), np.full((states, states), np.nan), False
    np.fill_diagonal(se, 0.0)
    for k in range(states - 1):
        ahead, back = (sign * (table[k, origin == own] - table[k + 1, origin == own]) for own, sign in ((k, 1), (k + 1, -1)))
        ahead, back = ahead[np.isfinite(ahead)], back[np.isfinite(back)]
        if len(ahead) and len(back):
            found, sign = pymbar.bar(ahead, back, relative_tolerance=1e-12, uncertainty_method="MBAR"), 1
        else:
            one_sided = True
            found, sign = (pymbar.exp(ahead), 1) if len(ahead) else (pymbar.exp(back), -1)
        steps[k] = sign * found["Delta_f"]
        se[k, k + 1] = se[k + 1, k] = found["dDelta_f"]
    if one_sided:
        ends = np.concatenate([[0.0], np.cumsum(steps)])
        f = ends - ends[:, np.newaxis]
    return f, se, one_sided


def by_pymbar(u_nk):
    """pymbar without alchemlyb: the rows in the order of their states."""
    import pymbar

    from noisewright.states import from_u_nk

    table, origin, _, names = from_u_nk(u_nk)
    order = np.argsort(origin, kind="stable")
    counts = np.bincount(origin, minlength=len(names))
    found = pymbar.MBAR(-table[:, order], counts, relative_tolerance=1e-12).compute_free_energy_differences()
    return found["Delta_f"], found["dDelta_f"]


def child(whose, kind, file):
    """One estimator on one frame; the answer takes the frame's place."""
    path = Path(file)
    u_nk = pickle.loads(path.read_bytes())
    path.write_bytes(pickle.dumps((ours if whose == "ours" else theirs)(u_nk, kind)))


def run(whose, kind, u_nk, folder):
    path = Path(folder) / "exchange"
    path.write_bytes(pickle.dumps(u_nk))
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--child", whose, kind, str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return pickle.loads(path.read_bytes())


def largest(one, other):
    difference = np.abs(one - other)
    return float(np.nanmax(np.where(np.isfinite(difference), difference, 0.0)))


def row(name, kind, u_nk, folder):
    try:
        own, other = run("ours", kind, u_nk, folder), run("theirs", kind, u_nk, folder)
    except RuntimeError as error:
        return f"| {name}, {kind} | {u_nk.shape[1]} | {len(u_nk)} | {str(error)[:120]} |"
    # Of BAR the errors of neighbours alone are known, in both.
    ends = f"{own['f'][0, -1]:.10f} | {own['se'][0, -1]:.7f}" if kind == "MBAR" else f"{own['f'][0, -1]:.10f} | "
    chains = f"{own['chains'][0, -1]:.4f}" if kind == "MBAR" else ""
    return (
        f"| {name}, {kind}{other['note']} | {u_nk.shape[1]} | {len(u_nk)} | {ends} | {largest(own['f'], other['f']):.1e} "
        f"| {largest(own['se'], other['se']):.1e} | {1e3 * own['cold']:.1f} | {1e3 * own['warm']:.1f} | {1e3 * other['cold']:.0f} "
        f"| {1e3 * other['warm']:.0f} | {other['cold'] / own['cold']:.0f} | {other['warm'] / own['warm']:.0f} | {chains} |"
    )


def main() -> None:
    from alchemtest_data import frames
    from loguru import logger

    logger.remove()
    warnings.simplefilter("ignore")
    print(
        "| data | states | rows | f of the ends | ± | largest difference of f | of its error | CPU ms ours, cold | warm | pymbar, cold "
        "| warm | times, cold | warm | ± for chains |"
    )
    print("|" + "---|" * 14)
    with tempfile.TemporaryDirectory() as folder:
        for name, u_nk in frames(" ".join(sys.argv[1:])):
            # NAMD has the energies of neighbouring states alone: enough for BAR.
            kinds = ["BAR"] if u_nk.isna().any(axis=None) else ["MBAR", "BAR"] if "benzene" in name else ["MBAR"]
            for kind in kinds:
                print(row(name, kind, u_nk, folder), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main()
