#include "rdma/sender.h"

#include <arpa/inet.h>

namespace plait::rdma {

namespace {

constexpr size_t kPrompt = size_t{256}
                           << 10;  // bytes after which a completion is not kept back for the next one

}  // namespace

void Sender::add(const Piece& piece) noexcept {
  if (chain_.count == chain_.requests.size()) flush();
  ibv_send_wr& request = begin(piece.opcode);
  Request& kept = requests_.back();
  kept.cookie = piece.cookie;
  kept.wanted = piece.wanted;
  kept.counter = uint8_t(piece.counter % kFenced);
  request.imm_data = htonl(piece.immediate);
  if (piece.opcode == IBV_WR_RDMA_READ) {
    ++reads_[kept.counter];
  } else if (reads_[kept.counter] != 0) {
    request.send_flags |= IBV_SEND_FENCE;  // a write may overtake a read
  }
  if (piece.bytes != 0) attach(request, piece);
  ask(request, piece.wanted, piece.bytes);
}

void Sender::add_control(uint32_t immediate) noexcept {
  if (chain_.count == chain_.requests.size()) flush();
  ibv_send_wr& request = begin(IBV_WR_RDMA_WRITE_WITH_IMM);
  requests_.back().control = true;
  request.imm_data = htonl(immediate);
  request.send_flags = IBV_SEND_SIGNALED;
  silent_ = 0;
}

ibv_send_wr& Sender::begin(ibv_wr_opcode opcode) noexcept {
  requests_.push().opcode = uint8_t(opcode);
  ibv_send_wr& request = chain_.requests[chain_.count] = {};
  request.wr_id = id_ << kSequenceBits | (posted_++ & kSequence);
  request.opcode = opcode;
  request.next = chain_.count + 1 < chain_.requests.size() ? &request + 1 : nullptr;
  ++chain_.count;
  return request;
}

void Sender::attach(ibv_send_wr& request, const Piece& piece) noexcept {
  request.wr.rdma.remote_addr = piece.remote;
  request.wr.rdma.rkey = piece.remote_key;
  if (piece.is_inline) request.send_flags |= IBV_SEND_INLINE;
  ibv_sge& part = chain_.parts[chain_.count - 1];
  part = {reinterpret_cast<uint64_t>(piece.local), uint32_t(piece.bytes), piece.local_key};
  request.sg_list = &part;
  request.num_sge = 1;
}

// Which completions to ask for: of every so many; after much, and of the last that somebody wants to know of.
// They stand for all before them.
void Sender::ask(ibv_send_wr& request, bool wanted, size_t bytes) noexcept {
  chain_.bytes += bytes;
  if (++silent_ >= signal_every_ || (wanted && chain_.bytes >= kPrompt)) {
    request.send_flags |= IBV_SEND_SIGNALED;
    silent_ = 0;
    chain_.bytes = 0;
    chain_.unasked = -1;
  } else if (wanted) {
    chain_.unasked = int(chain_.count) - 1;
  }
}

void Sender::flush() noexcept {
  if (chain_.count == 0) return;
  if (chain_.unasked >= 0) {
    chain_.requests[size_t(chain_.unasked)].send_flags |= IBV_SEND_SIGNALED;
    silent_ = uint32_t(chain_.count) - 1 - uint32_t(chain_.unasked);
  }
  chain_.requests[chain_.count - 1].next = nullptr;
  if (const int error = queue_pair_.post(chain_.requests.data()); error != 0) chain_.error = error;
  chain_.work.requests += chain_.count;
  ++chain_.work.doorbells;
  chain_.count = 0;
  chain_.unasked = -1;
}

int Sender::ring() noexcept {
  flush();
  chain_.bytes = 0;
  return std::exchange(chain_.error, 0);
}

Request Sender::take() noexcept {
  const Request request = requests_.front();
  requests_.pop();
  ++completed_;
  if (request.opcode == IBV_WR_RDMA_READ) --reads_[request.counter];
  return request;
}

}  // namespace plait::rdma
