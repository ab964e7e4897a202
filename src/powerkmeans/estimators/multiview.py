"""Several views: possibilistic kernel power k-means with learned view weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from powerkmeans.estimators.base import Path, chosen_maps, files, learns_from_streams
from powerkmeans.estimators.callbacks import with_callbacks
from powerkmeans.estimators.kinds import answers_alike, attributes_alike
from powerkmeans.estimators.several import SeveralViewsAnswers
from powerkmeans.estimators.unchanged import unchanged_on_failure
from powerkmeans.inputs.settings import check_settings
from powerkmeans.inputs.views import check_several_views, split_init
from powerkmeans.models.model import FitResult
from powerkmeans.sources import is_source
from powerkmeans.sources.tensors import here
from powerkmeans.types import Array


class MultiViewPowerKMeans(SeveralViewsAnswers):
    r"""Clustering of several views that learns which to trust and is not moved by outliers.

    The views of a sample are its descriptions by different means: omics layers, groups of features, sensors.
    Where a graph of neighbours in all of them is clear, it is taken (``feature_map``). Else each is mapped to the
    feature space of a kernel of its own. The distance of sample i to centroid j is then
    :math:`\bar d_{ij} = \sum_l \alpha_l \|\phi_l(x_{il}) - \theta_{jl}\|^2`, and with :math:`M_s` the power mean

    .. math:: f_s(\Theta, \alpha) = \sum_i v_i M_s(h(\bar d_{i1}), \dots, h(\bar d_{ik}))
        + \lambda \sum_l \alpha_l \log \alpha_l, \qquad h(d) = \min_u u^m d + (1-u)^m \eta

    is minimised over the centroids and the weights :math:`\alpha` of the views while :math:`s` falls towards
    :math:`-\infty`. The bounded loss ``h`` lets far samples pull on nothing, and tells which they are.

    Scale the columns of a view first unless their units are comparable. Features of a kernel are a draw: more
    (``n_components``) steady what varies with ``random_state``. The paper's IP-RFF-MKPKM: ``feature_map="rff"``.

    A sample may lack views, as long as it has one: nothing is imputed, distances are taken over the views it has.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.

    views : dict or None, default=None
        Which columns of a 2-D ``X`` belong to which view: ``{"name": columns}``, where columns are positions,
        names, a slice or a mask (or a list of such pairs). Columns in no view are not used. None: ``X`` holds its
        views apart (a list or dict of tables), or names them in its columns (the first level of a MultiIndex, or
        ``"view:column"``); any other table is one view.

    membership : {"auto", "possibilistic", "fuzzy"}, default="auto"
        ``"possibilistic"`` bounds the pull of far samples; ``"fuzzy"`` gives every sample its full pull.
        ``"auto"``: ``"fuzzy"`` with a graph, whose coordinates have a bounded length and whose
        outlier scores do not depend on it, else ``"possibilistic"``.

    entropy : "auto" or float > 0, default="auto"
        The price :math:`\lambda` of uneven view weights. ``"auto"``: 0.3 times the mean loss of a view before
        there are clusters, which does not depend on scales or the number of samples. ``inf`` keeps the
        weights even; towards 0 one view takes it all.

    view_scaling : {"scatter"} or None, default="scatter"
        ``"scatter"`` gives the features of every view the same mean squared distance to their mean, so that no
        view wins by its scale alone. None leaves them as they are, as in the paper.

    view_baseline : {"gaussian"} or None, default="gaussian"
        What a view has to beat. ``"gaussian"`` takes off each view's loss what as many clusters leave of a
        Gaussian cloud with its covariance: a view earns weight by its clusters, not by having few dimensions.
        None compares the losses themselves, as in the paper.

    feature_map : {"auto", "graph", "nystroem", "rff", "orf", "identity", "exact"}, default="auto"
        Where clusters are looked for; see :class:`KernelPowerKMeans`. ``"graph"`` makes one graph of all views,
        whose weights it learns by how many of a sample's neighbours in each view are in its cluster; ``entropy``,
        ``view_scaling`` and ``view_baseline`` mean nothing to it, and given make ``"auto"`` take landmarks. This
        and the next four may be given once, in a list, or in a dict by view name (others take the default).

    kernel : str, default="rbf"
        Its name, of those in :class:`KernelPowerKMeans`. For ``"precomputed"`` the view is a matrix of kernels.

    metric : {"euclidean", "cosine"}, default="euclidean"
        With ``"cosine"`` the rows of the view are compared by their directions alone: for texts and counts.

    bandwidth : "median", "scale" or float > 0, default="median"
        Length scale of the kernel.

    n_components : "auto" or int, default="auto"
        Number of landmarks or frequencies; ``"auto"`` is as in :class:`KernelPowerKMeans`, view by view.

    n_neighbors : "auto" or int, default="auto"
        The nearest landmarks that a row is placed by in a graph. ``"auto"``: 10, or 40 where these tell the
        same with less luck. Doubled, with a warning, while there are more pieces than clusters.

    rows_per_landmark : int, default=1
        How many distinct training rows a landmark is the mean of, at least; see :class:`KernelPowerKMeans`. In a
        graph groups are of samples, all views alike, and a landmark lacks a view that fewer of its samples have.

    fuzziness : float > 1, default=2.0
        The exponent m of the possibilistic membership.

    reference_distance : {"global", "median", "within"} or float > 0, default="global"
        The squared distance at which typicality is one half; see :class:`KernelPowerKMeans`. With
        ``view_scaling="scatter"`` a number is in units of the mean squared distance to the mean.

    s_init : "auto" or float < 0, default="auto"
        First exponent; see :class:`KernelPowerKMeans`.

    anneal_factor : float >= 1, default=1.04
        Factor by which the exponent grows in size.

    anneal_every : "auto" or int, default="auto"
        Number of iterations between two such steps; see :class:`KernelPowerKMeans`.

    init : {"auto", "cloud", "k-means++", "k-means", "random"} or centroids, default="auto"
        Starting centroids; see :class:`KernelPowerKMeans`. Given ones have the form of ``X``, one row per cluster,
        or that of ``cluster_centers_``, which for a view with ``feature_map="exact"`` are weights of the samples.

    n_init : "auto" or int, default="auto"
        Number of runs; see :class:`KernelPowerKMeans`.

    max_iter : int, default=300
        Most iterations of a run, its finish and its moves together.

    tol : float, default=1e-4
        Tolerance of convergence; see :class:`KernelPowerKMeans`.

    engine : "auto", "compiled", "numpy" or options of ``powerkmeans.engines``, default="auto"
        How and where the work is done, with how many threads and how much memory; see :class:`KernelPowerKMeans`.

    random_state : int, RandomState instance or None, default=None
        Seeds the features and the starts. Several views draw by their names, so neither their order nor another
        view changes a view's features.

    verbose : int, default=0
        1 prints a few lines per run on stderr, 2 a line per iteration.

    advice : bool, default=True
        Whether to tell what the data make unwise; see :class:`KernelPowerKMeans`. Of views it also tells which
        are constant, and which have nothing to do with the clusters.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each training sample, the heaviest is 0; with a table for ``init`` as it numbers them.
    cluster_centers_ : list of ndarray of shape (n_clusters, n_outputs of the view)
        Centroids in the feature space of each view. Clusters without samples come last. :meth:`cluster_means` has
        means in the columns of the data, ``medoid_indices_`` a sample for each cluster.
    medoid_indices_ : ndarray of shape (n_clusters,), int64
        The training sample nearest to each centroid over all views; see :class:`KernelPowerKMeans`.
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view; 0 for one that is constant.
    view_names_in_ : ndarray of shape (n_views,)
        Name of each view.
    feature_map_ : ndarray of shape (n_views,)
        The feature map of each view, also where ``"auto"`` has chosen it.
    bandwidth_ : ndarray of shape (n_views,)
        Bandwidth of each view's kernel; NaN where there is none.
    n_components_ : ndarray of shape (n_views,)
        Number of frequencies or landmarks of each view; for ``"identity"`` of columns, for ``"exact"`` of samples.
    reference_distance_ : ndarray of shape (n_views,) or None
        Reference distance of each view, in its scaled features; None for ``"fuzzy"``.
    entropy_ : float
        The value of :math:`\lambda`.
    critical_exponent_ : float or None
        The exponent at which clusters begin to separate, if ``s_init="auto"`` asked for it.
    s_init_, s_ : float
        First and last exponent of the annealing that was kept; memberships are taken at ``s_``.
    n_iter_ : int
        Its number of iterations.
    objective_ : float
        The objective at ``s_``, less the weighted baseline of the views if there is one.
    inertia_ : float
        Sum of squared distances to the nearest centroid, over all views by their weights.
    history_ : dict of ndarrays
        Per iteration; see :class:`KernelPowerKMeans`. ``view_weights`` has one column per view.
    status_ : Status
        Why the run stopped; see :class:`KernelPowerKMeans`.
    restarts_ : list of dict
        Every run: its start, exponents, iterations, status, hard objective and number of moves.
    best_restart_ : int
        Index of the run that was kept.
    n_samples_seen_ : int
        Samples that the model was fitted to or learnt from, and those that ``partial_fit`` has collected.
    drift_ : float
        By what share the last chunk's mean loss exceeded the running one; 0 before ``partial_fit``.
    stream_history_ : dict of ndarrays
        Per chunk learnt from: ``n_seen`` by weight, ``loss`` (its mean, before), ``drift``, ``shift``.
    n_features_in_ : int
        Number of columns seen in fit, over all views.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if ``X`` was one table and they were all strings.

    See Also
    --------
    KernelPowerKMeans : One view.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import MultiViewPowerKMeans
    >>> shape, y = make_blobs(200, centers=3, n_features=10, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=(200, 10))
    >>> model = MultiViewPowerKMeans(3, random_state=0).fit({"shape": shape, "noise": noise})
    >>> bool(model.view_weights_[0] > 0.8)
    True
    >>> shape[:20] = np.nan  # twenty samples without their shape
    >>> labels = model.predict({"shape": shape, "noise": noise})

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        views: Any = None,
        membership: str = "auto",
        entropy: str | float = "auto",
        view_scaling: str | None = "scatter",
        view_baseline: str | None = "gaussian",
        feature_map: Any = "auto",
        kernel: Any = "rbf",
        metric: Any = "euclidean",
        bandwidth: Any = "median",
        n_components: Any = "auto",
        n_neighbors: str | int = "auto",
        rows_per_landmark: int = 1,
        fuzziness: float = 2.0,
        reference_distance: str | float = "global",
        s_init: str | float = "auto",
        anneal_factor: float = 1.04,
        anneal_every: int | str = "auto",
        init: Any = "auto",
        n_init: str | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        engine: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
        advice: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.membership = membership
        self.entropy = entropy
        self.view_scaling = view_scaling
        self.view_baseline = view_baseline
        self.feature_map = feature_map
        self.kernel = kernel
        self.metric = metric
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.rows_per_landmark = rows_per_landmark
        self.fuzziness = fuzziness
        self.reference_distance = reference_distance
        self.s_init = s_init
        self.anneal_factor = anneal_factor
        self.anneal_every = anneal_every
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.advice = advice

    @unchanged_on_failure
    @attributes_alike
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        present: Any = None,
        *,
        checkpoint: Path = None,
        resume_from: Path = None,
    ) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : list or dict of 2-D tables, or one 2-D table
            The views, all with the same samples in the same order: arrays, tensors, memory maps, data frames or
            sparse matrices. One table is cut into views as ``views`` or its column names say. A row that is all
            NaN (or None in a list of rows) is one that the view does not have.
        y : ignored
            For the convention of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of 3 is the same as three equal samples.
        present : array-like of shape (n_samples, n_views) or dict of columns, optional
            True where a sample has a view; what an absent row holds does not matter.
        checkpoint : str or path, optional
            A file that the state of the fit is written to every few iterations, whole or not at all.
        resume_from : str or path, optional
            Such a file of the same fit that was cut short: it goes on from there, to the answer that it would have
            come to, and goes on writing to it unless ``checkpoint`` names another.

        Returns
        -------
        self

        """
        if len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1:  # type: ignore[attr-defined]
            raise ValueError("y is not used, and looks like a view: pass all views in X, fit([first, second]).")
        settings = check_settings(self.get_params(deep=False), several_views=True)
        views, layout = check_several_views(self, X, sample_weight, present)
        if not isinstance(self.init, str):
            settings = replace(settings, init=split_init(self, views, layout))
        self._fit_views(views, settings, X, layout, files(checkpoint, resume_from))
        return self

    @available_if(learns_from_streams)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    @unchanged_on_failure
    @attributes_alike
    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None, present: Any = None) -> Self:
        """Learn from one chunk of a stream, as :meth:`KernelPowerKMeans.partial_fit` does.

        Chunks may have any size, and samples may lack views; ``present`` is as in :meth:`fit`. ``drift_`` tells by
        what share the chunk's mean loss exceeded the running one, ``labels_`` are those of the last chunk.
        """
        settings = check_settings(self.get_params(deep=False), several_views=True)
        if self._learns:
            settings.of_views(self._fit.model.view_names)
            self._learn(self._check_new(X, present, sample_weight))
            return self
        known = getattr(self, "n_features_in_", None)
        views, layout = check_several_views(self, X, sample_weight, present, chunk=True)
        if self._collected is not None:
            self.n_features_in_ = known  # with_chunk tells if they differ
        views = here(views)
        if any(map(is_source, views.arrays)):
            raise TypeError("partial_fit takes chunks of rows; fit takes sources whole.")
        if not isinstance(self.init, str):
            settings = replace(settings, init=split_init(self, views, layout))
        self._collect(views, layout, settings)
        return self

    @answers_alike
    def fit_predict(self, X: Any, y: None = None, sample_weight: Any = None, present: Any = None) -> Array:
        """Fit and return the label of each sample."""
        return self.fit(X, sample_weight=sample_weight, present=present).labels_

    @answers_alike
    def fit_transform(self, X: Any, y: None = None, sample_weight: Any = None, present: Any = None) -> Array:
        """Fit and return the distance of each sample to each centroid."""
        self.fit(X, sample_weight=sample_weight, present=present)
        return self._distances(self._check_new(X, present))

    def _keep_views(self, result: FitResult) -> None:
        model, problem = result.model, result.model.problem
        self.cluster_centers_ = model.cluster_centers()
        bandwidths = [np.nan if value is None else value for value in result.bandwidths]
        self.bandwidth_ = model.for_all_views(bandwidths, np.nan)
        sizes = [m.base.n_components for m in model.maps]
        self.n_components_ = model.for_all_views(sizes, 0).astype(np.int64)
        self._chosen_maps = chosen_maps(self, model)
        references = model.for_all_views(problem.reference_distance, np.nan)
        self.reference_distance_ = references if problem.membership.bounded else None
        self.entropy_ = problem.entropy

    @property
    def feature_map_(self) -> Array:
        """The feature map of each view, also where ``"auto"`` has chosen it."""
        return np.array(self._chosen_maps, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.views is not None
        return tags
