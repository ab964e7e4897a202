"""Pipelines of scikit-learn in files: what comes back does the same to rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
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


class Doubled(VarianceThreshold):
    """A class derived from one that is known, which does something else."""

    def transform(self, X):
        return 2 * super().transform(X)


class DoubledPipeline(Pipeline):
    def transform(self, X):
        return 2 * super().transform(X)


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


def test_columns_that_are_dropped_are_not_asked_for(tmp_path):
    columns = ColumnTransformer([("n", SimpleImputer(), ["d", "b"]), ("o", OneHotEncoder(), ["kind"])])
    pipeline = make_pipeline(columns, small()).fit(FRAME)
    model = saved(pipeline, tmp_path)
    assert model.columns == {"X": ["b", "d", "kind"]}
    expected = pipeline[:-1].transform(FRAME)
    for table in (FRAME, FRAME.drop(columns=["a", "c"]), FRAME[["kind", "d", "b"]].assign(a="no number")):
        assert np.allclose(model.prepare(table), expected)
    bare = FRAME.to_numpy(dtype=object)  # without names: all columns of the fit, or those that are used
    assert np.allclose(model.prepare(bare), expected)
    assert np.allclose(model.prepare(bare[:, [1, 3, 4]]), expected)
    with pytest.raises(ValueError, match="lacks 1 of the 3 columns of the model: 'b'"):
        model.predict(FRAME[["a", "d", "kind"]])
    with pytest.raises(ValueError, match="has 4 columns, the model was fitted to 3"):
        model.predict(bare[:, :4])


def test_positions_of_columns_are_checked(tmp_path):
    columns = ColumnTransformer([("n", SimpleImputer(), ["b", "d"])])
    model = saved(make_pipeline(columns, small()).fit(FRAME), tmp_path)
    first, *others = model.views[0].chain
    for places in ((1, 5), (1,), (1, 1)):
        chain = (replace(first, places=places), *others)
        powerkmeans.save(replace(model, views=(replace(model.views[0], chain=chain),)), tmp_path / "bad.npz")
        with pytest.raises(ModelFileError, match="places must be those of its columns"):
            powerkmeans.load(tmp_path / "bad.npz")
        (tmp_path / "bad.npz").unlink()


SIZES = ["small", "medium", "large"]
ORDERED = pandas.DataFrame(
    {
        "a": ROWS[:, 0],
        "size": pandas.Categorical(np.array(SIZES)[np.arange(60) // 20], categories=SIZES, ordered=True),
        "stars": np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60) % 5),
    }
)


@pytest.mark.parametrize(
    "encoder",
    [
        OrdinalEncoder(categories=[SIZES, [0, 1, 2, 3, 4, np.nan]], encoded_missing_value=-1),
        OrdinalEncoder(encoded_missing_value=9, handle_unknown="use_encoded_value", unknown_value=-2),
    ],
    ids=["in order", "as they come"],
)
def test_ordered_categories_become_their_ranks(tmp_path, encoder):
    columns = ColumnTransformer([("o", encoder, ["size", "stars"]), ("p", "passthrough", ["a"])])
    pipeline = make_pipeline(columns, StandardScaler(), small()).fit(ORDERED)
    model = saved(pipeline, tmp_path)
    assert np.allclose(model.prepare(ORDERED), pipeline[:-1].transform(ORDERED))
    assert np.array_equal(model.predict(ORDERED.astype({"size": str})), pipeline[-1].labels_)
    new = ORDERED.assign(size="huge")
    if encoder.handle_unknown == "error":
        with pytest.raises(ValueError, match="Column 'size' has the category 'huge', which the fit did not have"):
            model.predict(new)
    else:
        assert np.allclose(model.prepare(new), pipeline[:-1].transform(new))


def test_gaps_among_ordered_categories_may_stay_for_an_imputer(tmp_path):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    pipeline = make_pipeline(encoder, SimpleImputer(), small()).fit(ORDERED[["size", "stars"]])
    model = saved(pipeline, tmp_path)
    new = ORDERED[["size", "stars"]].assign(size=[*SIZES[:2], "huge", None] * 15)
    assert np.allclose(model.prepare(new), pipeline[:-1].transform(new))


CODES = pandas.DataFrame(
    {
        "a": ROWS[:, 0],
        "kind": np.repeat(["x", "y", "z"], 20),
        "flag": np.arange(60) % 2 == 0,
        "code": np.arange(60) % 3,
    }
)


@pytest.mark.parametrize(
    "steps",
    [
        # columns are those that reach a step, and not those of the table
        [
            ColumnTransformer([("o", OneHotEncoder(), ["kind"]), ("p", "passthrough", ["a", "code"])]),
            ColumnTransformer([("s", StandardScaler(), [-1]), ("p", "passthrough", slice(0, None))]),
        ],
        [ColumnTransformer([("o", OneHotEncoder(), ["flag", "code"]), ("p", "passthrough", ["a"])])],
        [ColumnTransformer([("p", "passthrough", ["kind", "code"])]), OneHotEncoder()],
        [make_pipeline("passthrough", ColumnTransformer([("p", "passthrough", ["code", "a"])])), MinMaxScaler()],
    ],
    ids=["twice", "truths", "words", "nested"],
)
def test_tables_of_codes(tmp_path, steps):
    pipeline = make_pipeline(*steps, small()).fit(CODES)
    expected = pipeline[:-1].transform(CODES)
    assert np.allclose(saved(pipeline, tmp_path).prepare(CODES), getattr(expected, "toarray", lambda: expected)())


def test_words_are_filled_beside_numbers(tmp_path):
    gaps = CODES[["kind", "code"]].assign(code=CODES["code"].where(CODES.index != 3))
    gaps["kind"] = gaps["kind"].where(gaps.index != 5)
    pipeline = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(), small()).fit(gaps)
    assert np.array_equal(saved(pipeline, tmp_path).prepare(gaps), pipeline[:-1].transform(gaps).toarray())


def test_categories_that_were_not_there(tmp_path):
    for unknown in ("ignore", "error"):
        columns = [("o", OneHotEncoder(handle_unknown=unknown), ["kind"]), ("p", "passthrough", ["a"])]
        pipeline = make_pipeline(ColumnTransformer(columns), small()).fit(CODES)
        model = saved(pipeline, tmp_path, f"{unknown}.npz")
        for new in ("q", None):
            table = CODES.assign(kind=new)
            if unknown == "ignore":
                assert np.allclose(model.prepare(table), pipeline[:-1].transform(table))
                continue
            with pytest.raises(ValueError, match=r"Column 'kind' has .*, which the fit did not have"):
                model.predict(table)


@pytest.mark.filterwarnings("error")
def test_names_of_columns_on_the_way_are_not_asked_for(tmp_path):
    pipeline = make_pipeline(StandardScaler(), small()).set_output(transform="pandas").fit(CODES[["a", "code"]])
    assert np.array_equal(saved(pipeline, tmp_path).predict(CODES), pipeline[-1].labels_)


def test_numbers_may_come_as_objects_and_words_are_told(tmp_path):
    model = saved(make_pipeline(StandardScaler(), small()).fit(CODES[["a", "code"]]), tmp_path)
    assert np.array_equal(model.predict(CODES.astype(object)), model.labels_)
    assert np.array_equal(model.predict(CODES[["a", "code"]].to_numpy().astype(object)), model.labels_)
    with pytest.raises(ValueError, match="Column 'a': 'much' is not a number"):
        model.predict(CODES.assign(a="much"))
    with pytest.raises(ValueError, match="more than one column 'a'"):
        model.predict(pandas.concat([CODES, CODES[["a"]]], axis=1))
    sparse = csr_array(CODES[["a", "code"]].to_numpy())  # whose zeros are moved too
    assert np.array_equal(model.prepare(sparse), model.prepare(CODES))


def test_logarithms_between_minus_one_and_zero(tmp_path):
    rows = StandardScaler().fit_transform(ROWS) / 10
    pipeline = make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), FunctionTransformer(np.abs), small())
    assert np.allclose(saved(pipeline.fit(rows), tmp_path).prepare(rows), pipeline[:-1].transform(rows))


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
        (
            PolynomialFeatures(),
            "Step 'polynomialfeatures' is of the kind PolynomialFeatures, which cannot be written",
        ),
        (MinMaxScaler(clip=True), "has settings that cannot be written"),
        (FunctionTransformer(lambda x: x), "has settings that cannot be written"),
        (SimpleImputer(missing_values=-1), "has settings that cannot be written"),
        (
            ColumnTransformer([("a", PCA(2), [0, 1, 2]), ("b", PCA(1), [3])], transformer_weights={"b": 0}),
            "Part 'b' has a weight of 0",
        ),
        (Doubled(), "Step 'doubled' is of the kind Doubled, which cannot be written"),
        (
            DoubledPipeline([("scale", StandardScaler())]),
            "is of the kind DoubledPipeline, which cannot be written",
        ),
    ],
)
def test_steps_that_cannot_be_written(tmp_path, step, message):
    pipeline = make_pipeline(step, small()).fit(ROWS)
    with pytest.raises(TypeError, match=message):
        powerkmeans.save(pipeline, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_step_that_takes_texts_is_named(tmp_path):
    pipeline = make_pipeline(CountVectorizer(), small()).fit(["salt oven", "seed soil", "flour pan"] * 20)
    with pytest.raises(TypeError, match="Step 'countvectorizer' is of the kind CountVectorizer, which"):
        powerkmeans.save(pipeline, tmp_path / "model.npz")


@pytest.mark.parametrize("kinds", [["x", " x"], [None, np.nan]], ids=str)
def test_categories_that_look_the_same_in_a_file_are_refused(tmp_path, kinds):
    table = pandas.DataFrame({"a": ROWS[:, 0], "kind": np.array([*kinds, "y"] * 20, dtype=object)})
    columns = [("o", OneHotEncoder(), ["kind"]), ("p", "passthrough", ["a"])]
    pipeline = make_pipeline(ColumnTransformer(columns), small()).fit(table)
    with pytest.raises(TypeError, match="has settings that cannot be written"):
        powerkmeans.save(pipeline, tmp_path / "model.npz")


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


def test_rows_and_means_for_each_cluster_in_the_users_own_table(tmp_path):
    rows = pandas.DataFrame(ROWS, columns=list("abcd"))
    scaled = make_pipeline(StandardScaler(), small()).fit(rows)
    model = saved(scaled, tmp_path)
    assert model.medoid_indices(ROWS).tolist() == model.medoid_indices_.tolist()
    assert model.medoid_indices_.tolist() == scaled[-1].medoid_indices_.tolist()
    means = [ROWS[model.labels_ == cluster].mean(axis=0) for cluster in range(3)]
    assert np.allclose(model.cluster_means(rows), means)
    gaps = np.vstack([np.full((1, 4), np.nan), ROWS])
    with pytest.warns(UserWarning, match="1 of 61 rows .* first is row 0: they stand for no cluster"):
        assert model.medoid_indices(gaps).tolist() == (model.medoid_indices_ + 1).tolist()
    with pytest.warns(UserWarning, match="they count for no cluster"):
        assert np.allclose(model.cluster_means(gaps), means)
    table = saved(table_pipeline().fit(FRAME), tmp_path, "table.npz")
    means = table.cluster_means(FRAME)  # of columns that the steps made
    assert means.shape == (3, len(table.views[0].columns))
    assert np.allclose(means, table.estimator.cluster_means(table.prepare(FRAME)))


def test_a_notebook_shows_columns_and_clusters(tmp_path):
    model = saved(make_pipeline(StandardScaler(), small()).fit(FRAME[["a", "b"]].dropna()), tmp_path)
    object.__setattr__(model.views[0], "name", "<b>")
    shown = model._repr_html_()
    assert "&lt;b&gt;: a, b" in shown
    assert "KernelPowerKMeans" in shown
    assert "cluster</th>" in shown
