"""The package as a whole: docstrings, types, examples, threads, interruption, memory."""

import doctest
import importlib
import inspect
import pickle
import pkgutil
import re
import runpy
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["noisewright"] + [
    f"noisewright.{module.name}" for module in pkgutil.iter_modules(nw.__path__) if not module.name.startswith("_")
]
MODULES += [f"noisewright.networks.{module.name}" for module in pkgutil.iter_modules([f"{nw.__path__[0]}/networks"])]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    try:
        module = importlib.import_module(name)
    except nw.MissingLibraryError as missing:
        pytest.skip(str(missing))
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_everything_public_is_documented():
    for name in nw.__all__:
        thing = getattr(nw, name)
        if callable(thing):
            assert thing.__doc__, name
    for function in (nw.fit, nw.design, nw.error, nw.log_z, nw.evidence, nw.ratio, nw.log_z_states, nw.log_z_path, nw.load_example):
        assert ">>>" in function.__doc__, function.__name__


def test_types_are_checked():
    """The package, strictly, and the scripts that use it."""
    scripts = [str(path) for path in sorted((ROOT / "examples" / "python").glob("*.py"))]
    for arguments in ([], ["--allow-untyped-defs", "--allow-untyped-calls", *scripts]):
        mypy = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *arguments]
        done = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_stubs_name_what_is_there():
    """Every function and class of the compiled module is in its stub, with the same parameters, and the reverse."""
    stub = (Path(nw.__file__).parent / "_core.pyi").read_text()
    declared = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE)) - {"_Array"}
    from noisewright import _core

    assert declared == {name for name in dir(_core) if not name.startswith("_") and callable(getattr(_core, name))}
    for name in declared:
        thing = getattr(_core, name)
        if not isinstance(thing, type):
            parameters = re.search(rf"^def {name}\((.*?)\) ->", stub, re.MULTILINE | re.DOTALL)
            assert parameters is not None
            named = re.findall(r"(\w+):", parameters[1])
            assert named == list(inspect.signature(thing).parameters), name


@pytest.mark.parametrize("script", sorted((ROOT / "examples" / "python").glob("*.py")), ids=lambda path: path.stem)
def test_scripts_run(script, capsys, monkeypatch, tmp_path):
    for library in ("jax", "torch"):
        if library in script.stem:
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_the_page_in_the_book_runs():
    """The Python blocks of the documentation, one page after the other."""
    for page in [ROOT / "docs" / "src" / "python.md", ROOT / "README.md"]:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        assert blocks, page
        scope = {}
        for block in blocks:
            exec(compile(block, str(page), "exec"), scope)


def test_exceptions_are_ours_and_the_natural_ones():
    assert issubclass(nw.InputError, ValueError) and issubclass(nw.ModelError, ValueError)
    assert issubclass(nw.NoAnswerError, ArithmeticError) and issubclass(nw.FunctionError, RuntimeError)
    assert issubclass(nw.MissingLibraryError, ImportError)
    for error in (nw.InputError, nw.ModelError, nw.NoAnswerError, nw.FunctionError, nw.MissingLibraryError):
        assert issubclass(error, nw.NoisewrightError)


def test_a_model_without_an_integral_has_no_answer():
    model = nw.Model.from_formula("a*x^2", variables="x", parameters={"a": 1.0})
    with pytest.raises(nw.NoAnswerError, match="does not integrate"):
        nw.error(model, noise="normal(0, 1)")


def test_designs_are_saved_and_read_by_the_same_words(tmp_path, quartic):
    best = nw.design(quartic, nu=1)
    best.noise.save(tmp_path / "best.json")
    again = nw.DesignedNoise.load(tmp_path / "best.json")
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(again.log_density(x), best.noise.log_density(x), rtol=1e-9)
    words = nw.error(quartic, noise=f'file("{tmp_path / "best.json"}")', nu=1)
    assert words.error == pytest.approx(best.error, rel=1e-6)


def test_design_and_error_of_functions_come_from_samples(rng):
    """A Gaussian of four variables as a function: expectations over a sample, against the closed form."""
    x = rng.normal(size=(20_000, 4))
    model = nw.Model.from_functions(
        lambda x, theta: -(x**2).sum(axis=1) / 2 + x @ theta, lambda x, theta: x, n_params=4
    )
    log_z = 2 * np.log(2 * np.pi)
    report = nw.error(model, noise=nw.Normal(0, 1), data=x, log_normalizer=log_z, nu=1)
    # Noise equal to the data: (1+ν)²/ν · tr J⁻¹ = 16 for four means, and nothing for the constant.
    assert report.error == pytest.approx(16.0, rel=0.05)
    # Without the constant it is estimated from the sample.
    assert nw.error(model, noise=nw.Normal(0, 1), data=x, nu=1).error == pytest.approx(report.error, rel=0.02)
    best = nw.design(model, x, log_normalizer=log_z, nu=1)
    assert best.error < 0.95 * report.error
    assert best.noise.sample(10).shape == (10, 4)


