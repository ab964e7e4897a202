"""The command speaks of the file's columns and of its own options, Python of frames and of parameters."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from command_helpers import K, rows

import powerkmeans
from powerkmeans import KernelPowerKMeans
from powerkmeans.cli.wording import in_options

BAD = ("--scale", "none", "--feature-map", "identity", "--max-iter", 2)


def unscaled():
    """Six columns of which one drowns the others, and which hang together."""
    four = rows(240)[1] / [1, 10, 100, 1000]
    values = np.column_stack([four, four[:, :2] + four[:, 2:]])
    values[:, 3] *= 1e5
    return pd.DataFrame(values, columns=["tol", "b", "c", "net income", "e", "f"])


@pytest.fixture
def wide(tmp_path):
    unscaled().to_csv(tmp_path / "wide.csv", index=False)
    return "wide.csv"


def test_notes_name_columns_and_options_as_the_user_did(run, wide, tmp_path):
    answer = run("fit", wide, "-k", K, *BAD, "--json", "-o", "result").json
    note = next(note for note in answer["notes"] if "variance" in note)
    assert "column 'net income' has more than 99.99% of the variance" in note
    assert "Scale the columns, with --scale standard." in note
    assert "did not converge in --max-iter 2 iterations" in note
    assert "Increase --max-iter or --tol, or anneal faster (--set anneal_factor, --set anneal_every)" in note
    page = (tmp_path / "result/report.html").read_text(encoding="utf-8")
    assert "with --scale standard" in page
    assert "StandardScaler" not in page
    kept = powerkmeans.load(tmp_path / "result/model.npz").estimator._fit
    assert "max_iter=2" in kept.shortfalls[0]  # a model is read in Python too
    assert "StandardScaler" in kept.advice[0]


def test_a_dry_run_names_columns_too(run, wide):
    answer = run("fit", wide, "-k", K, *BAD, "--json", "--dry-run").json
    assert any("column 'net income'" in note for note in answer["notes"])


def test_columns_without_names_go_by_their_numbers(run, tmp_path):
    np.save(tmp_path / "wide.npy", unscaled().to_numpy())
    answer = run("fit", "wide.npy", "-k", K, *BAD, "--json", "--no-report").json
    assert any("column 3 has" in note for note in answer["notes"])


def test_views_name_their_own_columns(run, wide):
    cut = ("--view", "a=b,tol", "--view", "b=c,net income,e,f")
    answer = run("fit", wide, "-k", K, *BAD, *cut, "--json", "--no-report").json
    assert any("view 'b': column 'net income' has" in note for note in answer["notes"])


def test_python_names_the_columns_of_frames_and_speaks_python():
    for frame in (unscaled(), unscaled().rename(columns=str.upper)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            KernelPowerKMeans(K, feature_map="identity", max_iter=2, random_state=0).fit(frame)
        (said,) = (str(one.message) for one in heard)
        assert f"column {frame.columns[3]!r} has" in said
        assert "max_iter=2" in said
        assert "--" not in said


def test_errors_name_options(run, wide):
    assert run("fit", wide, "-k", K, "--components", 0).sentence.startswith("--components must be 'auto' or")
    assert "--set fuzziness must be" in run("fit", wide, "-k", K, "--set", "fuzziness=0").sentence
    assert "--bandwidth must be" in run("choose-k", wide, "--bandwidth", "wide").sentence


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("use n_clusters=2 or s_init='auto', which", "use -k 2 or --set s_init=auto, which"),
        ("a larger n_clusters, or feature_map='nystroem'.", "a larger -k, or --feature-map nystroem."),
        ("feature_map='nystroem' with n_components=200.", "--feature-map nystroem with --components 200."),
        ("bandwidth=1.2e-05 makes the kernel flat", "--bandwidth 1.2e-05 makes the kernel flat"),
        ("entropy=inf, or views' kernels", "--entropy inf, or views' kernels"),
        ("column 'max_iter' and view \"it's tol=3\"", "column 'max_iter' and view \"it's tol=3\""),
        ("the kernel, the metric, an engine of init", "the kernel, the metric, an engine of init"),
    ],
)
def test_parameters_become_options_and_names_stay(python, command):
    assert in_options(python) == command
