"""The examples inside the command are those of the repository, and each of them runs."""

import shlex

from conftest import ROOT, Command

SKIPPED = ("seconds", "model", "data", "draws", "files")


def test_every_example_runs_as_its_readme_says(tmp_path):
    command, root = Command(tmp_path), Command(ROOT)
    listed = command.json("examples")["examples"]
    folders = {path.name for path in (ROOT / "examples").iterdir() if (path / "model.toml").exists()}
    # Those two are only there for the pages on theory.
    assert folders - {example["name"] for example in listed} <= {"gaussian-mean", "gaussian-variance"}
    for example in listed:
        inside = command.json("examples", example["name"])
        outside = root.json(*shlex.split(example["command"]))
        for field in outside.keys() - SKIPPED:
            assert inside[field] == outside[field], (example["name"], field)


def test_examples_are_copied_to_the_byte(tmp_path):
    command = Command(tmp_path)
    assert command.run("examples", "--out", "here").returncode == 0
    copied = [file for file in (tmp_path / "here").rglob("*") if file.is_file()]
    assert len(copied) > 10
    for file in copied:
        assert file.read_bytes() == (ROOT / file.relative_to(tmp_path / "here")).read_bytes()


def test_an_unknown_example_is_named(command):
    command.refuses("examples", "old-faithfull", says=["old-faithfull", "wind"])
