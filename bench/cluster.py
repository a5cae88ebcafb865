#!/usr/bin/env python3
"""Fits rows of generated Parquet files streamed, and on Dask clusters of one and two processes; prints a page (bench/CLUSTER.md).

Every way of fitting is measured on a quarter of the rows and on all of them, after a fit that warms it: the difference is what a row costs,
without what a fit costs by itself. Needs the package, dask[distributed], pyarrow, polars and psutil. `--gigabytes 4` is the full size.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

# One thread, as every worker has.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import distributed
import numpy as np
import polars
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import noisewright as nw
from noisewright.cluster import coordinator

FEATURES = ["x", "y", "x^2", "x*y", "y^2"]
GROUP = 1 << 19


def generate(path: Path, rows: int) -> None:
    """Correlated Gaussian rows, one row group after the other."""
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for group in range(-(-rows // GROUP)):
            z = np.random.default_rng([7, group]).standard_normal((min(GROUP, rows - group * GROUP), 2))
            writer.write_table(pa.table({"x": 0.3 + 1.1 * z[:, 0], "y": -0.2 + 0.5 * z[:, 0] + 0.8 * z[:, 1]}))


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def digest(result: nw.FitResult) -> str:
    said = {name: value for name, value in result.to_dict().items() if name not in ("passes", "dropped", "grid")}
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def worker_cpu() -> float:
    times = psutil.Process().cpu_times()
    return times.user + times.system


def worker_peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Meter:
    """Counts passes over the rows, and the bytes that each takes there and back: through the scheduler, and past it."""

    def __init__(self) -> None:
        self.reset()
        asked = coordinator.Workers.sum

        def measured(workers, news, known, runs, sample):
            answers = asked(workers, news, known, runs, sample)
            self.passes += sample is not None
            back, told = sum(map(len, answers)), sum(map(len, workers._log[known:]))
            direct = getattr(workers._engine, "_direct", False)
            large = [back] if known == len(workers._log) == 0 and direct else []
            large += [told * workers._engine.workers] if told > workers._small and direct else []
            self.through.append(back + told * (len(runs) if told <= workers._small else workers._engine.workers) - sum(large))
            self.past.append(sum(large))
            return answers

        coordinator.Workers.sum = measured

    def reset(self) -> None:
        self.passes, self.through, self.past = 0, [], []


def on_dask(model: nw.Model, paths: list[Path], workers: int, meter: Meter) -> list[dict]:
    """A fit of every file on a cluster that is up, after a fit of the first that is not counted."""
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, env={"RAYON_NUM_THREADS": "1"}) as cluster:
        with distributed.Client(cluster) as client:
            nw.fit(model, str(paths[0]), nu=0.1, executor=client)
            idle = cpu_of(client)
            time.sleep(IDLE)
            idle = (cpu_of(client) - idle) / IDLE
            return [{**on_client(model, path, client, meter), "idle": idle} for path in paths]


#: Seconds for which a cluster that does nothing is watched.
IDLE = 5.0


def cpu_of(client: distributed.Client) -> float:
    """CPU seconds of the workers, and of this process, in which the scheduler is."""
    return sum(client.run(worker_cpu).values()) + own_cpu()


def on_client(model: nw.Model, path: Path, client: distributed.Client, meter: Meter) -> dict:
    meter.reset()
    cpu, begun = cpu_of(client), time.monotonic()
    result = nw.fit(model, str(path), nu=0.1, executor=client)
    wall = time.monotonic() - begun
    return {
        "wall": wall,
        "cpu": cpu_of(client) - cpu,
        "peak": max(client.run(worker_peak).values()),
        "passes": meter.passes,
        "through": max(meter.through),
        "past": max(meter.past),
        "sha": digest(result),
    }


def by_processes(model: nw.Model, path: Path, count: int, meter: Meter) -> dict:
    """Processes of our own, their start included."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return own_cpu() + children.ru_utime + children.ru_stime

    cpu, begun = used(), time.monotonic()
    meter.reset()
    result = nw.fit(model, str(path), nu=0.1, executor=count)
    wall = time.monotonic() - begun
    # The processes were told to end: their time counts when they have.
    while multiprocessing.active_children():
        time.sleep(0.1)
    return {"wall": wall, "cpu": used() - cpu, "passes": meter.passes, "sha": digest(result)}


def streamed(model: nw.Model, path: Path) -> dict:
    cpu, begun = own_cpu(), time.monotonic()
    result = nw.fit(model, path, nu=0.1)
    return {"wall": time.monotonic() - begun, "cpu": own_cpu() - cpu, "passes": result.passes, "sha": digest(result)}


