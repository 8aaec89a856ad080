// The domain "shm": the processes, and the threads, of one host.
//
// Memory of the Arena is mapped: peers load and store where it lies. Plain memory is reached by
// process_vm_readv/writev where the kernel allows it (import() says Code::unsupported where it does not), and
// by its own address between ranks that are threads of one process.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "transport/shm/arena.h"
#include "transport/transport.h"

namespace plait::transport::shm {

struct Options {
  std::string host_id;    // who shares it shares a host; empty: boot id and network namespace
  bool allow_cma = true;  // false: plain memory of other processes is not reached
};

// Code::memory and Code::system when the kernel refuses the arena or the socket, with what to look at.
Result<std::unique_ptr<Domain>> make_domain(const Options& options = {});

}  // namespace plait::transport::shm
