// The loop with bare UCP calls of bench_ucx, and what both of its contestants share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/pages.h"
#include "base/status.h"
#include "perf/fabric/duel.h"

namespace plait::perf {

enum class Mode : uint8_t { am, acked, put };  // see bench_ucx.cc

constexpr int64_t kPatienceMs = 20'000;
constexpr size_t kWindow = 16;  // messages of a stream under way

// What is sent, and behind it where it comes.
class Memory {
 public:
  Status make(size_t bytes, size_t offset) {
    pages_ = map_pages(bytes + offset);
    if (!pages_) return Status(Code::memory, "no memory for the messages");
    bytes_ = {pages_.data() + offset, bytes};
    std::ranges::fill(bytes_, std::byte(0));
    return {};
  }
  std::byte* data() const noexcept { return bytes_.data(); }
  size_t size() const noexcept { return bytes_.size(); }
  std::byte& operator[](size_t i) const noexcept { return bytes_[i]; }

 private:
  Mapping pages_;
  std::span<std::byte> bytes_;
};

// UCX_NET_DEVICES.
inline std::string device_of(const std::string& transports) { return transports == "tcp" ? "lo" : ""; }
inline Status late() { return Status(Code::timeout, "nothing moved for 20 s"); }

// `offset`: of the messages in their first page.
std::unique_ptr<fabric::Contestant> make_bare(const std::string& transports, Mode mode, size_t offset);

}  // namespace plait::perf
