#include "runtime/queue/wire.h"

#include <cstring>

#include "runtime/api.h"

namespace plait::runtime::queue {

Status Wire::open() {
  if (algorithm_.empty()) return {};
  const auto* method = comm_.methods().find(collectives::Collective::allreduce, algorithm_);
  if (method == nullptr)
    return {Code::unsupported, "plait_queue_create: there is no algorithm " + algorithm_ +
                                   " of allreduce here; plait-perf allreduce --explain lists them"};
  method_ = method->name;
  return {};
}

Wire::~Wire() {
  for (std::byte* buffer : buffers_) {
    if (buffer != nullptr) plait_mem_free(buffer);
  }
}

Result<std::byte*> Wire::buffer(size_t slot) {
  if (buffers_[slot] == nullptr) {
    auto arena = transport::shm::Arena::process();
    if (!arena.ok()) return arena.status();
    auto block = (*arena)->allocate(fuse_most_);
    if (!block.ok()) return block.status();
    buffers_[slot] = *block;
  }
  return buffers_[slot];
}

Status Wire::start(const Work& work, std::span<Ticket* const> tickets, int64_t now) {
  const size_t slot = (first_ + count_) % kOperations;
  Operation& o = operations_[slot];
  o.tickets.assign(tickets.begin(), tickets.end());
  o.fused = nullptr;
  o.count = work.count;
  for (Ticket* t : o.tickets) {
    if (t->operations++ == 0) t->started_ns = now;
    t->fused_with = work.tensors - 1;
  }
  std::byte* data = tickets[0]->buffer + work.offset * tickets[0]->tensor.element();
  if (work.tensors > 1) {
    auto place = buffer(slot);
    if (!place.ok()) return place.status();
    data = o.fused = *place;
    for (std::byte* to = data; const Ticket* t : o.tickets) {
      if (t->tensor.count > 0) std::memcpy(to, t->buffer, t->tensor.bytes());
      to += t->tensor.bytes();
    }
  }
  Args args = args::even(collectives::Collective::allreduce, data, data, work.count);
  args.dtype = collectives::Dtype(work.dtype);
  args.op = collectives::ReduceOp(work.op);
  args.algorithm = method_;
  args.timeout_ms = timeout_ms_;
  auto request = comm_.make(args, false);
  if (!request.ok()) return request.status();
  o.request = *request;
  count_++;
  comm_.start(o.request);
  return {};
}

Wire::Operation* Wire::done() noexcept {
  if (count_ == 0) return nullptr;
  Operation& o = oldest();
  if (!settled(o.request)) comm_.advance();
  if (!settled(o.request)) return nullptr;
  if (o.fused != nullptr && o.request->result.ok()) {
    for (const std::byte* from = o.fused; const Ticket* t : o.tickets) {
      if (t->tensor.count > 0) std::memcpy(t->buffer, from, t->tensor.bytes());
      from += t->tensor.bytes();
    }
  }
  return &o;
}

void Wire::end_oldest() noexcept {
  comm_.release(oldest().request);
  oldest().request = nullptr;
  first_++;
  count_--;
}

}  // namespace plait::runtime::queue
