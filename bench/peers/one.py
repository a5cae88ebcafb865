"""One contestant at one task, alone in a process: prints CPU time, wall time, memory and answer as JSON."""

import json
import resource
import sys
import time
from pathlib import Path

from contestants import CONTESTS

# What counts as too much: the machine must stay usable.
MEMORY = 16 << 30


def main(task, name, folder):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    read, contestants = CONTESTS[task]
    work = contestants[name]
    arrays = read(Path(folder))
    size = sum(a.nbytes for a in (arrays if isinstance(arrays, list) else [arrays]))
    warm(task, name)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    try:
        value, error = work(arrays)
    except MemoryError:
        print(json.dumps({"failed": f"more than {MEMORY >> 30} GB of memory"}))
        return
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - start
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = {"cpu": cpu, "wall": wall, "peak": peak(after), "input": size}
    print(json.dumps({**answer, "value": float(value), "error": float(error)}))


def peak(usage):
    """Most memory of this process; `ru_maxrss` begins with that of the process which started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return usage.ru_maxrss * 1024


class Without:
    """An importer that finds a package to be missing."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.package:
            raise ImportError(f"{name} is left out")


def warm(task, name):
    """Imports what the contestant uses, so that only its work is timed."""
    if "JAX" not in name:
        # pymbar takes JAX where it finds it.
        sys.meta_path.insert(0, Without("jax"))
    modules = {
        "noisewright": ["noisewright"],
        "pymbar": ["pymbar"],
        "statsmodels": ["statsmodels.api"],
        "scikit-learn,": ["sklearn.linear_model"],
        "densratio": ["densratio"],
        "FastMBAR": ["FastMBAR"],
    }
    for module in modules.get(name.split()[0], []):
        __import__(module)


if __name__ == "__main__":
    main(*sys.argv[1:])
