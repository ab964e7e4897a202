"""Results of one run appear together: whole old ones, whole new ones, or a sentence that says otherwise."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_helpers import K, ids, leftovers, rows, write_csv

from powerkmeans.cli.earlier import check_run, held
from powerkmeans.cli.errors import UserError
from powerkmeans.cli.manifest import NAME, manifest_of, read_manifest
from powerkmeans.cli.outputs import Outputs

SOURCE = Path(__file__).parents[2] / "src"
OLD = {"labels.csv": "old", "memberships.csv": "older", "model.npz": "old model"}
NEW = {"labels.csv": "new!", "model.npz": "new model!", "report.html": "new!"}
# in a process of its own: for each place at which the child can be killed, a folder of what it leaves
KILLED = """
import os, sys
from pathlib import Path
from powerkmeans.cli.outputs import Outputs

def write(folder, files, **options):
    with Outputs(folder, list(files), overwrite=True).staged() as stage:
        for name, content in files.items():
            (stage / name).write_text(content)

def dying(real, left):
    def call(*paths):
        left[0] -= 1
        if left[0] < 0:
            os._exit(9)
        return real(*paths)
    return call

os.fsync = lambda file: None  # the process is killed, not the machine
old, new, began = eval(sys.argv[1]), eval(sys.argv[2]), sys.argv[3] == "old"
for place in range(100):
    folder = Path(sys.argv[4]) / str(place)
    folder.mkdir()
    if began:
        write(folder, old)
    child = os.fork()
    if not child:
        left = [place]
        os.replace, os.link, os.rename = (dying(call, left) for call in (os.replace, os.link, os.rename))
        write(folder, new)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def write(folder, files, *, overwrite=True):
    with Outputs(folder, list(files), overwrite=overwrite).staged() as stage:
        for name, content in files.items():
            (stage / name).write_text(content)


def visible(folder):
    """The results in a folder, without what a killed process hides there."""
    paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return {path.name: path.read_text() for path in paths if path.name != NAME}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("before", ["old", "nothing"])
def test_a_run_that_is_killed_anywhere_can_be_told(tmp_path, before):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])}
    arguments = [str(OLD), str(NEW), before, str(tmp_path)]
    command = [sys.executable, "-W", "ignore", "-c", KILLED, *arguments]
    subprocess.run(command, env=environment, check=True, timeout=120)
    found = []
    for folder in sorted(tmp_path.iterdir(), key=lambda path: int(path.name)):
        found.append(state_of(folder, OLD if before == "old" else {}))
        write(folder, NEW)
        assert visible(folder) == NEW
        assert read_manifest(folder).finished
        assert leftovers(folder) == sorted([*NEW, NAME])  # what the killed run hid is cleared away
    assert found[0] == "old"
    assert found[-1] == "new"
    assert found == sorted(found, key=["old", "begun", "new"].index)
    assert found.count("begun") >= len(NEW)


def state_of(folder, old):
    """What the readers say of a folder; a mixture that nobody notices, or mends, is an error."""
    told = read_manifest(folder)
    begun = told is not None and not told.finished
    notes = [note for name in {**OLD, **NEW} for note in check_run(folder / name)]
    assert notes == []
    assert visible(folder) in ([NEW] if begun else [old, NEW])
    if begun:
        return "begun"
    return "new" if visible(folder) == NEW else "old"


def test_what_a_killed_run_has_begun_is_finished_only_if_nobody_is_at_it(tmp_path):
    write(tmp_path, OLD)
    staged, told = tmp_path / ".powerkmeans-abc.part", read_manifest(tmp_path)
    staged.mkdir()
    for name, content in NEW.items():
        (staged / name).write_text(content)
    begun = replace(
        manifest_of(staged), finished=False, earlier=told.files, left=(staged.name,), going=("memberships.csv",)
    )
    (tmp_path / NAME).write_text(begun.text())
    with held(staged), pytest.raises(UserError, match=r"has not finished.*run it again with --overwrite"):
        check_run(tmp_path / "labels.csv")
    assert visible(tmp_path) == OLD
    (staged / "model.npz").write_text("cut off")  # by whatever else went wrong
    with pytest.raises(UserError, match="has not finished"):
        check_run(tmp_path / "labels.csv")
    (staged / "model.npz").write_text(NEW["model.npz"])
    assert check_run(tmp_path / "labels.csv") == []
    assert leftovers(tmp_path) == sorted([*NEW, NAME])
    assert visible(tmp_path) == NEW


