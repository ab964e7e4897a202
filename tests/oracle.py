"""The paper's algorithms, literal, slow, float64. Imports nothing of the library.

Every line cites the LaTeX label (or algorithm) of the equation it writes out. Indices: sample i, cluster j,
view l, frequency r, coordinate t.
"""

from __future__ import annotations

import math

import numpy as np


def fourier_features(X, omega):
    """def:RFF, with the sines first and then the cosines (a fixed reordering of coordinates)."""
    n, d = X.shape
    D = omega.shape[1]
    phi = np.zeros((n, 2 * D))
    for i in range(n):
        for r in range(D):
            phase = sum(omega[t, r] * X[i, t] for t in range(d))  # def:RFF, omega_r^T x
            phi[i, r] = math.sqrt(1 / D) * math.sin(phase)  # def:RFF
            phi[i, D + r] = math.sqrt(1 / D) * math.cos(phase)  # def:RFF
    return phi


def squared_distance(x, theta):
    return sum((x[t] - theta[t]) ** 2 for t in range(len(x)))


def power_mean(y, s):
    """M_s(y), defined below the first equation of Related Work."""
    k = len(y)
    return (sum(value**s for value in y) / k) ** (1 / s)


def power_mean_gradient(y, s):
    """eq:membership function, written with y_j for the squared distance."""
    k = len(y)
    mean = sum(value**s for value in y) / k
    return [y[j] ** (s - 1) / k / mean ** (1 - 1 / s) for j in range(k)]


def algorithm_1(phi, theta, s_sequence):
    """Alg. alg:RFF-KPKM on given features; returns centroids and the objective before each update."""
    n, k = len(phi), len(theta)
    theta = theta.copy()
    objectives = []
    for s in s_sequence:
        d = [[squared_distance(phi[i], theta[j]) for j in range(k)] for i in range(n)]
        objectives.append(sum(power_mean(d[i], s) for i in range(n)))  # def:kernel power kmeans
        w = np.zeros((n, k))
        for i in range(n):
            total = sum(d[i][c] ** s for c in range(k))
            for j in range(k):
                w[i, j] = total ** (1 / s - 1) * d[i][j] ** (s - 1)  # alg:RFF-KPKM, step 3
        for j in range(k):
            column = sum(w[i, j] for i in range(n))
            theta[j] = sum(w[i, j] / column * phi[i] for i in range(n))  # alg:RFF-KPKM, steps 4 and 5
    return theta, objectives


def kernel_power_kmeans(K, W, s_sequence):
    """KPKM by the kernel trick (Related Work): the j-th centroid is ``sum_i W[i, j] phi(x_i)``.

    Returns the coefficients and the objective before each update.
    """
    n, k = W.shape
    objectives = []
    for s in s_sequence:
        d = np.zeros((n, k))
        for i in range(n):
            for j in range(k):
                cross = sum(W[a, j] * K[a, i] for a in range(n))
                own = sum(W[a, j] * W[b, j] * K[a, b] for a in range(n) for b in range(n))
                d[i, j] = K[i, i] - 2 * cross + own  # || phi(x_i) - Phi W^(j) ||^2
        objectives.append(sum(power_mean(d[i], s) for i in range(n)))  # def:kernel power kmeans
        w = np.array([power_mean_gradient(d[i], s) for i in range(n)])  # eq:membership function
        W = w / w.sum(axis=0)  # eq:MM update
    return W, objectives


def typicality(distance, eta, m):
    """The update of u_ij below eq:step1."""
    return 1 / (1 + (distance / eta) ** (1 / (m - 1)))


