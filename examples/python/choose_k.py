"""How many clusters? Fits every k of a range many times, and prints what helps to choose.

usage: choose_k.py [data/s1.txt.gz]
"""

import sys

import numpy as np
from sklearn.metrics import adjusted_rand_score

import manymeans
from manymeans import EnsembleKMeans

points = manymeans.read(sys.argv[1] if sys.argv[1:] else "data/s1.txt.gz").points
ensemble = EnsembleKMeans(range(10, 21), models_per_k=20, random_state=0).fit(points)

print(" k      inertia  silhouette      BIC  agreement")
for k, best in ensemble.best_of_k_.items():
    models = sorted((model for model in ensemble.models_ if model.k == k), key=lambda model: model.inertia)
    agreement = np.mean([adjusted_rand_score(best.labels, model.labels) for model in models[1:6]])
    found = manymeans.criteria(points, best)
    print(f"{k:2d} {best.inertia:12.5g} {found.silhouette:11.3f} {found.bic:8.0f} {agreement:10.3f}")

choice = manymeans.choose_k(points, range(2, 21), models=5)
print(f"\n{choice.answer}: {choice.reason}")
for name, k, value in choice.votes:
    print(f"{name:21} {k:3d}  {value}")
