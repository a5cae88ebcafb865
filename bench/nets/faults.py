"""Faults: interrupts at random times, forks after use, little memory, full and closed outputs, files that change or vanish.

    NOISEWRIGHT=target/release/noisewright python bench/nets/faults.py [--interrupts 1000] [--forks 100] [--only REGEX]
    python bench/nets/faults.py --page > bench/nets/FAULTS.md

The first measures into the store and adds to what is there (`--only interrupt`, `python`, `forks`, `memory`, `outputs`, of memory also `twice`, `half`, `third`, `fifth` and `draws`, or one command:
`'memory draws: logz'`; `--seed` of an earlier run repeats its interrupts), the second prints the page. An interrupt must end a call within a second: the command with the status of SIGINT (130 in a shell), Python with
KeyboardInterrupt; nothing may abort, and nothing may use the processor afterwards. A fault of a file or of memory is one
sentence on standard error and the status 1 or 2.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from store import Chosen, Store

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("NOISEWRIGHT", str(ROOT / "target" / "debug" / "noisewright"))

#: A second after an interrupt everything has ended. On a busy machine a process waits for its turn: what counts is its own
#: time where that is less, and ten seconds in any case.
LONGEST, LONGEST_TURN = 1.0, 10.0

SIX = """variables = ["a", "b", "c", "d", "e", "f"]
log_density = "-(a^2 + b^2 + c^2 + d^2 + e^2 + f^2)/2 - m*a^4"
[parameters]
m = { start = 0.1, lower = 0 }
"""
WELL = """variables = ["x"]
log_density = "-log(1 + (x - m)^2/exp(s)) - a*x^2"
[parameters]
m = 0.3
s = 0.1
a = { start = 0.1, lower = 0, upper = 9 }
"""
NORMAL = 'variables = ["x"]\nfeatures = ["x", "x^2"]\n'
WIDE = """variables = ["a", "b", "c", "d", "e", "f"]
features = ["a", "b", "c", "d", "e", "f", "a^2", "b^2", "c^2", "d^2", "e^2", "f^2", "a*b", "c*d", "e*f"]
"""
GIVEN = """variables = ["a"]
covariates = ["b", "c"]
log_density = "-(a - p*b - q*c)^2/2 - r*a^4"
[parameters]
p = 0.0
q = 0.0
r = { start = 0.1, lower = 0 }
"""

#: Every command with something long to do.
COMMANDS: dict[str, list[str]] = {
    "sample": ["sample", "400000000", "--noise", "normal(0, 1)"],
    "sample --out": ["sample", "400000000", "--noise", "normal(0, 1)", "--out", "draws.csv"],
    "sample --out, Parquet": ["sample", "400000000", "--noise", "normal(0, 1)", "--out", "draws.parquet"],
    "simulate --out": ["simulate", "fit.json", "400000000", "--out", "draws.csv"],
    "fit --out --report": ["fit", "well.toml", "rows.csv", "--nu", "20", "--starts", "200", "--out", "new.json", "--report", "page.html"],
    "fit": ["fit", "well.toml", "rows.csv", "--nu", "20", "--starts", "200"],
    "fit --noise exact": ["fit", "well.toml", "rows.csv", "--noise", "exact", "--starts", "200"],
    "fit --noise optimal": ["fit", "well.toml", "rows.csv", "--noise", "optimal", "--nu", "20", "--starts", "200"],
    "fit --stream": ["fit", "well.toml", "rows.csv", "--stream", "--nu", "50"],
    "fit --workers": ["fit", "well.toml", "rows.parquet", "--nu", "50", "--workers", "2"],
    "fit --method score-matching": ["fit", "well.toml", "rows.csv", "--method", "score-matching", "--starts", "2000"],
    "fit --penalty": ["fit", "wide.toml", "six.csv", "--penalty", "lasso:auto", "--nu", "5"],
    "fit --bootstrap": ["fit", "well.toml", "rows.csv", "--nu", "1", "--bootstrap", "10000"],
    "fit, covariates": ["fit", "given.toml", "six.csv", "--choices", "200"],
    "ratio": ["ratio", "six.csv", "other.csv", "--features", "quadratic"],
    "ratio, basis": ["ratio", "six.csv", "other.csv"],
    "information": ["information", "six.csv", "--between", "a,b", "--and", "c,d"],
    "simulate": ["simulate", "fit.json", "400000000"],
    "error": ["error", "six.toml", "--noise", "normal(0, 2)", "--draws", "3000000"],
    "design": ["design", "six.toml", "--draws", "2000000"],
    "design normal(?, ?)": ["design", "well.toml", "--noise", "normal(?, ?)"],
    "logz --bootstrap": ["logz", "pair.csv", "noise.csv", "--bootstrap", "1000000"],
    "logz --states": ["logz", "states.csv", "--states", "u_*"],
    "logz --path": ["logz", "--path", "--model", "six.toml", "--draws", "400000"],
    "evidence": ["evidence", "six.toml", "six.csv", "--noise-draws", "4000000"],
}


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(1)
    (folder / "six.toml").write_text(SIX)
    (folder / "well.toml").write_text(WELL)
    (folder / "normal.toml").write_text(NORMAL)
    (folder / "wide.toml").write_text(WIDE)
    (folder / "given.toml").write_text(GIVEN)
    save = lambda name, header, rows: np.savetxt(folder / name, rows, delimiter=",", header=header, comments="", fmt="%.6g")
    save("rows.csv", "x", rng.normal(size=(100_000, 1)))
    save("six.csv", "a,b,c,d,e,f", rng.normal(size=(20_000, 6)))
    save("other.csv", "a,b,c,d,e,f", rng.normal(size=(20_000, 6)))
    save("pair.csv", "log_f,log_noise", rng.normal(size=(20_000, 2)))
    save("noise.csv", "log_f,log_noise", rng.normal(size=(20_000, 2)))
    states = rng.normal(size=(40_000, 41))
    states[:, 40] = np.repeat(np.arange(40), 1000) + 1
    save("states.csv", ",".join([f"u_{k}" for k in range(1, 41)] + ["state"]), states)
    words = ["fit", "normal.toml", "rows.csv", "--noise", "exact", "--out", "fit.json", "--quiet"]
    subprocess.run([BINARY, *words], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    words = ["sample", "200000", "--noise", "normal(0, 1)", "--out", "rows.parquet"]
    subprocess.run([BINARY, *words], cwd=folder, stdout=subprocess.DEVNULL, check=True)


def interrupt_commands(folder: Path, count: int, seed: int, chosen: Chosen) -> Iterator[tuple[str, float, int, bool]]:
    """Interrupts at random times: of what, how long it then took, the status, and whether it left no file and no trace."""
    before = {entry.name for entry in folder.iterdir()}
    rng = np.random.default_rng(seed)
    names = [name for name in COMMANDS if chosen.asks_for(f"interrupt {name}")]
    for k in range(count if names else 0):
        name = names[k % len(names)]
        after = float(rng.exponential(0.4))
        process = subprocess.Popen(
            [BINARY, *COMMANDS[name]], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            process.wait(timeout=after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        _, said = process.communicate(timeout=120)
        waited = time.monotonic() - sent
        left = {entry.name for entry in folder.iterdir()} - before
        # What had come to its end may have written its file.
        tidy = (process.returncode == 0 or not left) and "panicked" not in said and "backtrace" not in said
        for new in left:
            (folder / new).unlink()
        yield name, waited, process.returncode, tidy


PYTHON = """
import json, os, random, signal, sys, threading, time, warnings
import numpy as np
import noisewright as nw
warnings.simplefilter("ignore")

