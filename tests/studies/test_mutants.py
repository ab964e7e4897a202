"""Mutants: what is changed, what it is called, and what becomes of it."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.mutants import cpp_sites, python_sites
from benchmarks.mutants.explained import KINDS, Explanation, explanations, flaws
from benchmarks.mutants.mutant import named
from benchmarks.mutants.rooms import ROOMS, all_mutants, chosen_tests, drawn, sources
from benchmarks.mutants.trial import KILLED, OVER_TIME, SURVIVED, Job, row_of

ROOT = Path(__file__).parents[2]
TOY = '''LIMIT = 3


def shrink(values, by: int = 2):
    """Not 1 + 1."""
    total = 0.5 * max(values) - values[0] ** 2
    while total > by and not values[1] == LIMIT:
        total -= by
    if total < 0:
        raise ValueError(f"{total + 1} is below {0}")
    return total if values else sorted(zip(values, values, strict=True), by)
'''
HALVE = """def halve(n):
    steps = 0
    while n > 1:
        n = n // 2
        steps += 1
    return n + 0 * steps
"""


def python_changes(source):
    return {(m.site.operator, m.change(source)) for m in named("room", "toy.py", python_sites.sites(source))}


def test_what_is_changed_in_python():
    found = python_changes(TOY)
    assert {
        ("sign", "0.5 * max(values) - values[0] ** 2 -> (0.5 * max(values) + values[0] ** 2)"),
        ("missing term", "0.5 * max(values) - values[0] ** 2 -> (0.5 * max(values))"),
        ("missing factor", "0.5 * max(values) -> (0.5)"),
        ("twice", "0.5 -> 1.0"),
        ("opposite", "max(values) -> (min(values))"),
        ("exponent", "values[0] ** 2 -> (values[0] ** (2 + 1))"),
        ("off by one", "1 -> 2"),
        ("comparison", "total > by -> (total >= by)"),
        ("swapped sides", "total < 0 -> (0 < total)"),
        ("sign", "total -= by -> total += by"),
        ("missing statement", "total -= by -> pass"),
        ("not", "not values[1] == LIMIT -> (values[1] == LIMIT)"),
    } <= found
    assert ("swapped branches", "total if values else sorted(zip(values, values, strict=True), by) -> "
            "(sorted(zip(values, values, strict=True), by) if values else total)") in found  # fmt: skip
    # neither constants of modules nor annotations, texts, errors and checks
    assert not any(word in change for _, change in found for word in ("LIMIT = ", "Not 1", "below", "False"))


def test_what_is_changed_in_cpp():
    source = "// a + b\nvoid add(int n) {\n  for (int i = 0; i < n; ++i) sum += a[1] * b;  // i < n\n}\n"
    changes = Counter(m.change(source) for m in named("native", "a.cpp", cpp_sites.sites(source)))
    assert changes == Counter({"0 -> 1": 1, "< -> <=": 1, "+= -> -=": 1, "1 -> 2": 1, "* -> /": 1})
    assert {m.name for m in named("native", "a.cpp", cpp_sites.sites(source))} >= {"a.cpp::add::off by one::2"}


def test_names_do_not_go_by_lines():
    moved = "# a comment\n\n" + TOY
    names = [[m.name for m in named("room", "toy.py", python_sites.sites(text))] for text in (TOY, moved)]
    assert names[0] == names[1]
    assert len(set(names[0])) == len(names[0])


@pytest.mark.parametrize("room", ROOMS)
def test_mutants_of_the_source_are_whole_and_their_tests_exist(room):
    mutants = all_mutants(room)
    assert len({mutant.name for mutant in mutants}) == len(mutants) > 100
    for mutant in mutants[:: len(mutants) // 40]:
        changed = mutant.applied(sources()[mutant.path])
        assert changed != sources()[mutant.path]
        if mutant.path.endswith(".py"):
            ast.parse(changed)
    files = {file.partition("::")[0] for mutant in mutants for file in chosen_tests(mutant)}
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_a_seed_draws_the_same_by_turns_of_operators():
    first, again, other = (drawn("solver", 30, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert drawn("solver", 10, 0) == first[:10]
    assert max(Counter(mutant.site.operator for mutant in first).values()) <= 3


def test_what_is_explained_is_there_and_has_a_reason():
    mutants = list(itertools.chain.from_iterable(map(all_mutants, ROOMS)))
    assert flaws(explanations(), mutants, sources()) == []
    wrong = {
        mutants[0].name: Explanation("equivalent", "none", "a -> b"),
        "x.py::f::sign::1": Explanation("", "", ""),
    }
    found = flaws(wrong, mutants, sources())
    assert [text.partition(" is ")[2] for text in found] == [
        f"explained as 'a -> b', and is {mutants[0].change(sources()[mutants[0].path])!r}",
        "explained, and there is no such mutant",
        f"of kind ''; kinds are {', '.join(KINDS)}",
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pytest's own threads are no part of a trial
def test_what_becomes_of_a_mutant(tmp_path):
    (tmp_path / "toy.py").write_text(HALVE)
    (tmp_path / "test_toy.py").write_text("from toy import halve\n\ndef test_halve():\n    assert halve(8) == 1\n")
    outcomes = {}
    for mutant in named("room", "toy.py", python_sites.sites(HALVE)):
        row = row_of(Job(tmp_path, mutant, ("test_toy.py",), 5.0))
        outcomes[mutant.change(HALVE)] = row["outcome"], row["test"]
        if {found for found, _ in outcomes.values()} == {KILLED, SURVIVED, OVER_TIME}:
            break
    assert outcomes["n > 1 -> (n >= 1)"] == (KILLED, "test_toy.py::test_halve")
    assert ("survived", "") in outcomes.values()
    assert (tmp_path / "toy.py").read_text() == HALVE


def test_one_mutant_is_shown_as_a_diff():
    name = drawn("objective", 1, 0)[0].name
    command = [sys.executable, "-m", "benchmarks.mutants", "--only"]
    shown = subprocess.run([*command, name], capture_output=True, text=True, check=True, cwd=ROOT)
    assert f"+++ {name}" in shown.stdout
    unknown = subprocess.run([*command, "a::b"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (unknown.returncode, unknown.stderr) == (1, "There is no mutant 'a::b'.\n")
