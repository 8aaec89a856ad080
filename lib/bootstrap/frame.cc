#include "bootstrap/frame.h"

namespace plait::bootstrap {
namespace {

Digest mac_of(const Key& key, uint64_t number, uint32_t length, ByteView message) {
  return Mac(key.bytes).add(bytes_of(number)).add(bytes_of(length)).add(message).finish();
}

}  // namespace

void Sealer::seal(ByteView message, Bytes& to) {
  const auto length = uint32_t(message.size());
  append(to, length);
  to.insert(to.end(), message.begin(), message.end());
  append(to, mac_of(key_, number_++, length, message));
}

void Opener::feed(ByteView bytes) {
  if (!ok_) return;
  // What was given out is dropped now and then, not for each frame.
  if (at_ > 0 && at_ >= buffer_.size() / 2) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + ptrdiff_t(at_));
    at_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Bytes> Opener::next() {
  ByteView rest = ByteView(buffer_).subspan(at_);
  uint32_t length = 0;
  if (!ok_ || !take(rest, length)) return std::nullopt;
  if (length > most_) {
    ok_ = false;
    return std::nullopt;
  }
  if (rest.size() < length + sizeof(Digest)) return std::nullopt;
  const ByteView message = rest.first(length);
  Digest mac;
  std::memcpy(mac.data(), rest.data() + length, sizeof mac);
  ok_ = same(mac, mac_of(key_, number_, length, message));
  if (!ok_) return std::nullopt;
  number_++;
  Bytes whole(message.begin(), message.end());
  at_ += Sealer::kOverhead + length;
  if (at_ == buffer_.size()) {
    buffer_ = Bytes();  // a big frame's memory is not kept
    at_ = 0;
  }
  return whole;
}

}  // namespace plait::bootstrap
