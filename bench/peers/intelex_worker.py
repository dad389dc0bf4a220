"""The KMeans of scikit-learn-intelex (oneDAL); see peer_protocol.py. Only this process is patched."""

from importlib import metadata

import daal4py
import peer_protocol
from sklearnex.cluster import KMeans


def fit(points, centroids, max_iter, clock, threads):
    daal4py.daalinit(threads)
    model = KMeans(len(centroids), init=centroids, n_init=1, max_iter=max_iter, tol=0, algorithm="lloyd")
    model.n_jobs = threads
    with clock:
        model.fit(points)
    if not hasattr(model, "_onedal_estimator"):
        raise SystemExit("scikit-learn-intelex handed this fit to scikit-learn: nothing of its own to measure")
    return model.cluster_centers_, model.labels_, model.n_iter_


def state(threads):
    versions = {name: metadata.version(name) for name in ("scikit-learn-intelex", "daal", "tbb")}
    return {"threads": [daal4py.num_threads()], "pools": peer_protocol.pools(), "versions": versions}


peer_protocol.run(fit, state)
