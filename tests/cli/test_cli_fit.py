from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from command_helpers import ANNEAL_FACTOR, LANDMARKS, K, N, ids, leftovers, read_csv, rows, write_csv

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.cli.actions import estimate as estimates
from powerkmeans.cli.actions.estimate import Probe, _seconds, _work_bytes
from powerkmeans.cli.loading import load_prepared
from powerkmeans.cli.memory import size
from powerkmeans.fitting.task import SAMPLE_BYTES
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.support.memory import SPARE_BYTES

TRUTH = np.arange(N) % K


def test_a_fit_writes_labels_scores_memberships_and_the_model(run, table, tmp_path):
    done = run("fit", table, "--id", "id", "-k", K, "-o", "out")
    assert done.code == 0, done.err
    written = ["labels.csv", "memberships.csv", "model.npz", "powerkmeans.json", "report.html"]
    assert leftovers(tmp_path / "out") == written
    labels, degrees = read_csv(tmp_path / "out/labels.csv"), read_csv(tmp_path / "out/memberships.csv")
    assert list(labels) == ["id", "cluster", "typicality", "outlier_score"]
    assert labels["id"] == degrees["id"] == ids()
    found = np.array(labels["cluster"], dtype=int)
    assert clustering_accuracy(TRUTH, found) == 1
    scores = np.array([labels["typicality"], labels["outlier_score"]], dtype=float)
    assert np.allclose(scores.sum(axis=0), 1, atol=1e-5)
    shares = np.array([degrees[f"membership_{j}"] for j in range(K)], dtype=float)
    assert np.allclose(shares.sum(axis=0), 1, atol=1e-5)
    assert np.array_equal(np.argmax(shares, axis=0), found)


def test_the_summary_tells_sizes_outliers_scaling_time_and_files(run, table):
    done = run("fit", table, "--id", "id", "-k", K, "-o", "out", *LANDMARKS)
    for text in (
        "cluster",
        "20",
        "33.3%",
        "highest scores",
        "nystroem, kernel rbf, 60 components",
        "standard",
        "converged",
        "· fit ",
        "out/: labels.csv",
    ):
        assert text in done.out, text
    assert "60 samples, 4 columns; standard scaling" in done.err
    assert "\x1b" not in done.out + done.err  # no colours, no bars: this is not a terminal


def test_the_fit_is_the_estimators_own_on_scaled_columns(run, table, tmp_path):
    # landmarks are drawn by the content of rows, to the last digit of a scale; frequencies are not
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--seed", 3, "--feature-map", "rff")
    values = rows()[1]
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    expected = KernelPowerKMeans(
        K, feature_map="rff", membership="possibilistic", anneal_factor=ANNEAL_FACTOR, random_state=3
    ).fit(scaled)
    model = powerkmeans.load(tmp_path / "out/model.npz").estimator
    assert np.array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == pytest.approx(expected.inertia_)
    bundle = load_prepared(tmp_path / "out/model.npz")
    (view,) = bundle.views
    assert view.columns == ("a", "b", "c", "d")
    assert np.allclose(view.chain[-1].centre, values.mean(axis=0))
    assert np.allclose(view.chain[-1].scale, values.std(axis=0))
    assert (bundle.id_column, bundle.scale, bundle.named) == ("id", "standard", True)


@pytest.mark.parametrize("scale", ["standard", "robust", "none"])
def test_every_scaling_is_told_and_kept(run, table, tmp_path, scale):
    done = run("fit", table, "--id", "id", "-k", K, "-o", "out", "--scale", scale, "--json")
    assert done.json["scale"] == scale
    (view,) = load_prepared(tmp_path / "out/model.npz").views
    values = rows()[1]
    if scale == "robust":
        low, middle, high = np.percentile(values, [25, 50, 75], axis=0)
        assert np.allclose(view.chain[-1].centre, middle)
        assert np.allclose(view.chain[-1].scale, (high - low) / 1.3489795)
    if scale == "none":
        assert [one.name for one in view.chain] == ["columns", "read"]


