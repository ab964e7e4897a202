"""Rows by their directions: --metric, and --scale rows, which is the same of columns as they are."""

from __future__ import annotations

import numpy as np
import pytest
from command_helpers import ANNEAL_FACTOR, LANDMARKS, QUICK, K, read_csv, write_csv

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.cli.loading import load_prepared
from powerkmeans.metrics import clustering_accuracy

HEADER = [f"w{i}" for i in range(8)]
TRUTH = np.arange(90) % K


def counts(seed=0):
    """Counts of words in texts of three kinds and of very different lengths."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(7).dirichlet(np.ones(8), K)
    return rng.poisson(topics[TRUTH] * np.exp(rng.uniform(3, 9, (len(TRUTH), 1)))).astype(float)


@pytest.fixture
def texts(tmp_path):
    return write_csv(tmp_path / "texts.csv", None, HEADER, counts())


def labels(path):
    return np.array(read_csv(path)["cluster"], dtype=int)


@pytest.mark.parametrize("options", [["--scale", "rows"], ["--scale", "none", "--metric", "cosine"]], ids=str)
def test_rows_are_compared_by_direction_in_fit_and_predict(run, texts, tmp_path, options):
    answer = run("fit", texts, "-k", K, "-o", "out", *options, "--json").json
    assert (answer["scale"], answer["metric"], answer["notes"]) == (options[1], "cosine", [])
    found = labels(tmp_path / "out/labels.csv")
    expected = KernelPowerKMeans(K, metric="cosine", random_state=0).fit(counts())
    assert np.array_equal(found, expected.labels_)
    assert clustering_accuracy(TRUTH, found) > 0.95
    model = powerkmeans.load(tmp_path / "out/model.npz").estimator
    assert (model.metric, model._fit.model.metrics) == ("cosine", ("cosine",))
    write_csv(tmp_path / "longer.csv", None, HEADER, counts() * 2.0 ** (np.arange(len(TRUTH)) % 9)[:, None])
    assert run("predict", "out/model.npz", "longer.csv", "-o", "new.csv").code == 0
    assert (tmp_path / "new.csv").read_text() == (tmp_path / "out/labels.csv").read_text()
    assert "Columns were not scaled before the fit" in (tmp_path / "out/report.html").read_text(encoding="utf-8")


def test_what_is_told_of_it(run, texts):
    done = run("fit", texts, "-k", K, "--scale", "rows", "-o", "a")
    assert "rows of unit length, columns as they are" in done.err
    assert "rows; metric cosine; seed 0" in done.out
    shown = run("explain", "a/model.npz").out
    assert "metric     cosine\n  scaling    rows" in shown
    assert run("explain", "a/model.npz", "--json").json["parameters"]["metric"] == "cosine"
    done = run("fit", texts, "-k", K, "--metric", "cosine", "-o", "b")
    assert "Directions are those of columns in standard scaling; for counts use --scale rows." in done.err
    assert run("fit", texts, "-k", K, "-o", "c").err.count("Directions") == 0


@pytest.mark.parametrize("given", [["--metric", "euclidean"], ["--set", "metric=euclidean"], ["--metric", "x"]])
def test_two_options_that_exclude_each_other(run, texts, given):
    done = run("fit", texts, "-k", K, "--scale", "rows", *given)
    assert done.code == 2
    assert done.sentence.startswith("--scale rows compares rows by direction, as --metric cosine; leave --metric")
    assert run("fit", texts, "-k", K, "--scale", "rows", "--metric", "cosine").code == 0


def test_another_metric(run, texts):
    for command in (("fit", texts, "-k", K), ("choose-k", texts), ("bandwidth", texts)):
        done = run(*command, "--metric", "manhattan")
        assert done.code == 2
        assert "--metric must be one of 'euclidean', 'cosine'" in done.sentence


def test_each_view_may_have_a_metric_of_its_own(run, texts, tmp_path):
    plain = np.random.default_rng(0).normal(size=(len(TRUTH), 2)) + 4 * TRUTH[:, None]
    write_csv(tmp_path / "plain.csv", None, ["x", "y"], plain)
    views = {"texts": counts(), "plain": plain}
    settings = {"feature_map": "nystroem", "metric": {"texts": "cosine"}, "anneal_factor": ANNEAL_FACTOR}
    expected = MultiViewPowerKMeans(K, random_state=0, **settings).fit(views)
    (tmp_path / "c.toml").write_text('metric = \'{"texts": "cosine"}\'\n')
    for options in (["--metric", '{"texts": "cosine"}'], ["--config", "c.toml"]):
        done = run(
            "fit", texts, "plain.csv", "-k", K, "--scale", "none", "-o", "out", "--overwrite", "--json", *options,
            *LANDMARKS, *QUICK,
        )  # fmt: skip
        assert done.json["metric"] == {"texts": "cosine"}
        assert np.array_equal(labels(tmp_path / "out/labels.csv"), expected.labels_)
        assert load_prepared(tmp_path / "out/model.npz").estimator._fit.model.metrics == ("cosine", "euclidean")
    done = run("fit", texts, "plain.csv", "-k", K, "--metric", '{"words": "cosine"}', "-o", "other")
    assert "metric names the view 'words'; the views are 'texts', 'plain'" in done.sentence
    answer = run(
        "bandwidth", texts, "plain.csv", "--scale", "none", "--metric", '{"texts": "cosine"}', "--json"
    ).json
    widths = dict(zip(views, np.ravel(expected.bandwidth_), strict=True))
    assert {line["view"]: line["median"] for line in answer["views"]} == pytest.approx(widths)
    assert answer["views"][0]["nearest"] < answer["views"][0]["tenth"] < 2  # between unit rows, not between counts
    assert "names the view 'words'" in run("bandwidth", texts, "--metric", '{"words": "cosine"}').sentence


def test_the_other_commands_see_the_same_rows(run, texts, tmp_path):
    model = KernelPowerKMeans(K, feature_map="nystroem", metric="cosine", random_state=0).fit(counts())
    answer = run("bandwidth", texts, "--scale", "rows", "--json").json
    assert (answer["metric"], answer["scale"]) == ("cosine", "rows")
    assert answer["views"][0]["median"] == pytest.approx(model.bandwidth_)
    assert run("choose-k", texts, "--scale", "rows", "--max", 5, "--json").json["k"] == K
    done = run("fit", texts, "-k", K, "--scale", "rows", "--dry-run", "--json")
    assert done.json["dry_run"] is True


def test_a_constant_column_is_not_said_to_say_nothing(run, tmp_path):
    write_csv(tmp_path / "t.csv", None, [*HEADER, "one"], np.hstack([counts(), np.full((len(TRUTH), 1), 50.0)]))
    for options in (["--scale", "rows"], ["--scale", "none", "--metric", "cosine"]):
        assert run("fit", "t.csv", "-k", K, "-o", "out", "--overwrite", *options, "--json").json["notes"] == []
    notes = run("fit", "t.csv", "-k", K, "-o", "out", "--overwrite", "--json").json["notes"]
    assert notes[0] == "Column 'one' of view 't' is constant and says nothing."


def test_rows_of_zeros_are_noted(run, tmp_path):
    rows = counts()
    rows[[4, 9]] = 0
    write_csv(tmp_path / "t.csv", None, HEADER, rows)
    (note,) = run("fit", "t.csv", "-k", K, "--scale", "rows", "-o", "out", "--json").json["notes"]
    assert note.startswith("2 rows, first row 4, are zero and have no direction")
    done = run("predict", "out/model.npz", "t.csv", "-o", "new.csv", "--json")
    assert done.json["notes"] == []
    assert np.array_equal(labels(tmp_path / "new.csv"), labels(tmp_path / "out/labels.csv"))
