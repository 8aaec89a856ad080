// Taking transfers: each is checked whole before any of it moves; what fits leaves with one doorbell.
#include <typeinfo>

#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

namespace {

const PeerRegion& region_of(const Transfer& transfer) noexcept {
  return *static_cast<const PeerRegion*>(transfer.remote.region);
}

ibv_wr_opcode opcode_of(const Transfer& transfer) noexcept {
  if (transfer.verb == Verb::get && transfer.remote.bytes != 0) return IBV_WR_RDMA_READ;
  return transfer.signal.add != 0 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
}

}  // namespace

size_t VerbsEndpoint::post(std::span<const Transfer> transfers) noexcept {
  const char* why = nullptr;
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (state() != State::ready || moving_ + dones_.size() >= domain_.capabilities().depth) break;
    why = refusal(transfer);
    if (why != nullptr || (transfer.signal.add != 0 && !has_credit())) break;
    ++taken;
    if (transfer.verb == Verb::flush) {  // host memory: it is there
      if (transfer.when != When::never) tell(transfer.cookie, Code::ok);
      continue;
    }
    ++moving_;
    rdma::Piece piece = piece_of(transfer);
    add(piece, transfer.signal.add);
  }
  ring();
  if (why != nullptr) fail(Code::invalid, ours() + ": a transfer to " + peer_name() + " was refused: " + why);
  return taken;
}

rdma::Piece VerbsEndpoint::piece_of(const Transfer& transfer) const noexcept {
  rdma::Piece piece;
  piece.opcode = opcode_of(transfer);
  piece.wanted = transfer.when != When::never;
  piece.counter = transfer.signal.counter;
  piece.cookie = transfer.cookie;
  piece.bytes = transfer.remote.bytes;
  if (piece.bytes == 0) return piece;
  const Key& key = region_of(transfer).key();
  piece.remote = key.address + transfer.remote.offset;
  piece.remote_key = key.remote_key;
  piece.local = transfer.local.data;
  piece.is_inline = transfer.verb == Verb::put && piece.bytes <= domain_.capabilities().inline_bytes;
  if (!piece.is_inline) piece.local_key = static_cast<const VerbsRegion*>(transfer.local.region)->local_key();
  return piece;
}

// Null when it keeps to the contract.
const char* VerbsEndpoint::refusal(const Transfer& transfer) const noexcept {
  if (const char* why = refusal_of(transfer, theirs_.counters)) return why;
  if (transfer.signal.add > rdma::kMaxAdd) return "a signal adds 1023 at most";
  if (transfer.verb == Verb::flush || transfer.remote.bytes == 0) return nullptr;
  const RemoteRegion& remote = *transfer.remote.region;
  if (typeid(remote) != typeid(PeerRegion)) return "no remote region of verbs";
  if (region_of(transfer).endpoint() != this) return "the remote region was imported by another endpoint";
  const Capabilities& able = domain_.capabilities();
  if (transfer.remote.bytes > able.max_transfer) return "it is longer than max_transfer";
  const Region* local = transfer.local.region;
  if (local == nullptr && transfer.verb == Verb::put && transfer.local.bytes <= able.inline_bytes)
    return nullptr;
  if (local == nullptr || typeid(*local) != typeid(VerbsRegion))
    return "local memory is in no region of verbs";
  if (static_cast<const VerbsRegion*>(local)->device() != &hub()->device())
    return "the local region is of another device";
  return nullptr;
}

}  // namespace plait::transport::verbs
