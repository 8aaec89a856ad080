#include "plugin.h"

#include <unistd.h>

#include <cstring>
#include <ctime>

#include "base/host.h"
#include "base/log.h"
#include "base/random.h"
#include "logging.h"
#include "runtime/network.h"

namespace plait::nccl {
namespace {

constexpr int64_t kDrainMs = 1000;

// Of the handle's own secret: each listener has another one, and no file is needed.
std::shared_ptr<const transport::tcp::TlsKey> tls_key(const bootstrap::Secret& secret) {
  bootstrap::Digest digest = bootstrap::Mac(secret.bytes()).add("plait nccl 1: key of TLS on TCP").finish();
  transport::tcp::TlsKey key;
  static_assert(sizeof key.bytes == sizeof digest);
  key.bytes = digest;
  bootstrap::wipe(digest);
  return std::make_shared<const transport::tcp::TlsKey>(key);
}

}  // namespace

Plugin& plugin() {
  static Plugin one;
  return one;
}

Status Plugin::start(Logger logger) {
  std::lock_guard lock(mutex_);
  log_to(logger);
  return find();
}

Status Plugin::start(Logger logger, int traffic_class, Context*& context) {
  std::lock_guard lock(mutex_);
  log_to(logger);
  if (traffic_class < unset || traffic_class > 255)
    return {Code::invalid,
            "a traffic class of " + std::to_string(traffic_class) + ": there are 0 to 255, and -1 for none"};
  PLAIT_TRY(find());
  auto made = std::make_unique<Context>();
  made->traffic_class = traffic_class;
  contexts_.insert(made.get());
  context = made.release();
  return {};
}

Status Plugin::find() {
  if (!devices_.empty()) return {};
  auto config = read_config();
  if (!config.ok()) return config.status();
  config_ = std::move(*config);
  auto devices = find_devices(config_);
  if (!devices.ok()) return devices.status();
  for (Device& device : *devices) {
    log::info("device {} is {}, {} Mbit/s", devices_.size(), device.name, device.speed_mbps);
    devices_.push_back(std::make_unique<Device>(std::move(device)));
  }
  return {};
}

void Plugin::finish(Context* context) {
  std::lock_guard lock(mutex_);
  if (contexts_.erase(context) == 0) return;
  std::erase_if(listeners_, [&](auto& l) { return l.second.context == context; });
  std::erase_if(dials_, [&](auto& d) { return d.second.context == context; });
  delete context;
  if (contexts_.empty()) end();
}

void Plugin::end() {
  drain();
  listeners_.clear();
  dials_.clear();
  for (auto& [comm, owner] : comms_) {
    const std::string name = comm->name();
    owner.reset();
    forget_memories(comm, name);
  }
  comms_.clear();
  lingering_.clear();
  lingering_count_.store(0, std::memory_order_relaxed);
  devices_.clear();
  log_to(nullptr);
}

int Plugin::device_count() {
  std::lock_guard lock(mutex_);
  return int(devices_.size());
}

Result<const Device*> Plugin::find_device(int number) const {
  if (number >= 0 && size_t(number) < devices_.size()) return devices_[size_t(number)].get();
  return Status(Code::invalid, "device " + std::to_string(number) + " is none: there are " +
                                   std::to_string(devices_.size()));
}

Result<const Device*> Plugin::device(int number) {
  std::lock_guard lock(mutex_);
  return find_device(number);
}

Result<int> Plugin::join(const std::vector<int>& members) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < devices_.size(); i++) {
    if (devices_[i]->members == members) return int(i);
  }
  auto joined = join_devices(devices_, members);
  if (!joined.ok()) return joined.status();
  DomainChoice choice;
  choice.rails = members.size();
  choice.tls = std::make_shared<const transport::tcp::TlsKey>();
  const auto domain = open_domain(*joined, config_, choice);  // whether these can be rails together
  if (!domain.ok()) return domain.status();
  log::info("device {} is {}, {} Mbit/s", devices_.size(), joined->name, joined->speed_mbps);
  devices_.push_back(std::make_unique<Device>(std::move(*joined)));
  return int(devices_.size() - 1);
}

std::shared_ptr<const Side> Plugin::side_of(const Device& device, int traffic_class,
                                            bootstrap::SecretPtr secret) const {
  auto side = std::make_shared<Side>();
  side->network = runtime::kind_of({device.rails.front()});
  side->rails = device.rails.size();
  side->name = host_name() + ", process " + std::to_string(getpid()) + ", " + device.name;
  side->open = [device, config = config_, traffic_class, secret = std::move(secret)](size_t rails) {
    DomainChoice choice;
    choice.rails = rails;
    choice.traffic_class = traffic_class;
    if (runtime::wants_tls({device.rails.front()})) choice.tls = tls_key(*secret);
    return open_domain(device, config, choice);
  };
  return side;
}

Result<void*> Plugin::listen(Context* context, int number, void* handle) {
  std::lock_guard lock(mutex_);
  tend();
  const auto device = find_device(number);
  if (!device.ok()) return device.status();
  const int traffic_class = context != nullptr ? context->traffic_class : unset;
  const auto side = [&](const bootstrap::SecretPtr& secret) {
    return side_of(**device, traffic_class, secret);
  };
  Handle made;
  auto listener = Listener::open((*device)->addresses, (*device)->rails.size(), config_, side, made);
  if (!listener.ok()) return listener.status();
  std::memcpy(handle, &made, sizeof made);
  void* key = listener->get();
  listeners_[key] = {std::move(*listener), context, (*device)->name};
  return key;
}

