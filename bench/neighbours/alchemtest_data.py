"""Every data set of alchemtest that has reduced potentials, by name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd


def frames(only: str = "") -> Iterator[tuple[str, Any]]:
    """Name and `u_nk` frame of every leg of every data set whose name begins so."""
    from alchemlyb.parsing import amber, gmx, gomc, namd
    from alchemtest import amber as amber_data
    from alchemtest import gmx as gmx_data
    from alchemtest import gomc as gomc_data
    from alchemtest import namd as namd_data

    warnings.simplefilter("ignore")
    gromacs = {
        "benzene": (gmx_data.load_benzene, 300.0),
        "ethanol": (gmx_data.load_ethanol, 300.0),
        "ABFE": (gmx_data.load_ABFE, 310.0),
        "expanded ensemble 1": (gmx_data.load_expanded_ensemble_case_1, 300.0),
        "expanded ensemble 2": (gmx_data.load_expanded_ensemble_case_2, 300.0),
        "expanded ensemble 3": (gmx_data.load_expanded_ensemble_case_3, 300.0),
        "water particle, energy": (gmx_data.load_water_particle_with_total_energy, 300.0),
        "water particle, potential": (gmx_data.load_water_particle_with_potential_energy, 300.0),
        "water particle": (gmx_data.load_water_particle_without_energy, 300.0),
    }
    for name, (load, temperature) in gromacs.items():
        if not f"GROMACS {name}".startswith(only):
            continue
        for leg, files in load()["data"].items():
            yield f"GROMACS {name} {leg}", pd.concat([gmx.extract_u_nk(str(f), T=temperature) for f in files])
    amber_sets = {
        "bace example": (amber_data.load_bace_example, 298.0),
        "bace improper": (amber_data.load_bace_improper, 298.0),
        "simplesolvated": (amber_data.load_simplesolvated, 298.0),
        "tyk2": (amber_data.load_tyk2_example, 300.0),
    }
    for name, (load, temperature) in amber_sets.items():
        if not f"AMBER {name}".startswith(only):
            continue
        for leg, files in _legs(load()["data"]):
            parts = [amber.extract_u_nk(str(f), T=temperature) for f in files]
            if all(part is not None for part in parts):
                yield f"AMBER {name} {leg}", pd.concat(parts)
            else:
                print(f"# AMBER {name} {leg} has no reduced potentials")
    namd_sets = {
        "tyr2ala": namd_data.load_tyr2ala,
        "idws": namd_data.load_idws,
        "restarted": namd_data.load_restarted,
        "restarted reversed": namd_data.load_restarted_reversed,
    }
    for name, load in namd_sets.items():
        if not f"NAMD {name}".startswith(only):
            continue
        for leg, files in load()["data"].items():
            frame = namd.extract_u_nk([str(f) for f in files], T=300.0)
            yield f"NAMD {name} {leg}", frame.sort_index(level=frame.index.names[1:])
    if not "GOMC benzene".startswith(only):
        return
    for leg, files in _legs(gomc_data.load_benzene()["data"]):
        yield f"GOMC benzene {leg}", pd.concat([gomc.extract_u_nk(str(f), T=298.0) for f in files])


def _legs(data: Any, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _legs(value, f"{name} {key}".strip())
    else:
        yield name, data
