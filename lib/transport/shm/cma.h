// Reading and writing plain memory of another process (cross memory attach).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plait::transport::shm {

// Bytes moved, maybe fewer than asked; -1 and errno when none were.
ssize_t cma_read(pid_t pid, uint64_t from, std::byte* to, size_t bytes) noexcept;
ssize_t cma_write(pid_t pid, uint64_t to, const std::byte* from, size_t bytes) noexcept;

// Whether `pid` can be read, tried on a word of it that must hold `value`. False for a process that is not
// `pid` here, as in another PID namespace.
bool cma_works(pid_t pid, uint64_t address, uint64_t value) noexcept;

inline constexpr std::string_view kNoCma =
    "CMA is not allowed here: kernel.yama.ptrace_scope or the container's seccomp; plain memory is staged "
    "instead";

}  // namespace plait::transport::shm
