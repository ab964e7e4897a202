"""The commands around fit and predict, the config file, and what help costs."""

from __future__ import annotations

import click
import numpy as np
import pytest
from command_helpers import LANDMARKS, K, N, ids, leftovers, read_csv, rows, write_csv
from sklearn.datasets import make_moons

import powerkmeans
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.cli.commands import COMMANDS
from powerkmeans.cli.modelling import ModelOptions
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info, purity

HEADER, VALUES = rows()


def test_explain_tells_what_fit_found(run, table):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--view", "x=a,b", "--view", "y=c,d")
    done = run("explain", "out/model.npz")
    assert done.code == 0
    for text in ("MultiViewPowerKMeans", "weight", "agreement", "set apart by", "x", "y"):
        assert text in done.out
    answer = run("explain", "out/model.npz", "--json", "--columns", 2).json
    truth = np.arange(N) % K
    deviations = (VALUES - VALUES.mean(axis=0)) / VALUES.std(axis=0)
    for cluster, columns in enumerate(answer["clusters"]):
        members = np.array(run("predict", "out/model.npz", table, "--json").json["cluster"]) == cluster
        means = deviations[members].mean(axis=0)
        assert len(np.unique(truth[members])) == 1
        assert [entry["column"] for entry in columns] == [HEADER[i] for i in np.argsort(-np.abs(means))[:2]]
        assert columns[0]["offset"] == pytest.approx(means[np.argmax(np.abs(means))], abs=1e-5)


