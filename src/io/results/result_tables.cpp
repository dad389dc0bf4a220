// Labels and distances as tables.
#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/models_by_k.h>

#include "comm/or_abort.h"
#include "core/data_type.h"
#include "core/label_width.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "io/results/rows_of_ranks.h"
#include "io/table/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kNothing = "nothing was written";

// Results have no floats of 16 bits, which nothing converts to here.
template <class Take>
void with_result_type(CellType type, const Take& take) {
  with_cell_type(type, [&]<class T>(T zero) {
    if constexpr (std::is_arithmetic_v<T>) {
      take(zero);
    } else {
      throw Error(ErrorCode::kInternal, "results", "a table of results has floats of 16 bits");
    }
  });
}

// A row of no values.
void fill_gap(const Table& table, std::byte* out) {
  with_result_type(table.type, [&]<class T>(T) {
    const T gap = std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(-1);
    std::fill_n(reinterpret_cast<T*>(out), table.columns, gap);
  });
}

// The table of all rows of a file; `rows` have to outlive it.
Table in_file(Table inner, const FileRows& rows) {
  Table table = inner;
  table.ids = rows.ids;
  table.id_name = rows.id_name;
  if (rows.dropped.empty()) return table;
  table.has_gaps = true;
  table.rows += std::ssize(rows.dropped);
  table.fill = [inner = std::move(inner), dropped = rows.dropped](int64_t first, int64_t count, std::byte* out) {
    auto gap = std::ranges::lower_bound(dropped, first);
    for (int64_t row = first; row < first + count;) {
      const int64_t next = gap == dropped.end() ? first + count : std::min(*gap, first + count);
      const int64_t before = gap - dropped.begin();
      if (next > row) inner.fill(row - before, next - row, out);
      out += static_cast<size_t>(next - row) * inner.row_size();
      row = next;
      if (row == first + count) break;
      fill_gap(inner, out);
      out += inner.row_size();
      ++row;
      ++gap;
    }
  };
  return table;
}

// Labels as a table, column by column; `columns` have to outlive it. With gaps there are negative numbers.
Table table_of(const std::string& path, const std::vector<const Labels*>& columns, std::vector<std::string> names,
               Comm& comm, bool gaps) {
  int64_t width = 1;
  for (const Labels* labels : columns) {
    width = std::max<int64_t>(width, labels->width());
    if (labels->size() != columns[0]->size()) {
      throw Error(ErrorCode::kInternal, path, "the models have labels for different numbers of rows");
    }
  }
  width = comm.max(width);  // a rank without rows has no labels
  Table table;
  table.names = std::move(names);
  table.columns = static_cast<int64_t>(table.names.size());
  table.rows = columns[0]->size();
  table.type = width == 1 ? CellType::kUInt8 : (width == 2 ? CellType::kUInt16 : CellType::kUInt32);
  if (gaps) table.type = CellType::kInt32;
  table.fill = [&columns, type = table.type](int64_t first, int64_t count, std::byte* out) {
    std::vector<uint32_t> values(static_cast<size_t>(count));
    for (size_t j = 0; j < columns.size(); ++j) {
      columns[j]->read(first, count, values.data());
      with_result_type(type, [&]<class T>(T) {
        T* cells = reinterpret_cast<T*>(out) + j;
        for (size_t i = 0; i < values.size(); ++i) cells[i * columns.size()] = static_cast<T>(values[i]);
      });
      columns[j]->give_back(first, count);
    }
  };
  return table;
}

// write(), in which all ranks write one file: an error of one of them is one of all.
template <class Write>
auto write_together(const std::string& path, Comm& comm, Write&& write) {
  return all_or_abort(comm, [&] { return or_out_of_memory(path, kNothing, write); });
}

// Writes the rows of all ranks; by default there is one rank.
void write_rows(const std::string& path, const Table& mine, Comm& comm) {
  if (comm.alone()) return write_table(path, result_writer_for(path), mine);
  write_rows_of_ranks(path, mine, comm);
}

std::string write_columns(const std::string& path, const std::vector<const Labels*>& columns,
                          std::vector<std::string> names, Comm& comm, const FileRows& rows) {
  const Table table = in_file(table_of(path, columns, std::move(names), comm, !rows.dropped.empty()), rows);
  write_rows(path, table, comm);
  return std::string(name_of(table.type));
}

}  // namespace

