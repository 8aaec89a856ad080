#include "runtime/queue/keys.h"

#include "runtime/names.h"

namespace plait::runtime::queue {

std::string describe(const Tensor& t) {
  return "count " + std::to_string(t.count) + ", " + std::string(dtype_name(t.dtype)) + ", " +
         std::string(op_name(t.op)) + ", priority " + std::to_string(t.priority);
}

std::string has(const std::string& ranks) {
  return ranks.find(',') == std::string::npos ? "rank " + ranks + " has" : "ranks " + ranks + " have";
}

Status Keys::merge(std::span<const Told> told, std::vector<uint32_t>* changed) {
  for (const Told& one : told) {
    const uint32_t slot = find(one.tensor.key);
    if (slot == kNone) {
      if (all_.size() >= most_)
        return {Code::invalid, "there are more than " + std::to_string(most_) +
                                   " keys: does the program number its tensors anew in each step? "
                                   "plait_queue_config.max_keys is the limit"};
      slots_.emplace(one.tensor.key, size());
      all_.push_back({one.tensor, one.rank, true});
      continue;
    }
    Slot& known = all_[slot];
    if (known.tensor == one.tensor) continue;
    if (known.open)
      return {Code::mismatch, "tensor " + std::to_string(one.tensor.key) + ": rank " +
                                  std::to_string(known.teller) + " pushed " + describe(known.tensor) +
                                  "; rank " + std::to_string(one.rank) + " pushed " + describe(one.tensor) +
                                  "; what ranks push by one key must be alike"};
    known = {one.tensor, one.rank, true};
    changed->push_back(slot);
  }
  return {};
}

}  // namespace plait::runtime::queue
