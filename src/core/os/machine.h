// Processors and memory that the system gives this process.
#pragma once

#include <array>
#include <cstdint>

namespace manymeans {

/// The processors on which this process may run, one bit each. All are zero where the system does not say: on macOS,
/// and on Linux with more than 1024 processors.
using ProcessorMask = std::array<uint64_t, 16>;
ProcessorMask allowed_mask();

/// Returns how many these are, or how many the machine has.
int allowed_processors();

/// Returns the bytes that the system can give to processes, or the largest number where it does not say.
int64_t system_memory();

/// Asks for the matrix registers (AMX) of an x86 processor. Returns false on other systems than Linux.
bool request_matrix_registers();

/// Returns whether this is a 64-bit Arm processor with BFDOT and the system says so.
bool finds_bfdot();

}  // namespace manymeans
