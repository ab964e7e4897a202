"""Libraries on disk: built beside their place, known by their names, opened only if whole and fit."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.native import build, library
from powerkmeans.compute.native.library import TARGETS, open_library, why_missing
from powerkmeans.compute.passes import available_passes

BUILT = [target for target in TARGETS if open_library(target) is not None]
needs_library = pytest.mark.skipif(not BUILT, reason="powerkmeans was installed without a C++ compiler")


needs_compiler = pytest.mark.skipif(not build.find_compilers(), reason="there is no C++ compiler")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder with the libraries of this installation, in which nothing has been opened yet."""
    for target in BUILT:
        shutil.copy(build.libraries_of(target, library.library_folder())[0], tmp_path)
    monkeypatch.setenv("POWERKMEANS_NATIVE", str(tmp_path))
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def forget():
    open_library.cache_clear()
    library._open.cache_clear()


@pytest.fixture
def opened(monkeypatch):
    """The names of the files that are opened from now on."""
    names = []

    def open_and_note(path):
        names.append(os.path.basename(path).partition("-")[0])
        return real(path)

    real = library.ctypes.CDLL
    monkeypatch.setattr(library.ctypes, "CDLL", open_and_note)
    return names


def spoil(folder, target, how):
    (path,) = folder.glob(f"{target}-*.so")
    content = path.read_bytes()
    path.write_bytes(how(content))
    return path


@needs_library
def test_the_best_target_is_found_where_the_libraries_are(installed):
    assert library.find_target() == next(target for target in BUILT if library._gains(target))


@needs_library
@pytest.mark.parametrize(
    "how",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: b"not a library",
        lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
    ],
    ids=["truncated", "empty", "foreign", "one bit"],
)
def test_a_damaged_library_is_not_opened(installed, opened, how):
    path = spoil(installed, "baseline", how)
    assert library.find_target() is None
    assert opened == []
    assert why_missing() == f"{path} is damaged: its content is not what its name says"
    with pytest.raises(
        ValueError, match=r"baseline-.*\.so is damaged.*run `python -m powerkmeans.compute.native`"
    ):
        available_passes("compiled", np)
    assert available_passes("auto", np) == ()


@pytest.mark.skipif("avx2" not in BUILT, reason="this processor has no AVX2")
def test_a_damaged_library_leaves_the_next_best(installed, opened):
    for target in set(BUILT) - {"baseline"}:
        spoil(installed, target, lambda content: content[:-1])
    assert library.find_target() == "baseline"
    assert opened == ["baseline"]


@needs_library
def test_libraries_of_other_sources_are_not_opened(installed, opened, monkeypatch):
    monkeypatch.setattr(build, "source_hash", lambda: "0" * 16)
    assert library.find_target() is None
    assert opened == []
    assert why_missing() == f"the library in {installed} was compiled from other sources"


def processor(monkeypatch, **told):
    """Let the baseline tell this of the processor."""
    baseline, real = (
        SimpleNamespace(**{name: lambda value=value: value for name, value in told.items()}),
        library._open,
    )
    monkeypatch.setattr(library, "_open", lambda target: baseline if target == "baseline" else real(target))


@needs_library
@pytest.mark.parametrize("target", ["avx2", "avx512"])
def test_the_processor_is_asked_before_a_library_is_opened(installed, opened, monkeypatch, target):
    processor(monkeypatch, runs_avx2=0, runs_avx512=0)
    assert open_library(target) is None
    assert opened == []


@needs_library
@pytest.mark.parametrize(("gains", "target"), [(0, "avx2"), (1, "avx512")])
def test_wider_vectors_are_taken_where_they_gain(installed, monkeypatch, gains, target):
    processor(monkeypatch, runs_avx2=1, runs_avx512=1, gains_by_avx512=gains)
    monkeypatch.setattr(library, "open_library", lambda target: target)
    assert library.find_target() == target


@needs_library
def test_what_gains_runs():
    answers = {name: getattr(library._open("baseline"), name)() for name in ("runs_avx512", "gains_by_avx512")}
    assert answers["runs_avx512"] >= answers["gains_by_avx512"]
    assert (open_library("avx512") is not None) == bool(answers["runs_avx512"] and "avx512" in build.TARGETS)


def test_without_libraries_the_reason_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("POWERKMEANS_NATIVE", str(tmp_path))
    assert why_missing() == "powerkmeans was installed without a C++ compiler"


def sentence(reason):
    assert reason
    assert "\n" not in reason
    assert len(reason) < 400
    return reason


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("no-such-compiler", "no C++ compiler was found: CXX is 'no-such-compiler', and there is no such command"),
        ("no-such-compiler --flag", "no C++ compiler was found"),
        ("g++ 'unbalanced", 'no C++ compiler was found: CXX is "g++ \'unbalanced", and there is no such command'),
        (f"{sys.executable} -c 'raise SystemExit(3)'", "failed on pass.cpp (exit status 3)"),
        (
            f"{sys.executable} -c 'import sys; sys.exit(bytes([255, 254, 10, 10]).decode(\"latin1\") * 999)'",
            "failed on",
        ),
        (
            f"{sys.executable} -c 'import os; os.write(2, bytes(range(128, 256))); os._exit(1)'",
            "failed on pass.cpp",
        ),
        (f"{sys.executable} -c pass", "said that it compiled pass.cpp, but wrote nothing"),
    ],
)
def test_odd_compilers_are_one_sentence(monkeypatch, tmp_path, given, expected):
    monkeypatch.setenv("CXX", given)
    older = tmp_path / "baseline-1-2.so"
    older.write_bytes(b"older")
    assert expected in sentence(build.compile_libraries(tmp_path))
    assert list(tmp_path.iterdir()) == [older]


