#include "prototype/direction.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "prototype/prototype_table.h"

#include <fmt/format.h>

#include <vector>

namespace manymeans {

const Prototype& direction() {
  static const Prototype table = table_of<Direction>();
  return table;
}

Matrix unit_prototypes(Matrix prototypes) {
  const int64_t d = prototypes.columns();
  std::vector<double> unit(static_cast<size_t>(d));
  as_float_type(prototypes.type(), [&]<class T>(T) {
    T* row = prototypes.values<T>().data();
    for (int64_t k = 0; k < prototypes.rows(); ++k, row += d) {
      if (!scale_to_unit_length(row, d, unit.data())) {
        throw Error(ErrorCode::kBadData, "initial prototypes",
                    fmt::format("row {} is all zeros, which has no direction for metric cosine; give another", k + 1));
      }
      for (int64_t j = 0; j < d; ++j) row[j] = static_cast<T>(unit[static_cast<size_t>(j)]) + T{0};
    }
  });
  return prototypes;
}

}  // namespace manymeans
