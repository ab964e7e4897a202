"""Pictures of docs/start.md, plots.md, choosing_k.md, how_it_works.md and graph.md: one function each.

python examples/plots.py [--output demo_output] [--style dark_background] [--only splits convergence]

Writes plot_NAME.png into the folder. Needs matplotlib: pip install 'powerkmeans[plot]'.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k
from powerkmeans.choose.number import KChoice
from powerkmeans.plotting import (
    ConvergenceDisplay,
    DimensionDisplay,
    EmbeddingDisplay,
    KChoiceDisplay,
    MembershipDisplay,
    SensitivityDisplay,
    SplitDisplay,
    ViewContributionDisplay,
)
from powerkmeans.support.install import install_line
from views import Step, steps


@cache
def spoilt_digits() -> tuple[Step, np.ndarray]:
    """Digits as pixels and strokes, and a view of noise; every tenth image shuffled, some strokes missing."""
    all_steps, y = steps(seed=0)
    return all_steps[-1], y


@cache
def three_views() -> MultiViewPowerKMeans:
    return MultiViewPowerKMeans(10, feature_map="nystroem", random_state=0).fit(spoilt_digits()[0].views)


@cache
def possibilistic() -> KernelPowerKMeans:
    pixels = spoilt_digits()[0].views["pixels"]
    return KernelPowerKMeans(10, feature_map="nystroem", membership="possibilistic", random_state=0).fit(pixels)


@cache
def five_clusters() -> KChoice:
    X, _ = make_blobs(600, centers=5, n_features=8, cluster_std=2.5, random_state=1)
    return choose_k(X, k_max=12, random_state=0)


@cache
def no_clusters() -> KChoice:
    X = np.random.default_rng(0).uniform(size=(600, 8))
    return choose_k(X, k_max=12, random_state=0)


def convergence() -> Any:
    """Cost, exponent and view weights along the iterations."""
    return ConvergenceDisplay.from_estimator(three_views())


def membership() -> Any:
    """How surely samples belong to their clusters, and how typical they are of them."""
    return MembershipDisplay.from_estimator(possibilistic(), spoilt_digits()[0].views["pixels"])


def embedding() -> Any:
    """The feature space in the plane, outliers marked."""
    pixels = spoilt_digits()[0].views["pixels"]
    return EmbeddingDisplay.from_estimator(possibilistic(), pixels, outlier_share=0.1)


def wine() -> Any:
    """Three kinds of wine in the plane, as on the first pages."""
    X = StandardScaler().fit_transform(load_wine().data)
    return EmbeddingDisplay.from_estimator(KernelPowerKMeans(3, random_state=0).fit(X), X, outlier_share=0.03)


def views() -> Any:
    """What each view contributes."""
    return ViewContributionDisplay.from_estimator(three_views(), spoilt_digits()[0].views)


def sensitivity() -> Any:
    """Accuracy by first exponent and price of uneven weights."""
    step, y = spoilt_digits()
    some = {name: view[:500] for name, view in step.views.items()}
    model = MultiViewPowerKMeans(10, max_iter=500, random_state=0)
    return SensitivityDisplay.from_estimator(model, some, y[:500])


def dimension() -> Any:
    """Accuracy by the number of random features."""
    X, y = load_digits(return_X_y=True)
    model = KernelPowerKMeans(10, feature_map="nystroem", random_state=0)
    return DimensionDisplay.from_estimator(model, X[:600], y[:600], exact=True)


def splits() -> Any:
    """Which clusters separate at which exponent."""
    X, _ = load_digits(return_X_y=True)
    model = KernelPowerKMeans(
        10, feature_map="nystroem", init="cloud", anneal_every=8, max_iter=1000, random_state=0
    )
    return SplitDisplay.from_estimator(model.fit(X))


def of_gallery(name: str) -> Any:
    """The last picture of a script of the gallery."""
    import matplotlib.pyplot as plt

    plt.ioff()
    script = Path(__file__).parent / "gallery" / f"plot_{name}.py"
    return SimpleNamespace(figure_=runpy.run_path(str(script))["figure"])


def annealing() -> Any:
    """Paths of centroids from the mean to their clusters."""
    return of_gallery("annealing")


def shapes() -> Any:
    """Clusters that are no balls: k-means, landmarks and the graph."""
    return of_gallery("shapes")


def choice() -> Any:
    """The criteria for a number of clusters, side by side."""
    return KChoiceDisplay.from_choice(five_clusters())


def choice_noise() -> Any:
    """The same where there are no clusters."""
    return KChoiceDisplay.from_choice(no_clusters())


def choice_shapes() -> Any:
    """The same for two moons, which stand out by their neighbours alone."""
    X, _ = make_moons(400, noise=0.06, random_state=0)
    return KChoiceDisplay.from_choice(choose_k(X, k_max=10, random_state=0))


def choice_splits() -> Any:
    """The annealing behind the choice."""
    return SplitDisplay.from_choice(five_clusters())


PICTURES: list[Callable[[], Any]] = [
    convergence, membership, embedding, wine, views, sensitivity, dimension, splits, annealing, shapes, choice,
    choice_noise, choice_shapes, choice_splits,
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    parser.add_argument("--style", default="default", help="a style of matplotlib")
    parser.add_argument("--only", nargs="*", choices=[draw.__name__ for draw in PICTURES])
    arguments = parser.parse_args()
    try:
        import matplotlib as mpl
    except ImportError:
        print(f"No pictures: matplotlib is missing; {install_line('plot')}", file=sys.stderr)
        return 1
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    arguments.output.mkdir(parents=True, exist_ok=True)
    for draw in PICTURES:
        if arguments.only and draw.__name__ not in arguments.only:
            continue
        path = arguments.output / f"plot_{draw.__name__}.png"
        with plt.style.context(arguments.style):
            draw().figure_.savefig(path, dpi=110)
        plt.close("all")
        print(path, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
