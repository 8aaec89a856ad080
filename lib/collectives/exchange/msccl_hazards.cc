#include "collectives/exchange/msccl_hazards.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <unordered_map>

#include "collectives/exchange/msccl_places.h"

namespace plait::collectives::exchange::msccl {

namespace {

constexpr size_t kMostClockWords = size_t{1} << 24;  // 64 MiB

uint64_t key(uint32_t block, uint32_t step) noexcept { return uint64_t{block} << 32 | step; }

// Vector clocks: for each thread block, how many steps of each other are known to be done.
class Checker {
 public:
  Checker(const File& file, uint32_t rank, bool in_place)
      : file_(file),
        gpu_(file.gpus[rank]),
        rank_(rank),
        places_(file, rank, in_place),
        cells_(places_.count()) {}

  Status run(std::span<const StepId> order) {
    const size_t blocks = gpu_.blocks.size();
    for (const ThreadBlock& block : gpu_.blocks) {
      for (const Instruction& i : block.steps) {
        if (i.wait_block >= 0) kept_[key(uint32_t(i.wait_block), i.wait_step)];
      }
    }
    if ((kept_.size() + blocks) * blocks > kMostClockWords)
      return {Code::invalid, fmt::format("{}: rank {} has too many thread blocks that wait for each other",
                                         file_.path, rank_)};
    clocks_.assign(blocks, std::vector<uint32_t>(blocks));
    for (StepId id : order) PLAIT_TRY(visit(id));
    return {};
  }

 private:
  struct Cell {
    bool written = false;
    StepId writer{};
    std::vector<StepId> readers;  // since; the latest of each thread block
  };

  Status visit(StepId id) {
    const Instruction& i = gpu_.blocks[id.block].steps[id.step];
    auto& clock = clocks_[id.block];
    if (i.wait_block >= 0) {
      const auto& known = kept_[key(uint32_t(i.wait_block), i.wait_step)];
      for (size_t b = 0; b < known.size(); b++) clock[b] = std::max(clock[b], known[b]);
    }
    clock[id.block] = id.step + 1;
    // In place, a copy from input to output is none.
    const bool nothing = i.type == Type::cpy && places_.at(i.src) == places_.at(i.dst);
    for (uint32_t k = 0; k < i.count && !nothing; k++) {
      if (reads_src(i.type)) PLAIT_TRY(read(id, places_.at(i.src) + k));
      if (reads_dst(i.type)) PLAIT_TRY(read(id, places_.at(i.dst) + k));
      if (writes_dst(i.type)) PLAIT_TRY(write(id, places_.at(i.dst) + k));
    }
    if (auto kept = kept_.find(key(id.block, id.step)); kept != kept_.end()) kept->second = clock;
    return {};
  }

  bool after(StepId later, StepId earlier) const {
    return clocks_[later.block][earlier.block] > earlier.step;
  }

  Status read(StepId id, uint32_t at) {
    Cell& cell = cells_[at];
    if (cell.written && !after(id, cell.writer)) return race(id, cell.writer, "reads what", "writes");
    auto same =
        std::find_if(cell.readers.begin(), cell.readers.end(), [&](StepId r) { return r.block == id.block; });
    if (same == cell.readers.end()) {
      cell.readers.push_back(id);
    } else {
      *same = id;
    }
    return {};
  }
  Status write(StepId id, uint32_t at) {
    Cell& cell = cells_[at];
    if (cell.written && !after(id, cell.writer)) return race(id, cell.writer, "writes what", "writes");
    for (StepId reader : cell.readers) {
      if (!after(id, reader)) return race(id, reader, "writes what", "reads");
    }
    cell.written = true;
    cell.writer = id;
    cell.readers.clear();
    return {};
  }

  Status race(StepId id, StepId other, const char* does, const char* before) const {
    return refuse(
        file_.path, gpu_.blocks[id.block].steps[id.step].line,
        fmt::format(
            "step {} of thread block {} of rank {} {} step {} of thread block {} {}, and does not wait "
            "for it",
            id.step, id.block, rank_, does, other.step, other.block, before));
  }

  const File& file_;
  const Gpu& gpu_;
  uint32_t rank_;
  Places places_;
  std::vector<Cell> cells_;
  std::vector<std::vector<uint32_t>> clocks_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> kept_;  // of steps that others wait for
};

}  // namespace

Status check_hazards(const File& file, uint32_t rank, bool in_place, std::span<const StepId> order) {
  return Checker(file, rank, in_place).run(order);
}

}  // namespace plait::collectives::exchange::msccl
