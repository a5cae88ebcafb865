"""GROMACS's benzene of alchemtest, parsed by alchemlyb, against alchemlyb's MBAR."""

import warnings

import numpy as np
import pytest

pytest.importorskip("alchemlyb")
pytest.importorskip("alchemtest")

import pandas as pd
from alchemlyb.parsing.gmx import extract_u_nk
from alchemtest.gmx import load_benzene

from noisewright.alchemlyb import BAR, MBAR

#: alchemlyb 2.5 with pymbar 4: the free energy from the first to the last state and its error, in kT.
LEGS = {"Coulomb": (3.0411556983, 0.0208789), "VDW": (-3.0067874223, 0.0451908)}


@pytest.fixture(scope="module", params=LEGS)
def leg(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frames = [extract_u_nk(str(file), T=300) for file in load_benzene()["data"][request.param]]
    return request.param, pd.concat(frames)


def test_free_energies_and_errors_are_those_of_alchemlyb(leg):
    name, u_nk = leg
    found = MBAR(independent=True).fit(u_nk)
    value, error = LEGS[name]
    assert found.delta_f_.iloc[0, -1] == pytest.approx(value, abs=1e-8)
    assert found.d_delta_f_.iloc[0, -1] == pytest.approx(error, abs=1e-6)
    assert found.delta_f_.attrs == {"temperature": 300, "energy_unit": "kT"}


def test_neighbours_are_those_of_alchemlyb(leg):
    from alchemlyb.estimators import BAR as Theirs

    _, u_nk = leg
    found, reference = BAR(independent=True).fit(u_nk), Theirs().fit(u_nk)
    assert found.delta_f_.to_numpy() == pytest.approx(reference.delta_f_.to_numpy(), abs=1e-6)
    ours, theirs = found.d_delta_f_.to_numpy(), reference.d_delta_f_.to_numpy()
    assert np.array_equal(np.isnan(ours), np.isnan(theirs))
    # alchemlyb takes Bennett's variance, and ours is that of MBAR for two states: equal to first order in 1/n.
    assert ours[~np.isnan(ours)] == pytest.approx(theirs[~np.isnan(theirs)], rel=1e-3)
    assert list(found.delta_f_.index) == list(reference.delta_f_.index)


def test_errors_of_chains_are_no_smaller(leg):
    _, u_nk = leg
    chains, independent = (MBAR(independent=flag).fit(u_nk).d_delta_f_.iloc[0, -1] for flag in (False, True))
    assert 0.8 * independent < chains < 5 * independent
