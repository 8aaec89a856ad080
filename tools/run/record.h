// The record that a rank left (docs/debugging.md), as read from its file. A file comes from outside: every
// field is checked, and whatever will be shown is short and printable.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait::run {

struct Operation {
  uint64_t number = 0;
  std::string kind;       // "allreduce"
  std::string arguments;  // "count=1024, float32, sum, in place, by ring"
  std::string call() const { return kind + (arguments.empty() ? "" : "(" + arguments + ")"); }
};

struct Record {
  struct Failure {
    std::string name, text;
  };
  struct Wait {
    uint64_t operation = 0;
    int64_t ms = 0, seen_ms_ago = 0;
    std::string peers;  // "rank 2 (step 1: recv ...)"; may be empty
  };
  struct Arrived {  // ranks first to last have called this operation, as their latest
    int first = 0, last = 0;
    uint64_t operation = 0;
  };

  struct Rail {  // one to a rank that is out, while others go on
    int rank = 0;
    uint64_t rail = 0;
    std::string name, why;
    int64_t ms_ago = 0;
  };

  std::string job, why;
  uint64_t communicator = 0;
  std::string split;  // of one that was made from it: its name below it, "7.0"; else empty
  int rank = 0, size = 1;
  pid_t pid = 0;
  int64_t clock_ns = 0;
  bool signal = false, created = false;
  uint64_t started = 0, done = 0;
  std::optional<Failure> failure;
  std::optional<Wait> wait;
  std::vector<Arrived> arrived;       // ascending; a rank is in one of them at most
  std::vector<Operation> operations;  // by number
  std::vector<Rail> rails_out;        // those that died first come first; a rail to a rank comes once

  // It tells that there is a communicator, and no more.
  bool is_note() const { return why == "created"; }
  // The operation that it is in, 0: none.
  uint64_t running() const { return started > done ? done + 1 : 0; }
  const Operation* find(uint64_t number) const;
};

constexpr size_t kMostRecordBytes = 1 << 20;

// Nothing when it is no record of a version that is known.
std::optional<Record> parse_record(std::string_view text);
// Nothing when there is none, or it is longer than kMostRecordBytes.
std::optional<Record> load_record(const std::string& path);

}  // namespace plait::run
