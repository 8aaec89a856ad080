#include "tools/run/collect.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/clock.h"
#include "tools/run/job.h"

namespace plait::run {
namespace {

constexpr size_t kMostFiles = 16384;

std::string folder_of(const std::string& prefix) {
  const size_t slash = prefix.rfind('/');
  return slash == prefix.npos ? "." : slash == 0 ? "/" : prefix.substr(0, slash);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  while (const dirent* entry = dir ? readdir(dir.get()) : nullptr) {
    if (names.size() < kMostFiles) names.push_back(entry->d_name);
  }
  return names;
}

bool is_record_name(const std::string& name, const std::string& prefix) {
  const std::string begin = prefix.substr(prefix.rfind('/') + 1) + ".";
  return name.starts_with(begin) && name.ends_with(".json");
}

// The rest of the line of /proc/PID/status that begins with `field`.
std::string status_of(pid_t pid, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  }
  return {};
}

// Whether the process is one of these, or a descendant of one.
bool descends(pid_t pid, const std::vector<pid_t>& from) {
  constexpr int kMostParents = 64;
  for (int i = 0; i < kMostParents && pid > 1; i++) {
    if (std::find(from.begin(), from.end(), pid) != from.end()) return true;
    pid = pid_t(strtol(status_of(pid, "PPid").c_str(), nullptr, 10));
  }
  return false;
}

}  // namespace

Collector::~Collector() {
  if (own_folder_.empty()) return;
  for (const std::string& name : files_in(own_folder_)) unlink((own_folder_ + "/" + name).c_str());
  rmdir(own_folder_.c_str());
}

bool Collector::create(const std::string& folder, const std::string& job, std::string& error) {
  job_ = job;
  const char* given = getenv("PLAIT_DUMP");
  if (!folder.empty()) {
    char whole[4096];
    const bool made = mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
    if (!made || realpath(folder.c_str(), whole) == nullptr || access(whole, W_OK | X_OK) != 0) {
      error = "--dump " + folder + ": " + std::strerror(errno);
      return false;
    }
    kept_ = whole;
    prefix_ = kept_ + "/plait";
  } else if (given != nullptr && *given != 0) {
    prefix_ = given;
    kept_ = folder_of(prefix_);
  } else {
    std::string own = temporary_folder() + "/plait-dump-XXXXXX";
    if (mkdtemp(own.data()) == nullptr) {  // mode 0700
      error = "cannot make a folder for records, " + own + ": " + std::strerror(errno);
      return false;
    }
    own_folder_ = own;
    prefix_ = own + "/plait";
  }
  return true;
}

std::vector<Record> Collector::read_all() const {
  std::vector<Record> records;
  const std::string folder = folder_of(prefix_);
  for (const std::string& name : files_in(folder)) {
    if (!is_record_name(name, prefix_)) continue;
    auto record = load_record(folder + "/" + name);
    if (record && (!own_folder_.empty() || record->job == job_)) records.push_back(std::move(*record));
  }
  return records;
}

// Only a process that has a communicator, said that it has plait's handler, has it still, and is a rank of
// this plait-run's, or started by one: SIGUSR1 ends whoever has no handler.
size_t Collector::ask(const std::vector<pid_t>& ranks, bool all) {
  asked_.clear();
  asked_ns_ = now_ns();
  for (const Record& r : read_all()) {
    if (!r.signal || r.why == "error") continue;
    if (descends(r.pid, ranks)) asked_[r.pid]++;
  }
  std::erase_if(asked_, [](auto& a) { return !catches(a.first, SIGUSR1) || kill(a.first, SIGUSR1) != 0; });
  for (pid_t rank : ranks) {
    if (all && !asked_.contains(rank) && catches(rank, SIGUSR1)) kill(rank, SIGUSR1);
  }
  return asked_.size();
}

bool Collector::is_fresh(const Record& r) const { return r.why == "error" || r.clock_ns >= asked_ns_; }

bool Collector::told_error(int rank) const {
  const std::vector<Record> records = read_all();
  return std::any_of(records.begin(), records.end(),
                     [&](const Record& r) { return r.rank == rank && r.why == "error"; });
}

bool Collector::answered() const {
  std::map<pid_t, size_t> left = asked_;
  for (const Record& r : read_all()) {
    auto it = left.find(r.pid);
    if (it != left.end() && it->second > 0 && is_fresh(r)) it->second--;
  }
  return std::all_of(left.begin(), left.end(), [](auto& l) { return l.second == 0; });
}

std::vector<Record> Collector::records() const {
  std::vector<Record> records = read_all();
  for (Record& r : records) {
    if (!is_fresh(r)) r.why = "created";  // it was asked before, and has not answered now
  }
  return records;
}

bool catches(pid_t pid, int signal) {
  const std::string mask = status_of(pid, "SigCgt");
  return !mask.empty() && (strtoull(mask.c_str(), nullptr, 16) >> (signal - 1) & 1) != 0;
}

bool is_stopped(pid_t pid) {
  const std::string state = status_of(pid, "State");
  return !state.empty() && (state[0] == 'T' || state[0] == 't');
}

}  // namespace plait::run
