"""The compiled half of the package, which only converts; everything documented is in the modules beside it."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Domain = tuple[str, list[float]]
_Parameter = tuple[str, float, float, float]
_Request = tuple[str, list[Noise]]
_Column = tuple[str, int | None]

class Model:
    @staticmethod
    def parse(text: str) -> Model: ...
    @staticmethod
    def from_evaluator(
        evaluator: Any,
        parameters: list[_Parameter],
        variables: list[str],
        domains: list[_Domain],
        normalized: bool,
        linear: bool,
        covariates: list[str],
    ) -> Model: ...
    def constrained(self, fixed: list[tuple[str, float]], constraints: list[str]) -> Model: ...
    @property
    def variables(self) -> list[str]: ...
    @property
    def covariates(self) -> list[str]: ...
    @property
    def domains(self) -> list[_Domain]: ...
    @property
    def parameters(self) -> list[_Parameter]: ...
    @property
    def coordinates(self) -> list[str]: ...
    @property
    def normalized(self) -> bool: ...
    @property
    def linear(self) -> bool: ...
    def at(self, values: list[tuple[str, float]]) -> list[float]: ...
    def log_normalizer(self, parameters: list[float]) -> tuple[float, list[float]] | None: ...
    def evaluate(self, parameters: list[float], array: _Array) -> tuple[_Array, _Array]: ...

class Noise:
    @property
    def dimension(self) -> int: ...
    @property
    def words(self) -> str: ...
    def saved(self) -> str | None: ...
    def log_density(self, array: _Array) -> _Array: ...
    def sample(self, rows: int, seed: int, quiet: bool = False) -> _Array: ...

class Fitted:
    def __new__(cls, joint: str | None, record: str | None) -> Fitted: ...
    def texts(self) -> tuple[str | None, str | None]: ...
    @property
    def model(self) -> str | None: ...
    def covariances(self) -> dict[str, _Array]: ...
    def derive(self, formula: str) -> dict[str, Any]: ...
    def wald(self, hypotheses: list[str]) -> dict[str, Any]: ...
    def log_density(self, model: Model, array: _Array) -> dict[str, _Array]: ...
    def simulate(self, model: Model, count: int, seed: int) -> _Array: ...
    def log_normalizer_at(self, model: Model, given: _Array) -> list[dict[str, Any]]: ...
    def simulate_given(self, model: Model, given: _Array, count: int, seed: int) -> _Array: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def compare(
    names: list[str], fits: list[Fitted], models: list[Model | None], nested: bool
) -> dict[str, Any]: ...
def families() -> list[dict[str, Any]]: ...
def examples() -> list[tuple[str, str | None, list[tuple[str, str]]]]: ...
def build_noise(
    noise: _Request, variables: list[str], domains: list[_Domain], data: _Array | None
) -> Noise: ...
def noise_from_record(text: str) -> Noise: ...
def noise_from_saved(
    text: str, variables: list[str], domains: list[_Domain], model: str | None
) -> Noise: ...
def table(
    title: str, columns: list[_Column], rows: list[list[Any]], notes: list[str]
) -> tuple[str, str]: ...
def check_settings(method: str, noise: str, drawn: bool, given: list[str]) -> None: ...
def figure(panels: list[Any], description: str) -> str: ...
def error(
    model: Model,
    question: dict[str, Any],
    noise: _Request,
    nu: float,
    loss_name: str,
    loss_ratio: float | None,
    target: str,
    tick: Any = None,
) -> dict[str, Any]: ...
def log_normalizer(model: Model, question: dict[str, Any]) -> float: ...
def design(
    model: Model,
    question: dict[str, Any],
    text: str | None,
    noise: _Request,
    nu: float | None,
    target: str,
    price_data: float,
    price_noise: float,
    efficiency: float | None,
    tick: Any = None,
) -> dict[str, Any]: ...
def fit(
    model: Model,
    rows: dict[str, Any],
    settings: dict[str, Any],
    draws: tuple[_Array, _Array, _Array] | None = None,
    tick: Any = None,
    replicates: Any = None,
) -> dict[str, Any]: ...
def fit_replicates(
    model: Model,
    rows: dict[str, Any],
    settings: dict[str, Any],
    draws: tuple[_Array, _Array, _Array] | None,
    first: int,
    last: int,
) -> list[list[float] | None]: ...
def fit_choices(
    model: Model,
    rows: dict[str, Any],
    choices: dict[str, Any],
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def file_columns(file: dict[str, Any]) -> list[str]: ...
def fit_file(
    model: Model,
    file: dict[str, Any],
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def fit_distributed(
    model: Model,
    shape: tuple[int, tuple[int, int], int, bool],
    settings: dict[str, Any],
    workers: Any,
    ratio: bool,
    tick: Any = None,
) -> dict[str, Any]: ...

class Replica:
    def __init__(self, model: Model, shape: tuple[int, tuple[int, int], bool], settings: dict[str, Any], ratio: bool) -> None: ...
    @property
    def step(self) -> int: ...
    def advance(self, answers: list[bytes]) -> None: ...
    def sum(self, run: tuple[int, int], pieces: list[list[_Array]] = ..., weighted: bool = False) -> bytes: ...
    def sum_files(
        self, run: tuple[int, int], parts: list[tuple[str, int, list[int]]], names: list[str], weighted: bool
    ) -> bytes | None: ...

def log_z_path(
    model: Model,
    parameters: list[float],
    noise: _Request,
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def log_z(
    data: tuple[_Array, _Array],
    noise: tuple[_Array, _Array],
    chains_data: list[int] | None,
    chains_noise: list[int] | None,
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def log_z_states(log_f: _Array, pool: dict[str, Any], tick: Any = None) -> dict[str, Any]: ...
def log_z_neighbours(log_f: _Array, pool: dict[str, Any], tick: Any = None) -> list[dict[str, Any]]: ...
def state_expectations(
    log_f: _Array,
    pool: dict[str, Any],
    observables: list[str],
    values: _Array,
    under: list[int],
    tick: Any = None,
) -> dict[str, Any]: ...
def state_surface(
    log_f: _Array,
    pool: dict[str, Any],
    coordinates: list[str],
    values: _Array,
    state: int,
    cells: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def state_energies(log_f: _Array, pool: dict[str, Any], tick: Any = None) -> dict[str, Any]: ...
def state_equilibration(log_f: _Array, pool: dict[str, Any], tick: Any = None) -> list[dict[str, Any]]: ...
def state_convergence(log_f: _Array, pool: dict[str, Any], parts: int, tick: Any = None) -> dict[str, Any]: ...
def evidence(
    model: Model,
    parameters: list[float],
    draws: _Array,
    own: dict[str, Any],
    learner: Any,
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def ratio(
    model: Model,
    first: dict[str, Any],
    second: dict[str, Any],
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...

class FittedRatio:
    def log_ratio(self, array: _Array) -> dict[str, Any]: ...

def ratio_on_basis(
    model: Model | None,
    names: list[str],
    first: _Array,
    second: _Array,
    settings: dict[str, Any],
    tick: Any = None,
) -> tuple[dict[str, Any], FittedRatio]: ...
def information(
    model: Model | None,
    names: list[str],
    data: _Array,
    between: tuple[list[str], list[str]],
    settings: dict[str, Any],
    tick: Any = None,
) -> dict[str, Any]: ...
def finish_cancelled() -> None: ...

class Lab:
    def __init__(
        self,
        model: tuple[str, str] | None,
        data: tuple[str, bytes] | None,
        noise: str | None,
        nu: float | None,
        at: list[tuple[str, float]],
    ) -> None: ...
    def ask(self, page: str, kind: str, question: str) -> tuple[bool, str]: ...
    def add_data(self, name: str, bytes: bytes) -> int: ...
    def cancel(self) -> None: ...
    def serve(self) -> str: ...
    def stop(self) -> None: ...

def lab_page() -> tuple[str, str]: ...

VERSION: str
