"""Processes: forks, Ctrl-C at any time, nothing that runs on."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals of POSIX")

FORKED = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import noisewright as nw

x = np.random.default_rng(1).normal(size=3000)
model = nw.Model.from_formula("a*x - b*x^2/2", variables="x", parameters={"a": 0.0, "b": (1.0, 0, 99)})
u = np.array([-0.5 * (x - m) ** 2 for m in (0.0, 0.3)])

def fit(seed):
    return float(nw.fit(model, x, nu=3, seed=seed).parameters["a"].estimate)

def states(_):
    return float(nw.log_z_states(u, counts=[1500, 1500]).log_z[1])

def draw(seed):
    return float(nw.Normal(0, 1).sample(20_000, seed=seed).sum())

def cost(_):
    return float(nw.error(model, noise="normal(0, 4)").error)

jobs = [fit, states, draw, cost]
here = [job(1) for job in jobs]
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    assert [pool.apply(job, (1,)) for job in jobs] == here
    assert pool.map(fit, range(4)) == [fit(seed) for seed in range(4)]
with ProcessPoolExecutor(2, mp_context=context) as pool:
    assert list(pool.map(draw, range(4))) == [draw(seed) for seed in range(4)]
# And a child of a child.
def grandchild(queue):
    inner = context.Process(target=lambda: queue.put(fit(2)))
    inner.start()
    inner.join()
    queue.put(fit(3))
queue = context.Queue()
child = context.Process(target=grandchild, args=(queue,))
child.start()
assert [queue.get(timeout=60), queue.get(timeout=60)] == [fit(2), fit(3)]
child.join()
print("alike")
"""


def run(script, timeout=180):
    command = [sys.executable, "-W", "ignore", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def test_children_compute_as_their_parent_does():
    done = run(FORKED)
    assert done.stdout == "alike\n", done.stderr


SETUP = """
import os, signal, sys, threading, time
import numpy as np
import noisewright as nw

x = np.random.default_rng(1).normal(size=20_000)
names = [f"x{i}" for i in range(6)]
wide = nw.Model.from_formula(
    " - ".join(["0"] + [f"({name} - m)^2/2" for name in names]), variables=names, parameters={"m": 20.0})
plain = nw.Model.from_formula(
    "-log(1 + (x - m)^2/exp(s)) - a*x^2", variables="x", parameters={"m": 0.3, "s": 0.1, "a": (0.1, 0, 9)})
own = nw.Model.from_functions(
    lambda x, theta: -theta[0] * x[:, 0] ** 2 - theta[1] * x[:, 0] ** 4, n_params=2, start=[1.0, 0.1])
"""

LONG = {
    "function": "nw.fit(own, x, nu=50)",
    "fit": "nw.fit(plain, np.tile(x, 20), nu=20, starts=100)",
    "exact": "nw.fit(plain, np.tile(x, 20), noise='exact', starts=100)",
    "optimal": "nw.fit(plain, np.tile(x, 20), noise='optimal', nu=20, starts=100)",
    "bootstrap": "nw.log_z(*np.random.default_rng(2).normal(size=(4, 50_000)), bootstrap=100_000)",
    "sample": "nw.Normal(0, 1).sample(400_000_000)",
    "path": "nw.log_z_path(wide, noise='normal(0, 1)', draws=200_000)",
    "evidence": "nw.evidence(wide, 20 + np.random.default_rng(2).normal(size=(50_000, 6)), noise_draws=20_000_000)",
    # A design looks up between passes over its draws: so many that one takes a fraction of a second.
    "design": "nw.design(wide, draws=500_000)",
    "error": "nw.error(wide, noise='normal(20, 2)', draws=4_000_000)",
    "family": "nw.design(plain, noise='normal(?, ?)', efficiency=0.9)",
    "states": "nw.log_z_states(np.random.default_rng(2).normal(size=(60, 120_000)), counts=[2000] * 60)",
}

# Ctrl-C comes after a while; the call must end with KeyboardInterrupt, within a second, and use no more time.
CAUGHT = (
    SETUP
    + """
def interrupt():
    time.sleep({after})
    global sent, sent_cpu
    sent, sent_cpu = time.monotonic(), time.process_time()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    while True:
        {call}
except KeyboardInterrupt:
    print("waited", time.monotonic() - sent)
    print("computed", time.process_time() - sent_cpu)
time.sleep(0.3)
before = time.process_time()
time.sleep(1.0)
print("used", time.process_time() - before)
"""
)


@pytest.mark.alone
@pytest.mark.parametrize("after", [0.15, 0.7])
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_call_and_nothing_runs_on(name, after):
    done = run(CAUGHT.replace("{after}", str(after)).replace("{call}", LONG[name]))
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    said = {name: float(seconds) for name, seconds in (line.split() for line in done.stdout.splitlines())}
    # By the clock or, where other programs keep the cores, of its own time.
    assert min(said["waited"], said["computed"]) < 1.5 and said["waited"] < 5 and said["used"] < 0.3, said


UNCAUGHT = SETUP + "\nprint('go', flush=True)\nwhile True:\n    {call}\n"


@pytest.mark.parametrize("after", [0.0, 0.1, 0.37])
@pytest.mark.parametrize("name", ["function", "bootstrap", "fit"])
def test_ctrl_c_ends_the_interpreter_without_a_crash(name, after):
    """By SIGINT, as Python ends after an interrupt that nobody catches; not by SIGABRT."""
    command = [sys.executable, "-W", "ignore", "-c", UNCAUGHT.replace("{call}", LONG[name])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "go\n"
        try:
            process.wait(timeout=after + 0.01)
        except subprocess.TimeoutExpired:
            pass
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT, (process.returncode, errors)
    assert "KeyboardInterrupt" in errors and "panicked" not in errors, errors
