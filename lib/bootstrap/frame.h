// Frames: messages on an authenticated stream. Each is its length, its bytes, and a MAC under the session's
// key over the number of the frame, the length and the bytes, so that nobody on the path can change, insert,
// repeat or reorder one.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "bootstrap/crypto.h"

namespace plait::bootstrap {

constexpr size_t kMostExchange = 64u << 20;                 // bytes of all ranks in one allgather
constexpr size_t kMostFrame = kMostExchange + (32u << 20);  // with the table of 2^20 ranks

// Makes frames of one direction.
class Sealer {
 public:
  Sealer() = default;
  explicit Sealer(const Key& key) : key_(key) {}
  // Appends the frame of `message` to `to`.
  void seal(ByteView message, Bytes& to);
  static constexpr size_t kOverhead = sizeof(uint32_t) + sizeof(Digest);

 private:
  Key key_;
  uint64_t number_ = 0;
};

// Takes frames of one direction apart, from bytes as they come. Memory grows only as bytes arrive: a length
// is a claim.
class Opener {
 public:
  Opener() = default;
  explicit Opener(const Key& key) : key_(key) {}
  // Longer messages are refused. It may be raised when more trust is earned.
  void limit(size_t most) noexcept { most_ = most; }
  size_t limit() const noexcept { return most_; }
  // Bytes held: more than limit() and a frame's overhead means that a whole message is among them.
  size_t held() const noexcept { return buffer_.size() - at_; }
  void feed(ByteView bytes);
  // The next whole message, once its MAC was found right. None: more bytes are needed, or !ok().
  std::optional<Bytes> next();
  // False for good once a frame was too long or its MAC wrong.
  bool ok() const noexcept { return ok_; }

 private:
  Key key_;
  uint64_t number_ = 0;
  size_t most_ = kMostFrame;
  Bytes buffer_;
  size_t at_ = 0;  // what lies before was given out
  bool ok_ = true;
};

}  // namespace plait::bootstrap