def test_json_is_one_object_with_everything(run, table):
    answer = run("fit", table, "--id", "id", "-k", K, "-o", "out", "--json", *LANDMARKS).json
    assert answer["n_samples"] == N
    assert answer["feature_map"] == "nystroem"
    assert sum(answer["cluster_sizes"]) == N
    assert answer["outputs"] == {
        "labels": "out/labels.csv",
        "memberships": "out/memberships.csv",
        "model": "out/model.npz",
        "report": "out/report.html",
    }
    assert set(answer["seconds"]) == {"read", "fit", "describe", "write"}
    assert answer["status"] == "converged"
    assert len(answer["outliers"]["highest"]) == 5


def test_quiet_says_nothing(run, table):
    done = run("fit", table, "--id", "id", "-k", K, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_views_by_columns(run, table):
    answer = run("fit", table, "--id", "id", "-k", K, "--view", "first=a,b", "--view", "rest=c,d", "--json").json
    assert [view["view"] for view in answer["views"]] == ["first", "rest"]
    assert sum(view["weight"] for view in answer["views"]) == pytest.approx(1)
    assert [view["n_features"] for view in answer["views"]] == [2, 2]


def test_views_by_prefix_and_range_leave_other_columns_alone(run, tmp_path):
    header = ["rna_a", "rna_b", "prot_a", "prot_b"]
    write_csv(tmp_path / "t.csv", ids(), header, rows()[1])
    answer = run("fit", "t.csv", "--id", "id", "-k", K, "--view", "rna=rna_*", "--view", "prot=2:4", "--json").json
    assert [view["view"] for view in answer["views"]] == ["rna", "prot"]
    answer = run("fit", "t.csv", "-k", K, "--view", "all=*_a", "--json", "-o", "two").json
    assert answer["n_columns"] == 2  # ids are a column that nothing was asked of
    assert answer["notes"] == ["3 columns in no view and not used: 'id', 'rna_b', 'prot_b'."]


def test_several_files_are_views_that_ids_align(run, tmp_path):
    header, values = rows()
    write_csv(tmp_path / "left.csv", ids()[:50], header[:2], values[:50, :2])
    order = np.random.default_rng(1).permutation(np.arange(10, N))
    write_csv(tmp_path / "right.csv", [ids()[i] for i in order], header[2:], values[order, 2:])
    done = run(
        "fit", "left.csv", "right.csv", "--id", "id", "-k", K, "-o", "out", "--json", "--feature-map", "rff"
    )
    assert done.code == 0, done.err
    coverage = {view["view"]: view["coverage"] for view in done.json["views"]}
    assert coverage == pytest.approx({"left": 50 / 60, "right": 50 / 60})
    assert done.json["notes"] == ["View 'left' lacks 10 of 60 samples.", "View 'right' lacks 10 of 60 samples."]
    labels = read_csv(tmp_path / "out/labels.csv")
    place = {name: row for row, name in enumerate(ids())}
    assert clustering_accuracy([TRUTH[place[name]] for name in labels["id"]], labels["cluster"]) > 0.95
    whole = np.full((2, N, 2), np.nan)
    whole[0, :50], whole[1, 10:] = values[:50, :2], values[10:, 2:]
    scaled = {n: (v - np.nanmean(v, 0)) / np.nanstd(v, 0) for n, v in zip(("left", "right"), whole, strict=True)}
    expected = MultiViewPowerKMeans(K, feature_map="rff", anneal_factor=ANNEAL_FACTOR, random_state=0).fit(scaled)
    assert dict(zip(labels["id"], map(int, labels["cluster"]), strict=True)) == dict(
        zip(ids(), expected.labels_.tolist(), strict=True)
    )


def test_an_empty_row_of_a_view_is_a_missing_view(run, tmp_path):
    header, values = rows()
    values[5, :2] = np.nan
    write_csv(tmp_path / "t.csv", ids(), header, values)
    answer = run("fit", "t.csv", "--id", "id", "-k", K, "--view", "x=a,b", "--view", "y=c,d", "--json").json
    assert answer["views"][0]["coverage"] == pytest.approx(59 / 60)


def test_files_can_be_named(run, tmp_path):
    header, values = rows()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    write_csv(tmp_path / "one/x.csv", None, header[:2], values[:, :2])
    write_csv(tmp_path / "two/x.csv", None, header[2:], values[:, 2:])
    assert "Two files give a view called 'x'" in run("fit", "one/x.csv", "two/x.csv", "-k", K).sentence
    answer = run("fit", "left=one/x.csv", "right=two/x.csv", "-k", K, "--json").json
    assert [view["view"] for view in answer["views"]] == ["left", "right"]


def test_outliers_get_their_share_of_the_label_minus_one(run, table, tmp_path):
    answer = run("fit", table, "--id", "id", "-k", K, "-o", "out", "--outliers", 0.1, "--json").json
    labels = read_csv(tmp_path / "out/labels.csv")
    assert labels["cluster"].count("-1") == answer["outliers"]["labelled"] == 6
    scores = np.array(labels["outlier_score"], dtype=float)
    assert np.min(scores[np.array(labels["cluster"]) == "-1"]) >= np.max(
        scores[np.array(labels["cluster"]) != "-1"]
    )
    predicted = run("predict", "out/model.npz", table)
    assert predicted.out == (tmp_path / "out/labels.csv").read_text()


def test_constant_columns_are_told_and_do_no_harm(run, tmp_path):
    header, values = rows()
    write_csv(tmp_path / "t.csv", None, [*header, "flat"], np.column_stack([values, np.full(N, 3.7)]))
    done = run("fit", "t.csv", "-k", K, "--json", "-o", "out")
    assert done.json["notes"] == ["Column 'flat' of view 't' is constant and says nothing."]
    assert clustering_accuracy(TRUTH, read_csv(tmp_path / "out/labels.csv")["cluster"]) == 1


def test_a_dry_run_tells_what_to_expect_and_writes_nothing(run, table, tmp_path):
    before = leftovers(tmp_path)
    done = run("fit", table, "--id", "id", "-k", K, "--dry-run")
    assert done.code == 0
    for text in ("60 samples", "4 columns", "memory", "time", "an estimate, from a fit to 60 rows"):
        assert text in done.out
    answer = run("fit", table, "--id", "id", "-k", K, "--dry-run", "--json").json
    assert answer["dry_run"] is True
    assert answer["seconds"] > 0
    assert answer["data_bytes"] == 2 * N * 4 * 8
    assert leftovers(tmp_path) == before


def test_a_dry_run_reckons_with_the_sample_that_is_annealed(run, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "small.npy", rng.normal(size=(2000, 3)))
    np.save(tmp_path / "large.npy", rng.normal(size=(200_000, 3)).astype(np.float32))
    small = run("fit", "small.npy", "-k", 2, "--dry-run", "--json", *LANDMARKS).json
    large = run("fit", "large.npy", "-k", 2, "--dry-run", "--json", *LANDMARKS).json
    assert (small["probe_rows"], large["probe_rows"]) == (2000, 4000)
    assert large["data_bytes"] == 50 * small["data_bytes"]
    assert large["seconds"] < 100 * large["probe_seconds"]  # not 200 times: the annealing sees a sample


def test_a_dry_run_takes_no_more_landmarks_than_all_rows_would_have(run, tmp_path):
    """A thousand rows have 129 for nothing; so many rows have 22, which the theorem asks for."""
    n_rows = 600_000
    np.save(tmp_path / "large.npy", np.random.default_rng(0).normal(size=(n_rows, 3)).astype(np.float32))
    command = ("fit", "large.npy", "-k", 2, "--feature-map", "nystroem", "--dry-run", "--json")
    assert run(*command).json["feature_bytes"] == n_rows * (22 * 4 + 4 + 16)
    assert run(*command, "--components", 50).json["feature_bytes"] == n_rows * (50 * 4 + 4 + 16)


def test_a_dry_run_reckons_with_a_graph_that_maps_rows_once_and_ties_all_landmarks():
    graph, kernel = (
        KernelPowerKMeans(K, feature_map=name, random_state=0).fit(rows()[1]) for name in ("graph", "nystroem")
    )
    passes = {}
    for model in (graph, kernel):
        probe = Probe(60, 1.0, model)
        for kept in (True, False):
            none, some = (_seconds([probe, probe], 10**6, seconds, kept=kept) for seconds in (0.0, 1.0))
            passes[model.feature_map, kept] = some - none
    assert passes == pytest.approx(
        {("graph", True): 1, ("graph", False): 8, ("nystroem", True): 8, ("nystroem", False): 8}
    )


def test_a_dry_run_tells_of_a_temporary_file(run, table, monkeypatch):
    command = ("fit", table, "--id", "id", "-k", K, "--feature-map", "graph", "--dry-run")
    assert run(*command, "--json").json["file_bytes"] == 0
    monkeypatch.setattr(estimates, "kept_here", lambda n_bytes, choice: False)
    width = run(*command, "--json").json["file_bytes"] / (N * 8)
    assert width in (K, K + 1)
    assert f"disk    {size(N * int(width) * 8)} in a temporary file, while it runs" in run(*command).out
    monkeypatch.setattr(estimates, "folder_aside", lambda *given: None)
    assert run(*command, "--json").json["file_bytes"] == 0


@pytest.mark.parametrize(
    ("option", "attribute", "value"),
    [
        (["--feature-map", "nystroem"], "feature_map", "nystroem"),
        (["--kernel", "matern52"], "kernel", "matern52"),
        (["--bandwidth", "2.5"], "bandwidth", 2.5),
        (["--components", "12"], "n_components", 12),
        (["--membership", "fuzzy"], "membership", "fuzzy"),
        (["--n-init", "1"], "n_init", 1),
        (["--max-iter", "200"], "max_iter", 200),
        (["--tol", "0.001"], "tol", 0.001),
        (["--engine", "numpy"], "engine", "numpy"),
        (["--seed", "7"], "random_state", 7),
        (["--set", "s_init=-3"], "s_init", -3),
        (["--set", "s_init=-inf"], "s_init", -np.inf),
        (["--set", "reference_distance=median"], "reference_distance", "median"),
    ],
)
def test_options_reach_the_estimator(run, table, tmp_path, option, attribute, value):
    done = run("fit", table, "--id", "id", "-k", K, "-o", "out", *option)
    assert done.code == 0, done.err
    assert getattr(powerkmeans.load(tmp_path / "out/model.npz").estimator, attribute) == value


def test_single_precision(run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--float32", "--threads", 1)
    assert powerkmeans.load(tmp_path / "out/model.npz").estimator._fit.model.dtype == np.float32


def test_the_same_seed_gives_the_same_files(run, table, tmp_path):
    for folder in ("one", "two"):
        run("fit", table, "--id", "id", "-k", K, "-o", folder)
    for name in ("labels.csv", "memberships.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_parquet_out(run, table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--format", "parquet")
    found = parquet.read_table(tmp_path / "out/labels.parquet").to_pydict()
    assert found["id"] == ids()
    assert parquet.read_table(tmp_path / "out/memberships.parquet").num_columns == 1 + K


def test_whole_numbers_stay_whole_numbers(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_csv(tmp_path / "t.csv", [str(i) for i in range(N)], *rows())
    run("fit", "t.csv", "--id", "id", "-k", K, "-o", "out", "--format", "parquet")
    assert parquet.read_table(tmp_path / "out/labels.parquet").to_pydict()["id"] == list(range(N))


def test_the_report_is_of_the_table_as_it_was_given(run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out")
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "The fit itself saw scaled columns (standard)" in page
    assert [f'href="{name}"' in page for name in ("labels.csv", "model.npz", "report.html")] == [True, True, False]
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    values, profiles = rows()[1], data["profiles"]
    assert data["map"]["id"] == ids()
    assert sorted(profiles["name"]) == ["a", "b", "c", "d"]
    overall = dict(zip(profiles["name"], profiles["overall"], strict=True))
    np.testing.assert_allclose([overall[name] for name in "abcd"], values.mean(axis=0), rtol=1e-2, atol=1e-2)


def test_a_report_is_written_unless_it_is_not_wanted(run, table):
    answer = run("fit", table, "--id", "id", "-k", K, "-o", "out", "--json").json
    assert answer["outputs"]["report"] == "out/report.html"
    answer = run("fit", table, "--id", "id", "-k", K, "-o", "no", "--no-report", "--json").json
    assert "report" not in answer["outputs"]


def test_ids_never_hide_an_answer(run, table, tmp_path):
    table.write_text(table.read_text().replace("id,a", "cluster,a", 1))
    run("fit", table, "--id", "cluster", "-k", K, "-o", "out")
    labels = read_csv(tmp_path / "out/labels.csv")
    assert list(labels) == ["id", "cluster", "typicality", "outlier_score"]
    assert labels["id"] == ids()


def test_rows_without_ids_are_numbered(run, tmp_path):
    write_csv(tmp_path / "t.csv", None, *rows())
    run("fit", "t.csv", "-k", K, "-o", "out")
    assert read_csv(tmp_path / "out/labels.csv")["row"] == [str(i) for i in range(N)]


def test_csv_can_be_piped_in(run, table):
    answer = run("fit", "-", "--id", "id", "-k", K, "--json", input=table.read_text()).json
    assert answer["n_samples"] == N
    assert answer["files"] == ["-"]


def test_what_is_for_several_views_is_noted_where_there_is_one(run, table):
    done = run("fit", table, "--id", "id", "-k", K, "--entropy", "inf", "--set", "view_scaling=none", "--json")
    assert done.json["notes"] == [
        f"{name} is for several views; there is one." for name in ("entropy", "view_scaling")
    ]


def test_warnings_of_the_library_become_notes(run, table):
    done = run("fit", table, "--id", "id", "-k", K, "--max-iter", 3, "--json", *LANDMARKS)
    assert done.code == 0
    assert any("did not converge in --max-iter 3" in note for note in json.loads(done.out)["notes"])


def test_a_fit_goes_on_from_a_checkpoint(run, table, tmp_path, monkeypatch):
    """Cut short, and begun again by the same command: the answer of a run that nobody cut."""
    from powerkmeans.fitting import checkpoints
    from powerkmeans.fitting.task import Task

    monkeypatch.setattr(checkpoints, "ITERATIONS", 1)
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    path, run_pass, seen = tmp_path / "state", Task.run_pass, {"count": 0, "most": 10**6}

    def cut(self, parameters, s):
        seen["count"] += 1
        if seen["count"] > seen["most"]:
            raise KeyboardInterrupt
        return run_pass(self, parameters, s)

    arguments = ("fit", table, "-k", 3, "--id", "id", "--seed", 0, "--no-report")
    with monkeypatch.context() as patch:
        patch.setattr(Task, "run_pass", cut)
        assert run(*arguments, "-o", "whole").code == 0
        seen.update(count=0, most=seen["count"] - 3)
        assert run(*arguments, "-o", "cut", "--checkpoint", path).code != 0
    assert path.exists()
    assert run(*arguments, "-o", "cut", "--checkpoint", path).code == 0
    assert not path.exists()
    assert (tmp_path / "cut/labels.csv").read_text() == (tmp_path / "whole/labels.csv").read_text()
    path.write_text("something else")
    done = run(*arguments, "-o", "other", "--checkpoint", path)
    assert done.code != 0
    assert "not a checkpoint" in done.err


def test_copies_of_wide_rows_are_counted_once_for_all_views():
    """As ``benchmarks.memory --wide`` has measured: temporary copies are of a part of the rows."""
    problem = SimpleNamespace(dual=(), splits=(0, 11))
    widths, n, dtype = (896, 896, 896), 60_000, np.dtype(np.float32)
    found = SimpleNamespace(problem=problem, view_widths=widths, dtype=dtype, fuses=True)
    model = SimpleNamespace(_fit=SimpleNamespace(model=found))
    told = _work_bytes(model, n, 0)
    assert told + dtype.itemsize * sum(widths) >= SPARE_BYTES  # whole rows
    assert told <= SPARE_BYTES + 3 * SAMPLE_BYTES + 2**25
