#!/usr/bin/env python3
"""Fits rows of a generated Parquet file streamed, and on Dask clusters of one and two processes; prints a page (bench/CLUSTER.md).

Needs the package, dask[distributed], pyarrow, polars and psutil. `--gigabytes 4` is the full size.
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


def on_dask(model: nw.Model, path: Path, workers: int, meter: Meter) -> dict:
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, env={"RAYON_NUM_THREADS": "1"}) as cluster:
        with distributed.Client(cluster) as client:
            client.run(lambda: __import__("noisewright"))
            before, own, begun = client.run(worker_cpu), own_cpu(), time.monotonic()
            meter.reset()
            result = nw.fit(model, str(path), nu=0.1, executor=client)
            wall = time.monotonic() - begun
            cpu = sum(client.run(worker_cpu).values()) - sum(before.values())
            peak = max(client.run(worker_peak).values())
            return {
                "wall": wall,
                "cpu": cpu + own_cpu() - own,
                "peak": peak,
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--file", type=Path, help="rows that were generated before, or are to be kept")
    parser.add_argument("--parts", default="polars,streamed,1,2", help="what is measured; numbers are workers on Dask, p1 and p2 processes")
    arguments = parser.parse_args()
    rows = int(arguments.gigabytes * 1e9 / 16)
    model = nw.Model.from_features(FEATURES, variables=["x", "y"])
    meter = Meter()
    found: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or Path(folder) / "rows.parquet"
        if not path.exists():
            generate(path, rows)
        for part in arguments.parts.split(","):
            measure = {"polars": lambda: read_by_polars(path), "streamed": lambda: streamed(model, path)}
            if part in measure:
                found[part] = measure[part]()
            elif part.startswith("p"):
                found[part] = by_processes(model, path, int(part[1:]), meter)
            else:
                found[part] = on_dask(model, path, int(part), meter)
            print(part, found[part], file=sys.stderr, flush=True)
        rows, groups = pq.ParquetFile(path).metadata.num_rows, pq.ParquetFile(path).num_row_groups
    print(f"# {rows:,} rows of two variables, {rows * 16 / 1e9:.2g} GB, six unknowns, ν = 0.1\n")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end. Row-passes are rows times passes.\n")
    print("| | wall s | CPU s | passes | row-passes per CPU second | CPU s to streamed | peak MB of a worker | most bytes of a pass through the scheduler, per row group | most bytes past it |\n|---|---|---|---|---|---|---|---|---|")
    names = {
        "polars": "polars reads both columns once",
        "1": "Dask, one worker",
        "2": "Dask, two workers",
        "p1": "one process of our own",
        "p2": "two processes of our own",
    }
    for part, one in found.items():
        speed = rows * one["passes"] / one["cpu"]
        one["through"] = one["through"] / groups if "through" in one else None
        one["ratio"] = one["cpu"] / found["streamed"]["cpu"] if "streamed" in found and part != "polars" else None
        more = [f"{one[name]:,.0f}" if one.get(name) is not None else "" for name in ("peak", "through", "past")]
        ratio = "" if one["ratio"] is None else f"{one['ratio']:.2f}"
        numbers = f"{one['wall']:.1f} | {one['cpu']:.2f} | {one['passes']} | {speed:.2g}"
        print(f"| {names.get(part, part)} | {numbers} | {ratio} | {' | '.join(more)} |")
    same = sorted({one["sha"] for one in found.values() if "sha" in one})
    print(f"\nSHA-256 of all results: {', '.join(same)} ({'the same' if len(same) == 1 else 'NOT the same'}).")
    print(f"16 (k + 1)² is {16 * (len(model.coordinates) + 1) ** 2} bytes.")
    if "1" in found and "2" in found:
        print(f"Two workers: {found['1']['wall'] / found['2']['wall']:.2f} times the rows per second of one.")


if __name__ == "__main__":
    main()
