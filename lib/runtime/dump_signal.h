// SIGUSR1 writes the record of every communicator of this process, wherever its threads are: computing,
// waiting, stuck.
#pragma once

#include "base/status.h"
#include "runtime/recorder.h"

namespace plait::runtime {

// Takes SIGUSR1 when PLAIT_DUMP is set and nobody else has it: a handler of the program's own is never
// replaced.
void take_dump_signal() noexcept;
// Gives it back, unless the program took it meanwhile.
void return_dump_signal() noexcept;
// Whether this process writes on SIGUSR1. Async-signal-safe.
bool answers_signal() noexcept;

// Those that are written, kMostEnlisted a process; more are left out.
constexpr size_t kMostEnlisted = 256;
void enlist(const Recorder* recorder) noexcept;
// Returns when nobody reads it any more.
void delist(const Recorder* recorder) noexcept;
// In a forked child, which has none of its parent's.
void forget_enlisted() noexcept;

}  // namespace plait::runtime
