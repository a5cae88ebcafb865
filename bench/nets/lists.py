"""What the library has, from its own lists: families, losses, noises, and the codes of warnings and refusals.

A new one is in the nets without being added to them.
"""

from __future__ import annotations

import re
from pathlib import Path

import noisewright as nw

LIBRARY = Path(__file__).resolve().parents[2] / "crates" / "noisewright" / "src"

#: Where the codes of a kind of result are, by the name of the kind.
CODES = {
    "fit": ["fit/diagnostics/finding.rs"],
    "logz": ["normalizer/refusal.rs", "normalizer/result.rs"],
    "states": ["normalizer/states/result.rs"],
    "path": ["normalizer/path/result.rs"],
    "surface": ["normalizer/states/surface/result.rs"],
}


def families() -> list[str]:
    """The names of the built-in families."""
    return [family["name"] for family in nw.families()]


def losses() -> list[str]:
    """Every loss, the power family by two of its members."""
    try:
        nw.error(nw.Model.from_features(["x"], variables="x", domain="positive"), loss="?", at=[-1.0])
    except nw.InputError as error:
        names = re.split(r", | and ", str(error).partition("the losses are ")[2].partition(" with")[0])
        found = [name for name in names if name and name != "power:A"]
        assert "js" in found, error
        return [*found, "power:0.3", "power:-0.5"]
    raise AssertionError("there is no loss called ?")


def noises() -> list[str]:
    """The names of the noises that words can say."""
    text = (LIBRARY / "noise" / "language" / "names.rs").read_text(encoding="utf-8")
    listed = re.findall(r"const (?:DESIGNED|BUILT): \[&str; \d+\] =\s*\[(.*?)\];", text, re.DOTALL)
    return re.findall(r'"([a-z-]+)"', "".join(listed))


def codes(kind: str) -> list[str]:
    """The codes of the warnings and refusals of one kind of result."""
    found: list[str] = []
    for file in CODES[kind]:
        text = (LIBRARY / file).read_text(encoding="utf-8")
        for body in re.findall(r"fn (?:code|class)\(&self\).*?\n    \}\n", text, re.DOTALL):
            found += re.findall(r'=> (?:\([\w:]+, )?"([a-z-]+)"', body)
    return list(dict.fromkeys(code for code in found if code not in ("optimal-bridge", "both-sides", "all-refused")))
