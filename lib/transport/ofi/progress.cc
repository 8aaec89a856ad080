// What goes to the provider and what comes of it.
#include <algorithm>
#include <cstring>

#include "fabric/explain.h"
#include "transport/ofi/domain.h"
#include "transport/ofi/endpoint.h"

namespace plait::transport::ofi {
namespace {

constexpr size_t kReads = 16;      // completions taken at a time
constexpr size_t kLastReads = 64;  // looks for what a peer had sent before it ended

Code code_of(ssize_t error) noexcept { return std::abs(error) == FI_ENOMEM ? Code::memory : Code::peer; }

}  // namespace

// When the endpoint has failed before, there is nobody to tell, and nothing to try again.
am::Sent OfiEndpoint::went(ssize_t rc, const char* doing) noexcept {
  if (rc == 0) return am::Sent::done;
  if (rc == -FI_EAGAIN) return am::Sent::no_room;
  if (state() == State::failed) return am::Sent::done;
  break_off(code_of(rc),
            std::string(doing) + " is refused: " + fabric::reason(rc) + "; " + fabric::advice(int(rc)));
  return am::Sent::no_room;
}

am::Sent OfiEndpoint::send(const am::Message& message) noexcept {
  if (!line_.is_open()) return am::Sent::done;
  std::byte* const to = slots_.room();
  if (to == nullptr) return am::Sent::no_room;
  std::memcpy(to, &message.header, sizeof message.header);
  message.pack(ours().regions(), to + sizeof message.header);
  return went(slots_.send(sizeof message.header + message.bytes), "a message");
}

void OfiEndpoint::progress(size_t& budget) noexcept {
  if (!line_.is_open()) return;
  read();
  listen();
  take_messages(budget);
  has_room();
}

void OfiEndpoint::read() noexcept {
  fi_cq_data_entry entries[kReads];
  const ssize_t n = fi_cq_read(line_.queue(), entries, kReads);
  if (n == -FI_EAGAIN || n == 0) {
    ++quiet;
  } else if (n < 0) {
    return read_error();
  }
  for (ssize_t i = 0; i < n && state() != State::failed; ++i) {
    quiet = 0;
    const fi_cq_data_entry& e = entries[i];
    auto* const context = static_cast<fabric::Context*>(e.op_context);
    if ((e.flags & FI_REMOTE_CQ_DATA) != 0) {
      signalled(uint32_t(e.data));
    } else if (context != nullptr && context->step == fabric::Step::written) {
      written(*context);
    } else if (context != nullptr) {
      slots_.completed(*context, e.len);
    }
  }
}

// What is no message for this endpoint is a stranger's.
void OfiEndpoint::take_messages(size_t& budget) noexcept {
  while (line_.is_open() && budget != 0) {
    const fabric::MessageSlot* slot = slots_.front();
    if (slot == nullptr) return;
    const ByteView message(slot->data, slot->bytes);
    const ByteView head = message.first(std::min(slot->bytes, sizeof(am::Header)));
    const ByteView body = message.subspan(head.size());
    budget -= std::min(budget, slot->bytes);
    if (const auto h = am::parse_header(head, body.size()); !h) {
      other(message);
    } else if (h->to == nonce()) {
      receive(*h, body);
    }
    if (!line_.is_open()) return;
    if (const ssize_t rc = slots_.take(); rc != 0)
      return break_off(Code::system, "a receive is refused: " + fabric::reason(rc));
  }
}

void OfiEndpoint::read_error() noexcept {
  const auto failure = fabric::take_failure(*line_.queue());
  if (!failure || ending_) return;
  // What is here already, or in the provider's hands, may be why the peer went.
  ending_ = true;
  for (size_t i = 0, budget = kPollBytes; i < kLastReads && state() == State::ready; ++i) {
    read();
    listen();
    take_messages(budget);
  }
  break_off(code_of(failure->error), failure->text);
  hang_up();
}

}  // namespace plait::transport::ofi
