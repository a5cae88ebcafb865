"""Fits by processes of our own and by executors: the bits of one process, whatever happens to the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewright as nw
from cluster_data import deadly, digest, model, rows
from noisewright.cluster import cache, coordinator, replicates, sources
from noisewright.cluster.engines import ProcessEngine

COUNT = 280_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate(np.split(rows(COUNT), [100_001, 150_000])):
        np.save(folder / f"{number}.npy", part)
    return folder


@pytest.fixture(scope="module")
def expected() -> str:
    return digest(nw.fit(model(), {"x": rows(COUNT)[:, 0], "y": rows(COUNT)[:, 1]}, nu=1.0, noise="auto"))


def test_processes_and_executors_give_the_bits_of_memory(files: Path, expected: str) -> None:
    pattern = str(files / "*.npy")
    assert digest(nw.fit(model(), pattern, nu=1.0, executor=1)) == expected
    with ThreadPoolExecutor(3) as threads:
        assert digest(nw.fit(model(), pattern, nu=1.0, executor=threads)) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert digest(nw.fit(model(), pattern, nu=1.0, executor=processes)) == expected


@pytest.mark.parametrize("groups", [1_009, 12])
def test_clusters_that_span_blocks_have_the_bits_of_memory(tmp_path: Path, groups: int) -> None:
    """Streamed from a file, and summed by processes: rows of every cluster are in every run."""
    values, numbers = rows(COUNT), np.arange(COUNT) * 7_919 % groups
    data = {"x": values[:, 0], "y": values[:, 1]}
    weights = np.linspace(0.5, 1.5, COUNT)
    whole = nw.fit(model(), data, nu=1.0, clusters=numbers, weights=weights)
    alone = nw.fit(model(), data, nu=1.0, weights=weights)
    assert whole["x"].se != alone["x"].se and whole["x"].estimate == alone["x"].estimate
    # The names of clusters are of no consequence, nor is their order.
    table = np.column_stack([values, 500 - numbers, weights])
    np.save(tmp_path / "rows.npy", table)
    header, path = "x,y,pool,w", tmp_path / "rows.csv"
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")
    how: dict[str, Any] = {"nu": 1.0, "clusters": "pool", "weights": "w"}
    assert digest(nw.fit(model(), path, **how)) == digest(whole)
    with ThreadPoolExecutor(2) as threads:
        assert digest(nw.fit(model(), str(tmp_path / "rows.npy"), executor=threads, **how)) == digest(whole)


def test_columns_of_clusters_that_cannot_be_are_refused(tmp_path: Path) -> None:
    """A number that other numbers may have become names its row; a variable is no cluster; chains still need the rows in memory."""
    table = np.column_stack([rows(3_000), np.arange(3_000) % 40])
    table[1_234, 2] = 2.0**53 + 2
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="x,y,pool", comments="")
    with pytest.raises(nw.InputError, match="row 1235"):
        nw.fit(model(), tmp_path / "rows.csv", clusters="pool")
    with ThreadPoolExecutor(1) as threads:
        for how, sentence in [
            ({"clusters": "x"}, "`clusters`: column `x` is a variable"),
            ({"clusters": "pool", "weights": "pool"}, "`weights`: column `pool` is that of `clusters`"),
            ({"clusters": np.arange(3_000)}, "`clusters` must be the name of a column"),
            ({"chains": 2}, "`chains` needs the rows in memory"),
        ]:
            with pytest.raises(nw.InputError, match=sentence):
                nw.fit(model(), str(tmp_path / "rows.csv"), executor=threads, **how)  # type: ignore[arg-type]


def test_a_bootstrap_has_the_bits_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its samples are fitted elsewhere: rows, weighted rows, whole clusters, noise that was drawn elsewhere, fixed parameters."""
    monkeypatch.setattr(replicates, "LEAST", 7)
    values = rows(400)
    data = {"x": values[:, 0], "y": values[:, 1]}
    given = nw.NoiseDraws(*_drawn(values))
    cases: list[dict[str, Any]] = [
        {"nu": 2.0},
        {"nu": 2.0, "weights": np.linspace(0.5, 1.5, 400), "fixed": {"x*y": 0.4}},
        {"nu": 2.0, "clusters": np.arange(400) // 8, "seed": 5},
        {"noise": given},
    ]
    with ThreadPoolExecutor(2) as threads:
        for case in cases:
            alone = nw.fit(model(), data, bootstrap=30, **case)
            found = nw.fit(model(), data, bootstrap=30, executor=threads, **case)
            assert found.to_dict()["bootstrap"]["replicates"] > 28
            assert found.to_dict()["bootstrap"] == alone.to_dict()["bootstrap"]
            assert digest(found) == digest(alone)
    alone = nw.fit(model(), data, bootstrap=30, **cases[0])
    assert digest(nw.fit(model(), data, bootstrap=30, executor=2, **cases[0])) == digest(alone)


def _drawn(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian noise with its log-densities, and those at the data."""
    points = np.random.default_rng(4).normal(0.0, 1.5, (1500, 2))
    density = lambda at: -0.5 * (at**2).sum(axis=1) / 2.25 - np.log(2 * np.pi * 2.25)  # noqa: E731
    return points, density(points), density(values)


def test_the_rows_of_a_fit_that_has_ended_make_room(files: Path) -> None:
    """Otherwise the next fit would read its rows again at every pass."""
    with ThreadPoolExecutor(1) as threads:
        nw.fit(model(), str(files / "*.npy"), nu=1.0, executor=threads)
    assert cache.rows_read()._bytes == 0 and not cache.rows_read()._held


def test_the_columns_of_a_file_are_not_copied(tmp_path: Path) -> None:
    """What a worker keeps is what was read, and a run is a part of that: memory for a run would be asked of the system at every pass."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = rows(5000)
    table = arrow.table({"x": values[:, 0], "y": values[:, 1].astype(np.float32), "n": np.arange(5000)})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=2000)
    source = sources.Files([str(tmp_path / "rows.parquet")], "parquet", {}, [[2000, 2000, 1000]], identity=str(tmp_path))
    once, again = (source.read(1500, 4500, ["x", "y", "n"]) for _ in range(2))
    assert [len(piece[0]) for piece in once] == [500, 2000, 500]
    assert all(np.shares_memory(a, b) for first, second in zip(once, again) for a, b in zip(first, second))
    joined = [np.concatenate([piece[j] for piece in once]) for j in range(3)]
    assert np.array_equal(joined, [values[1500:4500, 0], values[1500:4500, 1].astype(np.float32), np.arange(1500, 4500)])


def test_a_ratio_of_two_samples(files: Path, tmp_path: Path) -> None:
    """Both samples in files, the second of fewer rows than are held: the bits of memory."""
    second = rows(30_000, seed=2) * 1.2
    np.save(tmp_path / "second.npy", second)
    first, features = rows(COUNT), nw.Model.from_features(["x", "y", "x^2", "y^2"], variables=["x", "y"])
    columns = [{"x": sample[:, 0], "y": sample[:, 1]} for sample in (first, second)]
    for samples, places in ((columns, ["*.npy", None]), (columns[::-1], [None, "*.npy"])):
        expected = digest(nw.ratio(features, *samples))
        paths = [str(tmp_path / "second.npy") if place is None else str(files / place) for place in places]
        with ThreadPoolExecutor(2) as threads:
            assert digest(nw.ratio(features, *paths, executor=threads)) == expected
    second[77, 0] = np.inf
    np.save(tmp_path / "second.npy", second)
    with ThreadPoolExecutor(1) as threads, pytest.raises(nw.InputError, match=r"second\.npy, row 78: .*`x`"):
        nw.ratio(features, str(files / "*.npy"), str(tmp_path / "second.npy"), executor=threads)
    with pytest.raises(nw.InputError, match="`executor` is for a ratio of a model's features without bridges"):
        nw.ratio(str(files / "*.npy"), str(tmp_path / "second.npy"), executor=1)


def test_three_kills_in_a_row(files: Path, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the beginning of three passes one after the other a process is killed."""
    killed: list[int] = []
    asked = coordinator.Workers.sum

    def sum_after_a_kill(self: Any, *arguments: Any) -> list[bytes]:
        children = active_children()
        if len(killed) < 3 and len(self._log) > 1 and children:
            killed.append(children[0].pid or 0)
            os.kill(killed[-1], signal.SIGKILL)
        return asked(self, *arguments)

    monkeypatch.setattr(coordinator.Workers, "sum", sum_after_a_kill)
    assert digest(nw.fit(model(), str(files / "*.npy"), nu=1.0, executor=2)) == expected
    assert len(set(killed)) == 3


def test_what_always_dies_ends_in_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    np.save(tmp_path / "rows.npy", rows(270_000)[:, :1])
    dying = nw.Model.from_functions(deadly(os.getpid()), parameters={"m": 0.0}, variables=["x"])
    with pytest.raises(nw.errors.WorkersLostError, match="in a row"):
        nw.fit(dying, tmp_path / "rows.npy", nu=1.0, executor=1)


def test_a_bad_row_is_named_by_file_and_row(files: Path, tmp_path: Path) -> None:
    bad = rows(1000)
    bad[123, 1] = np.nan
    np.save(tmp_path / "a.npy", rows(500))
    np.save(tmp_path / "b.npy", bad)
    with ThreadPoolExecutor(1) as threads, pytest.raises(nw.InputError, match=r"b\.npy, row 124: .*`y` is NaN"):
        nw.fit(model(), str(tmp_path / "*.npy"), executor=threads)


def test_refusals(files: Path) -> None:
    with pytest.raises(nw.InputError, match="no file is named like"):
        nw.fit(model(), str(files / "*.parquet"), executor=1)
    with pytest.raises(nw.InputError, match="no such file"):
        nw.fit(model(), str(files / "nothing.npy"), executor=1)
    with pytest.raises(nw.InputError, match="leave it out for rows in memory"):
        nw.fit(model(), rows(100), executor=1)
    with pytest.raises(nw.InputError, match="`bootstrap` needs the rows in memory"):
        nw.fit(model(), str(files / "*.npy"), executor=1, bootstrap=100)
    with pytest.raises(nw.InputError, match="`executor` cannot stand beside `strata`"):
        nw.fit(model(), rows(100), executor=1, bootstrap=100, strata=np.arange(100) // 2, chosen=np.arange(100) % 2)
    with pytest.raises(nw.InputError, match="must be a Dask client"):
        nw.fit(model(), str(files / "*.npy"), executor="dask")
    with pytest.raises(nw.InputError, match="at least one process"):
        nw.fit(model(), str(files / "*.npy"), executor=0)
    with pytest.raises(nw.InputError, match="`storage_options` are for `executor`"):
        nw.fit(model(), str(files / "*.npy"), storage_options={})


def test_processes_end_in_the_middle_of_their_work_and_none_is_begun_afterwards() -> None:
    engine = ProcessEngine(1)
    begun = engine.submit("", 0.0, os.getpid).result(timeout=60)
    engine.submit("", 0.0, time.sleep, 600.0)
    time.sleep(0.5)
    engine.close(lambda: None)
    deadline = time.monotonic() + 10.0
    while begun in {process.pid for process in active_children()}:
        assert time.monotonic() < deadline, "the process works on"
        time.sleep(0.1)
    with pytest.raises(KeyboardInterrupt):
        engine.submit("", 0.0, os.getpid)


def test_an_interrupt_ends_the_processes_too(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", rows(3_000_000))
    script = (
        "import sys, noisewright as nw\n"
        "if __name__ == '__main__':\n"
        "    model = nw.Model.from_features(['x', 'y', 'x^2', 'x*y', 'y^2'], variables=['x', 'y'])\n"
        "    print('begun', flush=True)\n"
        "    while True:\n"
        "        nw.fit(model, sys.argv[1], nu=5.0, executor=2)\n"
    )
    (tmp_path / "fit.py").write_text(script)
    words = [sys.executable, str(tmp_path / "fit.py"), str(tmp_path / "rows.npy")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as fit:
        assert fit.stdout is not None and fit.stdout.readline() == "begun\n"
        time.sleep(3.0)
        os.kill(fit.pid, signal.SIGINT)
        _, told = fit.communicate(timeout=30)
    assert fit.returncode != 0 and "KeyboardInterrupt" in told
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        try:
            os.killpg(fit.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("there are processes left")
