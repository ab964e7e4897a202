"""Pipelines of scikit-learn in files: what comes back does the same to rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, PreparedModel
from powerkmeans.exceptions import ModelFileError

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
ROWS = np.abs(RNG.normal(size=(60, 4))) * [1, 10, 100, 0.1] + np.repeat([0, 8, 20], 20)[:, None] * [1, 10, 100, 0]
GAPS = np.where(RNG.random(ROWS.shape) < 0.05, np.nan, ROWS)
FRAME = pandas.DataFrame(GAPS, columns=list("abcd")).assign(kind=np.repeat(["x", "y", np.nan], 20))


def small():
    return KernelPowerKMeans(3, feature_map="identity", anneal_factor=1.4, random_state=0)


def saved(pipeline, tmp_path, name="model.npz"):
    powerkmeans.save(pipeline, tmp_path / name)
    model = powerkmeans.load(tmp_path / name)
    assert isinstance(model, PreparedModel)
    return model


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False, with_std=False)],
        [RobustScaler(), "passthrough"],
        [MinMaxScaler((-1, 2)), MaxAbsScaler()],
        [Normalizer("l1"), PCA(3, whiten=True)],
        [FunctionTransformer(np.log1p), TruncatedSVD(2)],
        [VarianceThreshold(1.0), make_pipeline(FunctionTransformer(), StandardScaler())],
        [
            ColumnTransformer(
                [("a", StandardScaler(), [0, -1]), ("b", "drop", slice(1, 2))], remainder="passthrough"
            )
        ],
        [ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", PCA(1), [2])], transformer_weights={"a": 3})],
    ],
    ids=lambda steps: "+".join(str(step).partition("(")[0] for step in steps),
)
def test_steps_of_numbers(tmp_path, steps):
    pipeline = make_pipeline(*steps, small()).fit(ROWS)
    model = saved(pipeline, tmp_path)
    expected = pipeline[:-1].transform(ROWS)
    # products of as many numbers, in another order
    assert np.allclose(model.prepare(ROWS), expected, rtol=1e-12, atol=1e-12 * np.max(np.abs(expected)))
    assert np.array_equal(model.predict(ROWS), pipeline[-1].labels_)


def table_pipeline():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    columns = ColumnTransformer(
        [("numbers", numbers, make_column_selector(dtype_include=float)), ("words", words, ["kind"])]
    )
    return make_pipeline(columns, small())


def test_a_table_as_people_have_it(tmp_path):
    pipeline = table_pipeline().fit(FRAME)
    model = saved(pipeline, tmp_path)
    assert model.columns == {"X": ["a", "b", "c", "d", "kind"]}
    assert np.allclose(model.prepare(FRAME), pipeline[:-1].transform(FRAME))
    turned = FRAME[["kind", "d", "c", "b", "a"]].assign(more="?")  # found by name; others are left alone
    assert np.array_equal(model.predict(turned), pipeline.predict(FRAME))
    assert np.allclose(model.predict_proba(FRAME), pipeline[-1].predict_proba(pipeline[:-1].transform(FRAME)))
    assert model.transform(FRAME).shape == (60, 3)
    new = FRAME.assign(kind="never seen")
    assert np.allclose(model.prepare(new), pipeline[:-1].transform(new))
    with pytest.raises(ValueError, match="lacks 1 of the 5 columns of the model: 'kind'"):
        model.predict(FRAME.drop(columns="kind"))
    polars = pytest.importorskip("polars")
    assert np.array_equal(model.predict(polars.from_pandas(FRAME)), pipeline.predict(FRAME))


def test_neighbours_fill_as_scikit_learn_does(tmp_path):
    pipeline = make_pipeline(KNNImputer(n_neighbors=3), small()).fit(GAPS)
    assert np.allclose(saved(pipeline, tmp_path).prepare(GAPS), pipeline[:-1].transform(GAPS))


def test_sparse_rows_stay_sparse(tmp_path):
    rows = csr_array(np.where(ROWS > 5, ROWS, 0))
    pipeline = make_pipeline(MaxAbsScaler(), Normalizer(), small()).fit(rows)
    model = saved(pipeline, tmp_path)
    assert np.allclose(model.prepare(rows).toarray(), pipeline[:-1].transform(rows).toarray())
    assert np.array_equal(model.predict(rows), pipeline[-1].labels_)


def test_several_views_of_one_table(tmp_path):
    views = {"x": [0, 1], "y": [2, 3]}
    pipeline = make_pipeline(StandardScaler(), MultiViewPowerKMeans(3, views=views, random_state=0)).fit(ROWS)
    assert np.array_equal(saved(pipeline, tmp_path).predict(ROWS), pipeline[-1].labels_)


def test_rows_that_nothing_fills_get_no_label(tmp_path):
    model = saved(make_pipeline(StandardScaler(), small()).fit(ROWS), tmp_path)
    rows = ROWS[:5].copy()
    rows[2, 1] = np.nan
    with pytest.warns(UserWarning, match="1 of 5 rows have missing cells that nothing fills, the first is row 2"):
        labels = model.predict(rows)
    assert labels[2] == -1
    assert np.array_equal(labels[[0, 1, 3, 4]], model.labels_[[0, 1, 3, 4]])
    with pytest.warns(UserWarning, match="they get NaN"):
        assert np.isnan(model.transform(rows)[2]).all()
    unit = saved(make_pipeline(Normalizer(), small()).fit(ROWS), tmp_path, "unit.npz")
    assert np.isnan(unit.prepare(rows)[2]).all()
    assert np.allclose(np.linalg.norm(unit.prepare(rows)[:2], axis=1), 1)
    with pytest.warns(UserWarning, match="3 of 3"), pytest.raises(ValueError, match="Every row has missing cells"):
        model.predict(np.full((3, 4), np.nan))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PolynomialFeatures(), "Step 'polynomialfeatures' is a PolynomialFeatures, which cannot be written"),
        (MinMaxScaler(clip=True), "has settings that cannot be written"),
        (FunctionTransformer(lambda x: x), "has settings that cannot be written"),
        (SimpleImputer(missing_values=-1), "has settings that cannot be written"),
        (
            ColumnTransformer([("a", PCA(2), [0, 1, 2]), ("b", PCA(1), [3])], transformer_weights={"b": 0}),
            "Part 'b' has a weight of 0",
        ),
    ],
)
def test_steps_that_cannot_be_written(tmp_path, step, message):
    pipeline = make_pipeline(step, small()).fit(ROWS)
    with pytest.raises(TypeError, match=message):
        powerkmeans.save(pipeline, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_is_not_saved(tmp_path):
    for wrong in (make_pipeline(StandardScaler(), KMeans(3)), KMeans(3), None):
        with pytest.raises(TypeError, match="a fitted estimator of powerkmeans, or a Pipeline that ends in one"):
            powerkmeans.save(wrong, tmp_path / "model.npz")
    with pytest.raises(ValueError, match="not fitted"):
        powerkmeans.save(make_pipeline(small()), tmp_path / "model.npz")


def test_a_preparation_is_never_lost(tmp_path):
    pipeline = make_pipeline(StandardScaler(), small()).fit(ROWS)
    model = saved(pipeline, tmp_path)
    with pytest.raises(ModelFileError, match=r"read it with powerkmeans\.load"):
        KernelPowerKMeans.load(tmp_path / "model.npz")
    with pytest.raises(FileExistsError):
        powerkmeans.save(pipeline, tmp_path / "model.npz")
    model.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    powerkmeans.save(pipeline[-1], tmp_path / "alone.npz")
    assert isinstance(powerkmeans.load(tmp_path / "alone.npz"), KernelPowerKMeans)
