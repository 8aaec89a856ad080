// What all ranks of one plait-run share: the job's name, its secret, and the variables that say so.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plait::run {

// A file of 32 random bytes that only this user may read; removed with this object.
class SecretFile {
 public:
  SecretFile() = default;
  SecretFile(SecretFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SecretFile& operator=(SecretFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~SecretFile();
  // False when it cannot be made; `error` says why.
  bool create(std::string& error);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where files go that are this user's only: XDG_RUNTIME_DIR, or /tmp.
std::string temporary_folder();

struct Job {
  std::string name;  // 128 random bits in hex: tells jobs of one machine apart
  SecretFile secret;
  int master_port = 0;
  int ranks = 0;
  std::string dump;      // what PLAIT_DUMP is set to
  std::string terminal;  // that plait-run's stderr is, where rank 0 may draw; empty: it is none

  // False when the job cannot be made; `error` says why.
  bool create(int rank_count, std::string& error);
  // The variables of `rank`, to be put over the environment.
  std::vector<std::pair<std::string, std::string>> variables(int rank) const;
};

}  // namespace plait::run
