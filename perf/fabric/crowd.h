// A process and its peers, forked by it, each with a TCP domain of its own, joined over loopback.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/file.h"
#include "transport/tcp/tcp.h"

namespace plait::perf {

// Of one operation, a message to one peer and its answer.
struct Cost {
  double us = 0;      // the whole round by the number of peers
  double calls = 0;   // system calls of this process
  double cpu_us = 0;  // of this process and of all peers
};

class Crowd {
 public:
  // Ends the process with a sentence when it cannot be made.
  Crowd(int peers, const transport::tcp::Options& options);
  ~Crowd();
  // `rounds` times `bytes` to each peer, and from each. `pause_us`: this process sleeps so long before it
  // looks for answers, so that many are there at once, and cpu_us is of this process alone.
  Cost run(size_t bytes, int rounds, int pause_us = 0);

 private:
  void rest(int us);

  struct Peer {
    pid_t pid = 0;
    Fd control;
    std::unique_ptr<transport::Endpoint> end;
    std::unique_ptr<transport::RemoteRegion> remote;
    uint64_t answered[2] = {};  // by counter
  };

  std::unique_ptr<transport::Domain> domain_;
  std::vector<std::byte> memory_;  // where answers land, and what is sent
  std::unique_ptr<transport::Region> region_;
  std::vector<Peer> peers_;
  uint64_t sleeps_ = 0;
};

}  // namespace plait::perf
