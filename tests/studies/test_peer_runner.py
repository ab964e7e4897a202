import os
import sys
import time

import numpy as np
import pytest
from benchmarks.methods import peers_child, runner
from benchmarks.methods.runner import PeerError, list_peers, run_peer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes end by signals here")
VIEWS = [np.arange(20.0).reshape(10, 2), np.ones((10, 3), dtype=np.float32)]


def run(method="echo", timeout=60, **setting):
    return run_peer(sys.executable, method, VIEWS, 3, 5, timeout=timeout, **setting)


@pytest.fixture
def folders(monkeypatch, tmp_path):
    """Where the runner puts its temporary folders, which must be gone after the test."""
    monkeypatch.setattr(runner.tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def test_answer_has_labels_seconds_memory_and_version(folders):
    answer = run(note="heard")
    assert answer.labels.dtype.kind == "i"
    assert np.array_equal(answer.labels, (np.arange(10) + 5) % 3)
    assert 0 <= answer.seconds < 10
    assert 1e6 < answer.peak_bytes < 1e9
    assert answer.version == np.__version__
    assert answer.note == "heard"


def test_views_arrive_as_they_were(folders):
    answer = run(behave="describe")
    assert answer.note == "(10, 2) float64 190, (10, 3) float32 30"


def test_warnings_and_missing_clusters_become_the_note(folders):
    assert run(behave="warn").note == "1 of 3 clusters; UserWarning: not quite there"


def test_peak_is_that_of_the_process_and_not_of_the_one_that_started_it(folders):
    held = np.ones(2**25)  # 256 MB
    assert run().peak_bytes < held.nbytes
    assert run(behave="allocate", size=2**27).peak_bytes > 2**27


@pytest.mark.parametrize(
    ("behave", "message"),
    [
        ("raise", "echo: ValueError: not like this"),
        ("exit", "echo: its process ended with status 3: told to leave"),
        ("kill", "echo: its process was killed by SIGKILL, as when memory runs out"),
        ("crash", "echo: its process was killed by SIGABRT"),
        ("short", r"echo: gave labels of shape \(9,\) for 10 rows"),
        ("columns", r"echo: gave labels of shape \(10, 1\) for 10 rows"),
        ("halves", "echo: ValueError: labels are not whole numbers"),
        ("nonsense", "echo: KeyError: 'nonsense'"),
    ],
)
def test_every_failure_is_one_line(folders, behave, message):
    with pytest.raises(PeerError, match=f"^{message}$") as failure:
        run(behave=behave)
    assert failure.value.__suppress_context__ or failure.value.__context__ is None


def test_missing_package_names_the_line_that_installs_it(folders):
    message = (
        "absent: ModuleNotFoundError: No module named 'no_such_peer'; install it: pip install no-such-peer==1.0"
    )
    with pytest.raises(PeerError) as failure:
        run("absent")
    assert str(failure.value) == message


def test_unknown_method_and_setting(folders):
    with pytest.raises(PeerError, match="unheard: no such method; there are absent, echo, "):
        run("unheard")
    with pytest.raises(PeerError, match=r"echo: TypeError: .*unexpected keyword argument 'colour'"):
        run(colour="red")


def test_timeout_ends_the_process_and_those_it_started(folders, tmp_path_factory):
    sign_of_life = tmp_path_factory.mktemp("life") / "sign"
    with pytest.raises(PeerError, match=r"^echo: stopped after 2 seconds$"):
        run(behave="sleep", note=str(sign_of_life), timeout=2)
    last = sign_of_life.stat().st_mtime_ns
    time.sleep(0.3)
    assert sign_of_life.stat().st_mtime_ns == last


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is on what Linux calls data")
def test_memory_beyond_the_limit_fails(folders):
    with pytest.raises(PeerError, match=r"^echo: .*MemoryError: .* \(with at most 2,147 MB of data\)$"):
        run(behave="allocate", size=2**32, memory_limit=2**31)
    assert run(behave="allocate", size=2**20, memory_limit=2**31).labels.shape == (10,)


def test_threads_and_own_modules_reach_the_process_through_its_environment(folders, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    assert run(behave="environment", threads=1).note == "OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 PYTHONPATH=None"


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_missing_interpreter(how, monkeypatch, tmp_path):
    path = str(tmp_path / "no" / "python")
    monkeypatch.setenv("POWERKMEANS_PEERS", path)
    with pytest.raises(PeerError, match=f"no interpreter for the peers at {path}; make one with .*sh"):
        run_peer(path if how == "argument" else None, "echo", VIEWS, 3, 0)


def test_file_that_is_no_program(folders, tmp_path_factory):
    program = tmp_path_factory.mktemp("bin") / "python"
    program.write_text("\x7fELF, or so")
    program.chmod(0o755)
    with pytest.raises(PeerError, match=r"^echo: .* cannot be run: \w+"):
        run_peer(os.fspath(program), "echo", VIEWS, 3, 0)


def test_list_says_version_or_error_of_every_peer(folders):
    peers = list_peers(sys.executable)
    assert {"kkmeans", "tslearn", "mvlearn-spectral", "mvlearn-kmeans", "imml-EEIMVC", "faiss"} <= peers.keys()
    assert all(peer.keys() in ({"version"}, {"error"}) for peer in peers.values())


def test_gaussian_bandwidth_is_the_median_distance_of_complete_rows():
    X = np.array([[0.0, 0.0], [0.0, 3.0], [np.nan, np.nan], [4.0, 0.0]])
    assert peers_child.median_gamma(X, 0) == pytest.approx(1 / (2 * 4**2))


def test_views_side_by_side_must_be_complete():
    assert np.array_equal(peers_child.side_by_side(VIEWS), np.hstack(VIEWS))
    with pytest.raises(ValueError, match="a view lacks values, and this method needs all of them"):
        peers_child.side_by_side([VIEWS[0], np.full((10, 1), np.nan)])


def test_pinned_versions_are_those_of_the_requirements():
    lines = runner.CHILD.with_name("peers-requirements.txt").read_text().splitlines()
    script = runner.CHILD.with_name("make_peers_env.sh").read_text()
    for peer in peers_child.PEERS.values():
        assert peer.install in lines or peer.install in script
