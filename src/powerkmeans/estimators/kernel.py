"""One view: kernel power k-means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from powerkmeans.estimators.base import Path, chosen_maps, files, learns_from_streams
from powerkmeans.estimators.callbacks import with_callbacks
from powerkmeans.estimators.kinds import answers_alike, attributes_alike
from powerkmeans.estimators.single import SingleViewAnswers
from powerkmeans.estimators.unchanged import unchanged_on_failure
from powerkmeans.inputs.lazy import with_sources
from powerkmeans.inputs.settings import Settings, check_settings
from powerkmeans.inputs.tables import is_several
from powerkmeans.inputs.views import check_single_view
from powerkmeans.models.model import FitResult
from powerkmeans.sources import is_source
from powerkmeans.sources.dask import is_lazy
from powerkmeans.sources.tensors import here
from powerkmeans.types import Array, Views


class KernelPowerKMeans(SingleViewAnswers):
    r"""Kernel power k-means: k-means that does not get stuck.

    Instead of the distance to the nearest centroid it minimises a power mean of the distances to all
    of them,

    .. math:: f_s(\Theta) = \sum_i v_i \left(\tfrac1k \sum_j \|\phi(x_i) - \theta_j\|^{2s}\right)^{1/s},

    while :math:`s` falls from a start near 0 towards :math:`-\infty`, where the power mean is the minimum
    and the objective that of (kernel) k-means. The feature map :math:`\phi` stands for a graph of neighbours or
    a kernel; its size does not depend on the number of samples, so the cost grows linearly with it.

    Scale the columns first (for example with ``StandardScaler``) unless their units are comparable; where rows
    are counts of different totals, as of words, use ``metric="cosine"``.
    A graph of neighbours finds clusters of any shape, and is taken where it is clear. Features of a kernel are a
    draw: with few of them (``n_components``) results vary with ``random_state`` more than the starts make them,
    and more steady them. The system of the paper, RFF-KPKM, has ``feature_map="rff"``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.

    feature_map : {"auto", "graph", "nystroem", "rff", "orf", "identity", "exact"}, default="auto"
        Where clusters are looked for. ``"graph"``: coordinates from a graph of landmarks, for clusters of any
        shape; it has no kernel, so other values of ``kernel`` and ``bandwidth`` than the defaults are an error.
        ``"auto"``: the graph where two halves of its landmarks agree and nothing speaks against it, else
        ``"nystroem"``, which is also taken where a kernel, a bandwidth or ``n_components <= n_neighbors`` is
        given. The others represent a kernel.
        ``"nystroem"``: kernel values at landmarks drawn from the data, the most accurate at the same size;
        ``"rff"``: random Fourier features, as in the paper, which cost less per row where these are not stored;
        ``"orf"``: orthogonal random features, of lower variance; ``"identity"``: no kernel, power k-means on the
        columns themselves; ``"exact"``: the kernel matrix of all samples, n x n numbers in float64 (an error tells
        if they do not fit in memory).

    kernel : str, default="rbf"
        One of ``"rbf"``, ``"laplacian"``, ``"matern12"``, ``"matern32"``, ``"matern52"``,
        ``"rational_quadratic"`` and ``"precomputed"``. ``"laplacian"`` is of the L1 distance and has no
        orthogonal features. Ignored by ``feature_map="identity"``, which has no kernel. ``"precomputed"``, for
        ``feature_map="exact"``: ``X`` is a positive semi-definite matrix of kernels between all samples in
        ``fit``, and of kernels between new and training samples, (n_new, n_samples), afterwards.

    metric : {"euclidean", "cosine"}, default="euclidean"
        With ``"cosine"`` rows are compared by their directions alone: they are scaled to unit length inside the
        model, in ``fit`` and wherever it answers, so that texts and counts need no ``Normalizer``. A row of zeros
        has no direction; it stays zero, at the same distance from all other rows.

    bandwidth : "median", "scale" or float > 0, default="median"
        Length scale of the kernel. ``"median"``: the median distance between rows, on a sample of at
        most 2000; ``"scale"``: ``sqrt(2 * total variance)``, exact in one pass. Ignored where there is no
        kernel of rows.

    n_components : "auto" or int, default="auto"
        Number of landmarks (at most the number of distinct rows) or of frequencies (a map with ``D``
        frequencies has ``2 D`` outputs). ``"auto"``: :func:`suggest_n_components` frequencies. Of a kernel's
        landmarks at least twice as many, more where rows are few, and as many as it takes, up to 500, where these
        lose over 2 % of what clusters can show of it. Of a graph's 2000 or more. Ignored by ``"identity"`` and
        ``"exact"``.

    n_neighbors : "auto" or int, default="auto"
        The nearest landmarks that a row is placed by in a graph. ``"auto"``: 10, or 40 where these tell the
        same with less luck. Doubled, with a warning, while there are more pieces than clusters.

    rows_per_landmark : int, default=1
        How many distinct training rows a landmark is the mean of, at least; 1: it is one of them. From 2 on no
        row stands in the model or its file, unless ``partial_fit`` is still collecting. Landmarks are at most as
        many as ``n_components``, fewer where rows are few, and less than two are an error. Means of sparse rows
        have more entries. Has no meaning without landmarks: given for other maps, an error.

    membership : {"fuzzy", "possibilistic", "auto"}, default="fuzzy"
        ``"possibilistic"`` bounds the pull of far samples, which makes outliers harmless and gives them
        an outlier score. ``"auto"``: ``"fuzzy"`` with a graph, which has outlier scores of its own, else
        ``"possibilistic"``.

    fuzziness : float > 1, default=2.0
        The exponent m of the possibilistic membership.

    reference_distance : {"global", "median", "within"} or float > 0, default="global"
        The squared distance (in feature space) at which the typicality of a sample is one half, for
        ``membership="possibilistic"``. ``"global"``: mean squared distance to the mean; ``"median"``: median
        squared distance to the median by coordinates, which gross outliers cannot inflate (prefer it with
        ``feature_map="identity"``); ``"within"``: mean squared distance to the nearest centroid of a
        k-means start.

    s_init : "auto" or float < 0, default="auto"
        First exponent. ``"auto"`` starts near the critical exponent, at which clusters begin to separate
        (see :func:`critical_exponent`), finishes with k-means steps, and moves centroids that turn out to be
        superfluous to where they save more than 0.001 % of the cost. A number gives the paper's annealing from
        there, and nothing else; ``-inf`` gives (kernel) k-means.

    anneal_factor : float >= 1, default=1.04
        Factor by which the exponent grows in size.

    anneal_every : "auto" or int, default="auto"
        Number of iterations between two such steps. ``"auto"``: with ``s_init="auto"`` one, but the exponent
        waits while clusters separate and hurries where nothing moves; else two, as in the paper.

    init : {"auto", "cloud", "k-means++", "k-means", "random"} or array, default="auto"
        Starting centroids. ``"cloud"``: a small cloud around the mean; ``"k-means++"`` and ``"random"``:
        rows of the data; ``"k-means"``: the result of k-means on the features, as in the paper; an array
        of shape (n_clusters, n_features) holds points of the data, which ``metric`` applies to as well, one of
        shape (n_clusters, outputs of the map) points of the feature space (if both widths are equal, points of
        the data); with ``feature_map="exact"`` one of shape (n_clusters, n_samples) holds weights of the
        samples, which add up to 1 in each row. ``"auto"``: the cloud and k-means++ if ``s_init="auto"``, else
        k-means (k-means++ if ``s_init=-inf``).

    n_init : "auto" or int, default="auto"
        Number of runs; the one of lowest cost is kept, but a cloud's is kept unless another's is more than
        0.001 % lower. ``"auto"``: two for ``init="auto"`` with ``s_init="auto"`` (cloud and k-means++), else one.
        With an integer, ``init="auto"`` runs the cloud once and k-means++ for the rest. Given ones are run once.

    max_iter : int, default=300
        Most iterations of a run, its finish and its moves together.

    tol : float, default=1e-4
        A run has converged when, besides unchanged cluster sizes, no centroid's squared step exceeds
        ``tol`` times the mean squared distance to the nearest centroid.

    engine : "auto", "compiled", "numpy" or options of ``powerkmeans.engines``, default="auto"
        How the work is done: ``"compiled"`` by the library that is built at installation if there is a C++
        compiler, ``"numpy"`` without it; ``"auto"`` by the first of the two that is there.
        ``NumpyOptions(n_threads=..., memory_budget=..., kernel=...)`` also sets the number of threads and the
        memory for stored features. ``TorchOptions(device=..., precision=..., memory_budget=...)`` works on a
        graphics card; tensors choose it by themselves. The answers agree to rounding.

    random_state : int, RandomState instance or None, default=None
        Seeds the features and the starts. An int makes results reproducible.

    verbose : int, default=0
        1 prints a few lines per run on stderr, 2 a line per iteration. With scikit-learn 1.9 or newer,
        ``set_callbacks`` takes its callbacks too (``sklearn.callback.ProgressBar``, which needs ``rich``).

    advice : bool, default=True
        Whether to tell what the data make unwise, as a ``powerkmeans.exceptions.DataGuidanceWarning``: a
        bandwidth that shows no clusters, a map that is too small, unscaled columns, far outliers. False
        examines no rows for it. What went wrong in the fit itself (centroids that collapsed,
        fewer clusters than asked for, too few iterations) is a ``ConvergenceWarning`` in any case.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each training sample, the heaviest is 0; with a table for ``init`` as it numbers them.
    cluster_centers_ : ndarray of shape (n_clusters, n_outputs)
        Centroids in feature space; for ``feature_map="exact"`` the weights of the training samples that make
        each up. Clusters without samples come last. :meth:`cluster_means` has means in the columns of the data,
        ``medoid_indices_`` a sample for each cluster.
    medoid_indices_ : ndarray of shape (n_clusters,), int64
        The training row nearest to each centroid, of those of positive weight in its cluster; -1 where it
        has none. Found in the pass that labels rows, in their precision. Not there after ``partial_fit`` has gone
        on from a fit, nor in files that were saved without labels; :meth:`medoid_indices` takes any rows.
    view_weights_ : ndarray of shape (1,)
        Weight of each view: 1 for the only one.
    view_names_in_ : ndarray of shape (1,)
        Name of each view.
    feature_map_ : str
        The feature map, also where ``"auto"`` has chosen it.
    bandwidth_ : float or None
        Bandwidth of the kernel; None for a graph, ``feature_map="identity"`` and ``kernel="precomputed"``.
    n_components_ : int
        Number of frequencies or landmarks; for ``"identity"`` of columns, for ``"exact"`` of samples.
    reference_distance_ : float or None
        Reference distance of the possibilistic membership; None for ``"fuzzy"``.
    critical_exponent_ : float or None
        The exponent at which clusters begin to separate, if ``s_init="auto"`` asked for it.
    s_init_, s_ : float
        First and last exponent of the annealing that was kept; memberships are taken at ``s_``.
    n_iter_ : int
        Its number of iterations.
    objective_ : float
        The objective at ``s_``.
    inertia_ : float
        Sum of squared distances to the nearest centroid in feature space: the cost of k-means there.
    history_ : dict of ndarrays
        Per iteration: ``s`` (``-inf`` in the finish), ``objective``, ``inertia``, ``shift`` (largest step of
        a centroid), ``n_distinct`` (number of distinct centroids), ``view_weights`` and ``groups`` (for each
        cluster the first of those that it has not separated from).
    status_ : Status
        Why the run stopped, a str: "converged", "max_iter reached" or the like.
    restarts_ : list of dict
        Every run: its start, exponents, iterations, status, hard objective and number of moves.
    best_restart_ : int
        Index of the run that was kept.
    n_samples_seen_ : int
        Samples that the model was fitted to or learnt from, and those that ``partial_fit`` has collected.
    drift_ : float
        By what share the last chunk's mean loss exceeded the running one; 0 before ``partial_fit``.
    stream_history_ : dict of ndarrays
        Per chunk that was learnt from: ``n_seen`` by weight, ``loss`` (its mean, before), ``drift``, ``shift``.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they were all strings.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from powerkmeans import KernelPowerKMeans
    >>> from powerkmeans.metrics import clustering_accuracy
    >>> X, y = make_blobs(500, centers=20, n_features=5, cluster_std=0.5, random_state=0)
    >>> model = KernelPowerKMeans(n_clusters=20, random_state=0).fit(X)
    >>> clustering_accuracy(y, model.labels_)
    1.0
    >>> model.predict(X[:5]).tolist() == model.labels_[:5].tolist()
    True

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        feature_map: str = "auto",
        kernel: str = "rbf",
        metric: str = "euclidean",
        bandwidth: str | float = "median",
        n_components: str | int = "auto",
        n_neighbors: str | int = "auto",
        rows_per_landmark: int = 1,
        membership: str = "fuzzy",
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
        self.feature_map = feature_map
        self.kernel = kernel
        self.metric = metric
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.rows_per_landmark = rows_per_landmark
        self.membership = membership
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
        *,
        checkpoint: Path = None,
        resume_from: Path = None,
    ) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, tensor or sparse matrix of shape (n_samples, n_features)
            Samples. float32 and float64 are computed in their own precision. Sparse rows are CSR; Fourier
            features, and landmarks with the Gaussian kernel, keep them so; others make them dense by blocks.
        y : ignored
            For the convention of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of 3 is the same as three equal rows.
        checkpoint : str or path, optional
            A file that the state of the fit is written to every few iterations, whole or not at all.
        resume_from : str or path, optional
            Such a file of the same fit that was cut short: it goes on from there, to the answer that it would have
            come to, and goes on writing to it unless ``checkpoint`` names another.

        Returns
        -------
        self

        """
        if is_several(X) and len(X):
            raise TypeError("X holds several views; KernelPowerKMeans takes one table, use MultiViewPowerKMeans.")
        settings = self._settings()
        views = check_single_view(self, X, sample_weight, fitting=True)
        self._fit_views(views, settings, X, files=files(checkpoint, resume_from))
        return self

    @available_if(learns_from_streams)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    @unchanged_on_failure
    @attributes_alike
    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Learn from one chunk of a stream.

        The first rows are collected until there are 1024, or 50 per cluster, and fitted each time they have
        doubled; then they are let go. From there on the sums of each chunk are mixed into running ones, with a
        weight that decays as more is seen, and the centroids follow. Chunks may have any size; the maps, the
        bandwidth and the exponent stay those of the beginning. After ``fit``, the stream goes on from the fitted
        model.

        ``drift_`` tells by what share the chunk's mean loss exceeded the running one: about 0 while the data stay
        as they were. ``labels_`` are those of the last chunk; ``inertia_`` and ``objective_`` are running
        estimates for as many samples as the model was fitted to.
        """
        settings = self._settings()
        if self._learns:
            self._learn(self._new(X, sample_weight))
        else:
            views = self._chunk(X, sample_weight)
            self._collect(views, None, settings)
        return self

    @answers_alike
    def fit_predict(self, X: Any, y: None = None, sample_weight: Any = None) -> Array:
        """Fit and return the label of each sample."""
        return self.fit(X, sample_weight=sample_weight).labels_

    @answers_alike
    def fit_transform(self, X: Any, y: None = None, sample_weight: Any = None) -> Array:
        """Fit and return the distance of each sample to each centroid in feature space."""
        self.fit(X, sample_weight=sample_weight)
        return self._distances(self._new(X))

    def _settings(self) -> Settings:
        settings = check_settings(self.get_params(deep=False))
        return settings if isinstance(self.init, str) else replace(settings, init={"X": settings.init})

    def _chunk(self, X: Any, sample_weight: Any) -> Views:
        if is_source(X) or is_lazy(with_sources(X)):
            raise TypeError("partial_fit takes chunks: for rows in source.blocks(10_000): model.partial_fit(rows)")
        return here(check_single_view(self, X, sample_weight, fitting=True, first=self._collected is None))

    def _keep_views(self, result: FitResult) -> None:
        model = result.model
        (self.cluster_centers_,) = model.cluster_centers()
        (self.bandwidth_,) = result.bandwidths
        self.n_components_ = model.maps[0].base.n_components
        (self.feature_map_,) = chosen_maps(self, model)
        bounded, reference = model.problem.membership.bounded, float(model.problem.reference_distance[0])
        self.reference_distance_ = reference if bounded else None
