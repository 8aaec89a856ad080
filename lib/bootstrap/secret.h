// The job's secret: what ranks prove to each other that they know, without ever sending it.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::bootstrap {

// Bytes that are wiped when they go. Never copied, never printed, never sent.
class Secret {
 public:
  static constexpr size_t kLeast = 16, kMost = 4096, kRandom = 32;

  explicit Secret(ByteView bytes) : bytes_(bytes.begin(), bytes.end()) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
  ByteView bytes() const noexcept { return bytes_; }

 private:
  Bytes bytes_;
};
using SecretPtr = std::shared_ptr<const Secret>;

// The content of a regular file of this user that nobody else can read, kLeast..kMost bytes. Code::auth says
// what is wrong with the file and what to do; Code::system where it cannot be read.
Result<SecretPtr> load_secret(const std::string& path);

// kRandom fresh bytes.
Result<SecretPtr> random_secret();

// The secret of a group that comes from the group of `parent`, in a context that is its own alone and alike
// on all its ranks: HMAC-SHA256, so that it tells nothing of the parent's nor of another group's.
SecretPtr derived_secret(const Secret& parent, ByteView context);

}  // namespace plait::bootstrap
