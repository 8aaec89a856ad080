#include "transport/hooks/fault.h"

#include <algorithm>

#include "transport/hooks/fault_endpoint.h"

namespace plait::transport::hooks {

FaultDomain::FaultDomain(std::unique_ptr<Domain> inner_domain, FaultPlan plan)
    : WrappedDomain(std::move(inner_domain)), random_(plan.seed) {
  for (const FaultRule& rule : plan.rules) add(rule);
  Memory memory;
  memory.base = scratch_.data();
  memory.bytes = scratch_.size();
  // Only back ends without inline puts need it, and a domain that exposes nothing can be corrupted just less.
  if (auto region = inner().expose(memory, Access::none); region.ok())
    scratch_region_ = std::move(region).value();
}

FaultDomain::~FaultDomain() {
  for (FaultEndpoint* endpoint : endpoints_) endpoint->domain_gone();
}

void FaultDomain::add(const FaultRule& rule) { rules_.push_back({rule}); }

void FaultDomain::kill_links() noexcept {
  for (FaultEndpoint* endpoint : endpoints_) endpoint->kill("the test killed the link");
}

void FaultDomain::take_down(bool on) noexcept {
  down_ = on;
  if (on) kill_links();
}

// splitmix64: the same plan gives the same faults everywhere.
uint64_t FaultDomain::random() noexcept {
  uint64_t z = (random_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

FaultDomain::Verdict FaultDomain::judge(int endpoint) noexcept {
  Verdict verdict;
  for (Rule& r : rules_) {
    if (r.rule.endpoint >= 0 && r.rule.endpoint != endpoint) continue;
    ++r.seen;
    bool hit = r.rule.nth != 0 ? r.seen == r.rule.nth : double(random() >> 11) * 0x1p-53 < r.rule.probability;
    if (hit && verdict.fault == Fault::none) {
      verdict = {r.rule.fault, r.rule.fault == Fault::delay ? r.rule.polls : 0};
    }
  }
  return verdict;
}

uint64_t FaultDomain::take_slot(Slot slot) {
  if (free_.empty()) {
    slots_.push_back(std::move(slot));
    return slots_.size() - 1;
  }
  uint64_t index = free_.back();
  free_.pop_back();
  slots_[index] = std::move(slot);
  return index;
}

LocalSlice FaultDomain::scratch_byte(std::byte value) noexcept {
  std::byte* at = &scratch_[scratch_next_++ % scratch_.size()];
  *at = value;
  return {at, 1, scratch_region_.get()};
}

Result<std::unique_ptr<Endpoint>> FaultDomain::open(uint16_t counters, uint64_t cookie) {
  if (down_) return Status(Code::system, std::string(name()) + ": the test took this link down");
  size_t more = size_t(capabilities().depth) + 1;
  slots_.reserve(slots_.size() + more);
  free_.reserve(slots_.size() + more);
  ready_.reserve(ready_.size() + (endpoints_.size() + 1) * 2 * more);
  uint64_t slot = take_slot({});
  auto end = inner().open(counters, slot);
  if (!end.ok()) {
    free_.push_back(slot);
    return end;
  }
  auto made = std::make_unique<FaultEndpoint>(*this, std::move(end).value(), counters, cookie, opened_++);
  slots_[slot].cookie = cookie;
  slots_[slot].owner = made.get();
  endpoints_.push_back(made.get());
  return std::unique_ptr<Endpoint>(std::move(made));
}

std::optional<Done> FaultDomain::translate(Done done) noexcept {
  Slot slot = std::exchange(slots_[done.cookie], {});
  free_.push_back(done.cookie);
  done.cookie = slot.cookie;
  if (slot.mute) return std::nullopt;
  if (slot.link != nullptr) --slot.link->owed;
  if (slot.owner != nullptr) slot.owner->inner_failed(done.status);
  if (done.status == Code::ok && slot.lose) done.status = Code::peer;
  if (done.status == Code::ok && slot.flip != nullptr) *slot.flip ^= std::byte(1 << random() % 8);
  // The user closed nothing: the link died.
  if (done.status == Code::aborted && slot.link != nullptr && slot.link->killed) done.status = Code::peer;
  return done;
}

size_t FaultDomain::poll(std::span<Done> done) noexcept {
  for (FaultEndpoint* endpoint : endpoints_) endpoint->step();
  size_t own = std::min(done.size(), ready_.size());
  for (size_t i = 0; i < own; ++i) {
    done[i] = ready_[i].done;
    if (ready_[i].link != nullptr) --ready_[i].link->owed;
  }
  ready_.erase(ready_.begin(), ready_.begin() + ptrdiff_t(own));
  if (frozen_) return own;
  std::span<Done> rest = done.subspan(own);
  size_t n = inner().poll(rest), kept = own;
  for (Done& d : rest.first(n)) {
    if (const auto translated = translate(d)) done[kept++] = *translated;
  }
  return kept;
}

bool FaultDomain::arm() noexcept {
  if (!ready_.empty()) return false;
  for (const FaultEndpoint* endpoint : endpoints_) {
    if (endpoint->holds()) return false;
  }
  return frozen_ || inner().arm();
}

}  // namespace plait::transport::hooks
