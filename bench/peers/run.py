"""Runs every contestant at every task, each in a process of its own, and prints the tables in Markdown."""

import importlib.util
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from contestants import CONTESTS
from tasks import TASKS

HERE = Path(__file__).parent
PATIENCE = 900  # seconds for one contestant
TITLES = {
    "log_z": "log Z from two samples of 10⁷ log-densities each",
    "states": "fifty states, 10⁴ draws of each, with standard errors",
    "fit": "a fit with 65 features and the constant, 10⁵ data and 10⁵ noise points, with standard errors",
    "ratio": "a density ratio in ten dimensions from 10⁵ and 10⁵ points",
}


def available(name):
    module = {"pymbar": "pymbar", "FastMBAR": "FastMBAR", "densratio": "densratio"}.get(name.split()[0])
    return module is None or importlib.util.find_spec(module) is not None


def run(task, name, folder):
    command = [sys.executable, "-W", "ignore", HERE / "one.py", task, name, folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=HERE)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {PATIENCE} s"}
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:120]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def row(name, result, ours):
    if "failed" in result:
        return f"| {name} | {result['failed']} | | | | | |"
    peak, size = result["peak"] / 1e6, result["input"] / 1e6
    times, more = (f"{result[k] / ours[k]:.1f}" if ours else "" for k in ("cpu", "peak"))
    answer = f"{result['value']:.6g}" + (f" ± {result['error']:.2g}" if result["error"] else "")
    return f"| {name} | {result['cpu']:.2f} s | {times} | {peak:.0f} MB (input {size:.0f}) | {more} | {answer} |"


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print("## Beside other tools\n")
    print("Each contestant runs alone in a process, on the same arrays; CPU time of all threads without imports and reading;")
    print("peak memory of the whole process. Versions:", ", ".join(versions()) + ".\n")
    for task, (_, contestants) in CONTESTS.items():
        stored = folder / ("fit" if task == "ratio" else task)
        if not stored.exists():
            stored.mkdir()
            TASKS[stored.name](stored)
        print(f"### {TITLES[task][0].upper()}{TITLES[task][1:]}\n")
        print("| | CPU | times ours | memory | times ours | answer |\n|---|---|---|---|---|---|")
        ours = None
        for name in contestants:
            result = run(task, name, stored.resolve()) if available(name) else {"failed": "not installed"}
            ours = ours or (result if "cpu" in result else None)
            print(row(name, result, ours), flush=True)
        print()


def versions():
    for package in ("noisewright", "numpy", "pymbar", "FastMBAR", "statsmodels", "scikit-learn", "densratio"):
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            pass


if __name__ == "__main__":
    main()
