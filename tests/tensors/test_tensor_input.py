"""What is wrong with tensors is told before anything runs; arrays of other libraries come and go by DLPack."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import torch

from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.inputs.tensors import check_one_device
from powerkmeans.sources.tensors import TensorSource

X, _ = blobs(3, 4, 20, 0.5)
ROWS = torch.from_numpy(X)


def model(**settings):
    return KernelPowerKMeans(
        3, feature_map="identity", anneal_factor=2.0, random_state=0, advice=False, **settings
    )


def spoilt(value, dtype=torch.float64, row=7, column=2):
    rows = ROWS.to(dtype, copy=True)
    rows[row, column] = value
    return rows


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (spoilt(np.nan), ValueError, r"Input X contains NaN: row 7, column 2"),
        (spoilt(np.inf), ValueError, r"Input X contains infinity.*row 7, column 2\.$"),
        (spoilt(1e6, torch.float16), ValueError, r"infinity.*row 7, column 2 \(float16 has nothing beyond 65504"),
        (ROWS.clone().requires_grad_(), ValueError, r"X requires gradients.*\.detach\(\)"),
        (ROWS.to_sparse(), TypeError, r"X is a sparse tensor.*csr_array.*to_dense"),
        (ROWS.to(torch.complex64), ValueError, r"Complex data not supported: X holds torch\.complex64"),
        (ROWS.to("meta"), ValueError, r"X is on the device 'meta'.*'cpu', 'cuda'.*\.to\('cpu'\)"),
        (ROWS[:, 0], ValueError, r"Expected 2D array, got 1D array.*shape \(60,\)"),
        (ROWS[None], ValueError, r"Expected 2D array, got 3D array"),
        (ROWS[:0], ValueError, r"X has no rows"),
        (ROWS[:, :0], ValueError, r"X has no columns"),
        (ROWS[:2], ValueError, r"n_samples=2 should be >= n_clusters=3"),
    ],
)
def test_rows_that_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        model().fit(given)


def test_answers_refuse_the_same():
    fitted = model().fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but KernelPowerKMeans is expecting 4"):
        fitted.predict(ROWS[:, :3])
    with pytest.raises(ValueError, match="Input X contains NaN: row 7"):
        fitted.predict(spoilt(np.nan))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-torch.ones(60), "Negative values.*row 0"),
        (torch.zeros(60), "at least one non-zero"),
        (torch.ones(59), r"sample_weight.shape == \(59,\)"),
        (torch.full((60,), torch.nan), "sample_weight contains NaN"),
        (torch.ones(60, requires_grad=True), "sample_weight requires gradients"),
    ],
)
def test_weights_that_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        model().fit(ROWS, sample_weight=weight)


@pytest.mark.parametrize(
    ("views", "error", "words"),
    [
        (
            {"a": ROWS, "b": spoilt(np.nan)},
            ValueError,
            r"view 'b' contains NaN: sample 7 is partly NaN \(column 2\)",
        ),
        ({"a": ROWS, "b": spoilt(np.inf)}, ValueError, r"view 'b' contains infinity.*sample 7"),
        ({"a": ROWS, "b": ROWS[:9]}, ValueError, r"view 'b' has 9 samples, expected 60"),
        ([ROWS, ROWS[:, 0]], TypeError, r"view 'view_1' must be a 2-D array, got an array of shape \(60,\)"),
        ([ROWS, ROWS.clone().requires_grad_()], ValueError, r"view 'view_1' requires gradients"),
        ({"a": ROWS, "b": torch.full_like(ROWS, torch.nan)}, ValueError, r"view 'b' is missing in all samples"),
    ],
)
def test_views_that_are_refused(views, error, words):
    with pytest.raises(error, match=words):
        MultiViewPowerKMeans(3, feature_map="identity", anneal_factor=2.0).fit(views)


def test_views_on_different_devices():
    class Elsewhere(TensorSource):
        device = torch.device("cuda", 0)

    tables = {"a": TensorSource("a", ROWS), "b": X, "c": Elsewhere("c", ROWS)}
    with pytest.raises(
        ValueError, match=r"view 'a' on 'cpu', view 'c' on 'cuda:0'\. Move them to one.*to\('cpu'\)"
    ):
        check_one_device(tables)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool, torch.uint8])
def test_integers_are_doubles_as_in_numpy(dtype):
    rows = (ROWS.round() > 1).to(dtype) if dtype in (torch.bool, torch.uint8) else ROWS.round().to(dtype)
    found, expected = model().fit(rows), model().fit(rows.numpy())
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.cluster_centers_.dtype == np.float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_single(dtype):
    found = model().fit(ROWS.to(dtype))
    assert found.cluster_centers_.dtype == np.float32
    assert found.transform(ROWS.to(dtype)).dtype == torch.float32


def test_rows_in_any_order_of_memory_and_lists_of_rows():
    expected = model().fit(X).labels_
    assert np.array_equal(model().fit(ROWS.T.contiguous().T).labels_, expected)
    assert np.array_equal(model().fit(torch.repeat_interleave(ROWS, 2, dim=0)[::2]).labels_, expected)
    assert np.array_equal(model().fit_predict(list(ROWS)).numpy(), expected)


class Handed:
    """An array of a library that knows nothing but DLPack."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def from_dlpack(array):
    return Handed(np.from_dlpack(array))


def test_arrays_of_other_libraries():
    expected = model().fit(X)
    found = model().fit(array_api_strict.asarray(X))
    assert np.array_equal(found.labels_, expected.labels_)
    device = array_api_strict.Device("device1")
    answer = found.transform(array_api_strict.asarray(X, device=device))
    assert type(answer) is type(array_api_strict.asarray(0.0))
    assert answer.device == device
    labels = found.predict(Handed(X))  # of this module, which has a from_dlpack
    assert np.array_equal(labels.array, expected.labels_)