class Algorithm2:
    """Alg. alg:IP-RFF-MKPK on given features.

    phi[l][i] are the features of view l, theta[l][j] its centroids, eta[j][l] the reference distances.

    Beyond the paper: ``present[i][l]`` tells which samples have which views (with ``b_i = L / sum_l o_il``, every
    term of view l in sample i carries the factor ``b_i o_il``), ``weight[i]`` counts samples, ``fuzzy`` fixes U,
    and ``baseline[l]`` is taken off view l's loss.
    """

    def __init__(
        self, phi, theta, eta, *, alpha, entropy, m, present=None, weight=None, fuzzy=False, baseline=None
    ):
        self.phi, self.eta, self.entropy, self.m, self.fuzzy = phi, eta, entropy, m, fuzzy
        self.theta = [t.copy() for t in theta]
        self.alpha = np.array(alpha, dtype=float)
        self.n, self.k, self.L = len(phi[0]), len(theta[0]), len(phi)
        self.o = np.ones((self.n, self.L)) if present is None else np.array(present, dtype=float)
        self.b = [self.L / sum(self.o[i]) for i in range(self.n)]
        self.v = np.ones(self.n) if weight is None else np.array(weight, dtype=float)
        self.baseline = [0.0] * self.L if baseline is None else baseline
        self.u = self.best_u()

    def plain(self, i, j, v):
        return squared_distance(self.phi[v][i], self.theta[v][j]) if self.o[i, v] else 0.0

    def cover(self, i, v):
        return self.b[i] * self.o[i, v]

    def best_u(self):
        """The update of U below eq:step1."""
        u = np.ones((self.n, self.k))
        if self.fuzzy:
            return u
        for i in range(self.n):
            for j in range(self.k):
                views = range(self.L)
                distance = sum(self.cover(i, v) * self.alpha[v] * self.plain(i, j, v) for v in views)  # eq:step1
                eta = sum(self.cover(i, v) * self.alpha[v] * self.eta[j][v] for v in views)  # eq:step1
                u[i, j] = typicality(distance, eta, self.m)
        return u

    def d_tilde(self, i, j, v):
        """eq:IP-RFF-MKPKM, second constraint."""
        m = self.m
        inner = self.u[i, j] ** m * self.plain(i, j, v) + (1 - self.u[i, j]) ** m * self.eta[j][v]
        return self.cover(i, v) * inner

    def combined(self, i):
        """The arguments of M_s in eq:IP-RFF-MKPKM."""
        return [sum(self.alpha[v] * self.d_tilde(i, j, v) for v in range(self.L)) for j in range(self.k)]

    def objective(self, s):
        """eq:IP-RFF-MKPKM."""
        data = sum(self.v[i] * power_mean(self.combined(i), s) for i in range(self.n))
        data -= sum(a * b for a, b in zip(self.alpha, self.baseline, strict=True))
        return data + self.entropy * sum(a * math.log(a) for a in self.alpha)

    def step(self, s, *, profiled=False):
        """One round of alg:IP-RFF-MKPK; ``profiled`` takes U at its minimum before w, as the library does."""
        if profiled:
            self.u = self.best_u()
        w = np.array([power_mean_gradient(self.combined(i), s) for i in range(self.n)])  # Step1
        self.u = self.best_u()  # Step2
        for v in range(self.L):
            for j in range(self.k):
                pull = [self.v[i] * self.cover(i, v) * w[i, j] * self.u[i, j] ** self.m for i in range(self.n)]
                numerator = sum(pull[i] * self.phi[v][i] for i in range(self.n) if self.o[i, v])
                self.theta[v][j] = numerator / sum(pull)  # Step3, eq:step2
        losses = [
            sum(self.v[i] * w[i, j] * self.d_tilde(i, j, v) for i in range(self.n) for j in range(self.k))  # Step4
            - self.baseline[v]
            for v in range(self.L)
        ]
        smallest = min(losses)  # a common factor of numerator and denominator, against underflow
        scores = [math.exp(-(loss - smallest) / self.entropy) for loss in losses]
        self.alpha = np.array(scores) / sum(scores)  # Step5, eq:step3


def precise_power_mean(y, s):
    """M_s over the first axis and its gradient in extended precision; zeros take the limit, ties of them share."""
    k, zero = len(y), y == 0
    some = zero.any(axis=0)
    safe = np.where(some, np.longdouble(1), y)
    mean = (safe**s).sum(axis=0) / k
    gradient = safe ** (s - 1) / k / mean ** (1 - 1 / s)
    n_zero = np.maximum(zero.sum(axis=0), 1)
    at_zero = np.where(zero, (n_zero / np.longdouble(k)) ** (1 / s) / n_zero, 0)
    return np.where(some, 0, mean ** (1 / s)), np.where(some, at_zero, gradient)


def precise_sums(phi, weight, theta, s, *, eta=None, m=2.0):
    """The sums of a pass over one view in extended precision, by differences; fuzzy unless ``eta`` is given.

    Beside each sum stands that of the absolute values of its terms, which rounding is measured by.
    """
    wide = np.longdouble
    phi, weight, theta, s = phi.astype(wide), weight.astype(wide), theta.astype(wide), wide(s)
    d = np.stack([((phi - center) ** 2).sum(axis=1) for center in theta])
    u = np.ones_like(d) if eta is None else 1 / (1 + (d / wide(eta)) ** (1 / (wide(m) - 1)))  # eq:step1
    rest = (1 - u) ** m * (0 if eta is None else wide(eta))
    mean, w = precise_power_mean(u**m * d + rest, s)  # eq:membership function
    pull = weight * w * u**m
    sums = {
        "mass": pull.sum(axis=1)[:, None],
        "moment": pull @ phi,
        "scatter": (pull * d).sum(axis=1)[:, None],
        "residual": (weight * w * (1 - u) ** m).sum(axis=1)[:, None],
        "loss": (weight * mean).sum(),
        "hard_cost": (weight * d.min(axis=0)).sum(),
    }
    return sums, {name: pull @ abs(phi) if name == "moment" else value for name, value in sums.items()}


