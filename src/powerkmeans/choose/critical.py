"""The critical exponent as a function of its own, for those who set ``s_init`` themselves."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_array

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.estimators import KernelPowerKMeans
from powerkmeans.fitting.collapse import FULL_STEPS, find_collapse
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.inputs.views import FLOATS
from powerkmeans.inputs.weights import check_weight
from powerkmeans.support.values import within_floats
from powerkmeans.types import Views


def critical_exponent(
    features: Any,
    *,
    membership: str = "fuzzy",
    fuzziness: float = 2.0,
    reference_distance: str | float = "global",
    sample_weight: Any = None,
) -> float:
    r"""Return the exponent at which clusters begin to separate.

    Near the point where all centroids sit together, one iteration multiplies a small displacement by a
    factor that grows with :math:`|s|`. Above the critical exponent the factor is below one and every start
    falls back into the mean; below it the largest structure of the data opens up. An annealing that
    starts there passes through all of it. For the fuzzy membership

    .. math:: s_{crit} = 1 - \frac{1}{2 \lambda_{max}}, \qquad
        \lambda_{max} = \text{largest eigenvalue of } \frac{1}{\sum_i v_i} \sum_i v_i z_i z_i^T,

    with :math:`z_i` the direction of sample i from the mean; for the possibilistic one the factor is
    solved for one.

    Parameters
    ----------
    features : array-like or sparse matrix of shape (n_samples, n_outputs)
        Mapped samples, or plain columns for power k-means.
    membership : {"fuzzy", "possibilistic"}, default="fuzzy"
        As in :class:`KernelPowerKMeans`.
    fuzziness : float > 1, default=2.0
        As in :class:`KernelPowerKMeans`.
    reference_distance : {"global", "median"} or float > 0, default="global"
        As in :class:`KernelPowerKMeans`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0.

    Returns
    -------
    float
        A value of ``s`` below zero, or 0.0 if clusters separate at every ``s < 0`` (all data of one or
        two columns, for example).

    Examples
    --------
    >>> import numpy as np
    >>> from powerkmeans import critical_exponent
    >>> X = np.random.default_rng(0).standard_normal((500, 20))
    >>> -12 < critical_exponent(X) < -5
    True

    """
    settings = check_settings(
        KernelPowerKMeans(
            1,
            feature_map="identity",
            membership=membership,
            fuzziness=fuzziness,
            reference_distance=reference_distance,
        ).get_params(deep=False)
    )
    if reference_distance == "within":
        raise ValueError("reference_distance='within' depends on the number of clusters; pass its value.")
    with within_floats("features"):
        X = check_array(features, accept_sparse="csr", dtype=FLOATS, order="C", input_name="features")
    views = Views(("features",), (X,), check_weight(sample_weight, X.shape[0], X.dtype))
    with single_threaded_blas():
        return find_collapse(make_task(views, settings, seed=0), FULL_STEPS).critical
