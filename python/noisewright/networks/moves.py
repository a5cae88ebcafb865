"""How Hamiltonian chains move: their numbers, for both skins."""

from __future__ import annotations

__all__ = ["ACCEPTANCE", "FIRST_STEP", "LEAPFROGS"]

#: The acceptance that the step is tuned for (Beskos et al. 2013 have 0.65 as the best; a little more is robust).
ACCEPTANCE = 0.8
#: Leapfrog steps of a move, drawn anew for every one between these.
LEAPFROGS = (4, 12)
#: The first step, in standard deviations of the start points, times d^(−1/4).
FIRST_STEP = 0.3
