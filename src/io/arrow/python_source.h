// Parquet and Arrow files by a Python that has pyarrow. Includes nothing of Arrow.
#pragma once

#include "io/arrow/fields.h"
#include "io/arrow/python_process.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace manymeans {

class PythonSource : public FieldSource {
 public:
  /// Throws Error(kUnavailable) if there is no such Python.
  PythonSource(FieldsFormat format, std::shared_ptr<const MappedFile> file, const std::string& path, int threads);
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::vector<int64_t> piece_rows(const std::vector<int>& fields) override;
  std::unique_ptr<Pieces> open(const std::vector<int>& fields) const override;
  /// Which has opened the file.
  PythonProcess& process() const { return *process_; }

 private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::unique_ptr<PythonProcess> process_;
  std::vector<FieldInfo> fields_;
  mutable std::atomic<int64_t> readers_{0};
};

}  // namespace manymeans