def online_step(chunk, centers, s, running_mass, running_moment, weight_of_running, rho):
    """One step of stochastic majorise-minimise for one view and the fuzzy membership, written out.

    The chunk's sums are scaled to the weight of the running ones, mixed in with ``rho``, and give new centroids.
    """
    k, p = len(centers), len(centers[0])
    mass, moment = [0.0] * k, [[0.0] * p for _ in range(k)]
    for row in chunk:
        w = power_mean_gradient([squared_distance(row, center) for center in centers], s)
        for j in range(k):
            mass[j] += w[j]
            for c in range(p):
                moment[j][c] += w[j] * row[c]
    scale = weight_of_running / len(chunk)
    result = []
    for j in range(k):
        n = (1 - rho) * running_mass[j] + rho * scale * mass[j]
        result.append([((1 - rho) * running_moment[j][c] + rho * scale * moment[j][c]) / n for c in range(p)])
    return result


def neighbour_shares(distances, r):
    """``z_i`` of one row, by its squared distances to all landmarks, and its reach, the distance to the r-th.

    ``None`` is the distance to a landmark that shares no view with it. A landmark at distance zero is the row
    itself, and gets the distance of the next one. ``z_ij`` is in proportion to ``(d - D_ij)_+``, ``d`` that to the
    first landmark beyond the r nearest; even where that is zero.
    """
    known = [(value, j) for j, value in enumerate(distances) if value is not None]
    known.sort()
    if len(known) > 1 and known[0][0] <= 1e-12 * known[1][0]:
        known[0] = (known[1][0], known[0][1])
    edge = known[min(r, len(known) - 1)][0]
    near = known[:r]
    pull = [edge - value for value, _ in near]
    z = [0.0] * len(distances)
    for (_, j), part in zip(near, pull, strict=True):
        z[j] = part / sum(pull) if sum(pull) > 0 else 1 / len(near)
    return z, near[-1][0]


def fused_distance(x, c, alpha, typical, spread):
    """``sum_l alpha_l h_l / spread_l``, ``h_l = D_l / (D_l + typical_l)``; of one view ``D`` itself.

    A view that one of the two lacks (None) counts as usually far, ``h = 1/2``; None if none of weight is shared.
    """
    if len(x) == 1:
        return squared_distance(x[0], c[0])
    total, shared = 0.0, False
    for x_l, c_l, weight, usual, width in zip(x, c, alpha, typical, spread, strict=True):
        if x_l is None or c_l is None:
            total += weight / width * 0.5
        else:
            square = squared_distance(x_l, c_l)
            total += weight / width * square / (square + usual)
            shared = shared or weight > 0
    return total if shared else None


def graph_coordinates(Z, weight, n_directions, tau=1.0):
    """phi of training rows with shares ``Z``, and what the shares of any row are multiplied by."""
    n, m = Z.shape
    degree = [sum(weight[i] * Z[i, j] for i in range(n)) for j in range(m)]
    raised = [value + tau * sum(degree) / m for value in degree]
    g = [sum(Z[i, j] / raised[j] * degree[j] for j in range(m)) for i in range(n)]
    B = np.array([[Z[i, j] / math.sqrt(g[i] * raised[j]) for j in range(m)] for i in range(n)])
    C = np.zeros((m, m))
    for i in range(n):
        C += weight[i] * np.outer(B[i], B[i])
    mu, V = np.linalg.eigh(C)
    mu, V = mu[::-1][:n_directions], V[:, ::-1][:, :n_directions]
    loading = np.array([[V[j, q] / math.sqrt(raised[j] * mu[q]) for q in range(len(mu))] for j in range(m)])
    return unit_rows(Z @ loading), loading, mu


def row_ties(Z, weight, tau=1.0):
    """How rows are tied by way of landmarks, ``w_i w_a sum_j z_ij z_aj / lambda~_j``."""
    n, m = Z.shape
    degree = [sum(weight[i] * Z[i, j] for i in range(n)) for j in range(m)]
    raised = [value + tau * sum(degree) / m for value in degree]
    return np.array(
        [
            [weight[i] * weight[a] * sum(Z[i, j] * Z[a, j] / raised[j] for j in range(m)) for a in range(n)]
            for i in range(n)
        ]
    )


