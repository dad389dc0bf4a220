// Measures what the cost model of the cpu backend needs, and what the machine can do at best.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace manymeans {

/// Where fits look for measured costs: $XDG_CONFIG_HOME or ~/.config, then manymeans/cpu_costs.json; empty if there is
/// no such folder to speak of.
std::string costs_path();

/// The text of a costs file, JSON: costs of all instruction sets that this machine supports (of one if
/// MANYMEANS_CPU_ISA says so), and peak rates on `threads` threads (0: all usable). `say` is told what is being
/// measured. Takes seconds. Throws Error(kUsage, kUnavailable) for an instruction set that is not there.
std::string measure_cpu_costs(int threads, const std::function<void(std::string_view)>& say);

}  // namespace manymeans
