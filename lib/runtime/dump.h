// Writes a flight recorder as JSON; docs/debugging.md shows one. One writer for all occasions, so it may be
// called in a signal handler: no allocation, no locks, nothing but async-signal-safe calls.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/recorder.h"

namespace plait::runtime {

// `created` says no more than that there is a communicator, and whom to ask for its record.
enum class Why : uint8_t { created, error, signal, call };

// 0, or the errno of what failed.
int write_dump(const Recorder& recorder, Why why, int fd) noexcept;
// The same as a file: whole or not at all, readable by this user only. ENAMETOOLONG above kMostPathBytes.
constexpr size_t kMostPathBytes = 1024;
int save_dump(const Recorder& recorder, Why why, const char* path) noexcept;

// PLAIT_DUMP, or an empty string.
std::string dump_prefix();
// Code::invalid when PLAIT_DUMP is too long to be a path.
Status check_dump_prefix();
// "PREFIX.RANK.COMMUNICATOR.json", absolute: the program may change its folder. Empty without PLAIT_DUMP.
std::string dump_path(int32_t rank, uint32_t communicator, const std::string& split = {});

}  // namespace plait::runtime
