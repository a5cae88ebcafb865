"""Fits on Dask clusters of real processes: the bits of one process, whatever happens to the workers."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewright as nw
from cluster_data import deadly, digest, model, rows
from noisewright.cluster import coordinator, engines
from noisewright.cluster.cache import rows_read
from noisewright.cluster.engines import DaskEngine
from noisewright.cluster.sources import Files
from noisewright.cluster.worker import Opening

distributed = pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COUNT = 300_000
#: Settings of every fit here: noise that is fitted to the rows, and drawn by the workers.
SETTINGS: dict[str, Any] = {"nu": 1.0}


def table(values: np.ndarray) -> Any:
    return pa.table({"x": values[:, 0], "w": np.ones(len(values)), "y": values[:, 1]})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate(np.split(rows(COUNT), [120_000, 200_001])):
        parquet.write_table(table(part), folder / f"part-{number}.parquet", row_group_size=30_000 + 7 * number)
    return folder


@pytest.fixture(scope="module")
def expected(files: Path) -> str:
    values = rows(COUNT)
    whole = digest(nw.fit(model(), {"x": values[:, 0], "y": values[:, 1]}, **SETTINGS))
    parquet.write_table(table(values), files / "all.pq")
    assert digest(nw.fit(model(), files / "all.pq", format="parquet", **SETTINGS)) == whole
    return whole


@pytest.fixture(scope="module")
def two() -> Iterator[Any]:
    with _cluster(2, 1) as cluster, distributed.Client(cluster) as client:
        yield client


def _cluster(workers: int, threads: int) -> Any:
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=None)


def _pattern(files: Path) -> str:
    return str(files / "part-*.parquet")


def test_one_worker_with_two_threads(files: Path, expected: str) -> None:
    with _cluster(1, 2) as cluster, distributed.Client(cluster) as client:
        assert digest(nw.fit(model(), _pattern(files), executor=client, **SETTINGS)) == expected


def test_two_workers(files: Path, expected: str, two: Any) -> None:
    assert digest(nw.fit(model(), _pattern(files), executor=two, **SETTINGS)) == expected
    assert digest(nw.fit(model(), _pattern(files), executor=two.get_executor(), **SETTINGS)) == expected


def test_the_library_reads_what_the_cache_has_no_room_for(
    files: Path, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every worker, with one thread and with one that reads ahead; columns that are not floating-point numbers are PyArrow's."""
    monkeypatch.setattr(rows_read(), "most", 0)
    by_pyarrow = []
    read = Files.read
    monkeypatch.setattr(Files, "read", lambda self, *run: by_pyarrow.append(run) or read(self, *run))
    monkeypatch.setattr(coordinator, "MOST_VALUES", 1 << 17)
    values, weights = rows(COUNT), np.linspace(0.5, 1.5, COUNT)
    data = {"x": values[:, 0], "y": values[:, 1]}
    parquet.write_table(pa.table({**data, "w": weights.astype(np.float32)}), tmp_path / "weighted.parquet")
    weighted = digest(nw.fit(model(), data, weights=weights.astype(np.float32), **SETTINGS))
    with ThreadPoolExecutor(2) as threads:
        assert digest(nw.fit(model(), _pattern(files), executor=threads, **SETTINGS)) == expected
        assert digest(nw.fit(model(), str(tmp_path / "weighted.parquet"), weights="w", executor=threads, **SETTINGS)) == weighted
        assert not by_pyarrow
        whole = np.ones(COUNT, dtype=np.int32)
        parquet.write_table(pa.table({**data, "w": whole}), tmp_path / "whole.parquet")
        nw.fit(model(), str(tmp_path / "whole.parquet"), weights="w", executor=threads, **SETTINGS)
        assert by_pyarrow
        values[123_456, 1] = np.nan
        parquet.write_table(table(values), tmp_path / "bad.parquet", row_group_size=50_000)
        with pytest.raises(nw.InputError, match=r"bad.parquet, row group 2, row 23457"):
            nw.fit(model(), str(tmp_path / "bad.parquet"), executor=threads, **SETTINGS)
    one = {"NOISEWRIGHT_CACHE_BYTES": "0", "RAYON_NUM_THREADS": "1"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, env=one) as cluster:
        with distributed.Client(cluster) as client:
            assert digest(nw.fit(model(), _pattern(files), executor=client, **SETTINGS)) == expected


