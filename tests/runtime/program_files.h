// Files of programs for tests of what imports them: plait's own algorithms under other names, and MSCCL XML.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "collectives/builder.h"
#include "collectives/exchange/json.h"
#include "unit/exchange/sets.h"

namespace plait::test {

// A folder that goes with it.
class Folder {
 public:
  Folder() { path_ = mkdtemp(name_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  // The path of the file.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }

 private:
  char name_[40] = "/tmp/plait-programs-XXXXXX";
  std::string path_;
};

// The row's programs, with `pieces` chunks where it has one.
inline collectives::exchange::ProgramSet set_of(const collectives::Algorithm& row, const std::string& name,
                                                int n, int root, uint32_t pieces = 1) {
  collectives::exchange::ProgramSet set = collectives::exchange::build_set(row, n, root);
  set.name = name;
  const uint32_t chunks = row.chunks(n) * pieces;
  for (bool in_place : {false, true}) {
    for (int r = 0; r < n && pieces > 1; r++) {
      collectives::Builder b(row.collective, n, r, root, chunks);
      row.append(b, collectives::world(n, r), root, collectives::split({0, chunks}, n));
      set.programs[in_place][size_t(r)] = *b.finish(in_place);
    }
  }
  return set;
}

inline std::string json_of(collectives::Collective collective, const char* row, const std::string& name,
                           int n, int root = 0, uint32_t pieces = 1) {
  return to_json(set_of(*collectives::find_algorithm(collective, row), name, n, root, pieces));
}

}  // namespace plait::test
