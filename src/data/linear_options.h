// How linear models are fitted. Here, and not beside them, because an input carries it.
#pragma once

namespace manymeans {

/// How a linear model is fitted to the rows of its cluster.
struct LinearOptions {
  double ridge = 0;       ///< added to each diagonal element of the centred Gram matrix, as a share of it
  bool intercept = true;  ///< false: the model goes through the origin
};

}  // namespace manymeans