def test_python_threads_work_side_by_side(rng):
    """Calls from several threads, some with functions of ours, neither block nor disturb each other."""
    x = rng.normal(size=2000)
    model = nw.Model.from_functions(lambda x, t: -t[0] * x[:, 0] ** 2, lambda x, t: -(x**2), start=[1.0])
    expected = nw.fit(model, x, nu=3)["t0"].estimate
    found = []
    threads = [threading.Thread(target=lambda: found.append(nw.fit(model, x, nu=3)["t0"].estimate)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert found == [expected] * 6


def test_functions_may_call_us_back(rng):
    x = rng.normal(size=500)

    def log_density(x, theta):
        noise = nw.Normal(0, 1).log_density(x[:, 0])
        return theta[0] * noise

    fit = nw.fit(nw.Model.from_functions(log_density, lambda x, t: log_density(x, [1.0])[:, None], start=[0.9]), x, nu=3)
    assert fit.converged


@pytest.mark.alone
def test_other_threads_run_during_a_call(rng):
    """The interpreter is free while the library computes."""
    f = rng.normal(size=4_000_000)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    nw.log_z(f, f, f, f)
    end = time.monotonic()
    stop.set()
    thread.join()
    during = [t for t in ticks if start <= t <= end]
    assert len(during) >= 3 or end - start < 0.02


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import noisewright as nw

{setup}

def interrupt():
    time.sleep(1.0)
    print("sent", time.monotonic(), flush=True)
    print("sent_cpu", time.process_time(), flush=True)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    {call}
    print("finished")
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
    print("stopped_cpu", time.process_time(), flush=True)
os._exit(0)
"""

LONG = {
    "a fit with a slow function": (
        """
def slow(x, theta):
    time.sleep(0.2)
    return -theta[0] * x[:, 0] ** 2 - theta[1] * x[:, 0] ** 4
model = nw.Model.from_functions(slow, n_params=2, start=[1.0, 0.1])
x = np.random.default_rng(1).normal(size=500)
""",
        "nw.fit(model, x, nu=5)",
    ),
    "a large fit": (
        """
model = nw.Model.from_formula(
    "-log(1 + (x - m)^2/exp(s)) - a*x^2", variables="x", parameters={"m": 0.3, "s": 0.1, "a": (0.1, 0, 9)})
x = np.random.default_rng(1).normal(size=2_000_000)
""",
        "nw.fit(model, x, nu=10, starts=200)",
    ),
    "a bootstrap": (
        """
x = np.random.default_rng(1).normal(size=(4, 100_000))
""",
        "nw.log_z(*x, bootstrap=1_000_000)",
    ),
    "many passes over two samples": (
        """
x = np.random.default_rng(1).normal(size=(4, 3_000_000))
""",
        "nw.log_z(*x, powers=np.linspace(0.01, 0.99, 2000))",
    ),
    "a path": (
        """
names = [f"x{i}" for i in range(8)]
model = nw.Model.from_formula(
    " - ".join(["0"] + [f"({name} - m)^2/2" for name in names]), variables=names, parameters={"m": 50.0})
""",
        "nw.log_z_path(model, noise='normal(0, 1)', draws=200_000)",
    ),
    "a design in several dimensions": (
        """
names = [f"x{i}" for i in range(6)]
model = nw.Model.from_family("gaussian", variables=names)
""",
        "nw.design(model, draws=2_000_000)",
    ),
}


@pytest.mark.alone
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_stops_within_a_second(name):
    setup, call = LONG[name]
    script = INTERRUPTED.format(setup=setup, call=call)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)
    words = {name: float(at) for name, at in (line.split() for line in done.stdout.splitlines() if " " in line)}
    assert "stopped" in words, (done.stdout, done.stderr)
    # A second by the clock or, where other programs keep the cores, of its own time.
    waited, computed = words["stopped"] - words["sent"], words["stopped_cpu"] - words["sent_cpu"]
    assert min(waited, computed) < 1.0 and waited < 5.0


def test_progress_is_shown_when_asked_for(rng, monkeypatch, capsys):
    from noisewright import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.0)

    def slow(x, theta):
        time.sleep(0.01)
        return -theta[0] * x[:, 0] ** 2

    model = nw.Model.from_functions(slow, lambda x, theta: -(x**2), start=[1.0])
    nw.fit(model, rng.normal(size=100), nu=3, progress=True)
    assert "fit" in capsys.readouterr().err
    nw.fit(model, rng.normal(size=100), nu=3, progress=False)
    assert capsys.readouterr().err == ""


MEMORY = """
import resource
import numpy as np
import noisewright as nw

rng = np.random.default_rng(1)
x = rng.normal(size=200)
model = nw.Model.from_features(["x", "x^2"], variables="x")
own = nw.Model.from_functions(lambda x, t: -t[0] * x[:, 0] ** 2, lambda x, t: -x**2, start=[1.0], variables="x")

def round(i):
    nw.log_z(x, x, x, x)
    own.log_density(x)
    model.score(x)
    nw.Normal(0, 1).sample(50)
    if i % 20 == 0:
        nw.fit(model, x, nu=2)
        nw.fit(own, x, nu=2)
    try:
        nw.log_z(x, x, x, x[1:])
    except nw.InputError:
        pass
    try:
        model.log_density(x * np.nan)
    except nw.InputError:
        pass

for i in range(500):
    round(i)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(2000):
    round(i)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="kilobytes are counted as on Linux")
def test_memory_stays_flat():
    """Over ten thousand calls, good and bad: what is kept per call would add up to megabytes."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 8_000


def test_results_of_designs_have_everything(quartic, tmp_path):
    import pickle

    best, cost = nw.design(quartic, nu=1), nw.error(quartic, noise="normal(0, 4)")
    for result in (best, cost):
        assert "error × T" in result.summary() and "<svg" in result._repr_html_()
        assert result.to_frame().shape[0] == 3
        result.plot()[0].figure.savefig(tmp_path / "result.png")
        assert pickle.loads(pickle.dumps(result)).error == result.error
        assert isinstance(result.to_dict()["error"], float)
    assert best.to_dict()["noise"]["kind"] == "optimal"
    assert pickle.loads(pickle.dumps(best)).noise.log_density([0.5]) == pytest.approx(best.noise.log_density([0.5]))


def test_designs_over_families_histograms_and_mixtures():
    model = nw.Model.from_formula(
        "-(x - m)^2/2 - log(2*pi)/2", variables="x", parameters={"m": 0.0}, normalized=True
    )
    family = nw.design(model, noise=nw.Normal(nw.FREE, 1.0), nu=1)
    assert family.error == pytest.approx(3.69862, abs=1e-5)
    assert abs(family.noise.details["values"][0]) == pytest.approx(1.42701, abs=1e-5)
    assert nw.design(model, nu=1).error == pytest.approx(2.99387, abs=1e-5)
    assert nw.design(model).error == pytest.approx(2.20686, abs=1e-5)
    histogram = nw.design(model, noise="histogram(20, -5, 5)", nu=1)
    assert 2.99387 < histogram.error < 3.05
    assert 2.99387 < nw.design(model, noise="mixture", nu=1).error < 3.2
    assert nw.design(model, noise=nw.Normal(0, 1)).nu == pytest.approx(1.0, rel=1e-3)
    enough = nw.design(model, noise="data", nu=1, efficiency=0.95).efficiency
    assert enough["nu"] == pytest.approx(19.0, rel=1e-6)


def test_families_are_listed_and_built():
    names = [family["name"] for family in nw.families()]
    assert {"gaussian", "ising", "von-mises"} <= set(names)
    model = nw.Model.from_family("von-mises", variables="x", parameters={"a": 1.0})
    assert model.parameters["a"].start == 1.0


def test_models_are_pickled_and_printed(quartic):
    import pickle

    again = pickle.loads(pickle.dumps(quartic))
    assert again.text == quartic.text and repr(again) == repr(quartic)
    own = nw.Model.from_functions(_module_level, start=[1.0], variables="x")
    assert pickle.loads(pickle.dumps(own)).log_density([2.0])[0] == -4.0


def _module_level(x, theta):
    return -theta[0] * x[:, 0] ** 2


@pytest.mark.parametrize("name", nw.example_names())
def test_examples_ship_with_the_package(name):
    example = nw.load_example(name)
    file = ROOT / "examples" / name / "model.toml"
    assert (file.read_text() if file.exists() else None) == (None if example.model is None else example.model.text)
    if example.data is not None:
        assert list(example.to_frame().columns) == example.names
        assert np.isfinite(example.data).all()


def test_the_environment_needs_numpy_only():
    """Nothing but NumPy is imported with the package."""
    script = textwrap.dedent(
        """
        import sys
        import noisewright
        heavy = {"pandas", "polars", "pyarrow", "jax", "torch", "matplotlib", "scipy", "arviz", "tqdm"}
        print(sorted(heavy & set(sys.modules)))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_both_lists_of_test_requirements_agree():
    listed = set((ROOT / "tests" / "python" / "requirements.txt").read_text().split())
    extra = re.search(r"^test = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert extra is not None
    assert set(re.findall(r'"(.*?)"', extra[1])) == listed - {"maturin>=1.9,<2", "numpy>=1.26"}


def test_signals_come_back_after_a_call():
    """A call leaves Python's own handling of Ctrl-C as it was."""
    before = signal.getsignal(signal.SIGINT)
    nw.log_z([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0])
    assert signal.getsignal(signal.SIGINT) is before


def test_results_are_found_where_they_were_when_they_were_pickled() -> None:
    """Pickles name the module of a class: results of calls on states and of fits are to be had from the modules of the calls too."""
    calls = {
        "noisewright.fitting": ["FitResult", "NoiseDraws", "RatioResult"],
        "noisewright.states": ["ConvergenceResult", "EnergiesResult", "ExpectationsResult", "StatesResult", "SurfaceResult"],
    }
    for module, names in calls.items():
        for name in names:
            found = pickle.loads(f"c{module}\n{name}\n.".encode())
            assert found is getattr(nw, name)
            assert pickle.loads(pickle.dumps(found)) is found