x = np.random.default_rng(1).normal(size=20_000)
names = [f"x{i}" for i in range(6)]
wide = nw.Model.from_formula(
    " - ".join(["0"] + [f"({name} - m)^2/2" for name in names]), variables=names, parameters={"m": 20.0})
plain = nw.Model.from_formula(
    "-log(1 + (x - m)^2/exp(s)) - a*x^2", variables="x", parameters={"m": 0.3, "s": 0.1, "a": (0.1, 0, 9)})
features = nw.Model.from_features([*names, *(f"{n}^2" for n in names)], variables=names)
own = nw.Model.from_functions(
    lambda x, theta: -theta[0] * x[:, 0] ** 2 - theta[1] * x[:, 0] ** 4, n_params=2, start=[1.0, 0.1])
rows = np.random.default_rng(2).normal(size=(50_000, 6))
given = nw.Model.from_formula(
    "-(x0 - p*x1)^2/2 - r*x0^4", variables="x0", covariates="x1", parameters={"p": 0.0, "r": (0.1, 0, 9)})
table = {"x0": rows[:, 0], "x1": rows[:, 1]}
fitted = nw.fit(plain, x[:500], noise="exact")
long = {
    "function": lambda: nw.fit(own, x, nu=50),
    "fit": lambda: nw.fit(plain, np.tile(x, 20), nu=20, starts=100),
    "exact": lambda: nw.fit(plain, np.tile(x, 20), noise="exact", starts=100),
    "optimal": lambda: nw.fit(plain, np.tile(x, 20), noise="optimal", nu=20, starts=100),
    "score matching": lambda: nw.fit(plain, np.tile(x, 20), method="score-matching", starts=1000),
    "penalty": lambda: nw.fit(features, rows, penalty="lasso:auto", nu=5),
    "bootstrap of a fit": lambda: nw.fit(plain, x, nu=1, bootstrap=10_000),
    "covariates": lambda: nw.fit(given, table, choices=200),
    "basis": lambda: nw.ratio(None, rows[:20_000], rows[20_000:40_000] + 0.1),
    "information": lambda: nw.mutual_information(rows[:, :2], rows[:, 2:]),
    "simulate": lambda: fitted.simulate(100_000_000),
    "density": lambda: fitted.log_density(np.tile(x, 2000)),
    "ratio": lambda: nw.ratio(features, np.tile(rows, (10, 1)), np.tile(rows[::-1], (10, 1))),
    "bootstrap": lambda: nw.log_z(*u[:4, :50_000], bootstrap=100_000),
    "sample": lambda: nw.Normal(0, 1).sample(100_000_000),
    "path": lambda: nw.log_z_path(wide, noise="normal(0, 1)", draws=200_000),
    "evidence": lambda: nw.evidence(wide, 20 + rows, noise_draws=5_000_000),
    "design": lambda: nw.design(wide, draws=2_000_000),
    "error": lambda: nw.error(wide, noise="normal(20, 2)", draws=4_000_000),
    "family": lambda: nw.design(plain, noise="normal(?, ?)", efficiency=0.9),
    "states": lambda: nw.log_z_states(u, counts=[2000] * 60),
}
u = np.random.default_rng(2).normal(size=(60, 120_000))
chance = random.Random(int(sys.argv[2]))
for k in range(int(sys.argv[1])):
    name = list(long)[k % len(long)]
    after, sent = chance.expovariate(2.5), [0.0, 0.0]
    def interrupt():
        time.sleep(after)
        sent[:] = time.monotonic(), time.process_time()
        os.kill(os.getpid(), signal.SIGINT)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        while True:
            long[name]()
    except KeyboardInterrupt:
        waited, spent = time.monotonic() - sent[0], time.process_time() - sent[1]
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.2)
    print(json.dumps([name, waited, spent, time.process_time() - before]), flush=True)
