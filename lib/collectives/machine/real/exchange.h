// An exchange: what a volley of lines is to a rank that sends one message in it at most, and awaits one at
// most. Between two ranks every such volley is one. It runs beside the machine, and knows no state of it:
// what is left of a call between the line that ended the one before and the line that begins this one is what
// latency consists of, beside the way of a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/reduce/reduce.h"
#include "transport/mailbox.h"

namespace plait::collectives::real {

inline void copy_values(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  if (bytes == 8) {  // what latency is measured with
    std::memcpy(to, from, 8);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

// Bytes of a message that travels in lines: where next() line of `out`, or the front of `in`, has them.
inline std::byte* in_line(transport::Outbox& out, size_t bytes) noexcept {
  return bytes <= transport::kLinePayload ? out.next().payload : out.beside();
}
inline const std::byte* in_line(const transport::Inbox& in, size_t bytes) noexcept {
  return bytes <= transport::kLinePayload ? in.front().payload : in.beside();
}

struct Exchange {
  // Where a call has its buffers this time.
  struct Buffers {
    std::byte *input, *output;
  };
  // In one of them.
  struct Spot {
    bool output = false;
    uint32_t offset = 0;
    std::byte* in(const Buffers& buffers) const noexcept {
      return (output ? buffers.output : buffers.input) + offset;
    }
  };

  // Sends, if there is anything to be sent. False: there is no room.
  bool send(uint32_t tag, const Buffers& buffers) const noexcept {
    if (peer == nullptr) return true;
    transport::Outbox& out = peer->out(0);
    if (!out.room(1)) return false;
    if (sent > 0) copy_values(in_line(out, sent), from.in(buffers), sent);
    out.publish(tag);
    peer->notify();
    return true;
  }
  // One look for what is awaited. True: it was there, and the call is done. `fold`, `op`: the call's.
  bool land(uint32_t tag, const Buffers& buffers, FoldKernel fold, const Operator* op) const noexcept {
    if (in != nullptr && in->peek(tag) == nullptr) return false;
    if (kept > 0 && !keeps_last) keep(buffers);
    if (in != nullptr) {
      if (landing > 0) take(buffers, fold, op);
      in->consume(1);
      in->maybe_credit();
    }
    if (kept > 0 && keeps_last) keep(buffers);
    return true;
  }

  bool made = false;
  bool keeps_last = false;                   // behind what comes
  bool folds = false;                        // what comes, with `own`; else it is copied
  bool own_first = false;                    // of these
  uint32_t sends = 0;                        // messages
  uint32_t sent = 0, kept = 0, landing = 0;  // bytes
  transport::Mailbox* peer = nullptr;        // null: nothing is sent
  transport::Inbox* in = nullptr;            // null: nothing is awaited
  Spot from, keep_from, keep_to, own, to;
  Fold work{};

 private:
  void keep(const Buffers& buffers) const noexcept {
    const std::byte* const at = keep_from.in(buffers);
    std::byte* const target = keep_to.in(buffers);
    if (target != at) copy_values(target, at, kept);
  }
  void take(const Buffers& buffers, FoldKernel fold, const Operator* op) const noexcept {
    const std::byte* const came = in_line(*in, landing);
    std::byte* target = to.in(buffers);
    if (!folds) return copy_values(target, came, landing);
    const std::byte* const mine = own.in(buffers);
    const std::byte* inputs[] = {own_first ? mine : came, own_first ? came : mine};
    Fold all = work;
    all.inputs = inputs;
    all.outputs = &target;
    all.op = op;
    fold(all);
  }
};

}  // namespace plait::collectives::real
