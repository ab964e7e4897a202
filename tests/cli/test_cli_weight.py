"""A column that says how much each row counts."""

from __future__ import annotations

import numpy as np
import pytest
from command_helpers import ANNEAL_FACTOR, K, ids, read_csv, rows, write_csv

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

HEADER, VALUES = rows()
SCALED = (VALUES - VALUES.mean(axis=0)) / VALUES.std(axis=0)
WEIGHT = np.where(np.arange(len(VALUES)) % K == 0, 0.1, np.arange(len(VALUES)) % 5).astype(float)
PLAIN = ("--feature-map", "identity", "--no-report", "--no-memberships", "--membership", "fuzzy")


@pytest.fixture
def weighed(tmp_path):
    return write_csv(tmp_path / "t.csv", ids(), ["w", *HEADER], np.column_stack([WEIGHT, VALUES]))


def objective(folder):
    return powerkmeans.load(folder / "model.npz").estimator.objective_


def test_rows_count_as_the_column_says(run, weighed, tmp_path):
    done = run("fit", weighed, "--id", "id", "--weight", "w", "-k", K, *PLAIN)
    assert "4 columns; weighted by w; standard scaling" in done.err
    expected = KernelPowerKMeans(K, feature_map="identity", anneal_factor=ANNEAL_FACTOR, random_state=0)
    expected.fit(SCALED, sample_weight=WEIGHT)
    assert objective(tmp_path / "powerkmeans_output") == pytest.approx(expected.objective_, rel=1e-9)
    answer = run("predict", "powerkmeans_output/model.npz", weighed, "--json").json  # where it is left alone
    assert answer["cluster"] == expected.labels_.tolist()


def test_weights_of_views_that_are_cut_or_in_files(run, weighed, tmp_path):
    both = ("--weight", "w", "-k", K, *PLAIN, "--entropy", "inf")
    run("fit", weighed, "--id", "id", "--view", "x=0:2", "--view", "y=c,d", *both, "-o", "cut")
    write_csv(tmp_path / "x.csv", ids(), ["a", "w", "b"], np.column_stack([VALUES[:, 0], WEIGHT, VALUES[:, 1]]))
    write_csv(tmp_path / "y.csv", ids()[::-1], HEADER[2:], VALUES[::-1, 2:])
    run("fit", "x.csv", "y.csv", "--id", "id", *both, "-o", "files")
    expected = MultiViewPowerKMeans(K, feature_map="identity", entropy=np.inf, membership="fuzzy", random_state=0)
    expected.set_params(anneal_factor=ANNEAL_FACTOR)
    expected.fit({"x": SCALED[:, :2], "y": SCALED[:, 2:]}, sample_weight=WEIGHT)
    for folder in ("cut", "files"):
        assert objective(tmp_path / folder) == pytest.approx(expected.objective_, rel=1e-9)
    labels = [int(one) for one in read_csv(tmp_path / "files/labels.csv")["cluster"]]
    assert labels == expected.labels_.tolist()


def test_other_commands_weigh_too(run, weighed, monkeypatch):
    given = (weighed, "--id", "id", "--weight", "w")

    def heard(X, *numbers, sample_weight, **others):
        raise ValueError(f"weights add up to {np.sum(sample_weight):g} in {X.shape[1]} columns")

    with monkeypatch.context() as patched:
        patched.setattr("powerkmeans.cli.actions.choose.choose_k", heard)
        assert f"weights add up to {np.sum(WEIGHT):g} in 4 columns" in run("choose-k", *given).sentence
    light = run("bandwidth", *given, "--json").json["views"][0]["median"]
    assert light != run("bandwidth", weighed, "--drop", "w", "--id", "id", "--json").json["views"][0]["median"]
    assert run("fit", *given, "-k", K, *PLAIN, "--dry-run").code == 0


def test_rows_that_are_left_out_take_their_weights_along(run, tmp_path):
    gaps = VALUES.copy()
    gaps[::7, 1] = np.nan
    write_csv(tmp_path / "t.csv", None, ["w", *HEADER], np.column_stack([WEIGHT, gaps]))
    run("fit", "t.csv", "--weight", "w", "-k", K, *PLAIN, "--impute", "drop-rows")
    kept = VALUES[np.arange(len(VALUES)) % 7 > 0]
    model = KernelPowerKMeans(K, feature_map="identity", anneal_factor=ANNEAL_FACTOR, random_state=0)
    model.fit((kept - kept.mean(axis=0)) / kept.std(axis=0), sample_weight=WEIGHT[np.arange(len(VALUES)) % 7 > 0])
    assert objective(tmp_path / "powerkmeans_output") == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "-2", "1"], "t.csv, line 3: --weight 'w' holds -2; weights are finite numbers from 0 on."),
        (["1", "1", ""], "t.csv, line 4: --weight 'w' holds nothing;"),
        (["much", "1", "1"], "t.csv, line 2: --weight 'w' holds 'much';"),
        (["1 EUR", "$1", "1"], "t.csv, line 2: --weight 'w' holds '1 EUR';"),
        (["1", "inf", "1"], "t.csv, line 3: --weight 'w' holds"),
        (["0", "0", "0"], "t.csv: all weights in column 'w' are zero."),
    ],
)
def test_what_is_no_weight(run, tmp_path, cells, message):
    lines = [f"{cell},{place},{place % 2}" for place, cell in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join(["w,a,b", *lines]))
    assert message in run("fit", "t.csv", "--weight", "w", "-k", 2).sentence


def test_wrong_columns(run, weighed, tmp_path):
    def said(*options):
        return run("fit", weighed, "-k", 2, *options).sentence

    assert "t.csv has no column 'W' for --weight; did you mean 'w'?" in said("--id", "id", "--weight", "W")
    assert "--id and --weight both name 'id'" in said("--id", "id", "--weight", "id")
    assert "--weight w leaves no column of t.csv" in said("--id", "id", "--weight", "w", "--columns", "w")
    write_csv(tmp_path / "more.csv", ids(9), ["w", "e"], np.ones((9, 2)))
    two = ("fit", weighed, "more.csv", "--id", "id", "--weight", "w", "-k", 2)
    assert "more.csv has another weight in line 2 than" in run(*two).sentence
    write_csv(tmp_path / "more.csv", [*ids(9), "new"], ["e"], np.arange(10.0)[:, None])
    assert "t.csv has no weight for 1 sample of the other files." in run(*two).sentence
