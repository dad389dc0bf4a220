"""Customers of a CSV file in segments: how many there are is chosen by the silhouette, then each is described.

usage: customer_segmentation.py CUSTOMERS.csv

examples/python/make_customers.py writes a file to try it with.
"""

import sys

import pandas as pd
from sklearn.metrics import silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manymeans import KMeans  # was: from sklearn.cluster import KMeans


def main():
    customers = pd.read_csv(sys.argv[1])
    scores = {}
    for k in range(2, 9):
        pipeline = make_pipeline(StandardScaler(), KMeans(n_clusters=k, n_init=5, random_state=0))
        scores[k] = silhouette_score(pipeline[:-1].fit_transform(customers), pipeline.fit_predict(customers))
        print(f"{k} segments: silhouette {scores[k]:.3f}")

    best = max(scores, key=scores.get)
    pipeline = make_pipeline(StandardScaler(), KMeans(n_clusters=best, n_init=5, random_state=0))
    segments = customers.groupby(pipeline.fit_predict(customers))
    print(f"\n{best} segments of {len(customers)} customers:")
    print(segments.mean().round(1).assign(customers=segments.size()).sort_values("customers").to_string(index=False))


if __name__ == "__main__":
    main()
