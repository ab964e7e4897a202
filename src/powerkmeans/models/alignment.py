"""How well clusters fit the kernel that they were found in, in a number that bandwidths have in common."""

from __future__ import annotations

import math

import numpy as np

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.blocks import mapped
from powerkmeans.compute.engine import open_engine
from powerkmeans.models.answers import with_maps
from powerkmeans.models.model import Model
from powerkmeans.objective.block import prepare, view_cover
from powerkmeans.objective.evidence import explained_scatter
from powerkmeans.support.draws import STATISTIC_ROWS, affordable_rows
from powerkmeans.types import Block, Float64Array, RowSample, Views

_DOUBLE = np.dtype(np.float64)


def alignment(model: Model, views: Views, engine: object) -> float:
    r"""Centred alignment of the model's kernel with that of its clusters, 0 where nothing varies.

    What clusters explain is the inner product of the kernel matrix with a projection of rank ``k - 1``. So it is
    at most ``sqrt(k - 1)`` times the norm of the matrix, which is taken on some rows, view by view.
    """
    with single_threaded_blas():
        used = model.used(views)
        rows = with_maps(model, open_engine(engine, used), _DOUBLE)
        explained = rows.fold(explained_scatter, prepare(model.parameters, model.s, model.problem, _DOUBLE)).value
        width = max(m.n_outputs for m in rows.maps)
        sample = rows.raw.sample(min(STATISTIC_ROWS // 2, affordable_rows(width)), seed=0)
        norms = kernel_norms(model, sample)
    most = math.sqrt(max(len(model.parameters.centers) - 1, 1)) * float(model.parameters.view_weights @ norms)
    return float(explained) / views.total_weight / most if most > 0 else 0.0


def kernel_norms(model: Model, sample: RowSample) -> Float64Array:
    """Root mean square of the centred kernel between two samples, for each view that is used.

    A dual map has kernels with training rows instead, which are as good for a mean.
    """
    present = None if sample.present is None else sample.present.T
    maps = tuple(m.for_new(order_only=True) for m in model.maps)
    block = mapped(Block(0, sample.views, (), sample.weight, present), maps)
    cover = view_cover(block, np)
    norms = []
    for index, features in enumerate(block.views):
        share = sample.weight / np.sum(sample.weight) * (1.0 if cover is None else cover[index])
        if maps[index].dual:
            norms.append(math.sqrt(np.sum(share) * float(share @ (features**2 @ maps[index].base.share))))
        else:
            scaled = features.astype(np.float64) * np.sqrt(share)[:, None]
            wide = scaled.shape[1] > len(scaled)
            norms.append(float(np.linalg.norm(scaled @ scaled.T if wide else scaled.T @ scaled)))
    return np.array(norms)
