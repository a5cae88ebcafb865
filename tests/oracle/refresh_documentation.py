"""Writes what the commands print now into the ```text blocks of the documentation: review the difference."""

import tempfile
from pathlib import Path

from test_documentation import FENCE, PAGES, blocks, run


def refreshed(page):
    """The page with every expected output replaced."""
    text, out, position = page.read_text(), [], 0
    expected = {body: output for _, body, output in blocks(page)}
    found = list(FENCE.finditer(text))
    for here, after in zip(found, found[1:]):
        if here["info"].split() != ["sh"] or expected.get(here["body"]) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            process = run(here["body"], Path(folder))
        assert process.returncode == 0, (page, process.stderr)
        out += [text[position : after.start("body")], process.stdout.rstrip() + "\n"]
        position = after.end("body")
    return "".join(out) + text[position:]


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page))
