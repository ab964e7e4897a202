"""Where findings begin: at values at which accuracy is lost for certain, not where it might be.

``docs/advice.md`` has what was measured for each.
"""

from __future__ import annotations

# scales this far apart cannot be judged side by side: rows that lie this many times as far off as half of them are
# left aside, and bandwidths are taken to be at least one over this of the largest entry
FAR = 1e5

# so many kernel values, or so much of the variance, are as good as all
NEARLY_ALL = 0.95
# a share that does not show: of a kernel value below 1, of a typicality, of rounding, of a column's spread, and of
# what chance may explain where there are samples enough to tell
NEGLIGIBLE = 0.01
# kernel values between neighbours and typicalities below this are those of samples that have nothing in common
UNALIKE = 0.2
# a tenth is few: of the columns that have the variance, of it that may hang on tails, and of the examined rows,
# where a kernel that has no more directions is not local
FEW = 0.1

# outputs that a map needs for each direction of its kernel: with one, moons lose up to a quarter of their samples
OUTPUTS_PER_DIRECTION = 2
# a map is too small above this error
LARGEST_ERROR = 0.15

# what a draw of rows gives is known up to this factor: chance, and variances in their order
UNCERTAINTY = 2.0
# multiples of what chance gives, beyond which columns are correlated; and clusters related to a view, or the
# structure that they can show to that of other rows
CORRELATED, RELATED = 3.0, 5.0
# clusters follow the totals of rows where they explain so much of the variance of their logarithms, and these vary
# by so much, their standard deviation: totals within a fifth of each other drown nothing
TOTALS_FOLLOWED, DIFFERENT_TOTALS = 0.4, 0.2
# fewer columns are measurements or answers beside each other, not a profile of what was counted
COUNTED_COLUMNS = 10
# a graph that agrees with its halves on less shows no clusters
LEAST_AGREEMENT = 0.3
