// Measuring this machine, so that `auto` chooses by what is true here.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace manymeans {

/// Measures what the screens of the cpu backend cost on this machine, for every instruction set it has (or the one that
/// MANYMEANS_CPU_ISA names), and what the machine can do at best on `threads` threads (0: all usable). Returns the text
/// of a costs file, one JSON object (docs/user/cli.md). `say` is told what is being measured. Takes less than half a
/// minute and a quarter of a gibibyte. The costs decide how labels are found, never which. Throws Error(kUsage,
/// kUnavailable) for an instruction set that is not there.
std::string measure_costs(int threads, const std::function<void(std::string_view)>& say);

/// Where fits look for a costs file unless MANYMEANS_CPU_COSTS names one: manymeans/cpu_costs.json in $XDG_CONFIG_HOME
/// or ~/.config; empty if neither is set.
std::string default_costs_path();

/// Writes it whole or not at all; makes the folder of default_costs_path() if that is meant. Throws
/// Error(kUnavailable).
void write_costs(const std::string& path, const std::string& text);

}  // namespace manymeans
