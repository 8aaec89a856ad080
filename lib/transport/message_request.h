// What send() and receive() of a message link give: an operation until it is released.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace plait::transport {

constexpr uint32_t kMessageTogether = 8;  // slots of one receive, at most

class MessageRequest {
 public:
  // Once true it stays so until the request is released; then the buffers are the caller's again.
  bool done() const noexcept { return state_ == State::done; }
  // Once done: ok, or why not, in a sentence that names the peer.
  const Status& status() const noexcept { return status_; }
  // Once done: how many bytes a send sent, or came to each slot of a receive.
  std::span<const size_t> bytes() const noexcept { return {bytes_.data(), count_}; }

  void* context = nullptr;  // the caller's own

 private:
  friend class MessageLink;
  friend class MessageSends;
  friend class MessageReceives;
  enum class State : uint8_t { free, pending, done };

  void begin(uint32_t count) noexcept {
    state_ = State::pending;
    count_ = left_ = count;
    bytes_ = {};
    context = nullptr;
  }
  // The i-th slot has ended. True: so has the request.
  bool end(uint32_t i, size_t bytes) noexcept {
    bytes_[i] = bytes;
    if (--left_ != 0) return false;
    state_ = State::done;
    return true;
  }
  void fail(const Status& status) noexcept {
    if (status_.ok()) status_ = status;
  }

  State state_ = State::free;
  uint16_t index_ = 0;
  bool is_send_ = false;
  uint32_t count_ = 0, left_ = 0;
  std::array<size_t, kMessageTogether> bytes_{};
  Status status_;
};

}  // namespace plait::transport