def test_what_a_run_hides_while_it_lives_is_kept(tmp_path):
    with Outputs(tmp_path, ["labels.csv", "model.npz"], overwrite=True).staged() as stage:
        write(tmp_path, OLD)
        assert stage.is_dir()
        for name in ("labels.csv", "model.npz"):
            (stage / name).write_text("later")
    assert visible(tmp_path) == {"labels.csv": "later", "model.npz": "later"}


@pytest.mark.parametrize("links", [True, False])
def test_a_move_that_fails_puts_everything_back(tmp_path, monkeypatch, links):
    write(tmp_path, OLD)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    real = os.replace

    def refused(*paths):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def failing_at(place):
        left = [place]

        def call(*paths):
            left[0] -= 1
            return refused() if left[0] == -1 else real(*paths)

        return call

    if not links:
        monkeypatch.setattr(os, "link", refused)
    for place in range(6 if links else 10):
        monkeypatch.setattr(os, "replace", failing_at(place))
        with pytest.raises(UserError, match=r"Cannot write to '.*': Operation not permitted"):
            write(tmp_path, NEW)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    monkeypatch.setattr(os, "replace", failing_at(100))
    write(tmp_path, NEW)
    assert leftovers(tmp_path) == sorted([*NEW, NAME])


def test_what_cannot_be_put_back_is_kept_and_told(tmp_path, monkeypatch):
    write(tmp_path, OLD)
    real = os.replace

    def failing(source, target):
        back = Path(source).name == "model.npz" and Path(source).parent.name.endswith(".old")
        if Path(target).name == "report.html" or back:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        real(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(UserError, match=r"The files that were there are in '.*\.old'") as caught:
        write(tmp_path, NEW)
    aside = Path(str(caught.value).split("'")[-2])
    assert (aside / "model.npz").read_text() == "old model"
    with pytest.raises(UserError, match="has not finished"):
        check_run(tmp_path / "labels.csv")


def test_an_earlier_run_is_replaced_whole_or_stays_whole(tmp_path):
    write(tmp_path, OLD)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "labels.csv").unlink()
    (tmp_path / "model.npz").unlink()
    few = {"labels.csv": "x", "model.npz": "y"}
    with pytest.raises(UserError, match=r"memberships.csv' exists already; say --overwrite"):
        write(tmp_path, few, overwrite=False)
    write(tmp_path, few)
    assert leftovers(tmp_path) == ["labels.csv", "model.npz", "notes.txt", NAME]


def test_a_result_that_was_changed_or_is_read_is_not_removed(tmp_path):
    write(tmp_path, {**OLD, **NEW})
    (tmp_path / "memberships.csv").write_text("edited")
    outputs = Outputs(tmp_path, ["labels.csv", "model.npz"], overwrite=True, inputs=[tmp_path / "report.html"])
    with outputs.staged() as stage:
        for name in outputs.names:
            (stage / name).write_text("x")
    assert leftovers(tmp_path) == ["labels.csv", "memberships.csv", "model.npz", NAME, "report.html"]


@pytest.mark.parametrize(
    "content",
    [
        "mine",
        "[]",
        '{"format": "powerkmeans-run"}',
        '{"format": "powerkmeans-run", "finished": true, "files": {"labels.csv": 3}}',
        '{"format": "powerkmeans-run", "finished": 1, "files": {}}',
        "[" * 100_000,
    ],
)
def test_a_manifest_of_somebody_else_is_a_file_like_others(tmp_path, content):
    (tmp_path / NAME).write_text(content)
    (tmp_path / "labels.csv").touch()
    assert check_run(tmp_path / "labels.csv") == []
    with pytest.raises(UserError, match=r"powerkmeans.json' exists already"):
        write(tmp_path, NEW, overwrite=False)
    assert (tmp_path / NAME).read_text() == content


def test_a_manifest_names_nothing_outside_its_folder(tmp_path):
    folder = tmp_path / "out"
    write(folder, NEW)
    outside = tmp_path / "labels.parquet"
    outside.write_text("mine")
    told = json.loads((folder / NAME).read_text())
    told["files"]["../labels.parquet"] = told["files"]["labels.csv"]
    told |= {
        "finished": False,
        "earlier": told["files"],
        "left": ["..", "../x", ".", "/tmp", ".powerkmeans-a/../.."],
    }
    (folder / NAME).write_text(json.dumps(told))
    found = read_manifest(folder)
    assert set(found.files) == set(found.earlier) == set(NEW)
    assert found.left == ()
    write(folder, NEW)
    assert leftovers(tmp_path) == sorted(["labels.parquet", "out", *(f"out/{name}" for name in (*NEW, NAME))])


