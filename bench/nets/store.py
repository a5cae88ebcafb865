"""What the nets measured, so that a run may do a part of a page and parts of many runs make up one.

A store is a file of JSON objects, one on a line: `key`, the size of the run and what was seen. The last line of a key counts.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Store:
    """Measured parts by their keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts: dict[tuple[Any, ...], Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                part = json.loads(line)
                self.parts[tuple(part["key"])] = part["seen"]

    def get(self, key: Sequence[Any]) -> Any:
        return self.parts.get(tuple(key))

    def put(self, key: Sequence[Any], seen: Any) -> None:
        """Keeps it, on the disk too: a run that is ended loses the part it is at."""
        self.parts[tuple(key)] = seen
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": list(key), "seen": seen}) + "\n")

    def tidy(self) -> None:
        """One line for each key, in order, with what other runs have put there meanwhile."""
        self.parts = Store(self.path).parts if self.path.exists() else {}
        lines = [json.dumps({"key": list(key), "seen": seen}) for key, seen in sorted(self.parts.items(), key=lambda part: str(part[0]))]
        self.path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


class Chosen:
    """Which parts a run does, and how long it may take."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.only, self.again, self.seconds = re.compile(given.only), given.again, given.seconds
        self.began = time.process_time()

    @staticmethod
    def arguments(parser: argparse.ArgumentParser, name: str) -> None:
        parser.add_argument("--only", default="", help="measure the parts whose words have this regular expression")
        parser.add_argument("--again", action="store_true", help="measure them anew, whatever is in the store")
        parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further part after so much processor time")
        parser.add_argument("--store", type=Path, default=HERE / "measured" / f"{name}.jsonl", help="where what was measured is kept")
        parser.add_argument("--page", action="store_true", help="measure nothing: print the page of what is in the store")
        parser.add_argument("--note", default="", help="a sentence for the head of the page: with what it was measured")

    def asks_for(self, words: str) -> bool:
        return self.only.search(words) is not None

    @property
    def spent(self) -> float:
        return time.process_time() - self.began

    @property
    def ended(self) -> bool:
        return self.spent > self.seconds
