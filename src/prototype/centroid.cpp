#include "prototype/centroid.h"

#include "prototype/prototype_table.h"

namespace manymeans {

const Prototype& centroid() {
  static const Prototype table = table_of<Centroid>();
  return table;
}

}  // namespace manymeans
