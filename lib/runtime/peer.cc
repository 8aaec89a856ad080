#include "runtime/peer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "runtime/offer.h"

namespace plait::runtime {

using transport::LinkHead;
using transport::LinkMemory;

namespace {

constexpr size_t kMostImports = 64;  // of a peer

Result<Mapping> pages(size_t bytes) {
  Mapping mapping = map_pages(bytes);
  if (!mapping) return Status(Code::memory, "no " + std::to_string(bytes) + " bytes for a peer's mailbox");
  return mapping;
}

}  // namespace

Peer::~Peer() {
  messages_.reset();
  mailbox_.reset();
  plain_.clear();
  remote_.reset();
  endpoint_.reset();
  own_region_.reset();
  shadow_region_.reset();
  letters_region_.reset();
  if (mail_ != nullptr) local_.arena->free(mail_);
}

std::string_view Peer::phase() const noexcept {
  switch (stage_) {
    case Stage::idle:
      return "not connected";
    case Stage::meeting:
      return "reaching it to connect";
    case Stage::offered:
      return "connecting: waiting for its ticket";
    case Stage::connecting:
      return "connecting";
    case Stage::answered:
      return "connecting: waiting until it is ready";
    case Stage::ready:
      return "connected";
    case Stage::failed:
      return "connecting failed";
  }
  return "";
}

Status Peer::fail(Status status) noexcept {
  stage_ = Stage::failed;
  meeting_.reset();
  return {status.code(), "connecting to " + name_ + ": " + std::string(status.text())};
}

Status Peer::start(std::unique_ptr<bootstrap::Meeting> meeting) {
  meeting_ = std::move(meeting);
  stage_ = Stage::meeting;
  Status status = open();
  return status.ok() ? status : fail(status);
}

Status Peer::open() {
  transport::Domain* domain = local_.fabric->domain(way_);
  if (domain == nullptr) return {Code::unsupported, "no network of this rank leads to it"};
  PLAIT_TRY(make_room());
  auto endpoint = domain->open(kPeerCounters, uint64_t(rank_));
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = std::move(endpoint).value();
  return {};
}

Status Peer::make_room() {
  auto letters = pages(sizeof(transport::MessageMemory));
  if (!letters.ok()) return letters.status();
  letters_ = std::move(letters).value();
  if (mapped()) {
    auto mail = local_.arena->allocate(sizeof(MappedBlock));
    if (!mail.ok()) return mail.status();
    mail_ = *mail;
    return {};
  }
  transport::Domain& domain = *local_.fabric->domain(way_);
  auto own = pages(sizeof(RemoteBlock));
  if (!own.ok()) return own.status();
  auto shadow = pages(sizeof(transport::Shadow));
  if (!shadow.ok()) return shadow.status();
  own_ = std::move(own).value();
  shadow_ = std::move(shadow).value();
  auto region = domain.expose({.base = own_.data(), .bytes = own_.size()}, transport::Access::write);
  if (!region.ok()) return region.status();
  own_region_ = std::move(region).value();
  landings_ = std::make_unique<transport::Landings>(own_.data(), kMailOffset + transport::kPartsOffset,
                                                    transport::kPartBytes, transport::kRingParts,
                                                    transport::kStreams);
  if (!own_region_->steer(*landings_)) landings_.reset();
  if (!domain.capabilities().local_needs_region) return {};
  auto source = domain.expose({.base = shadow_.data(), .bytes = shadow_.size()}, transport::Access::none);
  if (!source.ok()) return source.status();
  shadow_region_ = std::move(source).value();
  source = domain.expose({.base = letters_.data(), .bytes = letters_.size()}, transport::Access::none);
  if (!source.ok()) return source.status();
  letters_region_ = std::move(source).value();
  return {};
}

Bytes Peer::offer() const {
  Offer o;
  o.way = uint16_t(way_);
  o.ticket = endpoint_->ticket();
  o.key = mapped() ? local_.fabric->arena_region()->key() : own_region_->key();
  if (mapped() && local_.probe != nullptr) o.probe = local_.probe->key();
  o.mail = (mapped() ? local_.arena->offset(mail_) : 0) + kMailOffset;
  o.board = mapped() ? local_.arena->offset(local_.board) : 0;
  o.rings = mapped() ? transport::own_mapped_rings() : 0;
  return encode(o);
}

Status Peer::take_offer(ByteView message) {
  Offer o;
  if (!decode(message, o) || o.way >= kWays || o.rings >= transport::kMappedRings.size())
    return {Code::version, "its offer is no offer of this version of plait"};
  if (o.way != uint16_t(way_))
    return {Code::internal, "the two ranks disagree about what joins them: please report it"};
  their_key_.assign(o.key.begin(), o.key.end());
  their_probe_.assign(o.probe.begin(), o.probe.end());
  their_mail_ = o.mail;
  their_rings_ = o.rings;
  their_board_ = o.board;
  return endpoint_->connect(o.ticket);
}

// The endpoint is ready: the peer's memory, the mailbox and the board.
Status Peer::link_up() {
  auto region = endpoint_->import(their_key_);
  if (!region.ok()) return region.status();
  remote_ = std::move(region).value();
  const uint64_t bytes = remote_->bytes();
  if (!in_bounds(their_mail_, sizeof(LinkMemory) + messages_bytes(), bytes) ||
      !in_bounds(their_board_, mapped() ? sizeof(Stand) : sizeof(Board), bytes) || their_mail_ % 64 != 0 ||
      their_board_ % 64 != 0) {
    return {Code::version, "its mailbox does not lie in the memory that it exposed"};
  }
  transport::Wire wire;
  wire.endpoint = endpoint_.get();
  wire.remote = remote_.get();
  wire.remote_offset = their_mail_;
  LinkHead* own = nullptr;
  if (mapped()) {
    if (remote_->mapped() == nullptr)
      return {Code::internal, "its shared memory is not mapped: please report it"};
    wire.mapped = reinterpret_cast<LinkHead*>(remote_->mapped() + their_mail_);
    board_ = reinterpret_cast<Board*>(remote_->mapped() + their_board_);
    own = &reinterpret_cast<MappedBlock*>(mail_)->mail;  // zero, as it is to be: no page of it is touched
    auto probe = endpoint_->import(their_probe_);
    const size_t key_bytes = local_.fabric->domain(way_)->capabilities().key_bytes;
    can_pull_ = probe.ok() && their_probe_.size() == key_bytes && key_bytes <= transport::kLinePayload;
    if (!probe.ok()) log::info("{}: {}", name_, probe.status().text());
  } else {
    auto* block = reinterpret_cast<RemoteBlock*>(own_.data());  // the same
    own = &block->mail;
    board_ = &block->board;
    board_->culprit.store(-1, std::memory_order_relaxed);
    board_->blamed.store(-1, std::memory_order_relaxed);
    wire.shadow = reinterpret_cast<transport::Shadow*>(shadow_.data());
    wire.shadow_region = shadow_region_.get();
    wire.cookie = uint64_t(rank_) * transport::kMailboxCookies;
    const transport::Capabilities& caps = local_.fabric->domain(way_)->capabilities();
    wire.any_source = !caps.local_needs_region;
    wire.drops_pages = !caps.holds_pages;
    wire.max_add = caps.max_add;
    wire.together =
        std::clamp(uint32_t(std::min<uint64_t>(caps.long_put / transport::kPartBytes, UINT32_MAX)),
                   wire.together, transport::Outbox::kMostTogether);
    wire.landings = landings_.get();
  }
  mailbox_.emplace(wire, own);
  return {};
}

uint64_t Peer::messages_bytes() const noexcept {
  return mapped() ? sizeof(transport::MappedMessageMemory) : sizeof(transport::MessageMemory);
}

transport::MessageLink& Peer::make_messages() {
  transport::MessageWiring wiring;
  wiring.endpoint = endpoint_.get();
  wiring.capabilities = &local_.fabric->domain(way_)->capabilities();
  wiring.remote = remote_.get();
  wiring.remote_offset = their_mail_ + sizeof(LinkMemory);  // behind the mailbox
  if (mapped()) {
    wiring.mapped =
        reinterpret_cast<transport::MappedMessageMemory*>(remote_->mapped() + wiring.remote_offset);
    wiring.own = &reinterpret_cast<MappedBlock*>(mail_)->messages;
    wiring.their_rings = transport::kMappedRings[their_rings_];
    wiring.own_rings = transport::kMappedRings[transport::own_mapped_rings()];
    wiring.arena = local_.fabric->arena_region();
  } else {
    wiring.own = &reinterpret_cast<RemoteBlock*>(own_.data())->messages;
    wiring.shadow_region = letters_region_.get();
  }
  wiring.shadow = reinterpret_cast<transport::MessageFront*>(letters_.data());  // mapped: its lines only
  wiring.first_counter = kMessageCounter;
  wiring.first_cookie = kMessageCookie + uint64_t(rank_) * transport::kMessageCookies;
  messages_ = std::make_unique<transport::MessageLink>(wiring, name_);
  return *messages_;
}

Status Peer::answer(const Status& mine) {
  if (!meeting_->send(encode(Answer{mine, can_pull_}))) return meeting_->status();
  return mine;
}

Status Peer::take_answer(ByteView message) {
  Answer a;
  if (!decode(message, a)) return {Code::version, "its answer is no answer of this version of plait"};
  if (!a.status.ok()) return {a.status.code(), "it could not connect: " + std::string(a.status.text())};
  may_pull_ = a.can_pull;
  return {};
}

Status Peer::step() {
  if (stage_ == Stage::ready || stage_ == Stage::idle) return {};
  if (stage_ == Stage::failed) return {Code::state, "connecting to " + name_ + " failed before"};
  Status status = talk();
  return status.ok() ? status : fail(status);
}

// As many stages as can be had at once.
Status Peer::talk() {
  if (stage_ == Stage::meeting) {
    if (meeting_->state() == bootstrap::Meeting::State::failed) return meeting_->status();
    if (meeting_->state() != bootstrap::Meeting::State::open) return {};
    if (!meeting_->send(offer())) return meeting_->status();
    stage_ = Stage::offered;
  }
  if (stage_ == Stage::offered) {
    auto message = meeting_->receive();
    if (!message)
      return meeting_->state() == bootstrap::Meeting::State::failed ? meeting_->status() : Status();
    Status taken = take_offer(*message);
    if (!taken.ok()) return answer(taken);
    stage_ = Stage::connecting;
  }
  if (stage_ == Stage::connecting) {
    local_.fabric->domain(way_)->poll({});
    if (endpoint_->state() == transport::State::failed)
      return answer({Code::peer, std::string(endpoint_->error())});
    if (endpoint_->state() != transport::State::ready) return {};
    PLAIT_TRY(answer(link_up()));
    stage_ = Stage::answered;
  }
  auto message = meeting_->receive();
  if (!message) return meeting_->state() == bootstrap::Meeting::State::failed ? meeting_->status() : Status();
  PLAIT_TRY(take_answer(*message));
  stage_ = Stage::ready;
  meeting_.reset();
  return {};
}

transport::RemoteRegion* Peer::import(ByteView line) {
  const ByteView key =
      line.first(std::min(line.size(), local_.fabric->domain(way_)->capabilities().key_bytes));
  auto same = [&](const Imported& i) {
    return std::equal(i.key.begin(), i.key.end(), key.begin(), key.end());
  };
  auto it = std::find_if(plain_.begin(), plain_.end(), same);
  if (it != plain_.end()) return it->region.get();
  auto region = endpoint_->import(key);
  if (!region.ok()) {
    log::warn("the registered memory of {}: {}", name_, region.status().text());
    return nullptr;
  }
  if (plain_.size() >= kMostImports) plain_.erase(plain_.begin());
  plain_.push_back({Bytes(key.begin(), key.end()), std::move(region).value()});
  return plain_.back().region.get();
}

// What finds no room is shown at the next look.
void Peer::show_board(uint64_t number) noexcept {
  constexpr int64_t kLifeNs = 50'000'000;
  if (!ready() || mapped() || gone) return;
  Board& board = *local_.board;
  const BoardHead head = BoardHead::of(board);
  const uint64_t state = head.state();
  const int64_t now = now_ns();
  if (shown_ >= number && state == shown_state_ && now - shown_ns_ < kLifeNs) return;
  auto put = [&](const void* line, const void* home) {
    const auto* from = static_cast<const std::byte*>(line);
    const auto offset = static_cast<const std::byte*>(home) - reinterpret_cast<const std::byte*>(&board);
    transport::Transfer t;  // inline: read at once
    t.signal = {kBoardCounter, 1};
    t.local = {const_cast<std::byte*>(from), 64, nullptr};
    t.remote = {remote_.get(), their_board_ + uint64_t(offset), 64};
    return t;
  };
  static_assert(sizeof(CallRecord) == 64);
  transport::Transfer lines[kRecords + 1];
  size_t count = 0;
  const uint64_t oldest = number < kRecords ? 1 : number - kRecords + 1;
  for (uint64_t n = std::max(shown_ + 1, oldest); n <= number; n++)
    lines[count++] = put(&board.record_of(n), &board.record_of(n));
  lines[count++] = put(&head, &board);
  if (endpoint_->post({lines, count}) != count) return;
  shown_ = std::max(shown_, number);
  shown_state_ = state;
  shown_ns_ = now;
}

}  // namespace plait::runtime
