// What goes to the provider and what comes of it.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/ofi/domain.h"
#include "transport/ofi/endpoint.h"
#include "transport/ofi/neighbours.h"

namespace plait::transport::ofi {
namespace {

constexpr size_t kReads = 16;      // completions taken at a time
constexpr size_t kLastReads = 64;  // looks for what a peer had sent before it ended

const char* advice(int error) noexcept {
  switch (error) {
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case EPIPE:
    case FI_EIO:
      return "it exited, was killed or closed this endpoint, or took back the memory: look at what it said "
             "last";
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_EHOSTDOWN:
      return "its host is down, the link is cut or a firewall is in between: try fi_pingpong between the two "
             "hosts";
    case FI_EACCES:
    case FI_EKEYREJECTED:
    case FI_ENOKEY:
    case FI_EFAULT:
      return "the peer took back the memory, or its rights do not allow this";
    case FI_ENOMEM:
    case FI_ENOBUFS:
      return "memory or the device's resources ran out: look at ulimit -l";
    case FI_ECANCELED:
      return "the connection ended before it was sent";
    default:
      return "FI_LOG_LEVEL=warn makes the provider say more";
  }
}

const char* doing(Step step) noexcept {
  switch (step) {
    case Step::sent:
      return "sending a message";
    case Step::received:
      return "receiving a message";
    case Step::moved:
      return "a put";
  }
  return "a transfer";
}
}  // namespace

// When the endpoint has failed before, there is nobody to tell, and nothing to try again.
am::Sent OfiEndpoint::went(ssize_t rc, const char* doing) noexcept {
  if (rc == 0) return am::Sent::done;
  if (rc == -FI_EAGAIN) return am::Sent::no_room;
  if (state() == State::failed) return am::Sent::done;
  break_off(rc == -FI_ENOMEM ? Code::memory : Code::peer,
            std::string(doing) + " is refused: " + reason(rc) + "; " + advice(int(-rc)));
  return am::Sent::no_room;
}

am::Sent OfiEndpoint::send(const am::Message& message) noexcept {
  if (!ep_) return am::Sent::done;
  const size_t bytes = sizeof message.header + message.bytes;
  Slot* slot = free_slot_;
  if (slot == nullptr) return am::Sent::no_room;
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    if (neighbours().is_gone(theirs())) return went(-FI_ENOTCONN, "a message");
  }
  std::memcpy(slot->data, &message.header, sizeof message.header);
  message.pack(ours().regions(), slot->data + sizeof message.header);
  if (bytes <= inject_) return went(fi_inject(ep_.get(), slot->data, bytes, peer_), "a message");
  void* desc = memory_mr_ ? fi_mr_desc(memory_mr_.get()) : nullptr;
  const ssize_t rc = fi_send(ep_.get(), slot->data, bytes, desc, peer_, static_cast<Context*>(slot));
  if (rc == 0) free_slot_ = slot->next;
  return went(rc, "a message");
}

void OfiEndpoint::progress(size_t& budget) noexcept {
  if (!cq_) return;
  read();
  listen();
  take_messages(budget);
  has_room();
}

void OfiEndpoint::read() noexcept {
  fi_cq_data_entry entries[kReads];
  const ssize_t n = fi_cq_read(cq_.get(), entries, kReads);
  if (n == -FI_EAGAIN || n == 0) {
    ++quiet;
  } else if (n < 0) {
    return read_error();
  }
  for (ssize_t i = 0; i < n && state() != State::failed; ++i) {
    quiet = 0;
    const fi_cq_data_entry& e = entries[i];
    if ((e.flags & FI_REMOTE_CQ_DATA) != 0) {
      signalled(e.data);
      continue;
    }
    auto* context = static_cast<Context*>(e.op_context);
    if (context == nullptr) continue;
    if (context->step == Step::received) {
      auto& slot = static_cast<Slot&>(*context);
      slot.full = true;
      slot.bytes = std::min(e.len, slot_bytes_);
    } else if (context->step == Step::sent) {
      auto& slot = static_cast<Slot&>(*context);
      slot.next = std::exchange(free_slot_, &slot);
    } else {
      written(*context);
    }
  }
}

// In the order of the receives, which is that of the sends, whichever were complete first. What is no message
// for this endpoint is a stranger's.
void OfiEndpoint::take_messages(size_t& budget) noexcept {
  while (cq_ && slots_[next_receive_].full && budget != 0) {
    Slot& slot = slots_[next_receive_];
    const ByteView head(slot.data, std::min(slot.bytes, sizeof(am::Header)));
    const ByteView body(slot.data + head.size(), slot.bytes - head.size());
    budget -= std::min(budget, slot.bytes);
    const auto h = am::parse_header(head, body.size());
    if (h && h->to == nonce()) receive(*h, body);
    if (!cq_) return;
    next_receive_ = (next_receive_ + 1) % kReceives;
    if (const Status status = post_receive(slot); !status.ok())
      return break_off(Code::system, std::string(status.text()));
  }
}

void OfiEndpoint::read_error() noexcept {
  fi_cq_err_entry e{};
  char text[256] = "";
  e.err_data = nullptr;
  if (fi_cq_readerr(cq_.get(), &e, 0) < 0 || ending_) return;
  const char* more = fi_cq_strerror(cq_.get(), e.prov_errno, e.err_data, text, sizeof text);
  const auto* context = static_cast<const Context*>(e.op_context);
  std::string what =
      (e.flags & FI_REMOTE_WRITE) != 0 || context == nullptr ? "its connection" : doing(context->step);
  what += " failed: " + reason(e.err);
  if (more != nullptr && *more != '\0' && reason(e.err) != more) what += " (" + std::string(more) + ")";
  // What is here already, or in the provider's hands, may be why the peer went.
  ending_ = true;
  for (size_t i = 0, budget = kPollBytes; i < kLastReads && state() == State::ready; ++i) {
    read();
    listen();
    take_messages(budget);
  }
  break_off(e.err == FI_ENOMEM ? Code::memory : Code::peer, what + "; " + advice(e.err));
  hang_up();
}

}  // namespace plait::transport::ofi