def normalised_cut(ties, labels):
    """The part of each cluster's ties that leads out of it, added up."""
    total = 0.0
    for cluster in sorted(set(labels)):
        inside = [i for i, label in enumerate(labels) if label == cluster]
        ends = sum(ties[i, a] for i in inside for a in range(len(labels)))
        leaving = sum(ties[i, a] for i in inside for a in range(len(labels)) if labels[a] != cluster)
        total += leaving / ends
    return total


def over_common(ties, n_directions):
    """Products of rows along leading eigenvectors of ``D^-1 ties`` but the constant one, of mean square one."""
    degree = np.sum(ties, axis=1)
    total, root = np.sum(degree), np.sqrt(degree)
    leading = np.linalg.eigh(ties / np.outer(root, root))[1][:, ::-1][:, :n_directions]
    return (leading @ leading.T - np.outer(root, root) / total) * total / np.outer(root, root)


def unit_rows(rows):
    return np.array([row / math.sqrt(sum(value**2 for value in row)) for row in rows])


def view_share(Z, labels, weight):
    """How much of a row's neighbours in one view are of its cluster, by the *other* rows that point to them."""
    n, m = Z.shape
    found = counted = 0.0
    for i in range(n):
        for j in range(m):
            others = [a for a in range(n) if a != i and Z[a, j] * weight[a] > 0]
            pull = sum(Z[a, j] * weight[a] for a in others)
            if Z[i, j] > 0 and pull > 0:
                same = sum(Z[a, j] * weight[a] for a in others if labels[a] == labels[i])
                found += weight[i] * Z[i, j] * same / pull
                counted += weight[i] * Z[i, j]
    total = sum(weight)
    chance = sum((sum(w for w, c in zip(weight, labels, strict=True) if c == k) / total) ** 2 for k in set(labels))
    return (found / counted - chance) / (1 - chance)


def view_weights(shares, least=1e-3):
    raised = [max(share, least) for share in shares]
    return [share / sum(raised) for share in raised]


def noise_edge(n, d, variance):
    """The largest eigenvalue that a covariance of pure noise has, by the law of Marchenko and Pastur."""
    return variance * (1 + math.sqrt(d / n)) ** 2


def noise_median(ratio):
    """The median of that law for unit variance, by adding up its density until a half."""
    low, high = (1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2
    step = (high - low) / 20_000
    below = 0.0
    for index in range(20_000):
        x = low + (index + 0.5) * step
        below += step * math.sqrt((high - x) * (x - low)) / (2 * math.pi * ratio * x)
        if below >= 0.5:
            return x
    raise AssertionError("the density does not add up")


def graph_typicality(z, reach, usual, clusters):
    """``1 / (1 + rho / 2)``: reach over the usual one over the root of the largest vote for one cluster."""
    vote = max(sum(share for share, c in zip(z, clusters, strict=True) if c == k) for k in set(clusters))
    return 1 / (1 + reach / usual / math.sqrt(vote) / 2)


def groups_around(rows, drawn, least, distance):
    """The rows of each group that has a view which so many of its rows have; rows are lists of views.

    A row is in the group of the nearest drawn one that is left, a drawn one in its own, and nobody's if it shares
    no view with any of them. While groups are too small, the smaller half of these is dissolved.
    """
    left = list(drawn)
    while True:
        groups = {j: [] for j in left}
        for i, row in enumerate(rows):
            found = [(distance(row, rows[j]), place) for place, j in enumerate(left)]
            near = [(value, place) for value, place in found if value is not None]
            if i in left:
                groups[i].append(i)
            elif near:
                groups[left[min(near)[1]]].append(i)
        sizes = {j: max(sum(rows[i][v] is not None for i in members) for v in range(len(rows[0])))
                 for j, members in groups.items()}  # fmt: skip
        small = sorted((j for j in left if sizes[j] < least), key=sizes.__getitem__)
        if not small:
            return list(groups.values())
        gone = small[: math.ceil(len(small) / 2)]
        left = [j for j in left if j not in gone]


def mean_row(rows, weight, least):
    """The weighted mean of a group's rows, view by view over those that have it; None where too few do."""
    means = []
    for view in range(len(rows[0])):
        having = [(row[view], w) for row, w in zip(rows, weight, strict=True) if row[view] is not None]
        total = sum(w for _, w in having)
        means.append(sum(w / total * x for x, w in having) if len(having) >= least else None)
    return means
