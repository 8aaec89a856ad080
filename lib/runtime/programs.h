// Programs of files that a communicator and its children may run besides plait's own (PLAIT_PROGRAMS).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "collectives/method.h"
#include "collectives/plan.h"

namespace plait::runtime {

// What the files hold, proved. Immutable, so that communicators of any thread may share it.
class Programs {
 public:
  // `paths`: separated by colons, empty ones passed over. Refused as exchange::admit_file() and
  // exchange::method_of() do, with file, line and reason.
  static Result<std::shared_ptr<const Programs>> read(const std::string& paths);

  // Adds those that are for as many ranks as the planner's; the others are a line in the log. Refused, naming
  // the file: Code::invalid where the name is taken, Code::unsupported where the machine does not run it on
  // some rank. Alike on all ranks that have the same files.
  Status add_to(collectives::Planner& planner) const;

  // Equal for the same programs in the same order, wherever their files lie. Not 0.
  uint32_t fingerprint() const noexcept;
  // The files, for ranks to find out which differ.
  Bytes card() const;

 private:
  struct File {
    std::string path;
    uint64_t hash = 0;  // of what it holds
    collectives::Method method;
  };
  std::vector<File> files_;
};

// The card of a rank that could not read its files, and why.
Bytes card_of(const Status& status);

// What is wrong with the cards of all ranks, of which some is not as that of rank 0 or tells of a failure.
// Each rank finds the same. `name_of`: a rank, for people.
Status compare_cards(const std::vector<Bytes>& cards,
                     const std::function<std::string(int32_t rank)>& name_of);

}  // namespace plait::runtime
