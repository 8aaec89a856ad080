// Taking transfers: each is checked whole before any of it moves; a post() is one chain of work requests, and
// so one doorbell.
#include <arpa/inet.h>

#include <algorithm>
#include <typeinfo>

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

// The calls that newer drivers have, for what ibv_post_send() takes.
int post_extended(ibv_qp_ex& queue_pair, const ibv_send_wr* request) noexcept {
  ibv_wr_start(&queue_pair);
  for (; request != nullptr; request = request->next) {
    const auto& [address, key] = request->wr.rdma;
    queue_pair.wr_id = request->wr_id;
    queue_pair.wr_flags = request->send_flags;
    if (request->opcode == IBV_WR_RDMA_READ)
      ibv_wr_rdma_read(&queue_pair, key, address);
    else if (request->opcode == IBV_WR_RDMA_WRITE)
      ibv_wr_rdma_write(&queue_pair, key, address);
    else
      ibv_wr_rdma_write_imm(&queue_pair, key, address, request->imm_data);
    const ibv_sge* part = request->sg_list;
    if ((request->send_flags & IBV_SEND_INLINE) != 0)
      ibv_wr_set_inline_data(&queue_pair, reinterpret_cast<void*>(part->addr), part->length);
    else
      ibv_wr_set_sge_list(&queue_pair, size_t(request->num_sge), part);
  }
  return ibv_wr_complete(&queue_pair);
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
    const auto counter = uint8_t(transfer.signal.counter % kCounters);
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
    ibv_send_wr* bad = nullptr;
    const int error = endpoint_.extended_ != nullptr
                          ? post_extended(*endpoint_.extended_, chain_.requests.data())
                          : ibv_post_send(endpoint_.queue_pair_.get(), chain_.requests.data(), &bad);
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
  if (transfer.verb == Verb::flush) return nullptr;
  if (transfer.verb != Verb::put && transfer.verb != Verb::get) return "no such verb";
  if (transfer.verb == Verb::get && transfer.signal.add != 0) return "a get carries no signal";
  if (transfer.signal.add > kMaxAdd) return "a signal adds 1023 at most";
  if (transfer.signal.add != 0 && transfer.signal.counter >= theirs_.counters)
    return "the peer has no such counter";
  if (transfer.local.bytes != transfer.remote.bytes) return "the slices differ in length";
  if (transfer.remote.bytes == 0) return nullptr;
  if (transfer.verb == Verb::get || transfer.local.bytes > domain_->capabilities().inline_bytes ||
      transfer.local.region != nullptr) {
    if (const char* why = local_refusal(transfer.local)) return why;
  }
  return remote_refusal(transfer);
}

const char* VerbsEndpoint::local_refusal(const LocalSlice& local) const noexcept {
  const Region* region = local.region;
  if (region == nullptr || typeid(*region) != typeid(VerbsRegion))
    return "local memory is in no region of verbs";
  if (static_cast<const VerbsRegion*>(region)->device() != &domain_->device())
    return "the local region is of another device";
  const auto at =
      reinterpret_cast<uintptr_t>(local.data) - reinterpret_cast<uintptr_t>(region->memory().base);
  return in_bounds(at, local.bytes, region->memory().bytes) ? nullptr : "the local slice is out of bounds";
}

const char* VerbsEndpoint::remote_refusal(const Transfer& transfer) const noexcept {
  if (transfer.local.data == nullptr) return "no local memory";
  const RemoteRegion* remote = transfer.remote.region;
  if (remote == nullptr || typeid(*remote) != typeid(PeerRegion)) return "no remote region of verbs";
  if (region_of(transfer).endpoint() != this) return "the remote region was imported by another endpoint";
  const size_t bytes = transfer.remote.bytes;
  if (bytes > domain_->capabilities().max_transfer ||
      !in_bounds(transfer.remote.offset, bytes, remote->bytes()))
    return "the remote slice is out of bounds";
  if (transfer.verb == Verb::put && !may_write(remote->access()))
    return "the peer's region may not be written";
  if (transfer.verb == Verb::get && !may_read(remote->access())) return "the peer's region may not be read";
  return nullptr;
}

}  // namespace plait::transport::verbs
