// A stream socket that carries frames (a kind, a length, bytes), with every wait bounded.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "transport/exchange.h"

namespace plait::runtime {

constexpr uint32_t kMaxFrame = 64u << 20;  // what bootstrap ever says; more is nonsense

enum class Frame : uint32_t { data = 1, failure = 2 };

// Waits until `fd` is ready for `events` of poll(2). Code::timeout, Code::aborted.
Status await(int fd, short events, const transport::Bounds& bounds);

// Code::peer when the other side went away, Code::timeout, Code::aborted. A failure frame that arrives
// instead of data becomes the Status it carries.
Status send_frame(int fd, Frame kind, ByteView bytes, const transport::Bounds& bounds);
Result<Bytes> receive_frame(int fd, const transport::Bounds& bounds);

// A Status as the payload of a failure frame, and back.
Bytes encode(const Status& status);
Status decode_failure(ByteView bytes);

// Code::auth when the process at the other end is another user's.
Status check_user(int fd);

}  // namespace plait::runtime