Comm* Plugin::adopt(std::unique_ptr<Connection> connection, const std::string& device, bool sends) {
  auto comm = std::make_unique<Comm>(std::move(connection), device, sends);
  Comm* key = comm.get();
  comms_[key] = std::move(comm);
  log::debug("connected {}", key->name());
  return key;
}

Result<Comm*> Plugin::connect(Context* context, int number, int traffic_class, void* handle) {
  std::lock_guard lock(mutex_);
  tend();
  const auto device = find_device(number);
  if (!device.ok()) return device.status();
  Handle mine;
  std::memcpy(&mine, handle, sizeof mine);
  const auto write_attempt = [&](uint64_t attempt) {
    mine.attempt = attempt;
    std::memcpy(handle, &mine, sizeof mine);
  };
  auto it = mine.attempt != 0 ? dials_.find(mine.attempt) : dials_.end();
  if (it == dials_.end()) {
    const auto parsed = parse_handle({reinterpret_cast<const std::byte*>(&mine), sizeof mine});
    if (!parsed.ok()) return parsed.status();
    if (context != nullptr) traffic_class = context->traffic_class;
    auto side = side_of(**device, traffic_class, secret_of(*parsed));
    auto dial = std::make_unique<Dial>(*parsed, std::move(side), config_.timeout_ms);
    write_attempt(random_word());
    it = dials_.emplace(mine.attempt, Dialing{std::move(dial), context, (*device)->name}).first;
  }
  const Status status = it->second.dial->step();
  if (status.ok() && !it->second.dial->ready()) return static_cast<Comm*>(nullptr);
  const Dialing ended = std::move(it->second);
  dials_.erase(it);
  write_attempt(0);
  if (!status.ok()) return Status(status.code(), ended.device + ": " + std::string(status.text()));
  return adopt(ended.dial->take(), ended.device, true);
}

Result<Comm*> Plugin::accept(void* key) {
  std::lock_guard lock(mutex_);
  tend();
  const auto it = listeners_.find(key);
  if (it == listeners_.end()) return Status(Code::invalid, "accept on what does not listen, or was closed");
  auto connection = it->second.listener->accept();
  if (!connection.ok())
    return Status(connection.status().code(),
                  it->second.device + ": " + std::string(connection.status().text()));
  if (*connection == nullptr) return static_cast<Comm*>(nullptr);
  return adopt(std::move(*connection), it->second.device, false);
}

void Plugin::close_listener(void* key) {
  std::lock_guard lock(mutex_);
  listeners_.erase(key);
  tend();
}

void Plugin::close(Comm* key) {
  std::lock_guard lock(mutex_);
  tend();
  const auto it = comms_.find(key);
  if (it == comms_.end()) return;
  std::unique_ptr<Comm> comm = std::move(it->second);
  comms_.erase(it);
  const std::string name = comm->name();
  log::info("{}: closes after {} messages of {} bytes in all", name, comm->messages(), comm->bytes());
  if (comm->close()) lingering_.push_back(std::move(comm));
  lingering_count_.store(lingering_.size(), std::memory_order_relaxed);
  comm.reset();  // its endpoint closes before the regions go
  forget_memories(key, name);
  // Before version 11 nobody says when all is over.
  if (contexts_.empty() && comms_.empty() && listeners_.empty()) drain();
}

// The regions end with the domain. A request of another comm may hold one still, without its region.
void Plugin::forget_memories(const Comm* comm, const std::string& name) {
  const size_t forgotten = std::erase_if(memories_, [comm](Memory* memory) {
    if (memory->comm() != comm) return false;
    memory->drop();
    memory->release();
    return true;
  });
  if (forgotten != 0) log::info("{}: closed with {} registrations, which go with it", name, forgotten);
}

void Plugin::tend() noexcept {
  std::erase_if(lingering_, [](auto& comm) { return !comm->linger(); });
  lingering_count_.store(lingering_.size(), std::memory_order_relaxed);
}

// Each look asks the kernel, so not at every moment.
void Plugin::tend_if_free() noexcept {
  constexpr uint32_t kSeldom = 64;
  if (idles_.fetch_add(1, std::memory_order_relaxed) % kSeldom != 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) tend();
}

void Plugin::drain() {
  const auto until = Deadline::in_ms(kDrainMs);
  for (tend(); !lingering_.empty() && !until.passed(); tend()) {
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
}

Result<Memory*> Plugin::expose(Comm* comm, const transport::Memory& memory) {
  auto region = comm->expose(memory);
  if (!region.ok())
    return Status(region.status().code(),
                  comm->name() + ", registering memory: " + std::string(region.status().text()));
  auto* made = new Memory(comm, std::move(*region));
  std::lock_guard lock(mutex_);
  memories_.insert(made);
  return made;
}

Status Plugin::conceal(const Comm* comm, Memory* memory) {
  {
    std::lock_guard lock(mutex_);
    const auto it = memories_.find(memory);
    if (it == memories_.end()) return {};
    // Of a comm that was closed, the place may be another registration's by now.
    if (memory->comm() != comm) return {Code::invalid, "the registration is of another connection"};
    memories_.erase(it);
  }
  memory->release();
  return {};
}

}  // namespace plait::nccl
