// Results as JSON (docs/user/json.md).
#pragma once

#include <string>

namespace manymeans {

struct FitResult;
struct Provenance;
struct RegressResult;
struct SearchResult;
struct TreeResult;

/// The summary of a fit as one JSON object (docs/user/json.md).
std::string to_json(const FitResult& result);
std::string to_json(const RegressResult& result);
std::string to_json(const SearchResult& result);
std::string to_json(const TreeResult& result);
/// Its part "provenance".
std::string to_json(const Provenance& provenance);

}  // namespace manymeans
