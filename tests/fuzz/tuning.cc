// Tuning files, which communicators choose by.
#include "collectives/choice/tuning.h"

#include <cmath>

#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace collectives;

void try_tuning(const std::string& text) {
  const auto tuning = parse_tuning(text);
  if (!tuning.ok()) {
    require(is_printable(tuning.status().text()), "a reason can be printed");
    return;
  }
  for (const auto& [what, rows] : tuning->cases) {
    require(what.ranks >= 1 && what.hosts >= 1 && what.hosts <= what.ranks,
            "a case is one of ranks on hosts");
    require(!rows.empty() && rows.size() <= kMostTuningRows, "a case has sizes");
    for (uint64_t bytes : {uint64_t{0}, uint64_t{1000}, rows.back().bytes, UINT64_MAX}) {
      for (const auto& [name, seconds] : rows.back().seconds) {
        const auto time = tuning->seconds(what, name, bytes);
        require(!time || (std::isfinite(*time) && *time > 0), "a time is one");
      }
    }
  }
  const std::string written = write_tuning(*tuning);
  const auto again = parse_tuning(written);
  require(again.ok() && again->cases.size() == tuning->cases.size(), "what is written is read");
  require(write_tuning(*again) == written, "and alike");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plait::fuzz::try_tuning({reinterpret_cast<const char*>(data), size});
  return 0;
}