"""


def interrupt_python(count: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Interrupts at random times in one interpreter that goes on: the call with seconds until KeyboardInterrupt by the clock and in its
    own time, and of use afterwards; how it ended, if not as it should."""
    run = subprocess.Popen([sys.executable, "-c", PYTHON, str(count), str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stderr is not None
    for line in run.stdout:
        name, *numbers = json.loads(line)
        yield name, numbers
    if run.wait() != 0:
        yield f"the interpreter ended with {run.returncode}: {run.stderr.read()[-300:]}", [99.0, 99.0, 99.0]


FORKS = """
import multiprocessing, os, sys
import numpy as np
import noisewright as nw
x = np.random.default_rng(1).normal(size=2000)
model = nw.Model.from_formula("a*x - b*x^2/2", variables="x", parameters={"a": 0.0, "b": (1.0, 0, 99)})
u = np.array([-0.5 * (x - m) ** 2 for m in (0.0, 0.3)])
jobs = [
    lambda: float(nw.fit(model, x, nu=3, seed=1)["a"].estimate),
    lambda: float(nw.log_z_states(u, counts=[1000, 1000]).log_z[1]),
    lambda: float(nw.Normal(0, 1).sample(20_000, seed=1).sum()),
    lambda: float(nw.error(model, noise="normal(0, 4)").error),
]
here = [job() for job in jobs]
fork = multiprocessing.get_context("fork")
for k in range(int(sys.argv[1])):
    queue = fork.SimpleQueue()
    child = fork.Process(target=lambda: queue.put(jobs[k % 4]()))
    child.start()
    child.join(30)
    if child.is_alive():
        child.kill()
        print("hangs", flush=True)
    else:
        print("alike" if queue.get() == here[k % 4] else "differs", flush=True)
"""


def forks(count: int) -> dict[str, int]:
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, str(count)], capture_output=True, text=True, timeout=3600, check=False)
    words = run.stdout.split()
    return {word: words.count(word) for word in ("alike", "differs", "hangs")}


