"""Names from scikit-learn for the classes of this package; the stub has their types."""

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
