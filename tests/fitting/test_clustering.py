"""Labels of features for whoever has to know clusters before a fit."""

from dataclasses import replace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from powerkmeans import KernelPowerKMeans
from powerkmeans.fitting import clustering
from powerkmeans.fitting.clustering import cluster_features
from powerkmeans.inputs.settings import check_settings


def blobs(per_cluster=30):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), per_cluster)
    return rng.normal(size=(len(classes), 2)) + 10 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[classes], classes


def settings():
    return check_settings(KernelPowerKMeans(4).get_params(deep=False))


def test_known_clusters_that_are_worse_are_not_kept():
    """Two of the four as one, and one in two halves, all equally far apart: steps of k-means do not mend that."""
    classes = np.repeat(np.arange(4), 30)
    X = np.random.default_rng(0).normal(size=(120, 4)) + 10 * np.eye(4)[classes]
    known = np.array([0, 1, 2, 2])[classes]
    known[:15] = 3
    found = cluster_features(settings(), 0, X, np.ones(len(X)), known, moves=False)
    assert adjusted_rand_score(classes, found) == 1


def test_fewer_known_clusters_are_none():
    X, classes = blobs()
    found = cluster_features(settings(), 0, X, np.ones(len(X)), np.zeros(len(X), dtype=int), moves=False)
    assert adjusted_rand_score(classes, found) == 1


def test_known_clusters_that_are_better_are_kept(monkeypatch):
    """Where the annealing ends in a worse minimum."""
    X, classes = blobs()
    anneal_all = clustering.anneal_all
    stuck = np.array([[0.0, 5.0], [9.5, 0.0], [10.5, 0.0], [10.0, 10.0]]) - np.mean(X, axis=0)

    def poorly(full, task, collapse, listener):
        run = anneal_all(full, task, collapse, listener)[0]
        found = task.descend(type(run.found.parameters)(stuck, run.found.parameters.view_weights))
        value, loss = task.hard_objective(found)
        return [run._replace(found=found, summary=replace(run.summary, hard_objective=value, hard_loss=loss))]

    monkeypatch.setattr(clustering, "anneal_all", poorly)
    labels = [cluster_features(settings(), 0, X, np.ones(len(X)), known, moves=False) for known in (None, classes)]
    scores = [adjusted_rand_score(classes, one) for one in labels]
    assert scores[0] < 0.9
    assert scores[1] == 1
