// Gets the ranks' records: where they are to be written, who is asked, what came.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/run/record.h"

namespace plait::run {

class Collector {
 public:
  Collector() = default;
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector();  // removes the folder, unless it is to be kept

  // Where records go: `folder` if there is one (made, and kept), else what PLAIT_DUMP says (kept), else a
  // folder of this job's own. `job`: only its records count where files of others may lie. False: `error`
  // says why.
  bool create(const std::string& folder, const std::string& job, std::string& error);
  // For PLAIT_DUMP.
  const std::string& prefix() const { return prefix_; }
  // Empty when nothing is kept.
  const std::string& kept() const { return kept_; }

  // Whether no rank has left anything: none has made a communicator.
  bool empty() const { return read_all().empty(); }
  // Whether this rank left a record of an error.
  bool told_error(int rank) const;
  // Asks those of these processes, and of their descendants, that said they would answer. How many were
  // asked. `all`: SIGUSR1 also goes to each of `ranks` that has a handler of its own.
  size_t ask(const std::vector<pid_t>& ranks, bool all);
  // Whether all who were asked have written.
  bool answered() const;
  // What was written since ask(), on an error, or as a note.
  std::vector<Record> records() const;

 private:
  std::vector<Record> read_all() const;
  bool is_fresh(const Record& r) const;

  std::string prefix_, kept_, own_folder_, job_;
  std::map<pid_t, size_t> asked_;  // how many records each has to write
  int64_t asked_ns_ = 0;
};

// Whether the process has a handler for `signal`. False when it is gone.
bool catches(pid_t pid, int signal);
// Whether the process was stopped, as by SIGSTOP or a debugger.
bool is_stopped(pid_t pid);

}  // namespace plait::run
