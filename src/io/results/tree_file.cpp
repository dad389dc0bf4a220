// The nodes of a tree as a .npz.
#include <manymeans/io.h>
#include <manymeans/tree.h>

#include "core/out_of_memory.h"
#include "io/numpy/npz.h"

#include <numeric>

namespace manymeans {

void save_tree(const std::string& path, const TreeResult& tree) {
  or_out_of_memory(path, "nothing was written", [&] {
    std::vector<int64_t> ids(tree.parents.size()), levels;
    std::iota(ids.begin(), ids.end(), int64_t{0});
    for (size_t i = 0; i < tree.levels.size(); ++i) {
      levels.insert(levels.end(), static_cast<size_t>(tree.levels[i].nodes), static_cast<int64_t>(i));
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
