#include "transport/rails/wire.h"

#include "base/hash.h"

namespace plait::transport::rails {

namespace {

uint64_t sum_of(ByteView whole, size_t sum_at) noexcept {
  Bytes copy(whole.begin(), whole.end());
  std::fill_n(copy.begin() + ptrdiff_t(sum_at), sizeof(uint64_t), std::byte{0});
  return fnv1a(copy);
}

Bytes make_bundle(Bundle kind, uint64_t first, uint64_t second, const std::vector<ByteView>& blocks) {
  BundleHead head;
  head.kind = uint8_t(kind);
  head.blocks = uint8_t(blocks.size());
  head.first = first;
  head.second = second;
  Bytes bytes;
  append(bytes, head);
  for (ByteView block : blocks) {
    append(bytes, uint32_t(block.size()));
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  head.sum = sum_of(bytes, offsetof(BundleHead, sum));
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

Result<BundleHead> parse_bundle(ByteView bytes, Bundle kind, std::string_view what,
                                std::vector<ByteView>& blocks) {
  const ByteView whole = bytes;
  BundleHead head;
  if (!take(bytes, head) || head.magic != kMagic || head.kind != uint8_t(kind))
    return Status(Code::invalid, "not a " + std::string(what) + " of rails");
  if (head.sum != sum_of(whole, offsetof(BundleHead, sum)))
    return Status(Code::invalid, "a damaged " + std::string(what) + " of rails");
  if (head.version != kVersion) {
    return Status(Code::version, "a " + std::string(what) + " of rails of version " +
                                     std::to_string(head.version) + ", not " + std::to_string(kVersion) +
                                     ": all ranks must run the same plait");
  }
  for (size_t i = 0; i < head.blocks; ++i) {
    uint32_t size = 0;
    if (!take(bytes, size) || size > bytes.size())
      return Status(Code::invalid, "a " + std::string(what) + " of rails that ends too early");
    blocks.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty()) return Status(Code::invalid, "a " + std::string(what) + " of rails that is too long");
  return head;
}

}  // namespace

Bytes make_ticket(const Ticket& ticket) {
  std::vector<ByteView> blocks = ticket.tickets;
  blocks.insert(blocks.end(), ticket.keys.begin(), ticket.keys.end());
  return make_bundle(Bundle::ticket, ticket.counters | uint64_t(ticket.window) << 16, ticket.cell_bytes,
                     blocks);
}

Bytes make_key(const Key& key) { return make_bundle(Bundle::key, key.bytes, uint64_t(key.access), key.keys); }

Bytes make_identity(const std::vector<ByteView>& identities) {
  return make_bundle(Bundle::identity, 0, 0, identities);
}

Result<Ticket> parse_ticket(ByteView bytes) {
  std::vector<ByteView> blocks;
  auto head = parse_bundle(bytes, Bundle::ticket, "ticket", blocks);
  if (!head.ok()) return head.status();
  Ticket ticket;
  ticket.counters = uint16_t(head->first);
  ticket.window = uint16_t(head->first >> 16);
  const size_t rails = blocks.size() / 2;
  if (blocks.size() % 2 != 0 || rails == 0 || rails > kRails || head->first >> 32 != 0 ||
      ticket.counters > kCounters || ticket.window == 0 || ticket.window > kWindow ||
      head->second > kCellBytes || head->second < sizeof(LineHead))
    return Status(Code::invalid, "a ticket of rails that makes no sense");
  ticket.cell_bytes = uint32_t(head->second);
  ticket.tickets.assign(blocks.begin(), blocks.begin() + ptrdiff_t(rails));
  ticket.keys.assign(blocks.begin() + ptrdiff_t(rails), blocks.end());
  return ticket;
}

Result<Key> parse_key(ByteView bytes) {
  Key key;
  auto head = parse_bundle(bytes, Bundle::key, "key", key.keys);
  if (!head.ok()) return head.status();
  if (key.keys.empty() || key.keys.size() > kRails || head->first == 0 ||
      head->second > uint64_t(Access::both))
    return Status(Code::invalid, "a key of rails that makes no sense");
  key.bytes = head->first;
  key.access = Access(head->second);
  return key;
}

Result<std::vector<ByteView>> parse_identity(ByteView bytes) {
  std::vector<ByteView> identities;
  auto head = parse_bundle(bytes, Bundle::identity, "identity", identities);
  if (!head.ok()) return head.status();
  return identities;
}

Bytes make_line(LineHead head, ByteView payload) {
  head.bytes = uint16_t(payload.size());
  head.sum = 0;
  Bytes bytes;
  append(bytes, head);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  head.sum = fnv1a(bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

std::optional<Line> parse_line(ByteView cell) noexcept {
  const ByteView whole = cell;
  Line line;
  if (!take(cell, line.head) || line.head.magic != kMagic || line.head.bytes > cell.size())
    return std::nullopt;
  if (line.head.kind < LineKind::dead || line.head.kind > LineKind::ready || line.head.rail >= kRails)
    return std::nullopt;
  line.payload = cell.first(line.head.bytes);
  if (line.head.sum != sum_of(whole.first(sizeof(LineHead) + line.head.bytes), offsetof(LineHead, sum)))
    return std::nullopt;
  return line;
}

std::optional<std::vector<Landed>> parse_landed(ByteView payload, size_t counters, size_t window) {
  if (payload.size() != counters * sizeof(Landed)) return std::nullopt;
  std::vector<Landed> landed(counters);
  for (Landed& one : landed) {
    take(payload, one);
    if (window < 64 && one.bits >> window != 0) return std::nullopt;
  }
  return landed;
}

}  // namespace plait::transport::rails
