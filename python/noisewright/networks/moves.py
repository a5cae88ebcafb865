"""How Hamiltonian chains move, and what they draw, for both skins."""

from __future__ import annotations

from typing import Any

from ..errors import NoAnswerError

__all__ = ["ACCEPTANCE", "FIRST_STEP", "LEAPFROGS", "Draws", "check_moved"]

#: The acceptance that the step is tuned for (Beskos et al. 2013 have 0.65 as the best; a little more is robust).
ACCEPTANCE = 0.8
#: Leapfrog steps of a move, drawn anew for every one between these.
LEAPFROGS = (4, 12)
#: The first step, in standard deviations of the start points, times d^(−1/4).
FIRST_STEP = 0.3


class Draws:
    """Draws by chain: `points` has the shape (chains, draws, columns)."""

    def __init__(self, points: Any, acceptance: float, step: float) -> None:
        self.points, self.acceptance, self.step = points, acceptance, step

    @property
    def flat(self) -> Any:
        """One chain after the other."""
        return self.points.reshape(-1, self.points.shape[-1])


def check_moved(acceptance: float) -> None:
    """Refuses chains that stand still."""
    if acceptance < 0.01:
        raise NoAnswerError("the chains hardly move: the energy is not smooth on its own scale, or has no integral")
