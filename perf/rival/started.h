// A rival that runs: its processes, and what rank 0 of plait-perf says to them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "perf/rival/order.h"

namespace plait::perf::rival {

// "mpi, gloo": those that this plait-perf was built with; empty: none.
std::string names();

class Started {
 public:
  // So many processes on this host, beside each other. Throws Failure: there is no such rival, it is not
  // installed, or cannot be started.
  Started(const std::string& name, int ranks);
  ~Started();
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  const std::string& name() const { return name_; }
  // Microseconds a call, of each sample; none where it has no such collective. Throws Failure: it died, or
  // said nothing for two minutes.
  std::vector<double> time(const Order& order);

 private:
  void start(const std::vector<std::string>& words, int its_end);
  void start_mpi(const std::string& program, int ranks, int its_end);
  void start_gloo(const std::string& program, int ranks, int its_end);
  std::string answer();

  const std::string name_;
  Fd socket_;
  std::string folder_;  // where Gloo's ranks meet; empty: none
  std::vector<pid_t> children_;
  std::string heard_;
};

}  // namespace plait::perf::rival
