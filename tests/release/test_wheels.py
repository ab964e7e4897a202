"""The checks of what is published would notice, and say it in one sentence."""

from __future__ import annotations

import hashlib
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "release").exists():
    pytest.skip("the archive has no release folder", allow_module_level=True)
sys.path.insert(0, str(ROOT / "release"))

import checks  # noqa: E402
import trial  # noqa: E402
import wheels  # noqa: E402

X86, ARM = 62, 183
NAME = "powerkmeans-1-py3-none-{}.whl"


def library(target, processor, spoilt=b""):
    content = b"\x7fELF".ljust(18, b"\0") + struct.pack("<H", processor) + target.encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return f"powerkmeans/compute/native/cpp/{target}-0123456789abcdef-{digest}.so", content + spoilt


def wheel(folder, platform, *libraries):
    path = folder / NAME.format(platform)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("powerkmeans/__init__.py", "")
        for name, content in libraries:
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("platform", "libraries"),
    [
        ("any", []),
        ("manylinux2014_aarch64.manylinux_2_17_aarch64", [library("baseline", ARM)]),
        ("manylinux_2_17_x86_64", [library(target, X86) for target in ("baseline", "avx2", "avx512")]),
    ],
)
def test_wheels_that_have_what_they_promise(tmp_path, platform, libraries):
    assert checks.check_wheel(wheel(tmp_path, platform, *libraries)) == []


@pytest.mark.parametrize(
    ("platform", "libraries", "fault"),
    [
        ("any", [library("baseline", X86)], "its libraries are baseline instead of none"),
        ("linux_x86_64", [library("baseline", X86)], "are baseline instead of avx2, avx512, baseline"),
        ("linux_aarch64", [], "its libraries are none instead of baseline"),
        ("linux_aarch64", [library("baseline", X86)], r"baseline-.*\.so is for x86_64"),
        ("linux_aarch64", [library("baseline", 3)], r"baseline-.*\.so is for another processor"),
        ("linux_aarch64", [library("baseline", ARM, b"!")], r"baseline-.*\.so is damaged"),
    ],
)
def test_wheels_that_have_not(tmp_path, platform, libraries, fault):
    made = wheel(tmp_path, platform, *libraries)
    with pytest.raises(wheels.ReleaseError, match=fault):
        wheels.check(archive(tmp_path, "LICENSE"), [made])


def archive(folder, *names):
    path = folder / "powerkmeans-1.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name in (*names, "PKG-INFO"):
            packed.add(ROOT / "LICENSE", f"powerkmeans-1/{name}")
    return path


def test_an_archive_with_what_git_does_not_know_of(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "known_files", lambda root: {"LICENSE", "src/a.py"})
    assert checks.check_archive(archive(tmp_path, "LICENSE", "src/a.py"), ROOT) == []
    told = checks.check_archive(archive(tmp_path, "LICENSE", ".venv/a.py"), ROOT)
    assert told == ["powerkmeans-1.tar.gz has .venv/a.py, which git does not know of"]


def test_a_compiler_that_lacks_is_named_with_its_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wheels.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(wheels.shutil, "which", lambda name: name if name == "g++" else None)
    assert wheels.for_machine("x86_64") == {"CXX": "g++", "_PYTHON_HOST_PLATFORM": "linux-x86_64"}
    assert wheels.main(["--into", str(tmp_path / "new")]) == 1
    assert "no aarch64-linux-gnu-g++ to compile kernels for aarch64; on Debian: apt-get" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_what_is_there_is_not_published_by_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wheels, "compiler", lambda machine: "g++")
    (tmp_path / "old.whl").write_text("")
    assert wheels.main(["--into", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("is not empty; what is there might be published with the rest\n")


def test_kernels_that_did_not_compile_are_no_wheel(tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "run", lambda *asked, **more: "... without compiled kernels: g++ failed\n...")
    with pytest.raises(wheels.ReleaseError, match=r"a wheel would be without compiled kernels: g\+\+ failed$"):
        wheels.built("wheel", ROOT, tmp_path, {})


def test_a_tool_that_fails_is_shown(capsys):
    with pytest.raises(wheels.ReleaseError, match=r"json\.tool --no-such-option failed"):
        wheels.run("json.tool", "--no-such-option")
    assert "unrecognized arguments" in capsys.readouterr().err


def test_a_wheel_for_another_machine_is_not_tried(monkeypatch):
    monkeypatch.setattr(trial.platform, "machine", lambda: "x86_64")
    assert [trial.takes(Path(NAME.format(p))) for p in ("any", "linux_x86_64", "linux_aarch64")] == [1, 1, 0]