def test_explain_judges_views_on_new_data(run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--view", "x=a,b", "--view", "y=c,d")
    shuffled = np.column_stack([VALUES[:, :2], np.random.default_rng(0).permutation(VALUES[:, 2:])])
    write_csv(tmp_path / "new.csv", ids(), HEADER, shuffled)
    before, after = (run("explain", "out/model.npz", *data, "--json").json["views"] for data in ((), ("new.csv",)))
    assert min(before["agreement"]) > 0.9
    assert after["agreement"][1] < 0.8


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_explain_counts_in_deviations_whatever_the_scale(run, table, scale):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--scale", scale)
    columns = run("explain", "out/model.npz", "--json", "--columns", 4).json["clusters"]
    assert all(abs(entry["offset"]) < 2 for cluster in columns for entry in cluster)


def test_evaluate(run, tmp_path):
    rng = np.random.default_rng(0)
    labels, truth = rng.integers(3, size=N), rng.integers(4, size=N)
    lines = zip(ids(), labels, strict=True)
    (tmp_path / "labels.csv").write_text("id,cluster,typicality\n" + "".join(f"{i},{j},0.5\n" for i, j in lines))
    order = rng.permutation(N)[:50]
    (tmp_path / "truth.csv").write_text("id,class\n" + "".join(f"{ids()[i]},kind {truth[i]}\n" for i in order))
    done = run("evaluate", "labels.csv", "truth.csv", "--id", "id", "--json")
    known = sorted(order)
    assert done.json["accuracy"] == pytest.approx(clustering_accuracy(truth[known], labels[known]))
    assert done.json["nmi"] == pytest.approx(normalized_mutual_info(truth[known], labels[known]))
    assert done.json["purity"] == pytest.approx(purity(truth[known], labels[known]))
    assert done.json["notes"] == ["50 samples are in both files; 10 only in labels.csv, 0 only in truth.csv."]
    assert "accuracy" in run("evaluate", "labels.csv", "truth.csv", "--id", "id").out
    np.save(tmp_path / "truth.npy", truth)
    answer = run("evaluate", "labels.csv", "truth.npy", "--json").json
    assert answer["accuracy"] == pytest.approx(clustering_accuracy(truth, labels))


def test_bandwidth_is_the_one_that_fit_takes(run, table, tmp_path):
    for choice in ("median", "scale"):
        answer = run("bandwidth", table, "--id", "id", "--seed", 5, "--json").json
        run("fit", table, "--id", "id", "-k", K, "-o", choice, "--seed", 5, "--bandwidth", choice, *LANDMARKS)
        fitted = powerkmeans.load(tmp_path / choice / "model.npz").estimator.bandwidth_
        assert answer["views"][0][choice] == pytest.approx(fitted)
    assert answer["views"][0]["nearest"] < answer["views"][0]["tenth"] < answer["views"][0]["median"]
    assert "fit takes the median" in run("bandwidth", table, "--id", "id").out
    assert (
        run("bandwidth", table, "--id", "id", "--kernel", "laplacian", "--json").json["views"][0]["scale"] is None
    )


def test_choose_k_tells_the_choice_and_its_table(run, table):
    done = run("choose-k", table, "--id", "id", "--max", 5, "--seed", 4)
    assert done.code == 0, done.err
    assert f"\nk = {K}\n" in done.out
    assert [line.split()[0] for line in done.out.splitlines() if line.strip()[:1].isdigit()] == list("2345")
    answer = run("choose-k", table, "--id", "id", "--max", 5, "--n-init", 3, "--json").json
    assert (answer["k"], answer["table"]["k"]) == (K, [2, 3, 4, 5])
    assert answer["notes"] == ["--n-init is for fits; all numbers are compared from the same starts."]
    assert (
        "choose-k decides on --set s_init itself"
        in run("choose-k", table, "--id", "id", "--max", 5, "--set", "s_init=-3").sentence
    )
    assert (
        "To compare 99 clusters takes" in run("choose-k", table, "--id", "id", "--min", 99, "--max", 99).sentence
    )
    assert "--min 9 is larger" in run("choose-k", table, "--min", 9, "--max", 3).sentence


def test_choose_k_shows_neighbours_where_they_decide(run, tmp_path):
    X, _ = make_moons(400, noise=0.06, random_state=0)
    np.savetxt(tmp_path / "moons.csv", X, delimiter=",", header="x,y", comments="")
    shown = run("choose-k", "moons.csv", "--max", 4).out
    assert "Groups of neighbours  of any shape" in shown
    assert "k   crossing   noise_crossing   spectral_gap" in shown
    assert "A fit finds them with --feature-map graph" in shown
    assert run("choose-k", "moons.csv", "--max", 4, "--json").json["k"] == 2
    assert "crossing" not in run("choose-k", "moons.csv", "--max", 4, "--feature-map", "nystroem").out


def test_choose_k_cuts_its_range_and_says_so(run, tmp_path):
    X = np.random.default_rng(0).uniform(size=(14, 2))
    np.savetxt(tmp_path / "few.csv", X, delimiter=",", header="a,b", comments="")
    answer = run("choose-k", "few.csv", "--json").json
    assert answer["table"]["k"] == [2, 3, 4, 5]
    assert answer["notes"] == ["--max 20 is lowered to 5: half of the samples must be able to have two more."]
    assert answer["k"] == 1
    assert f"k={answer['most_stable']} is the most stable" in answer["reason"]
    assert "\nNo number of clusters stands out\n" in run("choose-k", "few.csv", "--max", 5).out


def test_info(run):
    answer = run("info", "--json").json
    assert answer["powerkmeans"] == powerkmeans.__version__
    assert answer["engine"]["default"] in ("numpy", "compiled")
    assert answer["threads"] >= 1
    assert "BLAS" in run("info").out


def test_bench_times_everything_in_turns(run):
    answer = run("bench", "--rows", 200, "--columns", 2, "-k", 2, "--repeats", 1, "--json").json
    assert [line["what"] for line in answer["runs"]][:3] == ["KMeans, 10 runs", "KMeans, 1 run", "power k-means"]
    assert answer["runs"][0]["ratio"] == 1
    assert all(line["seconds"] > 0 for line in answer["runs"][:3])
    assert 0.9 < answer["runs"][2]["cost_ratio"] < 1.1


def test_the_demo_is_the_first_example(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from pathlib import Path

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example = pytest.importorskip("views")
    from powerkmeans.cli.actions import demo

    mine, digits = demo.steps(seed=0)
    theirs, y = example.steps(seed=0)
    assert np.array_equal(digits, y)
    for step, other in zip(mine, theirs, strict=True):
        assert list(step.views) == list(other.views)
        assert np.array_equal(step.outlier, other.outlier)
        assert all(np.array_equal(step.views[n], other.views[n], equal_nan=True) for n in step.views)


def test_the_demo_writes_files_to_go_on_with(run, tmp_path, monkeypatch):
    from powerkmeans.cli.actions import demo

    every = demo.steps(seed=0)
    few = [
        step._replace(views={n: v[:90] for n, v in step.views.items()}, outlier=step.outlier[:90])
        for step in every[0]
    ]
    monkeypatch.setattr(demo, "steps", lambda seed: (few, every[1][:90]))
    monkeypatch.setattr(demo, "_kmeans", lambda views, seed: np.zeros(90))  # not ours to test
    done = run("demo", "--seeds", 1)
    assert done.code == 0, done.err
    tables = ["digits.csv", "labels.csv", "memberships.csv", "noise.csv", "pixels.csv", "strokes.csv"]
    assert leftovers(tmp_path / "demo_output") == sorted([*tables, "model.npz", "powerkmeans.json", "report.html"])
    command = next(line for line in done.err.splitlines() if "powerkmeans fit" in line).split()[1:]
    again = run(*command)
    assert again.code == 0, again.err
    assert read_csv(tmp_path / "digits/labels.csv")["sample"][:3] == ["0", "1", "2"]
    assert run("demo", "--seeds", 1).code == 4  # what exists is kept


def test_config_files_hold_options_and_the_command_line_wins(run, table, tmp_path):
    (tmp_path / "c.toml").write_text(
        'seed = 5\nid = "id"\n[fit]\nk = 2\nscale = "robust"\nmax-iter = 250\noutput = "there"\n'
        '[fit.view]\nx = ["a", "b"]\ny = "c,d"\n[fit.set]\nfuzziness = 1.7\n[bench]\nrows = 500\n'
    )
    answer = run("fit", table, "--config", "c.toml", "-k", K, "--json").json
    assert (answer["seed"], answer["scale"], answer["n_clusters"]) == (5, "robust", K)
    assert [view["view"] for view in answer["views"]] == ["x", "y"]
    model = powerkmeans.load(tmp_path / "there/model.npz").estimator
    assert (model.max_iter, model.fuzziness) == (250, 1.7)
    assert run("predict", "there/model.npz", table, "--config", "c.toml").code == 0
    (tmp_path / "d.toml").write_text('data = ["rows.csv"]\nk = 3\nid = "id"\njson = true\noutput = "other"\n')
    assert run("fit", "--config", "d.toml").json["n_clusters"] == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sede = 5", "c.toml: unknown key 'sede'; did you mean 'seed'"),
        ("[fit]\nrows = 5", "c.toml: [fit] unknown key 'rows'."),
        ("[fit]\nxx = 5\nyy = 6", "c.toml: [fit] unknown keys 'xx', 'yy'."),
        ("fit = 3", "'fit' is a command; its options go into a table [fit]."),
        ("k = ", "c.toml' is not TOML"),
        ("k = 'many'", "'many' is not a valid integer"),
        ("[fit]\nview = [['a']]", "'view' must be a list of plain values."),
    ],
)
def test_wrong_config_files(run, table, tmp_path, content, message):
    (tmp_path / "c.toml").write_text(content)
    done = run(
        "fit",
        table,
        "-k" if "many" not in content else "-q",
        *([K] if "many" not in content else []),
        "--config",
        "c.toml",
    )
    assert done.code == 2
    assert message in done.sentence
    assert "cannot be read" in run("fit", table, "--config", "none.toml").sentence


