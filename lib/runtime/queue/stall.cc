// Tensors that wait for long: who has not pushed them.
#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "runtime/queue/scheduler.h"

namespace plait::runtime::queue {

namespace {

constexpr int64_t kScanEveryNs = 20'000'000;

std::string seconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", double(ns) * 1e-9);
  return text;
}

}  // namespace

int64_t Scheduler::timeout_ns() const noexcept {
  const int64_t ms = config_.timeout_ms > 0 ? config_.timeout_ms : council_.comm().config().timeout_ms;
  return ms > (int64_t(1) << 60) / 1'000'000 ? int64_t(1) << 60 : ms * 1'000'000;
}

const Ticket* Scheduler::oldest_waiting() const noexcept {
  const Ticket* oldest = nullptr;
  const auto look = [&](const Ticket* t) {
    if (t == nullptr || t->agreed) return;
    if (oldest == nullptr || t->pushed_ns < oldest->pushed_ns) oldest = t;
  };
  for (const Ticket* t : here_) look(t);
  for (const Ticket* t : strangers_) look(t);
  return oldest;
}

// Whether this rank has something to ask the others about.
bool Scheduler::wants_census(int64_t now) noexcept {
  if (waiting_ == 0 || now < next_scan_ns_) return false;
  next_scan_ns_ = now + kScanEveryNs;
  const Ticket* t = oldest_waiting();
  if (t == nullptr) return false;
  const int64_t age = now - t->pushed_ns;
  return age >= timeout_ns() || (config_.stall_ns >= 0 && age >= config_.stall_ns && now >= next_report_ns_);
}

Status Scheduler::begin_census() {
  const Ticket* t = oldest_waiting();
  const bool late = t != nullptr && now_ns() - t->pushed_ns >= timeout_ns();
  return council_.begin_census(ballot_, t != nullptr ? t->tensor.key : 0, late);
}

// "2, 3": ranks that have not pushed it, as the latest census says.
std::string Scheduler::lacking(uint32_t slot) const {
  std::string list;
  for (int32_t r = 0; r < council_.comm().size(); r++) {
    if (!council_.seat(r).ready(slot)) list += (list.empty() ? "" : ", ") + std::to_string(r);
  }
  return list;
}

Status Scheduler::end_census() {
  const int64_t now = now_ns();
  const int32_t size = council_.comm().size();
  next_report_ns_ = now + std::max<int64_t>(config_.stall_ns, 0);
  for (uint32_t slot = 0; slot < keys_.size() && config_.stall_ns >= 0; slot++) {
    const Ticket* t = here_[slot];
    if (t == nullptr || t->agreed || now - t->pushed_ns < config_.stall_ns) continue;
    int32_t first = 0;  // of those that wait: one line is enough
    while (first < size && !council_.seat(first).ready(slot)) first++;
    const std::string ranks = lacking(slot);
    if (ranks.empty() || first != council_.comm().rank()) continue;
    log::warn("queue: tensor {}: {} not pushed it for {}", t->tensor.key, has(ranks),
              seconds(now - t->pushed_ns));
  }
  for (int32_t r = 0; r < size; r++) {
    const Council::Seat seat = council_.seat(r);
    if (!seat.late) continue;
    const uint32_t slot = keys_.find(seat.late_key);
    const std::string ranks = slot == Keys::kNone ? "" : lacking(slot);
    if (ranks.empty()) continue;  // it came just now
    agreed_failure_ = true;
    return {Code::timeout, "tensor " + std::to_string(seat.late_key) + ": " + has(ranks) +
                               " not pushed it for " + seconds(timeout_ns()) + ", while rank " +
                               std::to_string(r) + " waited; do all ranks push the same keys?"};
  }
  return {};
}

// Ranks that do not come to a round have pushed nothing that they wait for.
void Scheduler::report_absent() noexcept {
  const int64_t now = now_ns();
  if (config_.stall_ns < 0 || now < next_report_ns_ || now < next_scan_ns_) return;
  next_scan_ns_ = now + kScanEveryNs;
  const Ticket* t = oldest_waiting();
  if (t == nullptr || now - t->pushed_ns < config_.stall_ns) return;
  const std::string ranks = council_.absent();
  if (ranks.empty()) return;
  next_report_ns_ = now + config_.stall_ns;
  log::warn("queue: tensor {}: {} not pushed it for {}, nor anything since", t->tensor.key, has(ranks),
            seconds(now - t->pushed_ns));
}

// A deadline that passed says for which tensor, too.
Status Scheduler::explain_timeout(const Status& status) const {
  const Ticket* t = status.code() == Code::timeout ? oldest_waiting() : nullptr;
  if (t == nullptr) return status;
  const std::string ranks = council_.absent();
  std::string text = "tensor " + std::to_string(t->tensor.key) + ": ";
  text += ranks.empty() ? "not agreed on" : has(ranks) + " not pushed it";
  text += " for " + seconds(now_ns() - t->pushed_ns);
  if (waiting_ > 1) text += ", nor " + std::to_string(waiting_ - 1) + " more that wait here";
  return {status.code(), text + "; " + std::string(status.text())};
}

}  // namespace plait::runtime::queue
