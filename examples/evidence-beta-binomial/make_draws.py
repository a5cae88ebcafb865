"""Draws from the posterior of a binomial proportion, 2 successes in 10 trials under a uniform prior: Beta(3, 9)."""

import random
from pathlib import Path

random.seed(1)
draws = [random.betavariate(3, 9) for _ in range(4000)]
text = "p\n" + "".join(f"{p:.17g}\n" for p in draws)
(Path(__file__).parent / "draws.csv").write_text(text)
