#include "transport/icl/domain.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "transport/misuse.h"

namespace plait::transport::icl {
namespace {

constexpr size_t kWords = size_t{1} << 18;  // of counters: address space until they are used
constexpr uint32_t kEntries = 1 << 18;      // of completions, likewise
constexpr int kHourMs = 3'600'000;

Status check(const Options& o) {
  if (o.address.empty()) return {Code::invalid, "icl: no address: \"emu:/dev/shm/pod\" is one"};
  if (o.depth < 2 || o.depth > 4096 || (o.depth & (o.depth - 1)) != 0)
    return {Code::invalid,
            "icl: a depth of " + std::to_string(o.depth) + " is no power of two from 2 to 4096"};
  if (o.timeout_ms < 1 || o.timeout_ms > kHourMs)
    return {Code::invalid, "icl: a timeout of " + std::to_string(o.timeout_ms) + " ms is not within an hour"};
  return {};
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  PLAIT_TRY(check(options));
  auto device = Device::open(options);
  if (!device.ok()) return device.status();
  auto made = std::make_unique<IclDomain>(options, std::move(*device));
  PLAIT_TRY(made->start());
  return std::unique_ptr<Domain>(std::move(made));
}

IclDomain::IclDomain(const Options& options, std::shared_ptr<Device> device)
    : options_(options),
      device_(std::move(device)),
      name_(!options.label.empty() ? options.label
                                   : "icl:" + device_->address() + "#" + std::to_string(device_->chip())),
      nonce_(random_word()),
      words_(kWords) {}

Status IclDomain::start() {
  icl_device_info info{};
  info.struct_size = sizeof info;
  icl_status status = icl_query_device(device_->handle(), &info);
  if (status != ICL_OK) return failure(status, name_);
  words_pages_ = map_pages(kWords * sizeof(uint64_t));
  if (!words_pages_) return {Code::memory, name_ + ": no address space for counters"};
  status = icl_register(device_->handle(), device_->chip(), ICL_HOST_POINTER, words_pages_.data(),
                        words_pages_.size(), &words_memory_);
  if (status == ICL_OK) status = icl_completions_open(device_->handle(), kEntries, &completions_);
  if (status != ICL_OK) return failure(status, name_);
  describe_device(info);
  return {};
}

void IclDomain::describe_device(const icl_device_info& info) noexcept {
  // Machines may have other names for the same pod.
  identity_.pod = info.pod;
  Capabilities& c = capabilities_;
  c.get = c.local_needs_region = c.holds_pages = c.detects_death = true;
  c.inline_bytes = info.inline_bytes;
  c.max_transfer = info.max_transfer;
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = options_.depth;
  c.counters = kCounters;
  c.max_add = UINT16_MAX;
  c.cost = {5e-6, 1e-6, 0};
  for (uint32_t i = 0; i < info.ports; i++) {
    icl_port_info port{};
    port.struct_size = sizeof port;
    if (icl_query_port(device_->handle(), device_->chip(), i, &port) == ICL_OK)
      c.cost.bandwidth_Bps = std::max(c.cost.bandwidth_Bps, port.mbps * 125e3);
  }
}

IclDomain::~IclDomain() {
  for (const auto& [place, endpoint] : endpoints_) endpoint->orphan();
  (void)icl_completions_close(completions_);
  (void)icl_free(words_memory_);
}

bool IclDomain::reaches(ByteView peer) const noexcept {
  const auto other = parse_identity(peer);
  return other && other->pod == identity_.pod;
}

Result<std::unique_ptr<Region>> IclDomain::expose(const Memory& memory, Access access) {
  if (!device_->is_this_process()) return in_forked_child(name_);
  if (memory.kind != MemoryKind::host)
    return Status(Code::unsupported, name_ + ": memory of a device cannot be exposed");
  if (memory.bytes == 0 || memory.base == nullptr)
    return Status(Code::invalid, name_ + ": no memory to expose");
  return IclRegion::make(device_, memory, access, nonce_);
}

Result<std::unique_ptr<Endpoint>> IclDomain::open(uint16_t counters, uint64_t cookie) {
  if (!device_->is_this_process()) return in_forked_child(name_);
  if (counters > kCounters) return too_many_counters(name_, counters, kCounters);
  auto endpoint = std::make_unique<IclEndpoint>(*this, counters, cookie, next_place_);
  endpoints_.emplace(next_place_++, endpoint.get());
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void IclDomain::look_at_own_chip() noexcept {
  icl_chip_info chip{};
  chip.struct_size = sizeof chip;
  if (!broken_.empty() || icl_query_chip(device_->handle(), device_->chip(), &chip) != ICL_OK ||
      chip.state != ICL_CHIP_DEAD)
    return;
  broken_ = name_ + ": chip " + std::to_string(device_->chip()) +
            ", of this process, is dead: look at it with icl-info, then start this process again";
}

// Cookies of transfers are their posters'; a queue that failed is told of by its endpoint's place.
size_t IclDomain::poll(std::span<Done> done) noexcept {
  std::array<icl_completion, 64> some;
  size_t count = 0;
  do {
    const size_t room = std::min(some.size(), done.size() - count);
    const size_t came = icl_poll(completions_, some.data(), room);
    for (size_t i = 0; i < came; i++) {
      if (some[i].queue_failed == 0) {
        done[count++] = {some[i].cookie, code_of(some[i].status)};
        continue;
      }
      const auto it = endpoints_.find(some[i].cookie);
      if (it != endpoints_.end() && it->second->state() != State::closed)
        done[count++] = it->second->failed(some[i].status);
    }
    if (came < some.size()) break;
  } while (count < done.size());
  return count;
}

}  // namespace plait::transport::icl
