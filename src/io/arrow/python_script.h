// The program that another process runs: arrow_process.py, as text.
#pragma once

namespace manymeans {

extern const char* const kPythonScript;

}  // namespace manymeans
