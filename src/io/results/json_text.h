// JSON of model files.
#pragma once

#include <manymeans/regress.h>
#include <manymeans/result.h>

#include <string>

namespace manymeans {

/// Whether this is a whole JSON object that is no deeper than what we write; deeper ones exhaust the stack of some
/// parsers.
bool is_json_object(const std::string& text);

/// to_json() without what tells of the run: times, threads, devices, counts of the screens. The same bytes for equal
/// answers.
std::string answer_json(const FitResult& result);
std::string answer_json(const RegressResult& result);

}  // namespace manymeans
