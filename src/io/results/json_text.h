// JSON of model files.
#pragma once

#include <manymeans/regress.h>
#include <manymeans/result.h>
#include <manymeans/tree.h>

#include <string>

namespace manymeans {

/// Returns true for a whole JSON object that is at most as deep as what we write. Deeper ones exhaust the stack of some
/// parsers.
bool is_json_object(const std::string& text);

/// to_json() without what tells of the run: times, threads, devices, counts of the screens. Equal answers give the same
/// bytes.
std::string answer_json(const FitResult& result);
std::string answer_json(const RegressResult& result);
std::string answer_json(const TreeResult& result);

}  // namespace manymeans
