"""The one probe of memory: machines, containers of both kinds, limits of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import powerkmeans.cli.memory
import powerkmeans.features.maps.exact
import powerkmeans.features.size
from powerkmeans.support import memory
from powerkmeans.support.memory import GIB, SPARE_BYTES, WORK_BYTES, available_memory, can_keep

MIB = 2**20
UNLIMITED_FIRST = 9223372036854771712


@pytest.fixture
def machine(tmp_path):
    """Files of a machine with 64 GiB free; returns a function that adds others."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text))
        return tmp_path

    write(**{"proc/meminfo": f"MemTotal: {2**27} kB\nMemAvailable:   {64 * GIB // 1024} kB\n"})
    return write


def second(folder, limit, usage=0, cache=0):
    name = f"sys/fs/cgroup/{folder}".rstrip("/")
    stat = f"anon 1\ninactive_file {cache}\nactive_file 7\n"
    return {f"{name}/memory.max": f"{limit}\n", f"{name}/memory.current": usage, f"{name}/memory.stat": stat}


def first(folder, limit, usage=0, cache=0):
    name = f"sys/fs/cgroup/memory/{folder}".rstrip("/")
    stat = f"inactive_file 1\ntotal_inactive_file {cache}\n"
    return {
        f"{name}/memory.limit_in_bytes": limit,
        f"{name}/memory.usage_in_bytes": usage,
        f"{name}/memory.stat": stat,
    }


def test_a_machine_without_groups(machine):
    assert available_memory(machine()) == 64 * GIB


def test_a_container_of_the_second_version(machine):
    machine(**{"proc/self/cgroup": "0::/\n"})
    assert available_memory(machine(**second("", 2 * GIB, usage=GIB))) == GIB


def test_files_that_can_be_dropped_do_not_count(machine):
    machine(**{"proc/self/cgroup": "0::/\n"})
    assert available_memory(machine(**second("", 2 * GIB, usage=GIB, cache=512 * MIB))) == GIB + 512 * MIB


def test_no_limit_is_the_word_max(machine):
    machine(**{"proc/self/cgroup": "0::/user.slice\n"})
    assert available_memory(machine(**second("user.slice", "max", usage=GIB))) == 64 * GIB


def test_the_tightest_of_nested_groups_counts(machine):
    machine(**{"proc/self/cgroup": "0::/pod/container/job\n"})
    machine(**second("pod", 3 * GIB, usage=2 * GIB), **second("pod/container", 8 * GIB, usage=2 * GIB))
    assert available_memory(machine(**second("pod/container/job", "max", usage=GIB))) == GIB


def test_groups_of_the_first_version(machine):
    machine(**{"proc/self/cgroup": "11:cpu,cpuacct:/a\n4:memory:/docker/abc\n0::/\n"})
    machine(**first("", UNLIMITED_FIRST), **first("docker", 4 * GIB, usage=GIB))
    assert available_memory(machine(**first("docker/abc", 2 * GIB, usage=1536 * MIB, cache=512 * MIB))) == GIB


def test_a_container_sees_its_own_group_as_the_mount(machine):
    machine(**{"proc/self/cgroup": "4:memory:/docker/abc\n"})
    assert available_memory(machine(**first("", 2 * GIB, usage=GIB))) == GIB
    machine(**{"proc/self/cgroup": "0::/../../docker/abc\n"})
    assert available_memory(machine(**second("", GIB, usage=512 * MIB))) == 512 * MIB


def test_a_hybrid_hierarchy(machine):
    machine(**{"proc/self/cgroup": "4:memory:/\n0::/job\n"})
    machine(**first("", UNLIMITED_FIRST))
    files = {name.replace("cgroup/", "cgroup/unified/"): text for name, text in second("job", GIB).items()}
    assert available_memory(machine(**files)) == GIB


def test_a_group_that_is_over_its_limit_has_nothing_left(machine):
    machine(**{"proc/self/cgroup": "0::/\n"})
    assert available_memory(machine(**second("", GIB, usage=2 * GIB))) == 0


@pytest.mark.parametrize("text", ["", "nonsense", "0:", "a:b:c:d\n\n0::/x/y", "\x00\xff"])
def test_files_of_another_form_are_passed_over(machine, text):
    assert available_memory(machine(**{"proc/self/cgroup": text})) == 64 * GIB


def test_the_limit_on_the_address_space_counts():
    pytest.importorskip("resource")
    code = (
        "import resource; from powerkmeans.support.memory import available_memory\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({GIB}, resource.getrlimit(resource.RLIMIT_AS)[1]))\n"
        f"assert 0 < available_memory() < {GIB}, available_memory()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_kept_leaves_room_for_the_rest(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert can_keep(GIB - WORK_BYTES, GIB)
    assert not can_keep(GIB - WORK_BYTES + 1, GIB)
    assert can_keep(1000, 2000)
    assert not can_keep(1001, 2000)
    assert can_keep(0, 0)


def test_a_container_keeps_less_whatever_the_budget(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: GIB)
    assert can_keep(GIB - WORK_BYTES, 100 * GIB)
    assert not can_keep(GIB - WORK_BYTES + 1, 100 * GIB)
    monkeypatch.setattr(memory, "available_memory", lambda: pytest.fail("nobody asks for so little"))
    assert can_keep(SPARE_BYTES, 100 * GIB)


def test_everyone_asks_the_same_probe():
    for module in (powerkmeans.cli.memory, powerkmeans.features.maps.exact, powerkmeans.features.size):
        assert module.available_memory is available_memory
