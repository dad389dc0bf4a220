// The nodes of a tree as a .npz or a .parquet.
#include <manymeans/io.h>
#include <manymeans/tree.h>

#include "core/lower_case.h"
#include "core/out_of_memory.h"
#include "io/numpy/npz.h"
#include "io/table/writer.h"

#include <cstring>
#include <numeric>

namespace manymeans {

void save_tree(const std::string& path, const TreeResult& tree) {
  or_out_of_memory(path, "nothing was written", [&] {
    std::vector<int64_t> ids(tree.parents.size()), levels;
    std::iota(ids.begin(), ids.end(), int64_t{0});
    for (size_t i = 0; i < tree.levels.size(); ++i) {
      levels.insert(levels.end(), static_cast<size_t>(tree.levels[i].nodes), static_cast<int64_t>(i));
    }
    if (lower_case(path).ends_with(".parquet")) {
      const auto vectors = tree.vectors.bytes();
      Table table;
      table.rows = tree.vectors.rows();
      table.columns = tree.vectors.columns();
      table.type = tree.vectors.type() == DataType::kFloat64 ? CellType::kFloat64 : CellType::kFloat32;
      table.fill = [&, size = table.row_size()](int64_t first, int64_t count, std::byte* out) {
        std::memcpy(out, vectors.data() + static_cast<size_t>(first) * size, static_cast<size_t>(count) * size);
      };
      table.numbers = {{"id", ids}, {"parent", tree.parents}, {"level", levels}};
      table.list_name = "vector";
      return write_table(path, writer_for(path, "parquet"), table);
    }
    OutputFile file(path);
    NpzWriter npz(file);
    npz.add("id", ids);
    npz.add("parent", tree.parents);
    npz.add("level", levels);
    npz.add("vector", tree.vectors);
    npz.finish();
    file.commit();
  });
}

}  // namespace manymeans
