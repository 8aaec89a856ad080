#include "perf/pair/session.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>

#include "transport/wireup.h"

namespace plait::perf::pair {

using transport::Access;
using transport::MessageMemory;

namespace {

constexpr int64_t kLookNs = 20'000'000;
constexpr uint32_t kLookEvery = 1024, kYieldFrom = 100;
constexpr size_t kCheckedBytes = size_t{64} << 20;  // of a lane's memory where each message is checked
constexpr int64_t kConnectMs = 20'000;
static_assert(kMostSends < transport::kMessageSlots, "some tell of the end");
constexpr int kServeTurns = 32;  // between looks at the control connection

Status during(const char* phase, const Status& why) {
  return {why.code(), std::string(phase) + ": " + std::string(why.text())};
}

Status exposed(transport::Domain& domain, std::byte* at, size_t bytes, Access access,
               std::unique_ptr<transport::Region>& region) {
  auto made = domain.expose({.base = at, .bytes = bytes}, access);
  if (!made.ok()) return made.status();
  region = std::move(*made);
  return {};
}

Bytes copy_of(ByteView view) { return Bytes(view.begin(), view.end()); }

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const Options& options,
                                               std::unique_ptr<transport::Domain> domain, bool shared,
                                               Control& control) {
  std::unique_ptr<Session> session(new Session(options, std::move(domain), control));
  session->shared_ = shared;
  PLAIT_TRY(session->check_capabilities());
  PLAIT_TRY(session->connect());
  PLAIT_TRY(session->agree_on_depth());
  PLAIT_TRY(session->make_memory());
  PLAIT_TRY(session->swap_keys());
  if (options.tool.operation == Operation::send) PLAIT_TRY(session->make_messages());
  return session;
}

Session::~Session() {
  for (Lane& lane : lanes_) {
    lane.messages.reset();
    lane.remote.reset();
    lane.remote_letters.reset();
    lane.endpoint.reset();
  }
}

Status Session::check_capabilities() const {
  const transport::Capabilities& caps = capabilities();
  auto lacks = [&](const std::string& what) {
    return Status(Code::unsupported, std::string(device()) + " " + what);
  };
  const Operation operation = options_.tool.operation;
  if (operation == Operation::read && !caps.get) return lacks("cannot read from the other side");
  if (operation != Operation::send && options_.sizes.back() > caps.max_transfer)
    return lacks("moves " + std::to_string(caps.max_transfer) + " bytes at once: give a smaller -s");
  if (options_.depth_given && operation != Operation::send && options_.depth > caps.depth)
    return lacks("has room for " + std::to_string(caps.depth) + " messages under way: give a smaller -t");
  return {};
}

Status Session::connect() {
  const transport::Bounds bounds{Deadline::in_ms(kConnectMs)};
  for (uint32_t i = 0; i < options_.qps; i++) {
    auto endpoints = transport::wire_up(*domain_, control_, kCounters, bounds);
    if (!endpoints.ok()) {
      const Status& why = endpoints.status();
      return {why.code(), "connecting with " + control_.other() + ": " + std::string(why.text()) +
                              " (rank 0 is the server, rank 1 the client)"};
    }
    lanes_.emplace_back().endpoint = std::move((*endpoints)[size_t(1 - control_.rank())]);
  }
  return {};
}

// The lesser of both: one device may have less room than the other.
Status Session::agree_on_depth() {
  const uint32_t mine = std::min<uint32_t>(options_.depth, capabilities().depth);
  Bytes told;
  append(told, mine);
  PLAIT_TRY(control_.say(Kind::keys, told));
  const auto heard = control_.hear(Kind::keys);
  if (!heard.ok()) return heard.status();
  uint32_t theirs = 0;
  ByteView view(*heard);
  if (!take(view, theirs) || theirs == 0)
    return {Code::internal, control_.other() + " has no room for a message"};
  depth_ = options_.tool.operation == Operation::send ? options_.depth : std::min(mine, theirs);
  stride_ = round_up(options_.sizes.back(), 64);
  if (options_.validate) slots_ = uint32_t(std::clamp<size_t>(kCheckedBytes / stride_, 1, depth_));
  if (options_.validate && options_.tool.operation == Operation::send) depth_ = slots_;
  return {};
}

Status Session::make_memory() {
  const bool sends = options_.tool.operation == Operation::send;
  auto take = [&](size_t bytes, Access access, std::byte*& at, std::unique_ptr<transport::Region>& region) {
    auto buffer = Buffer::make(bytes, shared_);
    if (!buffer.ok()) return during("memory", buffer.status());
    buffers_.push_back(std::move(*buffer));
    at = buffers_.back().data();
    return exposed(*domain_, at, buffers_.back().size(), access, region);
  };
  buffers_.reserve(4);
  PLAIT_TRY(take(lanes() * lane_bytes(), Access::both, in_, in_region_));
  PLAIT_TRY(take(lanes() * lane_bytes(), Access::none, out_, out_region_));
  if (!sends) return {};
  PLAIT_TRY(take(lanes() * sizeof(MessageMemory), Access::write, letters_, letters_region_));
  return take(lanes() * sizeof(MessageMemory), Access::none, shadows_, shadows_region_);
}

Status Session::swap_keys() {
  std::vector<Bytes> mine = {copy_of(in_region_->key())};
  if (letters_region_) mine.push_back(copy_of(letters_region_->key()));
  PLAIT_TRY(control_.say(Kind::keys, encode_blocks(mine)));
  auto heard = control_.hear(Kind::keys, [this] { return serve(); });
  if (!heard.ok()) return heard.status();
  const auto keys = decode_blocks(*heard);
  if (!keys || keys->size() != mine.size())
    return {Code::internal, control_.other() + " sent keys that make no sense"};
  for (Lane& lane : lanes_)
    PLAIT_TRY(during_import(import_into(lane, keys->front(), keys->size() > 1 ? keys->back() : Bytes())));
  return {};
}

Status Session::during_import(const Status& why) const {
  return why.ok() ? why
                  : Status(why.code(), "memory of " + control_.other() + ": " + std::string(why.text()));
}

Status Session::import_into(Lane& lane, const Bytes& key, const Bytes& letters) {
  auto get = [&](const Bytes& from, size_t least, std::unique_ptr<transport::RemoteRegion>& to) -> Status {
    auto region = lane.endpoint->import(from);
    if (!region.ok()) return region.status();
    if ((*region)->bytes() < least) return {Code::invalid, "it exposed less than was agreed on"};
    to = std::move(*region);
    return {};
  };
  PLAIT_TRY(get(key, lanes() * lane_bytes(), lane.remote));
  return letters.empty() ? Status() : get(letters, lanes() * sizeof(MessageMemory), lane.remote_letters);
}

Status Session::make_messages() {
  for (size_t i = 0; i < lanes(); i++) {
    Lane& lane = lanes_[i];
    const uint64_t offset = i * sizeof(MessageMemory);
    std::byte* const mapped = lane.remote_letters->mapped();
    transport::MessageWiring wiring;
    wiring.endpoint = lane.endpoint.get();
    wiring.capabilities = &capabilities();
    wiring.remote = lane.remote_letters.get();
    wiring.remote_offset = offset;
    if (mapped != nullptr) wiring.mapped = reinterpret_cast<MessageMemory*>(mapped + offset);
    wiring.own = reinterpret_cast<MessageMemory*>(letters_ + offset);
    wiring.shadow = reinterpret_cast<MessageMemory*>(shadows_ + offset);
    wiring.shadow_region = shadows_region_.get();
    wiring.first_counter = kShortCounter;
    wiring.first_cookie = kMessages + i * transport::kMessageCookies;
    lane.messages = std::make_unique<transport::MessageLink>(wiring, control_.other());
  }
  return {};
}

transport::LocalSlice Session::in(size_t lane, uint64_t slot, size_t bytes) const noexcept {
  return {in_ + lane * lane_bytes() + slot % slots_ * stride_, bytes, in_region_.get()};
}
transport::LocalSlice Session::out(size_t lane, uint64_t slot, size_t bytes) const noexcept {
  return {out_ + lane * lane_bytes() + slot % slots_ * stride_, bytes, out_region_.get()};
}
transport::RemoteSlice Session::there(size_t lane, uint64_t slot, size_t bytes) const noexcept {
  return {lanes_[lane].remote.get(), lane * lane_bytes() + slot % slots_ * stride_, bytes};
}

void Session::message_done(const transport::Done& done) noexcept {
  const size_t i = size_t((done.cookie - kMessages) / transport::kMessageCookies);
  if (i < lanes_.size() && lanes_[i].messages) lanes_[i].messages->done(done);
}

bool Session::move_messages() noexcept {
  bool moved = false;
  for (Lane& lane : lanes_) moved = lane.messages->progress() || moved;
  return moved;
}

Status Session::health() {
  for (const Lane& lane : lanes_) {
    if (lane.endpoint->state() == transport::State::failed) {
      PLAIT_TRY(control_.look());  // it may have said why
      return {Code::peer, std::string(device()) + ", with " + control_.other() + ": " +
                              std::string(lane.endpoint->error())};
    }
    if (lane.messages && !lane.messages->status().ok()) return lane.messages->status();
    if (lane.messages && !lane.messages->trouble().ok()) return lane.messages->trouble();
  }
  if (!failed_) return {};
  return {Code::peer, std::string(device()) + ": a transfer with " + control_.other() + " failed"};
}

Status Session::look(int64_t now) {
  next_look_ns_ = now + kLookNs;
  progress_.show(now);
  PLAIT_TRY(health());
  PLAIT_TRY(control_.look());
  return control_.keep_alive(now);
}

Status Session::pulse(int64_t now) {
  moved();
  return now < next_look_ns_ ? Status() : look(now);
}

Status Session::rest() {
  idle_++;
  if (options_.events) {
    PLAIT_TRY(sleep());
  } else if (idle_ >= kYieldFrom) {
    sched_yield();
  } else {
    cpu_relax();
  }
  if (!failed_ && !options_.events && idle_ % kLookEvery != 0) return {};
  const int64_t now = now_ns();
  if (std::exchange(fresh_, false)) moved_ns_ = now;
  if (now >= next_look_ns_ || failed_) PLAIT_TRY(look(now));
  const auto patience = int64_t(options_.timeout_s * 1e9);
  if (now - moved_ns_ < patience) return {};
  return {Code::timeout, std::string(device()) + ", with " + control_.other() + ": nothing moved for " +
                             std::to_string(patience / 1'000'000'000) + " s (--timeout)"};
}

Status Session::part() {
  PLAIT_TRY(control_.say(Kind::bye));
  return control_.hear(Kind::bye).status();
}

Status Session::sleep() {
  if (!domain_->arm()) return {};
  if (lanes_.front().messages && move_messages()) return {};  // what came by a store before arm()
  const int fd = domain_->wait_fd();
  std::array<pollfd, 2> fds = {pollfd{control_.wait_fd(), POLLIN, 0}, pollfd{fd, POLLIN, 0}};
  (void)::poll(fds.data(), fd < 0 ? 1 : 2, fd < 0 ? 1 : 100);
  return {};
}

Status Session::serve(const std::function<bool()>& step) {
  bool moved = false;
  for (int i = 0; i < kServeTurns; i++) {
    if (!step) harvest([](size_t) {});
    if (step && step()) moved = true;
  }
  const int64_t now = now_ns();
  if (now >= next_look_ns_) PLAIT_TRY(look(now));
  if (moved) return {};
  if (options_.events || (!step && !capabilities().target_must_poll)) return sleep();
  sched_yield();
  return {};
}

}  // namespace plait::perf::pair
