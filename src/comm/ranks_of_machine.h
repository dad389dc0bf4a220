// Ranks that run on one machine.
#pragma once

#include <manymeans/comm.h>

namespace manymeans {

/// Which of the ranks of its machine this one is, from 0 in their order. All ranks call it.
int rank_on_machine(Comm& comm);

}  // namespace manymeans
