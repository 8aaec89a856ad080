// What the tables of all versions stand on: the devices, and what NCCL has open of them. One a process.
//
// Threads: any; a lock serialises what opens and closes. What moves data is Comm's, and takes none.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "abi.h"
#include "comm.h"
#include "devices.h"
#include "dial.h"
#include "listener.h"

namespace plait::nccl {

// Of one of NCCL's communicators, or of all before version 11.
struct Context {
  int traffic_class = unset;
};

class Plugin {
 public:
  // The first call finds the devices. Code::unsupported: there are none, and why.
  Status start(Logger logger);
  // The same for a communicator, until finish().
  Status start(Logger logger, int traffic_class, Context*& context);
  // Reclaims its listeners and half-open connections; with the last one, all there is.
  void finish(Context* context);

  int device_count();
  // Stays until the plugin ends. Code::invalid.
  Result<const Device*> device(int number);
  // The number of a virtual device; the same for the same members.
  Result<int> join(const std::vector<int>& members);

  Result<void*> listen(Context* context, int device, void* handle);
  // Null: not yet.
  Result<Comm*> connect(Context* context, int device, int traffic_class, void* handle);
  Result<Comm*> accept(void* listener);
  void close_listener(void* listener);
  void close(Comm* comm);

  // For a moment in which a comm waits: comms that linger need somebody to move them.
  void idle() noexcept {
    if (lingering_count_.load(std::memory_order_relaxed) != 0) tend_if_free();
  }

  // Until conceal(), or until the comm is closed.
  Result<Memory*> expose(Comm* comm, const transport::Memory& memory);
  // What went with its comm already is nothing. Code::invalid: of another comm.
  Status conceal(const Comm* comm, Memory* memory);

 private:
  struct Listening {
    std::unique_ptr<Listener> listener;
    const Context* context = nullptr;
    std::string device;
  };
  struct Dialing {
    std::unique_ptr<Dial> dial;
    const Context* context = nullptr;
    std::string device;
  };

  Status find();
  std::shared_ptr<const Side> side_of(const Device& device, int traffic_class,
                                      bootstrap::SecretPtr secret) const;
  Result<const Device*> find_device(int number) const;
  Comm* adopt(std::unique_ptr<Connection> connection, const std::string& device, bool sends);
  void forget_memories(const Comm* comm, const std::string& name);
  void tend() noexcept;  // comms that linger
  void tend_if_free() noexcept;
  void drain();  // the same, until none does, for a bounded time
  void end();

  std::mutex mutex_;
  runtime::Config config_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unordered_set<Context*> contexts_;
  std::unordered_map<void*, Listening> listeners_;
  std::unordered_map<uint64_t, Dialing> dials_;  // by Handle::attempt
  std::unordered_map<Comm*, std::unique_ptr<Comm>> comms_;
  std::vector<std::unique_ptr<Comm>> lingering_;
  std::atomic<size_t> lingering_count_{0};
  std::atomic<uint32_t> idles_{0};
  std::unordered_set<Memory*> memories_;
};

Plugin& plugin();

}  // namespace plait::nccl
