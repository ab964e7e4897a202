"""Single cells: AnnData and MuData in, results written beside the data, as scanpy's functions do.

Neither package is imported here: whoever has such an object has imported it.
"""

from powerkmeans.sc.choosing import choose_k
from powerkmeans.sc.clustering import cluster
from powerkmeans.sc.reporting import write_report

__all__ = ["choose_k", "cluster", "write_report"]
