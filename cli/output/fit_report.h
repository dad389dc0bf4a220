// The output of `fit` for people.
#pragma once

#include <manymeans/result.h>

#include <functional>
#include <string>
#include <vector>

namespace manymeans::cli {

/// The wording of a report on one kind of models.
struct ReportStyle {
  struct Column {
    std::string title;
    std::function<std::string(size_t model)> cell;
  };
  std::string rows;                  ///< "300 points of 2 columns"
  std::string inertia = "inertia";   ///< how that column is called
  std::vector<Column> columns = {};  ///< columns behind the inertia
  std::string details = {};          ///< lines below the table
};
ReportStyle points_style(const FitResult& result);

/// A table with the best model of every k, the digest of the ensemble, times and the files written.
std::string fit_report(const std::string& data, const FitResult& result, const std::vector<std::string>& files,
                       const ReportStyle& style);

/// Its first line: what was clustered, and where.
std::string heading_of(const std::string& data, const FitResult& result, const ReportStyle& style);
/// Its last lines: times, and the files written.
std::string ending_of(const FitResult& result, const std::vector<std::string>& files);

}  // namespace manymeans::cli
