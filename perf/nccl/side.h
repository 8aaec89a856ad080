// One side of a connection: this process with the plugin loaded, a communicator of it, and the steps that
// NCCL takes.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "perf/nccl/net.h"

namespace plait::nccl_drive {

// What is driven, and how long one wait may take.
struct Job {
  std::string plugin;
  int version = 0;
  int device = 0;
  int joined = 0;  // so many devices are joined to a virtual one, which is driven; 0: none
  double seconds = 10;
};

struct Handle {
  alignas(16) std::array<unsigned char, nccl::handle_bytes> bytes{};
};

// Gives the processor away every few times: at each, a busy machine would make a poll last milliseconds.
class Pause {
 public:
  void idle() noexcept;

 private:
  unsigned polls_ = 0;
};

// Both directions between two sides; a comm that is null is none.
struct Link {
  void* send = nullptr;
  void* receive = nullptr;
};

// What the plugin logged as a warning: how often, and the last of it.
int warnings() noexcept;
std::string last_warning();
void logger(nccl::LogLevel level, unsigned long flags, const char* file, int line, const char* format, ...);

class Side {
 public:
  explicit Side(const Job& job) : job_(job), device_(job.device) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Loads the plugin, begins a communicator, reads the properties of the device.
  Status open();
  // Ends the communicator and unloads.
  Status close();

  // The halves of open and close.
  Status load();
  Status begin(nccl::Logger log = logger, int traffic_class = nccl::unset);
  Status end();

  const Job& job() const { return job_; }
  Net& net() { return *net_; }
  void* context() const { return context_; }
  int device() const { return device_; }  // that is driven
  const Properties& properties() const { return properties_; }
  Deadline deadline() const { return Deadline::in_ns(int64_t(job_.seconds * 1e9)); }
  // An error of the plugin as a sentence, with what it logged last; ok for success.
  Status said(NcclResult result, const std::string& who) const;
  Status late(const std::string& what) const;

  // Fails where no comm came.
  Status listen(Handle* handle, void** comm);
  bool handle_overrun() const { return handle_overrun_; }  // a listen wrote past a handle
  // One call each; *comm stays null until there is one.
  Status connect(Handle& handle, void** comm);
  Status accept(void* listen_comm, void** comm);
  // Both by turns until both are there.
  Status join(Handle& handle, void* listen_comm, Link* link);
  // A connection to itself.
  Status self(Link* link);
  Status close(Link& link);
  Status close_listen(void* comm);

 private:
  Status join();

  const Job job_;
  int device_;
  std::unique_ptr<Net> net_;
  void* context_ = nullptr;
  bool begun_ = false, handle_overrun_ = false;
  nccl::Config config_{nccl::unset};
  Properties properties_;
};

}  // namespace plait::nccl_drive