def test_shuffled_arrival(files: Path, expected: str, two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    take, chance = coordinator._Pass._take, random.Random(1)

    def later(self: Any, number: int, future: Any) -> bool:
        if chance.random() < 0.6:
            self._done.put((number, future))
            return False
        return take(self, number, future)

    monkeypatch.setattr(coordinator._Pass, "_take", later)
    monkeypatch.setattr(coordinator, "MOST_VALUES", 1 << 15)
    assert digest(nw.fit(model(), _pattern(files), executor=two, **SETTINGS)) == expected


def _killing(monkeypatch: pytest.MonkeyPatch, client: Any, passes: set[int]) -> list[int]:
    """Kills a worker a moment after each of these passes has begun."""
    killed: list[int] = []
    asked = coordinator.Workers.sum

    def sum_and_kill(self: Any, *arguments: Any) -> list[bytes]:
        if self._passes + 1 in passes:
            victim = sorted(client.run(os.getpid).values())[0]

            def kill() -> None:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

            threading.Timer(0.02, kill).start()
        return asked(self, *arguments)

    monkeypatch.setattr(coordinator.Workers, "sum", sum_and_kill)
    return killed


@pytest.mark.parametrize("passes", [{2}, {3, 4, 5}])
def test_workers_that_are_killed(files: Path, expected: str, monkeypatch: pytest.MonkeyPatch, passes: set[int]) -> None:
    with _cluster(2, 1) as cluster, distributed.Client(cluster) as client:
        killed = _killing(monkeypatch, client, passes)
        assert digest(nw.fit(model(), _pattern(files), executor=client, **SETTINGS)) == expected
        assert len(killed) == len(passes)


def test_what_always_dies_ends_in_a_sentence_within_a_minute(files: Path) -> None:
    dying = nw.Model.from_functions(deadly(os.getpid()), parameters={"m": 0.0}, variables=["x"])
    begun = time.monotonic()
    with _cluster(1, 1) as cluster, distributed.Client(cluster) as client:
        with pytest.raises(nw.errors.WorkersLostError, match="workers in a row were lost"):
            nw.fit(dying, _pattern(files), executor=client, **SETTINGS)
        assert time.monotonic() - begun < 60


def test_a_cluster_whose_workers_do_not_come_back_is_given_up(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ALONE_HERE", 3.0)
    begun = time.monotonic()
    with _cluster(1, 1) as cluster, distributed.Client(cluster) as client:
        asked = coordinator.Workers.sum

        def sum_alone(self: Any, *arguments: Any) -> list[bytes]:
            if self._passes == 1:
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.05)
            return asked(self, *arguments)

        monkeypatch.setattr(coordinator.Workers, "sum", sum_alone)
        with pytest.raises(nw.errors.WorkersLostError, match="all workers of the cluster were lost, and for 3 s"):
            nw.fit(model(), _pattern(files), executor=client, **SETTINGS)
        assert time.monotonic() - begun < 60


def test_dask_collections_and_arrow_datasets(files: Path, expected: str, two: Any) -> None:
    import dask.array
    import dask.dataframe
    import pyarrow.dataset

    frame = dask.dataframe.read_parquet(_pattern(files))
    assert digest(nw.fit(model(), frame, executor=two, **SETTINGS)) == expected
    array = dask.array.from_array(rows(COUNT), chunks=(70_001, 1))
    assert digest(nw.fit(model(), array, executor=two, **SETTINGS)) == expected
    dataset = pyarrow.dataset.dataset(sorted(map(str, files.glob("part-*.parquet"))))
    assert digest(nw.fit(model(), dataset, executor=two, **SETTINGS)) == expected
    values = rows(COUNT)
    kept = values[values[:, 0] > 0.0]
    positive = nw.fit(model(), dataset.filter(pyarrow.dataset.field("x") > 0.0), executor=two, **SETTINGS)
    whole = nw.fit(model(), {"x": kept[:, 0], "y": kept[:, 1]}, **SETTINGS)
    assert positive.rows == len(kept) and digest(positive) == digest(whole)


def test_weights_and_other_columns(files: Path, two: Any) -> None:
    values = rows(COUNT)
    whole = nw.fit(model(), {"x": values[:, 0], "y": values[:, 1]}, weights=np.ones(COUNT), **SETTINGS)
    assert digest(nw.fit(model(), _pattern(files), weights="w", executor=two, **SETTINGS)) == digest(whole)


def test_bad_files_are_one_sentence_each(files: Path, tmp_path: Path, two: Any) -> None:
    def refused(match: str, folder: Path) -> None:
        with pytest.raises(nw.InputError, match=match) as caught:
            nw.fit(model(), str(folder / "*.parquet"), executor=two, **SETTINGS)
        assert "\n" not in str(caught.value)

    good = table(rows(5000))
    for name in ("truncated", "columns", "text", "bad"):
        (tmp_path / name).mkdir()
        parquet.write_table(good, tmp_path / name / "a.parquet")
    whole = (tmp_path / "bad" / "a.parquet").read_bytes()
    (tmp_path / "truncated" / "b.parquet").write_bytes(whole[: len(whole) // 2])
    refused(r"truncated/b\.parquet cannot be read: ", tmp_path / "truncated")
    parquet.write_table(good.drop_columns("y"), tmp_path / "columns" / "b.parquet")
    refused(r"columns/b\.parquet has no column `y`; its columns are x, w", tmp_path / "columns")
    parquet.write_table(good.set_column(2, "y", pa.array(["?"] * 5000)), tmp_path / "text" / "b.parquet")
    refused(r"column `y` must hold numbers, not string", tmp_path / "text")
    values = rows(5000)
    values[4321, 0] = np.inf
    parquet.write_table(table(values), tmp_path / "bad" / "b.parquet", row_group_size=2000)
    refused(r"bad/b\.parquet, row group 2, row 322: ", tmp_path / "bad")


def test_a_ratio_and_a_simulation(files: Path, two: Any) -> None:
    import dask.dataframe

    second = rows(290_000, seed=3) * 1.1
    frame = dask.dataframe.from_pandas(table(second).to_pandas(), npartitions=3)
    values = rows(COUNT)
    whole = nw.ratio(model(), *({"x": sample[:, 0], "y": sample[:, 1]} for sample in (values, second)))
    assert digest(nw.ratio(model(), _pattern(files), frame, executor=two)) == digest(whole)
    mean = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    design: dict[str, Any] = {"at": {"m": 0.0}, "rows": 300, "noise": nw.Normal(0, 1), "repeats": 20}
    here, there = (nw.simulate_design(mean, nw.Normal(0, 1), **design, executor=who) for who in (None, two))
    assert np.array_equal(here.estimates, there.estimates)


def test_an_interrupt_takes_back_what_was_submitted(files: Path, two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks have names that tell what they do, the bar says how far the pass is, and Ctrl-C leaves nothing on the scheduler."""

    def tasks() -> list[str]:
        return two.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks if "noisewright" in str(key)])

    # What an earlier fit was refused for may still hold tasks, for as long as its error is shown.
    before = set(tasks())
    notes: list[str] = []
    names: list[str] = []
    report = coordinator.Workers.report

    def interrupted(self: Any, *arguments: Any) -> None:
        report(self, *arguments)
        notes.append(self._bar.note)
        names.extend(tasks())
        raise KeyboardInterrupt

    monkeypatch.setattr(coordinator.Workers, "report", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nw.fit(model(), _pattern(files), executor=two, **SETTINGS)
    assert re.fullmatch(r"pass 1, block 1 of \d+, \S+ rows/s", notes[0])
    assert any(name.startswith("noisewright-rows-") for name in set(names) - before)
    deadline = time.monotonic() + 30.0
    while set(tasks()) - before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert set(tasks()) <= before


def test_bytes_through_the_scheduler(files: Path, expected: str, two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass takes at most 16 (k + 1)² bytes there and back for a run, but for the last over rows and over noise, with tails and the
    information matrix's test; rows, and what else is large, do not pass the scheduler.
    """
    passes: list[float] = []
    fetched: list[int] = []
    asked, result, broadcast = coordinator.Workers.sum, DaskEngine.result, two.run

    def measured(self: Any, news: list[bytes], known: int, runs: Any, sample: int | None) -> list[bytes]:
        fetched.append(0)
        answers = asked(self, news, known, runs, sample)
        tail = sum(map(len, self._log[known:]))
        passes.append(fetched[-1] / len(runs) + (tail if tail <= self._small else 0))
        return answers

    def counted(self: Any, future: Any, large: bool = False) -> Any:
        answer = result(self, future, large)
        fetched[-1] += len(answer) if fetched and isinstance(answer, bytes) and not large else 0
        return answer

    def refused(function: Any, *arguments: Any, **settings: Any) -> Any:
        assert not any(isinstance(one, (Opening, tuple)) for one in arguments), "told by way of the scheduler"
        return broadcast(function, *arguments, **settings)

    fetched.append(0)
    monkeypatch.setattr(coordinator.Workers, "sum", measured)
    monkeypatch.setattr(DaskEngine, "result", counted)
    monkeypatch.setattr(two, "run", refused)
    assert digest(nw.fit(model(), _pattern(files), executor=two, **SETTINGS)) == expected
    assert len(passes) > 4
    # The sample of rows alone would be four megabytes.
    assert passes[0] == 0
    bound = 16 * (len(model().coordinates) + 1) ** 2
    assert sorted(passes)[-3] <= bound, passes
    # Those two: the largest log ratios of the first run, and of every run sums over the products of the scores' products.
    assert max(passes) <= 3 * bound, passes


def test_a_bootstrap_has_the_bits_of_one_process(two: Any) -> None:
    values = rows(800)
    data = {"x": values[:, 0], "y": values[:, 1]}
    alone = nw.fit(model(), data, bootstrap=120, **SETTINGS)
    assert alone.to_dict()["bootstrap"]["replicates"] > 114
    assert digest(nw.fit(model(), data, bootstrap=120, executor=two, **SETTINGS)) == digest(alone)
