#!/usr/bin/env python3
"""Fits rows of a generated Parquet file streamed, and on Dask clusters of one and two processes; prints a page (bench/CLUSTER.md).

Needs the package, dask[distributed], pyarrow, polars and psutil. `--gigabytes 4` is the full size.
"""

import argparse
import hashlib
import json
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
    """Counts passes over the rows, and the bytes that a run takes there and back."""

    def __init__(self) -> None:
        self.passes, self.most = 0, []
        asked = coordinator.Workers.sum

        def measured(workers, news, known, runs, sample):
            answers = asked(workers, news, known, runs, sample)
            self.passes += sample is not None
            if len(workers._log) > 2:
                self.most.append(max(map(len, answers)) + sum(map(len, workers._log[known:])))
            return answers

        coordinator.Workers.sum = measured


def on_dask(model: nw.Model, path: Path, workers: int, meter: Meter) -> dict:
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, env={"RAYON_NUM_THREADS": "1"}) as cluster:
        with distributed.Client(cluster) as client:
            client.run(lambda: __import__("noisewright"))
            before, own, begun = client.run(worker_cpu), own_cpu(), time.monotonic()
            meter.passes, meter.most = 0, []
            result = nw.fit(model, str(path), nu=0.1, executor=client)
            wall = time.monotonic() - begun
            cpu = sum(client.run(worker_cpu).values()) - sum(before.values())
            peak = max(client.run(worker_peak).values())
            return {"wall": wall, "cpu": cpu + own_cpu() - own, "peak": peak, "passes": meter.passes, "bytes": max(meter.most), "sha": digest(result)}


def streamed(model: nw.Model, path: Path) -> dict:
    cpu, begun = own_cpu(), time.monotonic()
    result = nw.fit(model, path, nu=0.1)
    return {"wall": time.monotonic() - begun, "cpu": own_cpu() - cpu, "passes": result.passes, "sha": digest(result)}


def read_by_polars(path: Path) -> dict:
    cpu, begun = own_cpu(), time.monotonic()
    frame = polars.scan_parquet(path).select(polars.col("x").sum(), polars.col("y").sum()).collect(engine="streaming")
    assert frame.height == 1
    return {"wall": time.monotonic() - begun, "cpu": own_cpu() - cpu, "passes": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--file", type=Path, help="rows that were generated before, or are to be kept")
    parser.add_argument("--parts", default="polars,streamed,1,2", help="what is measured; numbers are workers on Dask")
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
            found[part] = measure[part]() if part in measure else on_dask(model, path, int(part), meter)
            print(part, found[part], file=sys.stderr, flush=True)
        rows = pq.ParquetFile(path).metadata.num_rows
    print(f"# {rows:,} rows of two variables, {rows * 16 / 1e9:.2g} GB, six unknowns, ν = 0.1\n")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end. Row-passes are rows times passes.\n")
    print("| | wall s | CPU s | passes | row-passes per CPU second | peak MB of a worker | most bytes of a run |\n|---|---|---|---|---|---|---|")
    names = {"polars": "polars reads both columns once", "1": "Dask, one worker", "2": "Dask, two workers"}
    for part, one in found.items():
        speed = rows * one["passes"] / one["cpu"]
        more = [f"{one[name]:,.0f}" if name in one else "" for name in ("peak", "bytes")]
        print(f"| {names.get(part, part)} | {one['wall']:.1f} | {one['cpu']:.1f} | {one['passes']} | {speed:.2g} | {more[0]} | {more[1]} |")
    same = sorted({one["sha"] for one in found.values() if "sha" in one})
    print(f"\nSHA-256 of all results: {', '.join(same)} ({'the same' if len(same) == 1 else 'NOT the same'}).")
    print(f"16 (k + 1)² is {16 * (len(model.coordinates) + 1) ** 2} bytes.")
    if "1" in found and "2" in found:
        print(f"Two workers: {found['1']['wall'] / found['2']['wall']:.2f} times the rows per second of one.")


if __name__ == "__main__":
    main()