def test_a_compiler_that_is_not_a_program_is_one_sentence(monkeypatch, tmp_path):
    script = tmp_path / "compiler"
    script.write_bytes(b"\x7fELF but not really")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    assert "cannot be run" in sentence(build.compile_libraries(tmp_path))


def test_blank_cxx_is_no_cxx(monkeypatch):
    monkeypatch.setenv("CXX", "  ")
    monkeypatch.setattr(build.shutil, "which", lambda name: name == "g++")
    assert build.find_compilers() == [["g++"]]


def fake_compiler(folder, content="library"):
    """A compiler that writes what it is told to."""
    script = folder / f"compiler_{content}.py"
    script.write_text(f"import sys; open(sys.argv[-1], 'w').write({content!r})")
    return f"{sys.executable} {script}"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", fake_compiler(tmp_path))
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o555)
    assert "Permission denied" in sentence(build.compile_libraries(folder))


def test_a_folder_that_cannot_be_written_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", fake_compiler(tmp_path))
    (tmp_path / "file").write_text("in the way")
    reason = sentence(build.compile_libraries(tmp_path / "file"))
    assert reason == f"{tmp_path / 'file'} cannot be written: File exists"

    def denied(*arguments, **more):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(build.os, "replace", denied)
    assert sentence(build.compile_libraries(tmp_path)) == f"{tmp_path} cannot be written: Permission denied"


def test_a_rebuild_never_touches_a_library_that_is_there(monkeypatch, tmp_path):
    folder = tmp_path / "folder"
    monkeypatch.setenv("CXX", fake_compiler(tmp_path, "first"))
    assert build.compile_libraries(folder) is None
    (first,) = folder.glob("baseline*.so")
    os.utime(first, (1, 1))
    in_use = open(first)  # noqa: SIM115
    monkeypatch.setenv("CXX", fake_compiler(tmp_path, "second"))
    assert build.compile_libraries(folder) is None
    (second,) = folder.glob("baseline*.so")
    assert (in_use.read(), second.read_text()) == ("first", "second")
    assert first != second
    assert build.is_intact(second)
    in_use.close()


def test_concurrent_builds_leave_whole_libraries(monkeypatch, tmp_path):
    folder = tmp_path / "folder"
    commands = [build.shlex.split(fake_compiler(tmp_path, content)) for content in ("one", "two", "three")]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda command: build._compile_with(command, folder), commands * 6))
    for target in build.TARGETS:
        left = build.libraries_of(target, folder)
        assert left
        assert all(map(build.is_intact, left))
    assert {path.suffix for path in folder.iterdir()} == {".so"}


KEEPS_COMPUTING = """
import sys, numpy as np
from powerkmeans import KernelPowerKMeans
X = np.random.default_rng(0).normal(size=(300, 4)) + np.repeat(np.eye(4)[:3] * 9, 100, axis=0)
fit = lambda: KernelPowerKMeans(3, engine="compiled", random_state=0).fit(X).cluster_centers_.tobytes()
before = fit()
print("open", flush=True)
sys.stdin.readline()
assert fit() == before
print("done", flush=True)
"""


@needs_library
@needs_compiler
def test_a_process_that_uses_a_library_outlives_a_rebuild(installed):
    environment = {**os.environ, "POWERKMEANS_NATIVE": str(installed)}
    command = [sys.executable, "-c", KEEPS_COMPUTING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "open\n"
        old = {path: path.stat().st_ino for path in installed.glob("*.so")}
        assert build.compile_libraries(installed, ["-O0", "-DANOTHER_BUILD"]) is None
        new = {path: path.stat().st_ino for path in installed.glob("*.so")}
        assert not old.items() & new.items()
        out, _ = process.communicate("go on\n")
    assert (out, process.returncode) == ("done\n", 0)
    forget()
    assert library.find_target() == next(target for target in BUILT if library._gains(target))


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("target", build.TARGETS)
def test_the_sources_compile_without_a_warning(compiler, target):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    command = [compiler, *build.FLAGS, *build.TARGETS[target], "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    for source in sorted(build.FOLDER.glob("*.cpp")):
        done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@needs_library
def test_the_command_tells_what_it_did(tmp_path):
    command = [sys.executable, "-m", "powerkmeans.compute.native", "--into", str(tmp_path / "new")]
    environment = {**os.environ, "CXX": fake_compiler(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr.endswith("cannot be opened on this system\n")
    assert done.stderr.count("\n") == 1


@needs_library
def test_fits_without_whole_libraries_are_those_of_numpy(installed):
    X = np.random.default_rng(0).normal(size=(90, 3)) + np.repeat(np.eye(3) * 9, 30, axis=0)
    spoil(installed, "baseline", lambda content: content[:100])
    found, expected = (
        KernelPowerKMeans(3, engine=engine, random_state=0).fit(X).cluster_centers_ for engine in ("auto", "numpy")
    )
    assert np.array_equal(found, expected)


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have another C++ library")
def test_libraries_open_where_the_cpp_library_is_old():
    for target in BUILT:
        content = build.libraries_of(target, library.library_folder())[0].read_bytes()
        assert not re.findall(rb"GLIBCXX_3\.4\.\d+|CXXABI_1\.3\.\d+", content)


@pytest.mark.parametrize(
    ("name", "targets"), [("linux-aarch64", ["baseline"]), ("linux-x86_64", ["baseline", "avx2", "avx512"])]
)
def test_targets_are_those_of_the_machine_that_is_compiled_for(monkeypatch, name, targets):
    monkeypatch.setenv("_PYTHON_HOST_PLATFORM", name)
    assert list(runpy.run_path(build.__file__)["TARGETS"]) == targets
