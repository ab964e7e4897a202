"""Real processes: interrupts, pipes, terminals, and what help imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_helpers import leftovers

from powerkmeans.support.install import install_line

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-m", "powerkmeans"]
# a fit that never ends by itself, told on stderr once it has begun
ENDLESS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
from powerkmeans.cli.actions import fit
def fitting(*args):
    print("begun", file=sys.stderr, flush=True)
    time.sleep(60)
{patch}
from powerkmeans.cli import main
sys.argv = ["powerkmeans", "fit", "t.npy", "-k", "3", "-o", "out", "--feature-map", "identity"]
sys.exit(main())
"""
IN_READING = "fit.read_inputs = fitting"
IN_THE_FIT = "fit.fit_estimator = fitting"
IN_WRITING = "fit.save_prepared = fitting"


@pytest.fixture(scope="module")
def environment():
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", "TERM": "xterm-256color"}


def with_table(folder):
    rng = np.random.default_rng(0)
    np.save(folder / "t.npy", rng.normal(size=(90, 3)) + 8 * (np.arange(90) % 3)[:, None])
    return folder


@pytest.fixture
def folder(tmp_path):
    return with_table(tmp_path)


@pytest.mark.parametrize(
    ("number", "code", "patch"),
    [(signal.SIGINT, 130, stage) for stage in (IN_READING, IN_THE_FIT, IN_WRITING)]
    + [(signal.SIGTERM, 143, IN_THE_FIT)],
)
def test_an_interrupt_leaves_nothing_behind(folder, environment, patch, number, code):
    command = [sys.executable, "-c", ENDLESS.format(patch=patch)]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    said = ""
    while "begun" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    if patch == IN_WRITING:
        assert any(name.startswith("out/.powerkmeans-") for name in leftovers(folder))
    time.sleep(0.1)
    process.send_signal(number)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == code
    assert rest.strip().splitlines()[-1].startswith("Error: ")
    assert "no file is left half-written" in rest
    assert "Traceback" not in rest
    assert leftovers(folder) == ["t.npy"]


def test_an_interrupt_before_anything_has_begun(environment):
    code = (
        "import sys; from powerkmeans.cli import main\n"
        "class Slow:\n"
        "    def find_spec(self, name, *args):\n"
        "        if name == 'powerkmeans.cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Slow())\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "Error: Interrupted; nothing was begun.\n")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, environment):
    """A folder with a table and the answers of a fit, and what the command said into a pipe."""
    folder = with_table(tmp_path_factory.mktemp("fitted"))
    fit = [*COMMAND, "fit", "t.npy", "-k", "3", "-o", "out", "--feature-map", "identity"]
    return folder, subprocess.run(fit, cwd=folder, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_an_answer_that_nowhere_has_room_for(fitted, environment):
    folder, _ = fitted
    predict = [*COMMAND, "predict", "out/model.npz", "t.npy"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            predict, cwd=folder, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 4
    assert done.stderr == "Error: The answer cannot be written: No space left on device.\n"


def test_help_imports_nothing_heavy(environment):
    code = (
        "import sys, powerkmeans.cli.app as a\n"
        "try: a.app.main(['fit', '--help'], prog_name='powerkmeans')\n"
        "except SystemExit: pass\n"
        "heavy = {m.split('.')[0] for m in sys.modules} & {'numpy', 'scipy', 'sklearn', 'rich', 'pandas'}\n"
        "print(*heavy, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "Usage: powerkmeans fit" in done.stdout
    assert done.stderr.strip() == ""


def test_without_click_the_way_to_install_it_is_told(environment):
    code = "import sys; sys.modules['click'] = None; from powerkmeans.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert done.stderr == f"Error: the powerkmeans command needs click. Install it: {install_line('cli')}\n"


def test_in_a_pipe_there_are_answers_and_no_bars_and_a_closed_one_is_no_error(fitted, environment):
    folder, done = fitted
    assert "\x1b" not in done.stdout + done.stderr
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    predict = [*COMMAND, "predict", "out/model.npz", "t.npy"]
    process = subprocess.Popen(
        predict, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 141


def test_shell_completion_is_clicks(environment):
    done = subprocess.run(
        COMMAND,
        env={**environment, "_POWERKMEANS_COMPLETE": "bash_source"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "_powerkmeans_completion" in done.stdout
    wanted = {
        **environment,
        "_POWERKMEANS_COMPLETE": "bash_complete",
        "COMP_WORDS": "powerkmeans pre",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(COMMAND, env=wanted, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "plain,predict"


def test_info_names_every_blas_that_a_fit_loads(environment):
    code = (
        "import json, powerkmeans.estimators; from threadpoolctl import threadpool_info; "
        "print(json.dumps([lib['version'] for lib in threadpool_info() if lib['user_api'] == 'blas']))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    told = subprocess.run([*COMMAND, "info", "--json"], env=environment, capture_output=True, check=True)
    assert sorted(lib["version"] for lib in json.loads(told.stdout)["blas"]) == sorted(json.loads(loaded.stdout))
