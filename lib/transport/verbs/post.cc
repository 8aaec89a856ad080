// Taking transfers: each is checked whole before any of it moves; a post() is one chain of work requests, and
// so one doorbell.
#include <arpa/inet.h>

#include <algorithm>
#include <typeinfo>

#include "transport/transfers.h"
#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

namespace {

constexpr size_t kPrompt = size_t{256} << 10;  // bytes after which a Done is not kept back for the next one

const PeerRegion& region_of(const Transfer& transfer) noexcept {
  return *static_cast<const PeerRegion*>(transfer.remote.region);
}

ibv_wr_opcode opcode_of(const Transfer& transfer) noexcept {
  if (transfer.verb == Verb::get && transfer.remote.bytes != 0) return IBV_WR_RDMA_READ;
  return transfer.signal.add != 0 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
}

}  // namespace

// Work requests on their way to the device.
class Batch {
 public:
  explicit Batch(VerbsEndpoint& endpoint) noexcept : endpoint_(endpoint), chain_(endpoint.domain_->chain()) {}

  void add(const Transfer& transfer) noexcept {
    VerbsEndpoint& e = endpoint_;
    if (count_ == chain_.requests.size()) ring();
    ibv_send_wr& request = begin(opcode_of(transfer));
    const auto counter = uint8_t(transfer.signal.counter % kFenced);
    Op& op = e.ops_.back();
    op.cookie = transfer.cookie;
    op.when = transfer.when;
    op.counter = counter;
    if (request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      request.imm_data =
          htonl(pack({e.theirs_.slot, uint32_t(transfer.signal.counter) + 1, transfer.signal.add}));
      ++e.unharvested_;
    }
    if (request.opcode == IBV_WR_RDMA_READ) {
      ++e.gets_[counter];
    } else if (e.gets_[counter] != 0) {
      request.send_flags |= IBV_SEND_FENCE;  // a write may overtake a read
    }
    if (transfer.remote.bytes != 0) attach(request, transfer);
    ask(request, transfer.when != When::never, transfer.remote.bytes);
  }

  void add_control(uint32_t add) noexcept {
    ibv_send_wr& request = begin(IBV_WR_RDMA_WRITE_WITH_IMM);
    endpoint_.ops_.back().control = true;
    ++endpoint_.controls_;
    request.imm_data = htonl(pack({endpoint_.theirs_.slot, 0, add}));
    request.send_flags = IBV_SEND_SIGNALED;
    endpoint_.silent_ = 0;
  }

  // Gives them to the device. 0, or an errno.
  int ring() noexcept {
    if (count_ == 0) return 0;
    if (unasked_ >= 0) chain_.requests[size_t(unasked_)].send_flags |= IBV_SEND_SIGNALED;
    if (unasked_ >= 0) endpoint_.silent_ = uint32_t(count_) - 1 - uint32_t(unasked_);
    chain_.requests[count_ - 1].next = nullptr;
    const int error = endpoint_.queue_pair_.post(chain_.requests.data());
    chain_.work.requests += count_;
    ++chain_.work.doorbells;
    count_ = 0;
    unasked_ = -1;
    if (error != 0) error_ = error;
    return error_;
  }

 private:
  ibv_send_wr& begin(ibv_wr_opcode opcode) noexcept {
    VerbsEndpoint& e = endpoint_;
    e.ops_.push().opcode = uint8_t(opcode);
    ibv_send_wr& request = chain_.requests[count_] = {};
    request.wr_id = e.id_ << kSequenceBits | (e.posted_++ & kSequence);
    request.opcode = opcode;
    request.next = count_ + 1 < chain_.requests.size() ? &request + 1 : nullptr;
    ++count_;
    return request;
  }

