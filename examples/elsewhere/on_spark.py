"""Rows that Spark has (pip install pyspark, and Java): a sample is fitted here, all rows are gone over there."""

from operator import add

import numpy as np
from pyspark.sql import SparkSession

from powerkmeans import KernelPowerKMeans
from powerkmeans.protocol import block_sums, update


def rows_of(number):
    rng = np.random.default_rng(number)
    return 4 * np.eye(5, 6)[rng.integers(5, size=20_000)] + rng.normal(size=(20_000, 6))


def main(spark, blocks, n_clusters=5, tol=1e-4, max_iter=100):
    sample = np.concatenate(blocks.map(lambda rows: rows[::20]).collect())
    model = KernelPowerKMeans(n_clusters, feature_map="rff", random_state=0).fit(sample)
    for _ in range(max_iter):
        sent = spark.sparkContext.broadcast(model)
        sums = blocks.map(lambda rows, sent=sent: block_sums(sent.value, rows)).treeReduce(add)
        model, shift = update(model, sums)
        sent.unpersist()
        if shift <= tol:
            break
    return model


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").appName("powerkmeans").getOrCreate()
    # from a DataFrame: df.rdd.mapPartitions(lambda part: [np.array(list(part), dtype=float)])
    partitions = session.sparkContext.parallelize(range(8), 8).map(rows_of).cache()
    found = main(session, partitions)
    print(f"mean squared distance to the nearest centroid: {found.inertia_ / 160_000:.5f}")
