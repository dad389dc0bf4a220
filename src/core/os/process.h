// This process and its children.
#pragma once

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <optional>

namespace manymeans {

/// Returns the file of this program; empty where the system does not say.
std::filesystem::path program_file();

/// Returns the seconds since this process was started. On macOS, time before the first call counts only while the
/// process had a processor.
double seconds_since_start();

/// Returns the seconds of a processor that a process has used; nothing where the system does not say.
std::optional<double> processor_seconds(pid_t process);

/// In a child, after vfork: the system kills it when the thread that started it has ended. Returns false if the system
/// refuses. Does nothing on other systems than Linux: a child must see there that its input ends.
bool end_with_parent();

/// Connects two sockets of this machine, which no started program inherits. On other systems than Linux, one may if
/// another thread starts it right now.
bool connect_sockets(std::array<int, 2>& ends);

/// Takes a pending signal, which is blocked, away from this thread and this process, if there is one.
void drop_pending_signal(int signal);

}  // namespace manymeans
