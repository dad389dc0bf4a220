// One array of a .npz file: in place where it is stored as it is, else inflated.
#include <manymeans/error.h>

#include "io/files/mapped_file.h"
#include "io/files/zip_archive.h"
#include "io/numpy/npy_format.h"
#include "io/numpy/sparse_archive.h"
#include "io/table/reader.h"

#include <fmt/format.h>

namespace manymeans {
namespace {

constexpr std::string_view kEnding = ".npy";  // of the members, where numpy.savez adds it

std::string without_ending(const std::string& name) {
  return name.ends_with(kEnding) ? name.substr(0, name.size() - kEnding.size()) : name;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMaxNamed = 10;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMaxNamed; ++i) list += (i == 0 ? "" : ", ") + without_ending(names[i]);
  return names.size() > kMaxNamed ? fmt::format("{} and {} more", list, names.size() - kMaxNamed) : list;
}

// The archive's name of the array that the path means.
std::string find_member(const ZipReader& zip, const MemberPath& path) {
  const std::vector<std::string> names = zip.names();
  if (names.empty()) throw Error(ErrorCode::kBadData, path.file, "the archive is empty; an array is needed");
  if (path.member.empty()) {
    if (names.size() == 1) return names[0];
    throw Error(ErrorCode::kUsage, path.file,
                fmt::format("there are {} arrays in it: {}; say which, as in {}:{}", names.size(), list_of(names),
                            path.file, without_ending(names[0])));
  }
  for (const std::string& name : {path.member + std::string(kEnding), path.member}) {
    if (zip.has(name)) return name;
  }
  throw Error(ErrorCode::kUsage, path.file,
              fmt::format("there is no array '{}' in it; there are: {}", path.member, list_of(names)));
}

Dataset read_npz(const std::string& path, const ReadOptions& options) {
  const MemberPath parts = split_member(path);
  const auto file = MappedFile::open(parts.file, Access::kAgainAndAgain, options.memory);
  const ZipReader zip(file->bytes(), parts.file);
  if (parts.member.empty() && is_sparse_archive(zip)) {
    throw Error(ErrorCode::kUsage, parts.file,
                "it is a sparse matrix of SciPy; 'manymeans fit', 'search', 'choose', 'predict' and 'describe' take "
                "one as DATA, "
                "other commands and several files at once cannot hold any; in Python scipy.sparse.load_npz reads it, "
                "and fit and predict take the "
                "matrix");
  }
  const std::string name = find_member(zip, parts);
  const std::string where = parts.file + ":" + without_ending(name);
  if (const auto stored = zip.in_place(name, options.memory))
    return read_stored(npy_matrix(*stored, where), file, where, options);
  const auto inflated = std::make_shared<const ByteBuffer>(zip.inflate(name, options.memory));
  const auto bytes = std::as_bytes(std::span(inflated->text().data(), inflated->size()));
  return read_stored(npy_matrix(bytes, where), inflated, where, options);
}

}  // namespace

Reader make_npz_reader() {
  return {"one array of a NumPy archive (.npz, FILE.npz:NAME)", {".npz"}, read_npz, /*has_members=*/true};
}

}  // namespace manymeans