def test_every_command_has_help(run):
    commands = run("--help").out
    for name in ("fit", "predict", "explain", "evaluate", "choose-k", "bandwidth", "bench", "demo", "info"):
        assert f"\n  {name}" in commands
        assert run(name, "--help").code == 0
    text = run("fit", "--help").out
    assert "  DATA...\n" not in text  # the usage line has it
    assert text.index("Running:") < text.index("--help")
    assert text.index("Reading:") < text.index("Clustering:") < text.index("Running:")
    assert run("--version").out.strip() == f"powerkmeans, version {powerkmeans.__version__}"


def test_options_have_the_estimators_defaults():
    """One view is possibilistic too, for its outlier scores; seeds are fixed."""
    options = {option.name: option.default for option in COMMANDS[0].params if isinstance(option, click.Option)}
    known = MultiViewPowerKMeans().get_params() | {"seed": 0}
    shared = options.keys() & known.keys() - {
        "n_clusters",
        "entropy",
        "metric",
    }  # which are told if they are given
    assert {"feature_map", "kernel", "bandwidth", "n_components", "membership", "n_init"} <= shared
    assert {name: options[name] for name in shared} == {name: known[name] for name in shared}
    assert ModelOptions(3) == ModelOptions(3, **{name: options[name] for name in shared})


def test_every_option_is_documented():
    from pathlib import Path

    from powerkmeans.cli.app import app

    page = (Path(__file__).parents[2] / "docs/command_line.md").read_text(encoding="utf-8")
    for name, command in app.commands.items():
        assert f"`{name}" in page
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert not option.startswith("--") or f"`{option}" in page, (name, option)
