"""False alarms and power: how often each warning and refusal is given on right inputs, and how often on wrong ones.

    python bench/nets/alarms.py [--sets 1000] [--wrong 100] [--only REGEX] [--seconds S]
    python bench/nets/alarms.py --page > bench/nets/ALARMS.md

The first measures what is not yet in the store, row by row, and the second prints the page. Right inputs are the systems of the calibration matrix, fitted to rows of their own, and constants of densities that overlap
well; every code on them is a false alarm. Wrong inputs (`wrong_inputs.py`) are made so that one code ought to be given; its power
is how often it is. The codes are those of the library: one for which no wrong input is made is listed as such.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import noisewright as nw

import lists
from store import Chosen, Store
from calibration import autoregressive
from systems import System, systems
from wrong_inputs import UNREACHED, Codes, codes_of_fit, diagonal, evidence, path_to, states_of, two_samples, wrong_inputs

#: The level of the tests among the warnings, and by which factor chance may carry a rate above it.
LEVEL, ROOM = 0.01, 1.5

#: Share of wrong inputs that ought to be caught.
POWER = 0.95

#: Codes that say something true of a right input, and how they come about.
REMARKS = {
    "noise-error": "the noise asked for (ν = 5) does leave an error of its own",
    "at-bound": "the estimate is at a bound of the family, and is said to be",
    "few-rows-in-overlap": "few rows are where the two meet, and the errors are large",
}


#: Why rates above 1.5 times the level are there.
EXPLAINED = """The test of misfit has a χ² distribution for many rows only, and reaches it later where the noise was fitted: of 1,500 normal samples
in a normal model against fitted `student` it rejects 2.7 % at 300 rows, 1.3 % at 3,000 (a standard error of 0.3 to 0.4 %)."""


@dataclass
class Row:
    """What was said of one kind of right input, by the name of its member."""

    kind: str
    words: str
    total: int = 0
    said: Counter[str] = field(default_factory=Counter)
    by: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, codes: Codes, member: str) -> None:
        self.total += 1
        self.said.update(codes)
        self.by.setdefault(member, Counter()).update(codes)

    def seen(self) -> dict[str, Any]:
        return {"total": self.total, "said": self.said, "by": self.by}

    @classmethod
    def read(cls, kind: str, words: str, seen: dict[str, Any]) -> Row:
        by = {member: Counter(counts) for member, counts in seen["by"].items()}
        return cls(kind, words, seen["total"], Counter(seen["said"]), by)

    def above(self) -> list[str]:
        """Codes that are no remarks and above 1.5 times their level by more than chance: 1 in 1,000."""
        limit = stats.binom.isf(1e-3, self.total, ROOM * LEVEL)
        return [code for code, count in sorted(self.said.items()) if count > limit and code not in REMARKS]

    def line(self) -> str:
        above = self.above()
        cells = []
        for code, count in sorted(self.said.items()):
            text = f"{code} {100 * count / self.total:.2f} %"
            cells.append(f"**{text}**" if code in above else text)
        return f"| {self.kind} | {self.words} | {self.total} | {', '.join(cells) or 'none'} |"


#: Systems on intervals, circles and spheres, whose noise has an end.
BOUNDED = ("beta", "truncated-gaussian", "gamma", "von-mises", "features on an interval")


def members() -> list[System]:
    """The systems of the calibration matrix that are no functions, and one more on an interval."""
    interval = nw.Model.from_features(["x", "x^2"], variables="x", domain=(0, 1))
    law = stats.truncnorm(-1.0, 1.5, loc=0.4, scale=0.4)
    more = System("features on an interval", interval, {}, lambda rng, n: law.rvs(n, random_state=rng), "features")
    return [*(system for system in systems() if system.kind != "function"), more]


def words_of(size: int, noise: str, names: tuple[str, ...] | None = None) -> str:
    return f"{size} rows, noise {noise}{', on intervals and a circle' if names in (BOUNDED, INTERVALS) else ''}"


def false_alarms(sets: int, size: int, noise: str, names: tuple[str, ...] | None = None) -> Row:
    """The codes of `sets` fits of right models in all, the same number of each."""
    given: dict[str, Any] = {} if noise == "default" else {"noise": noise} if noise == "exact" else {"noise": noise, "nu": 5.0}
    known = {system.name: system for system in members()}
    chosen = [known[name] for name in names] if names else list(known.values())
    row = Row("fit", words_of(size, noise, names))
    for system in chosen:
        for k in range(max(sets // len(chosen), 1)):
            data = system.draw(np.random.default_rng([5, size, k]), size)
            row.count(codes_of_fit(system.model, data, seed=k, **given), system.name)
    return row


#: Models in 20 dimensions by what is said of them, and one of how many fits is measured of each: 230 parameters take minutes.
WIDE = {"without correlations": 1, "with all correlations": 100}


def wide_words(words: str) -> str:
    return f"2000 rows in 20 dimensions, {words}, noise normal"


def twenty_dimensions(sets: int, words: str, size: int = 2000) -> Row:
    """A normal model in 20 dimensions, of 40 parameters or of 230, against noise fitted to the rows."""
    names = [f"x{k}" for k in range(20)]
    full = lambda: nw.Model.from_family("gaussian", variables=names, parametrization="moments")
    model = full() if words == "with all correlations" else diagonal(20)
    row = Row("fit", wide_words(words))
    for k in range(max(sets, 1)):
        rows = np.random.default_rng([7, k]).normal(1.0, 2.0, (size, 20))
        row.count(codes_of_fit(model, rows, seed=k, noise="normal", nu=5.0), words)
    return row


#: Noises that are fitted to the rows, at the systems on a line that each can stand for.
FITTED = ("gaussian, moments", "features", "student", "exponential-polynomial")


#: Systems with an end for which a kernel density can stand.
INTERVALS = ("beta", "gamma", "features on an interval")


@dataclass(frozen=True)
class RightInput:
    """A row of the first table: the rate of every code among so many right inputs."""

    kind: str
    words: str
    row: Callable[[int], Row]
    #: One of so many is measured, where each takes long.
    one_of: int = 1


def right_inputs(sizes: list[int]) -> Iterator[RightInput]:
    def of_fits(size: int, noise: str, names: tuple[str, ...] | None = None) -> RightInput:
        return RightInput("fit", words_of(size, noise, names), lambda sets: false_alarms(sets, size, noise, names))

    for size in sizes:
        for noise in ("exact", "default", "auto"):
            yield of_fits(size, noise)
        for noise in ("student", "kde"):
            yield of_fits(size, noise, FITTED)
    yield of_fits(max(sizes), "default", BOUNDED)
    yield of_fits(max(sizes), "kde", INTERVALS)
    yield from right_constants()
    for words, one_of in WIDE.items():
        yield RightInput("fit", wide_words(words), lambda sets, words=words: twenty_dimensions(sets, words), one_of)  # type: ignore[misc]


def right_constants() -> Iterator[RightInput]:
    """Codes on constants of densities that overlap well."""
    pair = lambda draw: lambda rng, k: two_samples(draw(rng), rng.normal(0.5, 1.5, 1000), 0.5, 1.5, ("is", "nce"), independent=True)
    jobs: dict[tuple[str, str], Callable[[np.random.Generator, int], Codes]] = {
        ("logz", "independent, 1,000"): pair(lambda rng: rng.normal(size=1000)),
        ("logz", "chains, 1,000"): lambda rng, k: two_samples(autoregressive(rng, 1, 1000)[0], rng.normal(0.5, 1.5, 1000), 0.5, 1.5),
        ("states", "independent, 300"): lambda rng, k: states_of(rng, [(0, 1), (1, 1)], [300, 300]),
        ("states", "chains, 1,000"): lambda rng, k: states_of(rng, [(0, 1), (1, 1)], [1000, 1000], rho=0.6),
        ("logz", "evidence, chains, 1,000"): _evidence,
        ("path", "8 deviations"): lambda rng, k: path_to("-(x - 8)^2/2", k, draws=400),
    }
    for (kind, words), job in jobs.items():

        def measured(sets: int, kind: str = kind, words: str = words, job: Any = job) -> Row:
            row = Row(kind, words)
            for k in range(sets):
                row.count(job(np.random.default_rng([8, k]), k), words)
            return row

        yield RightInput(kind, words, measured, one_of=20 if kind == "path" else 1)


def _evidence(rng: np.random.Generator, k: int) -> Codes:
    return evidence(np.stack([autoregressive(rng, 1, 1000)[0] for _ in range(2)], axis=1), k)


def measure_right(store: Store, wanted: list[RightInput], chosen: Chosen, sets: int) -> None:
    for right in wanted:
        key, count = ("right", right.kind, right.words), max(sets // right.one_of, 1)
        known = None if chosen.again else store.get(key)
        if not chosen.asks_for(f"right: {right.kind}, {right.words}") or chosen.ended or (known and known["total"] >= 0.9 * count):
            continue
        store.put(key, right.row(count).seen())
        print(f"{right.kind}, {right.words}: {count}, {chosen.spent:.0f} s", file=sys.stderr, flush=True)


def measure_wrong(store: Store, chosen: Chosen, sets: int) -> None:
    for wrong in wrong_inputs():
        one_of = 2 if wrong.kind == "path" else 10 if "20 dimensions" in wrong.name else 1
        count = max(sets // one_of, 3)
        key = ("wrong", wrong.kind, wrong.name)
        known = None if chosen.again else store.get(key)
        if not chosen.asks_for(f"wrong: {wrong.kind}, {wrong.name}") or chosen.ended or (known and known["total"] >= count):
            continue
        seen: Counter[str] = Counter()
        caught = 0
        for k in range(count):
            codes = wrong.codes(np.random.default_rng([6, k]), k)
            seen.update(codes)
            caught += not codes.isdisjoint({wrong.code, *wrong.instead})
        store.put(key, {"total": count, "code": wrong.code, "seen": seen, "caught": caught})
        print(f"{wrong.kind}, {wrong.name}: {count}, {chosen.spent:.0f} s", file=sys.stderr, flush=True)


def chances(row: Row) -> Iterator[str]:
    """Codes above 1.5 times their level, whether by chance or not, with the probability of as many at that rate."""
    for code, count in sorted(row.said.items()):
        if code not in REMARKS and count > ROOM * LEVEL * row.total:
            probability = stats.binom.sf(count - 1, row.total, ROOM * LEVEL)
            yield f"- {code}, {row.words}: {count} of {row.total}; at {100 * ROOM * LEVEL:g} % as many or more have a probability of {probability:.2g}"


def print_right(store: Store, wanted: list[RightInput]) -> None:
    print("## On right inputs\n\n| result | input | how many | codes |\n|---|---|---|---|")
    above: list[str] = []
    near: list[str] = []
    missing: list[str] = []
    for right in wanted:
        seen = store.get(("right", right.kind, right.words))
        if seen is None:
            missing.append(f"{right.kind}, {right.words}")
            continue
        row = Row.read(right.kind, right.words, seen)
        print(row.line())
        near += chances(row)
        for code in row.above():
            by = ", ".join(f"{counts[code]} at {member}" for member, counts in row.by.items() if counts[code])
            above.append(f"- {code}, {row.words}: {by}")
    print(f"\n{len(above)} codes are above {ROOM:g} times the level of {100 * LEVEL:g} % by more than chance (1 in 1,000).", end=" ")
    print("Not counted are remarks:\n")
    for code, why in REMARKS.items():
        print(f"- {code}: {why}")
    if above:
        print("\nAbove it are:\n\n" + "\n".join(above))
    if near:
        print(f"\nRates above {100 * ROOM * LEVEL:g} % (members that are one density in several parametrisations have the same rows, so that chance is")
        print("larger than that of as many independent samples):\n\n" + "\n".join(near))
        print(f"\n{EXPLAINED}")
    if missing:
        print("\nNot measured: " + "; ".join(missing) + ".")


def print_wrong(store: Store) -> None:
    print("\n## On wrong ones\n\n| result | input | how many | code | given | others |\n|---|---|---|---|---|---|")
    caught: dict[tuple[str, str], float] = {}
    missing: list[str] = []
    missed: list[str] = []
    for wrong in wrong_inputs():
        known = store.get(("wrong", wrong.kind, wrong.name))
        if known is None:
            missing.append(f"{wrong.kind}, {wrong.name}")
            continue
        seen, count = Counter(known["seen"]), known["total"]
        rate = seen[wrong.code] / count
        caught[wrong.kind, wrong.code] = max(rate, caught.get((wrong.kind, wrong.code), 0.0))
        given, share = f"{100 * rate:.0f} %", known.get("caught", seen[wrong.code]) / count
        if wrong.instead:
            given += f", it or {' or '.join(wrong.instead)} {100 * share:.0f} %"
        if share < POWER:
            missed.append(f"- {wrong.kind}, {wrong.name}: {wrong.limit or '**no reason**'}")
        others = ", ".join(f"{code} {100 * n / count:.0f} %" for code, n in sorted(seen.items()) if code != wrong.code)
        print(f"| {wrong.kind} | {wrong.name} | {count} | {wrong.code} | {given} | {others} |")
    print(f"\n{len(missed)} {'input is' if len(missed) == 1 else 'inputs are'} caught less than {100 * POWER:.0f} % of the time{':' if missed else '.'}\n")
    print("\n".join([*missed, "", ""]) if missed else "", end="")
    print("Where something is wrong in more than one way it is refused for the first of them; a code that others are said before is given with these.")
    if missing:
        print("\nNot measured: " + "; ".join(missing) + ".")
    print("\n## Codes of the library\n")
    for kind in lists.CODES:
        known_codes = lists.codes(kind)
        absent = [code for code in known_codes if caught.get((kind, code), 0.0) == 0.0]
        reasons = "; ".join(f"{code}: {UNREACHED.get((kind, code), '**no input**')}" for code in absent)
        print(f"- {kind}: {len(known_codes)} codes, {len(known_codes) - len(absent)} drawn by an input here{'; ' if absent else ''}{reasons}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--wrong", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    Chosen.arguments(parser, "alarms")
    given = parser.parse_args()
    store, chosen = Store(given.store), Chosen(given)
    wanted = list(right_inputs(given.sizes))
    if given.page:
        print("# False alarms and power\n")
        print("Generated by `bench/nets/alarms.py --page` from `measured/alarms.jsonl`, which its rows were measured into. Each row says from how")
        print(f"many fits: rates of a few tell gross errors only. {given.note}\n")
        print_right(store, wanted)
        print_wrong(store)
        print(f"\nNoisewright {nw.__version__}, {platform.machine()}.")
        return
    measure_right(store, wanted, chosen, given.sets)
    measure_wrong(store, chosen, given.wrong)
    store.tidy()


if __name__ == "__main__":
    main()