  void attach(ibv_send_wr& request, const Transfer& transfer) noexcept {
    const Key& key = region_of(transfer).key();
    request.wr.rdma.remote_addr = key.address + transfer.remote.offset;
    request.wr.rdma.rkey = key.remote_key;
    ibv_sge& part = chain_.parts[count_ - 1];
    part.addr = reinterpret_cast<uint64_t>(transfer.local.data);
    part.length = uint32_t(transfer.local.bytes);
    const bool is_inline =
        transfer.verb == Verb::put && transfer.local.bytes <= endpoint_.domain_->capabilities().inline_bytes;
    if (is_inline) request.send_flags |= IBV_SEND_INLINE;
    if (!is_inline) part.lkey = static_cast<const VerbsRegion*>(transfer.local.region)->local_key();
    request.sg_list = &part;
    request.num_sge = 1;
  }

  // Which completions to ask for: of every so many, so that the queue empties; after much, and of the last
  // that wants a Done. They stand for all before them.
  void ask(ibv_send_wr& request, bool wanted, size_t bytes) noexcept {
    bytes_ += bytes;
    if (++endpoint_.silent_ >= endpoint_.domain_->signal_every() || (wanted && bytes_ >= kPrompt)) {
      request.send_flags |= IBV_SEND_SIGNALED;
      endpoint_.silent_ = 0;
      bytes_ = 0;
      unasked_ = -1;
    } else if (wanted) {
      unasked_ = int(count_) - 1;
    }
  }

  VerbsEndpoint& endpoint_;
  Chain& chain_;
  size_t count_ = 0, bytes_ = 0;
  int unasked_ = -1;  // the last that wants a Done and for which no completion was asked
  int error_ = 0;
};

size_t VerbsEndpoint::post(std::span<const Transfer> transfers) noexcept {
  const char* why = nullptr;
  size_t taken = 0;
  Batch batch(*this);
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready || held_ >= domain_->capabilities().depth) break;
    why = refusal(transfer);
    if (why != nullptr || (transfer.signal.add != 0 && unharvested_ >= theirs_.signals)) break;
    ++taken;
    if (transfer.verb == Verb::flush) {  // host memory: it is there
      if (transfer.when != When::never) ++held_, domain_->give({transfer.cookie, Code::ok}, id_, false);
      continue;
    }
    ++held_;
    batch.add(transfer);
  }
  if (const int error = batch.ring(); error != 0)
    fail(Code::system, std::string(Status::system(error, ours() + ": posting to " + peer_name()).text()));
  if (why != nullptr) fail(Code::invalid, ours() + ": a transfer to " + peer_name() + " was refused: " + why);
  return taken;
}

bool VerbsEndpoint::control(uint32_t add) noexcept {
  Batch batch(*this);
  batch.add_control(add);
  const int error = batch.ring();
  if (error != 0)
    fail(Code::system, std::string(Status::system(error, ours() + ": posting to " + peer_name()).text()));
  return error == 0;
}

// Null when it keeps to the contract.
const char* VerbsEndpoint::refusal(const Transfer& transfer) const noexcept {
  if (const char* why = refusal_of(transfer, theirs_.counters)) return why;
  if (transfer.signal.add > kMaxAdd) return "a signal adds 1023 at most";
  if (transfer.verb == Verb::flush || transfer.remote.bytes == 0) return nullptr;
  const RemoteRegion& remote = *transfer.remote.region;
  if (typeid(remote) != typeid(PeerRegion)) return "no remote region of verbs";
  if (region_of(transfer).endpoint() != this) return "the remote region was imported by another endpoint";
  const Capabilities& able = domain_->capabilities();
  if (transfer.remote.bytes > able.max_transfer) return "it is longer than max_transfer";
  const Region* local = transfer.local.region;
  if (local == nullptr && transfer.verb == Verb::put && transfer.local.bytes <= able.inline_bytes)
    return nullptr;
  if (local == nullptr || typeid(*local) != typeid(VerbsRegion))
    return "local memory is in no region of verbs";
  if (static_cast<const VerbsRegion*>(local)->device() != &domain_->device())
    return "the local region is of another device";
  return nullptr;
}

}  // namespace plait::transport::verbs
