"""Leaves out of a crate's manifest what its tests, benches and examples need: they are not packed with the R package."""

import re
import sys
from pathlib import Path

manifest = Path(sys.argv[1])
text = manifest.read_text(encoding="utf-8")
for section in (r"\[dev-dependencies\]", r"\[\[bench\]\]", r"\[\[example\]\]", r"\[\[test\]\]"):
    text = re.sub(rf"(?ms)^{section}\n.*?(?=^\[|\Z)", "", text)
manifest.write_text(text, encoding="utf-8")