def read_by_polars(path: Path) -> dict:
    """The median of five readings after a first one, which starts polars' threads."""
    found = []
    for _ in range(6):
        cpu, begun = own_cpu(), time.monotonic()
        frame = polars.scan_parquet(path).select(polars.col("x").sum(), polars.col("y").sum()).collect(engine="streaming")
        assert frame.height == 1
        found.append((own_cpu() - cpu, time.monotonic() - begun))
    cpu, wall = sorted(found[1:])[2]
    return {"wall": wall, "cpu": cpu, "passes": 1}


def measured(part: str, model: nw.Model, paths: list[Path], meter: Meter) -> list[dict]:
    """One way of fitting, or of reading, every file."""
    if part == "polars":
        return [read_by_polars(path) for path in paths]
    if part == "streamed":
        streamed(model, paths[0])
        return [streamed(model, path) for path in paths]
    if part.startswith("p"):
        return [by_processes(model, path, int(part[1:]), meter) for path in paths]
    return on_dask(model, paths, int(part), meter)


def report(found: dict[str, list[dict]], rows: list[int], groups: int, unknowns: int) -> None:
    print(f"# {rows[0]:,} and {rows[1]:,} rows of two variables, {rows[1] * 16 / 1e9:.2g} GB, {unknowns} unknowns, ν = 0.1\n")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end. Totals are those of all rows, ns per row the difference between both sizes.\n")
    titles = ["", "wall s", "CPU s", "passes", "CPU ns per row", "of streamed", "of streamed, less what an idle cluster takes", "CPU s at once", "CPU s a second of an idle cluster", "peak MB of a worker"]
    titles += ["most bytes of a pass through the scheduler, per row group", "most bytes past it"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    slopes = {part: (two[1]["cpu"] - two[0]["cpu"]) / (rows[1] - rows[0]) for part, two in found.items()}
    for part, (_, one) in found.items():
        against = slopes.get("streamed") if part != "polars" else None
        own = slopes[part] - one.get("idle", 0.0) * (one["wall"] - found[part][0]["wall"]) / (rows[1] - rows[0])
        ratios = ["" if against is None else f"{slope / against:.2f}" for slope in (slopes[part], own)]
        fixed = one["cpu"] - slopes[part] * rows[1]
        numbers = [f"{one['wall']:.1f}", f"{one['cpu']:.2f}", f"{one['passes']}", f"{slopes[part] * 1e9:.0f}", *ratios, f"{fixed:.2f}"]
        through = one["through"] / groups if "through" in one else None
        rest = [(one.get("idle"), ".3f"), (one.get("peak"), ",.0f"), (through, ",.0f"), (one.get("past"), ",.0f")]
        numbers += ["" if value is None else format(value, how) for value, how in rest]
        print(f"| {NAMES.get(part, part)} | {' | '.join(numbers)} |")
    for number, count in enumerate(rows):
        same = sorted({two[number]["sha"] for two in found.values() if "sha" in two[number]})
        print(f"\nSHA-256 of all results of {count:,} rows: {', '.join(same)} ({'the same' if len(same) == 1 else 'NOT the same'}).")
    print(f"\n16 (k + 1)² is {16 * (unknowns + 1) ** 2} bytes.")
    if "1" in found and "2" in found:
        walls = [two[1]["wall"] - two[0]["wall"] for two in (found["1"], found["2"])]
        print(f"Two workers: {walls[0] / walls[1]:.2f} times the rows per second of one, by the differences between both sizes.")


NAMES = {
    "polars": "polars reads both columns once",
    "1": "Dask, one worker",
    "2": "Dask, two workers",
    "p1": "one process of our own",
    "p2": "two processes of our own",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--folder", type=Path, help="where rows that were generated before are, or are to be kept")
    parser.add_argument("--parts", default="polars,streamed,1,2", help="what is measured; numbers are workers on Dask, p1 and p2 processes")
    arguments = parser.parse_args()
    rows = int(arguments.gigabytes * 1e9 / 16)
    model = nw.Model.from_features(FEATURES, variables=["x", "y"])
    meter = Meter()
    found: dict[str, list[dict]] = {}
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.folder or Path(passing)
        paths = [folder / f"rows-{count}.parquet" for count in (rows // 4, rows)]
        for path, count in zip(paths, (rows // 4, rows)):
            if not path.exists():
                generate(path, count)
        for part in arguments.parts.split(","):
            found[part] = measured(part, model, paths, meter)
            print(part, found[part], file=sys.stderr, flush=True)
        groups = pq.ParquetFile(paths[1]).num_row_groups
    report(found, [rows // 4, rows], groups, len(model.coordinates))


if __name__ == "__main__":
    main()
