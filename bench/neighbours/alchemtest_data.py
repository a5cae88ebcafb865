"""Every data set of alchemtest that has reduced potentials, by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

#: The frames of the legs of a data set, by the names of the legs.
Legs = Callable[[], Iterator[tuple[str, Any]]]


def frames(only: str = "") -> Iterator[tuple[str, Any]]:
    """Name and `u_nk` frame of every leg of every data set whose name begins so."""
    warnings.simplefilter("ignore")
    for family in (_gromacs, _amber, _namd, _gomc, _generic):
        for name, legs in family():
            if name.startswith(only):
                yield from ((f"{name} {leg}", u_nk) for leg, u_nk in legs())


def _gromacs() -> Iterator[tuple[str, Legs]]:
    from alchemlyb.parsing import gmx
    from alchemtest import gmx as data

    sets = {
        "benzene": (data.load_benzene, 300.0),
        "ethanol": (data.load_ethanol, 300.0),
        "ABFE": (data.load_ABFE, 310.0),
        "expanded ensemble 1": (data.load_expanded_ensemble_case_1, 300.0),
        "expanded ensemble 2": (data.load_expanded_ensemble_case_2, 300.0),
        "expanded ensemble 3": (data.load_expanded_ensemble_case_3, 300.0),
        "water particle, energy": (data.load_water_particle_with_total_energy, 300.0),
        "water particle, potential": (data.load_water_particle_with_potential_energy, 300.0),
        "water particle": (data.load_water_particle_without_energy, 300.0),
    }
    for name, (load, temperature) in sets.items():

        def legs(load: Any = load, temperature: float = temperature) -> Iterator[tuple[str, Any]]:
            for leg, files in load()["data"].items():
                yield leg, pd.concat([gmx.extract_u_nk(str(f), T=temperature) for f in files])

        yield f"GROMACS {name}", legs


def _amber() -> Iterator[tuple[str, Legs]]:
    from alchemlyb.parsing import amber
    from alchemtest import amber as data

    sets = {
        "bace example": (data.load_bace_example, 298.0),
        "bace improper": (data.load_bace_improper, 298.0),
        "simplesolvated": (data.load_simplesolvated, 298.0),
        "tyk2": (data.load_tyk2_example, 300.0),
    }
    for name, (load, temperature) in sets.items():

        def legs(name: str = name, load: Any = load, temperature: float = temperature) -> Iterator[tuple[str, Any]]:
            for leg, files in _leaves(load()["data"]):
                parts = [amber.extract_u_nk(str(f), T=temperature) for f in files]
                known = [part for part in parts if part is not None]
                if known:
                    # A state whose file has no reduced potentials is one without draws.
                    yield leg, pd.concat(known)
                else:
                    print(f"# AMBER {name} {leg} has no reduced potentials")

        yield f"AMBER {name}", legs


def _namd() -> Iterator[tuple[str, Legs]]:
    from alchemlyb.parsing import namd
    from alchemtest import namd as data

    sets = {
        "tyr2ala": data.load_tyr2ala,
        "idws": data.load_idws,
        "restarted": data.load_restarted,
        "restarted reversed": data.load_restarted_reversed,
    }
    for name, load in sets.items():

        def legs(load: Any = load) -> Iterator[tuple[str, Any]]:
            for leg, files in load()["data"].items():
                frame = namd.extract_u_nk([str(f) for f in files], T=300.0)
                yield leg, frame.sort_index(level=frame.index.names[1:])

        yield f"NAMD {name}", legs


def _gomc() -> Iterator[tuple[str, Legs]]:
    from alchemlyb.parsing import gomc
    from alchemtest import gomc as data

    def legs() -> Iterator[tuple[str, Any]]:
        for leg, files in _leaves(data.load_benzene()["data"]):
            yield leg, pd.concat([gomc.extract_u_nk(str(f), T=298.0) for f in files])

    yield "GOMC benzene", legs


def _generic() -> Iterator[tuple[str, Legs]]:
    from alchemtest import generic as data

    def legs() -> Iterator[tuple[str, Any]]:
        files = data.load_MBAR_BGFS()["data"]
        u, counts = np.load(files["u_nk"]), np.load(files["N_k"]).astype(int)
        times = np.concatenate([np.arange(count, dtype=float) for count in counts])
        rows = pd.MultiIndex.from_arrays([times, np.repeat(np.arange(len(counts)), counts)], names=["time", "state"])
        yield "24 states", pd.DataFrame(u.T, columns=range(len(counts)), index=rows)

    yield "generic MBAR_BGFS", legs


def _leaves(data: Any, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _leaves(value, f"{name} {key}".strip())
    else:
        yield name, data
