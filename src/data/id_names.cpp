#include "data/id_names.h"

#include "core/lower_case.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace manymeans {

bool is_named_like_id(const std::string& any_case) {
  const std::string name = lower_case(any_case);
  constexpr std::string_view kNames[] = {
      "id",       "_id",      "index",    "idx",       "uuid",     "guid",      "level_0",    "rowid",
      "row.name", "row_name", "rowname",  "row.names", "rownames", "row_names", "row number", "row_number",
      "rownum",   "row_num",  "rowindex", "row_index", "row_nr",   "objectid",  "ogc_fid",    "__null_dask_index__"};
  if (std::ranges::find(kNames, name) != std::end(kNames)) return true;
  if (name.starts_with("unnamed: ") || name.starts_with("__index_level_") || name.starts_with("...")) return true;
  return name.ends_with("_id") || name.ends_with("-id") || name.ends_with(" id") || name.ends_with(".id");
}

bool may_be_named_like_id(const std::string& any_case) {
  std::string name = lower_case(any_case);
  constexpr std::string_view kWhole[] = {"#", "_1"};
  constexpr std::string_view kNames[] = {"id",     "ix",       "level1", "no",  "nr",  "obs",   "oid",
                                         "number", "recno",    "record", "rn",  "row", "rowno", "seq",
                                         "serial", "serialno", "slno",   "sno", "srno"};
  constexpr size_t kMin = 4;  // two letters and "id"
  if ((name.size() >= kMin && name.ends_with("id")) || std::ranges::find(kWhole, name) != std::end(kWhole)) return true;
  std::erase_if(name, [](char c) { return c == ' ' || c == '.' || c == '_' || c == '-'; });  // S.No, Sr No, row_no
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace manymeans
