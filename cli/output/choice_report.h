// The output of `choose`: for people, for programs.
#pragma once

#include <manymeans/choose.h>
#include <manymeans/result.h>

#include <string>
#include <vector>

namespace manymeans::cli {

/// Lines below the table.
struct ChoiceDetails {
  std::vector<std::string> files;  ///< written
  std::string clusters;            ///< what they are like
};

/// A table of k against the criteria with their votes, the recommended k, why, and who says otherwise. `model` is the
/// model of the recommended k, with provenance.
std::string choice_report(const std::string& data, const ChosenK& chosen, const FitResult& model,
                          const ChoiceDetails& details);

/// The summary of that model as of a fit, with the member `choice`.
std::string choice_json(const ChosenK& chosen, const FitResult& model);

}  // namespace manymeans::cli