std::vector<NamedLabels> best_labels(const std::string& path, const FitResult& result) {
  std::vector<NamedLabels> found;
  for (const ModelsOfK& of : models_by_k(result)) {
    if (of.best < 0) {
      throw Error(
          ErrorCode::kInterrupted, path,
          fmt::format("there are no labels for k = {}: none of its models had begun; let the fit run longer", of.k));
    }
    found.push_back({fmt::format("k{}", of.k), of.best});
  }
  if (found.empty()) throw Error(ErrorCode::kInterrupted, path, "there are no labels: the fit has no models");
  if (found.size() == 1) found[0].name = "label";
  return found;
}

std::string write_labels(const std::string& path, const FitResult& result) {
  return write_labels(path, result, self_comm());
}

FileRows file_rows(const Dataset& points) {
  return {points.dropped, points.ids, points.id_name.empty() ? "id" : points.id_name};
}

std::string write_labels(const std::string& path, const FitResult& result, Comm& comm, const FileRows& rows) {
  return write_together(path, comm, [&] {
    std::vector<const Labels*> columns;
    std::vector<std::string> names;
    for (const NamedLabels& best : best_labels(path, result)) {
      columns.push_back(&result.models[static_cast<size_t>(best.model)].labels);
      names.push_back(best.name);
    }
    return write_columns(path, columns, names, comm, rows);
  });
}

std::string write_labels(const std::string& path, const Labels& labels) {
  return write_labels(path, labels, self_comm());
}

std::string write_labels(const std::string& path, const Labels& labels, Comm& comm, const FileRows& rows) {
  return write_together(path, comm, [&] { return write_columns(path, {&labels}, {"label"}, comm, rows); });
}

void write_values(const std::string& path, std::span<const double> values, const std::string& name) {
  write_values(path, values, name, self_comm());
}

void write_values(const std::string& path, std::span<const double> values, const std::string& name, Comm& comm,
                  const FileRows& rows) {
  write_together(path, comm, [&] {
    Table table;
    table.names = {name};
    table.rows = static_cast<int64_t>(values.size());
    table.type = CellType::kFloat64;
    table.fill = [&](int64_t first, int64_t count, std::byte* out) {
      std::memcpy(out, values.data() + first, static_cast<size_t>(count) * sizeof(double));
    };
    write_rows(path, in_file(std::move(table), rows), comm);
  });
}

namespace {

CellType cell_type(DataType type) {
  switch (type) {
    case DataType::kFloat32: return CellType::kFloat32;
    case DataType::kFloat64: return CellType::kFloat64;
    case DataType::kFloat16: return CellType::kFloat16;
    case DataType::kBFloat16: return CellType::kBFloat16;
    case DataType::kUInt8: return CellType::kUInt8;
    case DataType::kInt8: return CellType::kInt8;
  }
  throw Error(ErrorCode::kInternal, "points", "an unknown type");
}

// The points as a table, which they have to outlive.
Table table_of(const Dataset& points) {
  const PointsView& view = points.view;
  Table table;
  table.rows = view.n;
  table.columns = view.d;
  table.names = points.column_names;
  table.ids = points.ids;
  table.id_name = points.id_name;
  table.type = cell_type(view.type);
  table.is_matrix = true;
  await_points(view);
  table.fill = [&view, row_size = table.row_size()](int64_t first, int64_t count, std::byte* out) {
    std::vector<std::byte> fetched;
    std::memcpy(out, row_bytes(view, first, count, fetched), static_cast<size_t>(count) * row_size);
    check_mapped(view.data);
  };
  return table;
}

}  // namespace

void write_points(const std::string& path, const Dataset& points, const std::string& format) {
  or_out_of_memory(path, kNothing, [&] { write_table(path, writer_for(path, format), table_of(points)); });
}

void write_points(const std::string& path, const Dataset& points, Comm& comm) {
  write_together(path, comm, [&] { write_rows(path, table_of(points), comm); });
}

void write_matrix(const std::string& path, const MadeMatrix& matrix, const std::string& format) {
  or_out_of_memory(path, kNothing, [&] {
    Table table;
    table.rows = matrix.rows;
    table.columns = matrix.columns;
    table.type = cell_type(matrix.type);
    table.is_matrix = true;
    table.fill = matrix.fill;
    write_table(path, writer_for(path, format), table);
  });
}

}  // namespace manymeans
