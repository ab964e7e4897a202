"""One rule for every file that Python code asks for: models, reports and answers."""

from __future__ import annotations

import errno
import os
import socket
import stat

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.report import write_report
from powerkmeans.support import files

X = np.random.default_rng(0).normal(size=(60, 3)) + 9.0 * (np.arange(60) % 3)[:, None]
ANSWERS = ("predict", "predict_proba", "transform", "typicality", "outlier_score")
NOT_FILES = ("fifo", "socket", "device")


@pytest.fixture(scope="module")
def single():
    return KernelPowerKMeans(3, membership="possibilistic", random_state=0).fit(X)


@pytest.fixture(scope="module")
def several():
    return MultiViewPowerKMeans(3, random_state=0).fit([X[:, :2], X[:, 2:]])


@pytest.fixture(params=["save", "report", *ANSWERS, "views predict"])
def write(request, single, several):
    """One of the ways to write a file: ``write(path, overwrite=...)``."""
    kind, model, data = request.param, single, X
    if kind.startswith("views "):
        kind, model, data = kind.removeprefix("views "), several, [X[:, :2], X[:, 2:]]
    if kind == "save":
        return model.save
    if kind == "report":
        return lambda path, **options: write_report(path, model, X, **options)
    return lambda path, **options: getattr(model, kind)(data, out=path, **options)


def make(kind, path):
    """Something that is not a regular file."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(path.parent)  # addresses are short
            server.bind(path.name)
    else:
        path.symlink_to(os.devnull)


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have no place among files elsewhere")
def test_only_regular_files_are_replaced(tmp_path, monkeypatch, write, kind, overwrite):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "target.npy"
    make(kind, path)
    before = os.stat(path).st_mode
    for name in ("replace", "link", "rename"):  # a device that is replaced would be missed by everybody
        monkeypatch.setattr(os, name, lambda *paths: pytest.fail("a file was put in the place of something else"))
    told = {"fifo": "is a pipe", "socket": "is a socket", "device": "is a device"}[kind]
    with pytest.raises(
        FileExistsError, match=f"target.npy' {told} and not a regular file; give the name of a file"
    ):
        write(path, overwrite=overwrite)
    assert os.stat(path).st_mode == before
    assert os.listdir(tmp_path) == ["target.npy"]


def test_folders_are_named(tmp_path, write):
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder.npy' is a folder; give the name of a file to write"):
        write(tmp_path / "folder.npy", overwrite=True)
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*none' to write 'x.npy' in"):
        write(tmp_path / "none" / "x.npy")
    assert os.listdir(tmp_path) == ["folder.npy"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_link_that_leads_nowhere_is_neither_followed_nor_replaced(tmp_path, write, overwrite):
    link = tmp_path / "link.npy"
    link.symlink_to(tmp_path / "gone.npy")
    with pytest.raises(FileNotFoundError, match=r"link.npy' is a link to '.*gone.npy', which does not exist"):
        write(link, overwrite=overwrite)
    assert os.listdir(tmp_path) == ["link.npy"]
    assert link.is_symlink()
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(OSError, match=r"link.npy"):
        write(link, overwrite=overwrite)
    assert os.listdir(tmp_path) == ["link.npy"]


def test_a_link_to_a_file_is_written_through(tmp_path, write):
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere/file.npy", tmp_path / "link.npy"
    file.write_text("mine")
    link.symlink_to(file)
    with pytest.raises(FileExistsError, match=r"link.npy' exists and is kept; pass overwrite=True to replace it"):
        write(link)
    assert file.read_text() == "mine"
    write(link, overwrite=True)
    assert link.is_symlink()
    assert file.read_bytes() != b"mine"
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "link.npy"]
    assert os.listdir(tmp_path / "elsewhere") == ["file.npy"]


def test_what_exists_is_kept_unless_told_otherwise(tmp_path, write):
    path = tmp_path / "x.npy"
    write(path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"x.npy' exists and is kept; pass overwrite=True to replace it"):
        write(path)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match=r"'overwrite' parameter must be True or False\. Got 'no' instead"):
        write(path, overwrite="no")
    path.write_text("mine")
    os.chmod(path, 0o640)
    write(path, overwrite=True)
    assert len(path.read_bytes()) == len(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640  # who may read it stays as it was
    assert os.listdir(tmp_path) == ["x.npy"]


def test_an_empty_file_holds_nothing_to_keep(tmp_path, write):
    """As ``tempfile.NamedTemporaryFile`` makes them."""
    path = tmp_path / "x.npy"
    path.touch()
    write(path)
    assert path.stat().st_size > 0


def test_names_as_long_as_the_system_takes(tmp_path, write):
    path = tmp_path / ("x" * 251 + ".npy")
    write(path)
    assert [len(name) for name in os.listdir(tmp_path)] == [255]
    with pytest.raises(OSError, match=r"Cannot write the file: File name too long: '.*xxx"):
        write(tmp_path / ("x" * 252 + ".npy"))


@pytest.mark.parametrize("step", ["create", "sync", "take"])
@pytest.mark.parametrize("older", [False, True])
def test_a_full_disk_leaves_everything_as_it_was(tmp_path, monkeypatch, write, step, older):
    path = tmp_path / "x.npy"
    if older:
        path.write_text("mine")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "sync":
        monkeypatch.setattr(files.os, "fsync", full)
    elif step == "take":
        monkeypatch.setattr(files, "_take_name", full)
    else:
        monkeypatch.setattr(files, "_create", full)
    with pytest.raises(OSError, match=r"Cannot write the file.*: No space left on device: '.*x\.npy'") as caught:
        write(path, overwrite=older)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == (["x.npy"] if older else [])
    assert not older or path.read_text() == "mine"


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch, links):
    path = tmp_path / "x"

    def refused(*paths):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def write(meanwhile):
        with files.replacing(path) as stream:
            stream.write(b"mine")
            meanwhile()

    if not links:  # as on some file systems
        monkeypatch.setattr(os, "link", refused)
    with pytest.raises(FileExistsError, match="x' exists and is kept"):
        write(lambda: path.write_text("theirs"))
    assert path.read_text() == "theirs"
    path.unlink()
    write(lambda: None)
    assert path.read_bytes() == b"mine"
    assert os.listdir(tmp_path) == ["x"]


def test_a_name_that_ends_as_a_folder_does(tmp_path):
    with pytest.raises(IsADirectoryError, match="is the name of a folder"):
        files.regular_target(f"{tmp_path}/new{os.sep}")


def test_a_protected_file_is_kept(tmp_path, monkeypatch):
    """Root may write anything, so the protection is played."""
    path = tmp_path / "x"
    path.write_text("mine")
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(PermissionError, match="x' is protected against writing"):
        files.free_target(path, overwrite=True)


def test_a_new_file_has_the_usual_permissions(tmp_path, write):
    write(tmp_path / "x.npy")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "x.npy").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_of_several_views_follow_the_rule(tmp_path, several, answer):
    path = tmp_path / "x.npy"
    found = getattr(several, answer)([X[:, :2], X[:, 2:]], out=path)
    with pytest.raises(FileExistsError, match="exists and is kept"):
        getattr(several, answer)([X[:, :2], X[:, 2:]], out=path)
    again = getattr(several, answer)([X[:, :2], X[:, 2:]], out=path, overwrite=True)
    assert np.array_equal(found, again)


def test_rows_that_are_read_are_not_written_over(tmp_path, single):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="is the file that the rows are read from"):
        single.predict(np.load(tmp_path / "rows.npy", mmap_mode="r"), out=tmp_path / "rows.npy", overwrite=True)
