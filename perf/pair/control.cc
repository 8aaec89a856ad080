#include "perf/pair/control.h"

#include <algorithm>

#include "perf/pair/meet.h"

namespace plait::perf::pair {
namespace {

constexpr size_t kMostMessage = size_t{1} << 20, kMostInbox = 64;
constexpr int64_t kAliveNs = 1'000'000'000;
constexpr int kFlushMs = 500;

int64_t ns_of(Seconds seconds) { return int64_t(std::min(seconds, 1e9) * 1e9); }

}  // namespace

Result<std::unique_ptr<Control>> Control::serve(uint16_t port, const bootstrap::SecretPtr& secret,
                                                Seconds wait,
                                                const std::function<void(uint16_t)>& listening) {
  auto poller = std::make_unique<bootstrap::Poller>();
  PLAIT_TRY(poller->open());
  auto met = await_client(*poller, port, secret, Deadline::in_ns(ns_of(wait)), listening);
  if (!met.ok()) return met.status();
  std::unique_ptr<Control> control(new Control(std::move(poller), true, secret != nullptr));
  control->link_ = std::move(met->link);
  control->other_ = "the client (" + control->link_->who() + ")";
  control->inbox_.push_back({Kind::hello, std::move(met->hello)});
  control->link_->limit(kMostMessage);
  return control;
}

Result<std::unique_ptr<Control>> Control::dial(const std::string& host, uint16_t port,
                                               const bootstrap::SecretPtr& secret, Seconds wait) {
  auto poller = std::make_unique<bootstrap::Poller>();
  PLAIT_TRY(poller->open());
  auto met = dial_server(*poller, host, port, secret, Deadline::in_ns(ns_of(wait)));
  if (!met.ok()) return met.status();
  std::unique_ptr<Control> control(new Control(std::move(poller), false, secret != nullptr));
  control->link_ = std::move(met->link);
  control->other_ = "the server (" + control->link_->who() + ")";
  control->link_->limit(kMostMessage);
  return control;
}

Status Control::greet(const Hello& mine, Seconds timeout) {
  PLAIT_TRY(say(Kind::hello, encode(mine)));
  auto word = hear(Kind::hello);
  if (!word.ok()) return word.status();
  if (!decode(*word, theirs_)) return {Code::version, other_ + " sent a hello that makes no sense"};
  other_ = (server_ ? "the client (" : "the server (") + link_->who() + ", " + describe(theirs_) + ")";
  const std::string wrong = difference(mine, theirs_, server_ ? "the client" : "the server");
  timeout_ns_ = ns_of(timeout);
  if (wrong.empty()) return {};
  return {mine.version == theirs_.version ? Code::mismatch : Code::version,
          other_ + " and this side must have the same options: " + wrong};
}

Status Control::lost(const Status& why) const {
  return {Code::peer, other_ + " is gone: " + std::string(why.text())};
}

Status Control::say(Kind kind, ByteView about) {
  said_ns_ = now_ns();
  if (link_->send(encode(kind, about))) return {};
  PLAIT_TRY(look());  // it may have said why it went
  return lost(link_->status());
}

Status Control::look() {
  poller_->wait(0);
  while (inbox_.size() < kMostInbox) {
    auto message = link_->receive();
    if (!message) break;
    heard_ns_ = now_ns();
    ByteView about = *message;
    const auto kind = take_kind(about);
    if (!kind) return {Code::internal, other_ + " said something that makes no sense"};
    PLAIT_TRY(sort(*kind, about));
  }
  if (inbox_.empty() && link_->state() == bootstrap::Link::State::closed) return lost(link_->status());
  return {};
}

Status Control::sort(Kind kind, ByteView about) {
  if (kind == Kind::alive) return {};
  if (kind == Kind::failed) return {Code::peer, other_ + " failed: " + decode_text(about)};
  if (kind != Kind::row) {
    inbox_.push_back({kind, Bytes(about.begin(), about.end())});
    return {};
  }
  Row row;
  if (!on_row_ || !decode(about, row)) return {Code::internal, other_ + " sent a result that makes no sense"};
  return on_row_(row);
}

bool Control::next_is(Kind kind) const noexcept { return !inbox_.empty() && inbox_.front().kind == kind; }

Result<std::optional<Bytes>> Control::heard(Kind kind) {
  PLAIT_TRY(look());
  if (inbox_.empty()) return std::optional<Bytes>();
  if (inbox_.front().kind != kind)
    return Status(Code::internal, other_ + " said something else than was due");
  std::optional<Bytes> about(std::move(inbox_.front().about));
  inbox_.pop_front();
  return about;
}

Status Control::overdue(int64_t now) const {
  if (now - heard_ns_ < timeout_ns_) return {};
  return {Code::timeout, other_ + " gave no sign of itself for " +
                             std::to_string(timeout_ns_ / 1'000'000'000) +
                             " s: is it stopped, or the network between cut? (--timeout)"};
}

Status Control::keep_alive(int64_t now) { return now - said_ns_ < kAliveNs ? Status() : say(Kind::alive); }

Status Control::nap() {
  poller_->wait(20);
  return {};
}

Result<Bytes> Control::hear(Kind kind, const std::function<Status()>& meanwhile) {
  heard_ns_ = now_ns();
  for (;;) {
    auto word = heard(kind);
    if (!word.ok()) return word.status();
    if (*word) return std::move(**word);
    PLAIT_TRY(meanwhile ? meanwhile() : nap());
    const int64_t now = now_ns();
    PLAIT_TRY(keep_alive(now));
    PLAIT_TRY(overdue(now));
  }
}

void Control::fail(const Status& why) {
  const std::string text(why.text());
  if (!link_->send(encode(Kind::failed, std::as_bytes(std::span(text))))) return;
  link_->finish();
  const Deadline deadline = Deadline::in_ms(kFlushMs);
  while (link_->state() == bootstrap::Link::State::open && !link_->flushed() && !deadline.passed())
    poller_->wait(10);
}

Result<std::vector<Bytes>> Control::allgather(ByteView mine, const transport::Bounds&) {
  PLAIT_TRY(say(Kind::exchange, mine));
  auto its = hear(Kind::exchange);
  if (!its.ok()) return its.status();
  std::vector<Bytes> all(2);
  all[size_t(rank())].assign(mine.begin(), mine.end());
  all[size_t(1 - rank())] = std::move(*its);
  return all;
}

}  // namespace plait::perf::pair
