"""New samples are treated as those of the fit were."""

from __future__ import annotations

import numpy as np
import pytest
from command_helpers import LANDMARKS, K, N, ids, read_csv, rows, write_csv
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans

HEADER, VALUES = rows()


@pytest.fixture
def fitted(run, table):
    done = run("fit", table, "--id", "id", "-k", K, "-o", "out")
    assert done.code == 0, done.err
    return run


def test_the_rows_of_the_fit_get_its_labels(fitted, table, tmp_path):
    done = fitted("predict", "out/model.npz", table)
    assert (done.code, done.err) == (0, "")
    assert done.out == (tmp_path / "out/labels.csv").read_text()


@pytest.mark.parametrize("scale", ["standard", "robust", "none", "rows"])
def test_one_row_alone_is_scaled_as_in_the_fit(run, table, tmp_path, scale):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--scale", scale)
    write_csv(tmp_path / "one.csv", ids()[7:8], HEADER, VALUES[7:8])
    one = run("predict", "out/model.npz", "one.csv").out.splitlines()
    assert one[1] == (tmp_path / "out/labels.csv").read_text().splitlines()[8]


def test_columns_are_found_by_name_and_others_are_left_alone(fitted, table, tmp_path):
    order = [3, 0, 2, 1]
    path = write_csv(tmp_path / "turned.csv", ids(), [HEADER[i] for i in order], VALUES[:, order])
    lines = path.read_text().splitlines()
    path.write_text("\n".join(f"{line},{'comment' if i == 0 else 'some text'}" for i, line in enumerate(lines)))
    assert fitted("predict", "out/model.npz", path).out == (tmp_path / "out/labels.csv").read_text()


def test_arrays_go_by_position(fitted, tmp_path):
    np.save(tmp_path / "t.npy", VALUES)
    np.savetxt(tmp_path / "t.csv", VALUES, "%.17g", ",")
    expected = read_csv(tmp_path / "out/labels.csv")["cluster"]
    for name in ("t.npy", "t.csv"):
        done = fitted("predict", "out/model.npz", name, "-o", "p.csv", "--overwrite")
        assert done.code == 0, done.err
        found = read_csv(tmp_path / "p.csv")
        assert found["cluster"] == expected
        assert found["row"] == [str(i) for i in range(N)]  # ids are not asked for where there are none


def test_to_a_file_with_memberships(fitted, table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    done = fitted("predict", "out/model.npz", table, "-o", "new/p.parquet", "--memberships")
    assert (done.code, done.out) == (0, "")
    assert "60 samples labelled; written to new/p.parquet" in done.err
    found = parquet.read_table(tmp_path / "new/p.parquet").to_pydict()
    assert list(found) == ["id", "cluster", "typicality", "outlier_score", *(f"membership_{j}" for j in range(K))]


def test_as_json(fitted, table, tmp_path):
    answer = fitted("predict", "out/model.npz", table, "--json").json
    assert answer["id"] == ids()
    assert [str(label) for label in answer["cluster"]] == read_csv(tmp_path / "out/labels.csv")["cluster"]


def test_a_threshold_of_its_own(fitted, table):
    scores = np.array(fitted("predict", "out/model.npz", table, "--json").json["outlier_score"])
    threshold = float(np.median(scores))
    labels = fitted("predict", "out/model.npz", table, "--json", "--noise-threshold", threshold).json["cluster"]
    assert np.array_equal(np.array(labels) == -1, scores > threshold)


@pytest.fixture
def two_views(run, tmp_path):
    write_csv(tmp_path / "left.csv", ids(), HEADER[:2], VALUES[:, :2])
    write_csv(tmp_path / "right.csv", ids(), HEADER[2:], VALUES[:, 2:])
    assert run("fit", "left.csv", "right.csv", "--id", "id", "-k", K, "-o", "out").code == 0
    return run


def test_files_are_matched_with_views_by_name_or_by_columns(two_views, table, tmp_path):
    expected = (tmp_path / "out/labels.csv").read_text()
    assert two_views("predict", "out/model.npz", "left.csv", "right.csv").out == expected
    assert two_views("predict", "out/model.npz", "right.csv", "left.csv").out == expected
    (tmp_path / "left.csv").rename(tmp_path / "march.csv")
    (tmp_path / "right.csv").rename(tmp_path / "april.csv")
    assert two_views("predict", "out/model.npz", "april.csv", "march.csv").out == expected
    assert two_views("predict", "out/model.npz", "left=march.csv", "right=april.csv").out == expected
    assert two_views("predict", "out/model.npz", table).out == expected  # all columns in one table
    write_csv(tmp_path / "other.csv", ids(), ["x"], VALUES[:, :1])
    said = two_views("predict", "out/model.npz", "march.csv", "other.csv").sentence
    assert "other.csv has none of the columns that the model knows" in said


def test_a_view_that_no_file_has_is_missing(two_views, tmp_path):
    done = two_views("predict", "out/model.npz", "left.csv", "-o", "p.csv")
    assert "No file has the columns of 'right': missing for all samples." in done.err
    model = powerkmeans.load(tmp_path / "out/model.npz").estimator
    left = VALUES[:, :2]
    scaled = {"left": (left - left.mean(axis=0)) / left.std(axis=0), "right": None}
    assert [int(label) for label in read_csv(tmp_path / "p.csv")["cluster"]] == model.predict(scaled).tolist()


def test_columns_that_a_pipeline_drops_may_be_lacking(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VALUES, columns=HEADER)
    columns = ColumnTransformer([("s", StandardScaler(), ["d", "b"])])
    model = KernelPowerKMeans(K, feature_map="identity", anneal_factor=1.4, random_state=0)
    pipeline = make_pipeline(columns, model).fit(frame)
    powerkmeans.save(pipeline, "model.npz")
    frame[["b", "d"]].to_csv("new.csv", index=False)
    np.save("bare.npy", VALUES)
    for file in ("new.csv", "bare.npy"):
        assert run("predict", "model.npz", file, "--json").json["cluster"] == pipeline[-1].labels_.tolist()


def test_models_from_python_take_columns_as_they_are(run, table, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VALUES, columns=HEADER)
    model = KernelPowerKMeans(K, feature_map="nystroem", random_state=0).fit(frame)
    model.save(tmp_path / "named.npz")
    KernelPowerKMeans(K, feature_map="nystroem", random_state=0).fit(VALUES).save(tmp_path / "plain.npz")
    MultiViewPowerKMeans(K, random_state=0).fit({"x": frame[["a", "b"]], "y": frame[["c", "d"]]}).save(
        tmp_path / "views.npz"
    )
    for name in ("named.npz", "plain.npz"):
        answer = run("predict", name, table, "--id", "id", "--json").json
        assert answer["cluster"] == model.labels_.tolist(), name
    assert run("predict", "views.npz", table, "--id", "id").code == 0
    answer = run("explain", "named.npz", "--json").json
    assert (answer["scale"], answer["clusters"]) == ("none", [])
    assert (
        "noise-threshold needs scores" in run("predict", "named.npz", table, "--noise-threshold", "0.5").sentence
    )


def test_a_fuzzy_model_has_no_scores_to_write(run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--membership", "fuzzy", *LANDMARKS)
    assert list(read_csv(tmp_path / "out/labels.csv")) == ["id", "cluster"]
    assert run("predict", "out/model.npz", table).out.startswith("id,cluster\ns000,")