def test_links_in_the_folder_are_written_through(tmp_path):
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for name in ("labels.csv", NAME):
        (elsewhere / name).write_text("x")
        (folder / name).symlink_to(elsewhere / name)
    write(folder, NEW)
    assert visible(folder) == NEW
    assert (folder / "labels.csv").is_symlink()
    assert (folder / NAME).is_symlink()
    assert leftovers(elsewhere) == ["labels.csv", NAME]
    assert read_manifest(folder).finished
    write(folder, {"labels.csv": "one"})
    assert (elsewhere / "labels.csv").read_text() == "one"
    assert leftovers(elsewhere) == ["labels.csv", NAME]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A run of the command, to be copied."""
    folder = tmp_path_factory.mktemp("fitted")
    write_csv(folder / "rows.csv", ids(), *rows())
    command = [
        sys.executable,
        "-m",
        "powerkmeans",
        "fit",
        "rows.csv",
        "--id",
        "id",
        "-k",
        str(K),
        "-o",
        "out",
        "-q",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])}
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return folder


READERS = (
    ("predict", "out/model.npz", "rows.csv", "-o", "p.csv"),
    ("explain", "out/model.npz"),
    ("evaluate", "out/labels.csv", "truth.csv", "--id", "id"),
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
def test_readers_notice_an_unfinished_run_and_changed_results(run, fitted, tmp_path, reader):
    (tmp_path / "out").mkdir()
    for path in [*(fitted / "out").iterdir(), fitted / "rows.csv"]:
        (tmp_path / path.relative_to(fitted)).write_bytes(path.read_bytes())
    (tmp_path / "truth.csv").write_text("id,class\n" + "".join(f"{name},x\n" for name in ids()))
    whole = run(*reader, "--json")
    assert whole.json["notes"] == []
    (tmp_path / "p.csv").unlink(missing_ok=True)

    other = "labels.csv" if "model" in reader[1] else "model.npz"
    with open(tmp_path / "out" / other, "ab") as stream:
        stream.write(b"\n")
    assert f"'out/{other}', beside" in run(*reader, "--json").json["notes"][0]
    (tmp_path / "p.csv").unlink(missing_ok=True)

    told = json.loads((tmp_path / "out" / NAME).read_text())
    told["files"][Path(reader[1]).name]["sha256"] = "0" * 64
    (tmp_path / "out" / NAME).write_text(json.dumps(told))
    assert "is not as the run in its folder wrote it" in run(*reader, "--json").json["notes"][0]
    (tmp_path / "p.csv").unlink(missing_ok=True)

    (tmp_path / "out" / NAME).write_text(json.dumps({**told, "finished": False}))
    done = run(*reader)
    assert done.code == 3
    assert done.sentence.startswith(f"'{reader[1]}' is of a run that has not finished")
    refused = run("fit", "rows.csv", "--id", "id", "-k", K, "-o", "out")
    assert (refused.code, "exists already, of a run that has not finished" in refused.sentence) == (4, True)


def test_what_goes_with_an_earlier_run_is_told(run, fitted, tmp_path):
    for path in (fitted / "out").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = run(
        "fit", fitted / "rows.csv", "--id", "id", "-k", K, "-o", ".", "--overwrite", "--no-report", "--json"
    )
    assert done.json["notes"] == ["'report.html' of the earlier run in '.' removed."]
    assert leftovers(tmp_path) == ["labels.csv", "memberships.csv", "model.npz", NAME]


def test_the_manifest_tells_sizes_and_hashes(fitted):
    told = json.loads((fitted / "out" / NAME).read_text())
    assert (told["format"], told["version"], told["finished"]) == ("powerkmeans-run", 1, True)
    assert sorted(told["files"]) == ["labels.csv", "memberships.csv", "model.npz", "report.html"]
    for name, entry in told["files"].items():
        assert entry["size"] == (fitted / "out" / name).stat().st_size
        assert len(entry["sha256"]) == 64
