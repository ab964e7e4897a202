"""Pictures of fits, in the manner of scikit-learn's displays. They need matplotlib (the extra ``plot``).

Every display has ``from_estimator``, which draws, and ``plot(ax=None)``, which draws again elsewhere; ``ax_`` and
``figure_`` are what was drawn on. Colours can be told apart by all kinds of eyes and follow the background: on a
dark style they are light.
"""

from powerkmeans.plotting.choice import KChoiceDisplay
from powerkmeans.plotting.contributions import ViewContributionDisplay
from powerkmeans.plotting.convergence import ConvergenceDisplay
from powerkmeans.plotting.embedding import EmbeddingDisplay
from powerkmeans.plotting.membership import MembershipDisplay
from powerkmeans.plotting.sensitivity import DimensionDisplay, SensitivityDisplay
from powerkmeans.plotting.splits import SplitDisplay

__all__ = [
    "ConvergenceDisplay",
    "DimensionDisplay",
    "EmbeddingDisplay",
    "KChoiceDisplay",
    "MembershipDisplay",
    "SensitivityDisplay",
    "SplitDisplay",
    "ViewContributionDisplay",
]
