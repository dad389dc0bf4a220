// What `consensus` says.
#pragma once

#include <manymeans/consensus.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

struct ConsensusReport {
  std::string data;  ///< what messages call the points
  int64_t rows = 0;  ///< of the file
  int64_t columns = 0;
  std::string method;
  Consensus found = {};
  std::string labels, agreement;  ///< files; empty: none
  std::vector<std::string> warnings = {};
};

std::string consensus_text(const ConsensusReport& report);
std::string consensus_json(const ConsensusReport& report);

}  // namespace manymeans::cli
