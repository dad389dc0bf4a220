"""What this package takes from scikit-learn for its classes; the stub says of what types that is."""

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    RegressorMixin,
    TransformerMixin,
    _fit_context,
)

__all__ = [
    "BaseEstimator", "ClassNamePrefixFeaturesOutMixin", "ClusterMixin", "RegressorMixin", "TransformerMixin",
    "checks_parameters",
]  # fmt: skip

#: Decorates what is to check the parameters first.
checks_parameters = _fit_context(prefer_skip_nested_validation=True)