def limited(megabytes: int) -> Callable[[], None]:
    """As after `ulimit -v`."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


#: Files by what part of the limit they are: twice the limit is refused when it is read, the others are read, and their copies or what is
#: computed of them may not fit.
SHARES = {"twice the limit": 2.0, "half the limit": 0.5, "a third of the limit": 1 / 3, "a fifth of the limit": 0.2}


def large_files(folder: Path, megabytes: int, share: float) -> None:
    """Files of that share of the memory there will be."""
    rng = np.random.default_rng(1)
    for name, columns in {"big": 1, "bigsix": 6, "bigpair": 2, "bigstates": 9}.items():
        block = rng.normal(size=(10_000, columns))
        blocks = int(share * megabytes * 1e6 / block.nbytes)
        shape = (10_000 * blocks, columns) if columns > 1 else (10_000 * blocks,)
        rows = np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=float, shape=shape)
        # Of what is refused for its size nothing is looked at, and a file of zeros takes no room on the disk.
        for k in range(blocks if share < 1 else 0):
            if name == "bigstates":
                block[:, 8] = 8 * k // blocks + 1
            rows[10_000 * k : 10_000 * (k + 1)] = block if columns > 1 else block[:, 0]
        rows.flush()


#: Every command with rows of a file.
OF_ROWS: dict[str, list[str]] = {
    "density": ["density", "fit.json", "big.npy"],
    "fit": ["fit", "normal.toml", "big.npy"],
    "fit, twice the file": ["fit", "normal.toml", "big.npy", "big.npy"],
    "fit --noise exact": ["fit", "normal.toml", "big.npy", "--noise", "exact"],
    "fit --noise kde": ["fit", "normal.toml", "big.npy", "--noise", "kde", "--nu", "1"],
    "fit --method score-matching": ["fit", "normal.toml", "big.npy", "--method", "score-matching"],
    "fit --penalty": ["fit", "normal.toml", "big.npy", "--penalty", "lasso:0.1"],
    "ratio": ["ratio", "big.npy", "big.npy"],
    "ratio --features": ["ratio", "big.npy", "big.npy", "--features", "linear"],
    "information": ["information", "bigsix.npy", "--between", "x0,x1,x2", "--and", "x3,x4,x5"],
    "evidence": ["evidence", "six.toml", "bigsix.npy"],
    "logz": ["logz", "bigpair.npy", "bigpair.npy", "--bootstrap", "20"],
    "logz --states": ["logz", "bigstates.npy", "--states", "x0,x1,x2,x3,x4,x5,x6,x7", "--state-column", "x8"],
    "design --data": ["design", "normal.toml", "--data", "big.npy", "--noise", "kde"],
    "error --data": ["error", "normal.toml", "--data", "big.npy", "--noise", "kde"],
}

#: Every command with draws of its own, more than fit.
OF_DRAWS: dict[str, list[str]] = {
    "sample": ["sample", "400000000", "--noise", "normal(0, 1)", "--draws", "random", "--json"],
    "simulate": ["simulate", "fit.json", "400000000"],
    "fit --noise-points": ["fit", "normal.toml", "rows.csv", "--noise", "normal(0, 4)", "--noise-points", "400000000"],
    "fit, covariates": ["fit", "given.toml", "six.csv", "--choices", "100000"],
    "evidence --noise-draws": ["evidence", "six.toml", "six.csv", "--noise-draws", "60000000"],
    "logz --model": ["logz", "six.csv", "--model", "six.toml", "--noise", "normal(0, 1)", "--draws", "60000000"],
    "logz --path": ["logz", "--path", "--model", "six.toml", "--draws", "2000000000"],
    "design --draws": ["design", "six.toml", "--draws", "60000000"],
    "error --draws": ["error", "six.toml", "--noise", "normal(0, 2)", "--draws", "60000000"],
}


def ended(folder: Path, words: list[str], megabytes: int, patience: float) -> tuple[int, str]:
    """The status of a command in so little memory, 124 where it is still at work, and what it said."""
    try:
        run = subprocess.run(
            [BINARY, *words, "--quiet"], cwd=folder, preexec_fn=limited(megabytes), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, timeout=patience, check=False,
        )
        return run.returncode, run.stderr.strip()
    except subprocess.TimeoutExpired:
        return 124, f"still at work after {patience:g} s"


def memory(folder: Path, limits: list[int], patience: float, chosen: Chosen) -> Iterator[tuple[str, str, int, int, str]]:
    """Every command on inputs that do not fit: the command, of what size, megabytes, status, and what was said."""
    for megabytes in limits:
        for size, share in SHARES.items():
            asked = [name for name in OF_ROWS if chosen.asks_for(f"memory {size}: {name}")]
            if asked:
                large_files(folder, megabytes, share)
            for name in asked:
                yield name, size, megabytes, *ended(folder, OF_ROWS[name], megabytes, patience)
        for name, words in OF_DRAWS.items():
            if chosen.asks_for(f"memory draws: {name}"):
                yield name, "draws", megabytes, *ended(folder, words, megabytes, patience)


def outputs(folder: Path) -> Iterator[tuple[str, int, bool]]:
    """Full and closed outputs, and files that change or vanish: what, the status, and whether it ended as it should."""
    with open("/dev/full", "w") as full:
        for name in ("sample", "fit"):
            words = COMMANDS[name] if name == "sample" else ["fit", "normal.toml", "rows.csv", "--nu", "1"]
            run = subprocess.run([BINARY, *words], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            yield f"{name} to a full device", run.returncode, run.returncode == 1 and len(run.stderr.strip().splitlines()) == 1
    run = subprocess.run(
        ["bash", "-c", f"'{BINARY}' sample 100000000 --noise 'normal(0, 1)' | head -n 1"], capture_output=True, text=True, timeout=120, check=False
    )
    yield "sample to a pipe that is closed", run.returncode, run.stdout == "x,log_density\n" and "panic" not in run.stderr
    for what, change in {
        "vanishes": lambda path: path.unlink(),
        "is cut": lambda path: os.truncate(path, 1000),
        "grows": lambda path: path.open("a").write("1.5\n" * 1000),
    }.items():
        path = folder / "changing.csv"
        path.write_text((folder / "rows.csv").read_text() * 1)
        words = ["fit", "well.toml", "changing.csv", "--stream", "--nu", "20"]
        process = subprocess.Popen([BINARY, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        change(path)
        _, said = process.communicate(timeout=240)
        fine = process.returncode == 0 or (process.returncode == 1 and "panic" not in said and "error: " in said)
        yield f"a streamed file that {what}", process.returncode, fine


def add(store: Store, key: tuple[str, ...], **counted: float) -> None:
    """Adds counts to those in the store; of what is called longest, the largest."""
    seen = store.get(key) or {}
    for name, value in counted.items():
        seen[name] = max(seen.get(name, 0.0), value) if name.startswith("longest") else seen.get(name, 0) + value
    store.put(key, seen)


def measure(store: Store, chosen: Chosen, given: argparse.Namespace, folder: Path) -> None:
    half = given.interrupts // 2
    for name, wait, status, tidy in interrupt_commands(folder, half, given.seed, chosen):
        by_signal, before = status == -signal.SIGINT, status in (0, 1)
        wrong = int(not (by_signal or before) or wait > LONGEST or not tidy)
        add(store, ("command", name), interrupts=1, by_signal=int(by_signal), before=int(before), wrong=wrong, longest=wait)
    if chosen.asks_for("python"):
        for call, (waited, own, used) in interrupt_python(given.interrupts - half, given.seed):
            # What is still used in 0.2 s afterwards is the interpreter's own.
            wrong = int(min(waited, own) > LONGEST or waited > LONGEST_TURN or used > 0.1)
            add(store, ("python", call), interrupts=1, wrong=wrong, longest=waited, longest_own=own, longest_after=used)
    if chosen.asks_for("forks"):
        add(store, ("forks",), children=given.forks, **forks(given.forks))
    for command, size, megabytes, status, said in memory(folder, given.megabytes, given.patience, chosen):
        sentence = said.startswith("error: ") and "\n" not in said and ("memory" in said or "fit" in said)
        fits = status in (0, 124) or (status == 1 and "memory" not in said and "error: " in said)
        wrong = not (fits or (status in (1, 2) and sentence))
        shown = said.splitlines()[-1][:160] if said else "it fits"
        store.put(("memory", command, size, megabytes), {"status": status, "wrong": wrong, "said": shown})
    if chosen.asks_for("outputs"):
        for what, status, fine in outputs(folder):
            store.put(("outputs", what), {"status": status, "fine": fine})


def print_interrupts(store: Store) -> int:
    """The two tables of interrupts; how many of them are wrong."""
    columns = {"command": ("interrupts", "by_signal", "before", "longest", "wrong"), "python": ("interrupts", "longest", "longest_own", "longest_after", "wrong")}
    headers = {
        "command": "Interrupts of the command\n\n| command | interrupts | ended by SIGINT | finished before | longest wait (s) | wrong |",
        "python": "Interrupts of Python\n\n| call | interrupts | longest wait (s) | in its own time (s) | longest use afterwards (s) | wrong |",
    }
    failures = 0
    for kind, header in headers.items():
        parts = {key[1]: seen for key, seen in store.parts.items() if key[0] == kind}
        print(f"\n## {header}\n|---|---|---|---|---|---|")
        for name, seen in parts.items():
            failures += seen["wrong"]
            cells = (f"{seen[column]:.2f}" if column.startswith("longest") else f"{seen[column]:.0f}" for column in columns[kind])
            print(f"| {name} | {' | '.join(cells)} |")
        print(f"\n{sum(seen['interrupts'] for seen in parts.values())} interrupts.")
    return failures


#: Why commands are still at work when patience ends, of which is then not known whether memory would have sufficed to the end.
AT_WORK = {
    ("design --data", "a fifth of the limit"): "a kernel density of 3,000,000 rows at every one of them: hours of work, in memory that does not grow",
}


def page(store: Store, note: str) -> None:
    print(f"# Faults\n\nGenerated by `bench/nets/faults.py --page` from `measured/faults.jsonl`, which its parts were measured into. {note}")
    failures = print_interrupts(store)
    counted = {"children": 0, "alike": 0, "hangs": 0, **(store.get(("forks",)) or {})}
    failures += counted["children"] - counted["alike"]
    print(f"\n## Forks after use\n\n{counted['alike']} of {counted['children']} children computed what their parent did, {counted['hangs']} hung.")
    at_work = sorted((key[1], key[2]) for key, seen in store.parts.items() if key[0] == "memory" and len(key) == 4 and seen["status"] == 124)
    without = sum(which not in AT_WORK for which in at_work)
    print(f"\n## Little memory\n\nStill at work when patience ended: {len(at_work)}, {without} of them without a reason{':' if at_work else '.'}\n")
    print("\n".join(f"- {name}, {size}: {AT_WORK.get((name, size), '**no reason**')}" for name, size in at_work))
    print("\n| command | input | megabytes | status | said |\n|---|---|---|---|---|")
    for key, seen in sorted((key, seen) for key, seen in store.parts.items() if key[0] == "memory" and len(key) == 4):
        failures += seen["wrong"]
        print(f"| {key[1]} | {key[2]} | {key[3]} | {seen['status']} | {'**wrong** ' if seen['wrong'] else ''}{seen['said']} |")
    print("\n## Outputs and files\n\n| what | status | as it should |\n|---|---|---|")
    for key, seen in store.parts.items():
        if key[0] == "outputs":
            failures += not seen["fine"]
            print(f"| {key[1]} | {seen['status']} | {'yes' if seen['fine'] else '**no**'} |")
    print(f"\n{failures} failures in all.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--interrupts", type=int, default=1000)
    parser.add_argument("--forks", type=int, default=100)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--patience", type=float, default=240, help="seconds for which a command may work in little memory")
    parser.add_argument("--seed", type=int, default=1)
    Chosen.arguments(parser, "faults")
    given = parser.parse_args()
    store = Store(given.store)
    if given.page:
        page(store, given.note)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        measure(store, Chosen(given), given, folder)
    store.tidy()


if __name__ == "__main__":
    main()
