// The domain: its listener, the endpoints and peers it knows, and what polling, sleeping and waking mean.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/shm/endpoint.h"
#include "transport/shm/shm.h"

namespace plait::transport::shm {

class ShmDomain final : public Domain {
 public:
  static Result<std::unique_ptr<Domain>> make(const Options& options);
  ShmDomain(Process& process, bool allow_cma, Bytes identity) noexcept;
  ~ShmDomain() override;

  std::string_view name() const noexcept override { return "shm"; }
  const Capabilities& capabilities() const noexcept override;
  ByteView identity() const noexcept override { return identity_; }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  void trim() noexcept override { pools_.trim(); }
  int wait_fd() const noexcept override { return sleepable_ ? epoll_.get() : -1; }

  // What endpoints call.
  Process& process() noexcept { return process_; }
  const std::shared_ptr<DomainWords>& words() const noexcept { return words_; }
  int event() const noexcept { return event_.get(); }
  uint64_t nonce() const noexcept { return nonce_; }
  Pools& pools() noexcept { return pools_; }
  Status watch(int socket, const ShmEndpoint& endpoint);
  void unwatch(int fd) noexcept;
  void has_work(ShmEndpoint& endpoint) noexcept;
  void counted(State from, State to) noexcept;
  void forget(ShmEndpoint& endpoint) noexcept;
  // The peer of a greeting: known already, or met now.
  Result<std::shared_ptr<Peer>> meet(Greeting& greeting);

 private:
  enum class Watch : uint8_t { event, listener, greeter, endpoint, peer };
  struct Greeter {
    Fd socket;
    Credentials who;
  };
  using PeerKey = std::pair<ArenaIdentity, uint64_t>;  // arena, and where its domain's words lie there

  Status start();
  Status watch(int fd, Watch kind, uint64_t id);
  void look() noexcept;  // asks the kernel what is new
  void dispatch(Watch kind, uint64_t id) noexcept;
  void accept_all() noexcept;
  void hear(uint64_t greeter) noexcept;
  void peer_died(uint64_t id) noexcept;
  void drain() noexcept;
  void disarm() noexcept;
  size_t work(std::span<Done> done) noexcept;
  void free_places() noexcept;  // of endpoints that are gone, once nothing is left of them
  uint64_t counter_sum() const noexcept;

  Process& process_;
  const bool allow_cma_;
  const Bytes identity_;
  const SocketName listener_name_;
  const uint64_t nonce_;  // in keys and hellos
  std::shared_ptr<DomainWords> words_;
  Fd epoll_, event_, listener_;

  std::unordered_map<uint64_t, ShmEndpoint*> endpoints_;  // by id
  std::unordered_map<uint64_t, ShmEndpoint*> by_nonce_;
  std::unordered_map<uint64_t, Greeter> greeters_;             // accepted, not yet heard
  std::unordered_map<uint64_t, std::weak_ptr<Peer>> watched_;  // by id of the watch on their pidfd
  std::map<PeerKey, std::weak_ptr<Peer>> peers_;
  uint64_t last_id_ = 0;

  Pools pools_;
  std::vector<ShmEndpoint*> busy_;  // with something to move or to tell
  OrphanedDones orphans_{pools_.dones};
  size_t first_ = 0;  // of the busy, whose turn it is
  size_t connecting_ = 0;
  uint32_t polls_ = 0;
  int64_t looked_ns_ = 0;
  bool armed_ = false, sleepable_ = false;
  uint64_t seen_sum_ = 0;  // of all counters, at the last arm()
};

}  // namespace plait::transport::shm
