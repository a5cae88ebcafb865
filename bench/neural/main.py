"""Runs the benchmarks of networks, the most important first, and writes a page and JSON after each, so that a kill loses little."""

from __future__ import annotations

import argparse
import json
import time
import traceback
from pathlib import Path
from typing import Any

import coverage
import information
import numpy as np
import pictures
import toys
import torch
from page import page


def machine() -> str:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return f"{name}, PyTorch {torch.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", action="store_true", help="minutes on a CPU: everything runs, nothing is reached")
    parser.add_argument("--only", nargs="*", help="some of toys, information, pictures, coverage, speeds")
    parser.add_argument("--images", nargs="*", default=["digits", "mnist"], help="some of digits, mnist; digits alone when tiny")
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="earlier neural.json, whose parts are kept where they are not run again")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    results: dict[str, Any] = {}
    for earlier in options.merge:
        for name, part in json.loads(earlier.read_text()).items():
            # Two data sets of images may have been run one after the other.
            results[name] = results[name] + part if name == "pictures" and name in results else part
    results.setdefault("machine", machine())
    parts = {
        "speeds": lambda: [] if options.tiny else toys.speeds(device),
        "toys": lambda: _toys(device, options),
        "information": lambda: information.main(device, options.tiny),
        "pictures": lambda: _images(device, options),
        "coverage": lambda: coverage.main(options.tiny),
    }
    for name, part in parts.items():
        if options.only and name not in options.only:
            continue
        began = time.monotonic()
        try:
            results[name] = part()
        except Exception:
            results[f"{name}_failed"] = traceback.format_exc()
            print(results[f"{name}_failed"])
        print(f"== {name}: {time.monotonic() - began:.0f} s\n{json.dumps(results.get(name), indent=1, default=str)}", flush=True)
        (options.folder / "neural.json").write_text(json.dumps(results, indent=1, default=str))
        (options.folder / "NEURAL.md").write_text(page(results))


def _toys(device: torch.device, options: argparse.Namespace) -> Any:
    arrays: dict[str, np.ndarray] = {}
    rows = toys.main(device, options.tiny, arrays)
    np.savez_compressed(options.folder / "toys.npz", kl=np.array([row["kl"] for row in rows]), **arrays)
    return rows


def _images(device: torch.device, options: argparse.Namespace) -> Any:
    records, arrays = pictures.main(device, options.tiny, ["digits"] if options.tiny else options.images)
    np.savez_compressed(options.folder / "images.npz", **arrays)
    return records


if __name__ == "__main__":
    main()
