// The records that ranks leave (docs/debugging.md), which plait-run reads and compares. An input holds up to
// four, separated by a 0.
#include "fuzz.h"
#include "tools/run/diagnose.h"
#include "tools/run/record.h"

namespace plait::fuzz {
namespace {

using namespace run;

void check(const Record& r) {
  require(r.size >= 1 && r.size <= 1 << 20 && r.rank >= 0 && r.rank < r.size, "a rank is one of the job's");
  require(r.pid > 1, "a process can be signalled by its number");
  for (const auto& a : r.arrived)
    require(a.first >= 0 && a.first <= a.last && a.last < r.size, "who arrived is one of the job's");
  for (size_t i = 1; i < r.operations.size(); i++)
    require(r.operations[i - 1].number <= r.operations[i].number, "operations are in order");
  require(is_printable(r.job) && is_printable(r.why), "names can be shown");
  if (r.failure)
    require(is_printable(r.failure->text) && r.failure->text.size() < 400, "a failure can be shown");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  Input input(data, size);
  std::vector<plait::run::Record> records;
  while (!input.empty() && records.size() < 4) {
    const std::string text = input.text_until('\0');
    const auto record = plait::run::parse_record(text);
    if (!record) continue;
    check(*record);
    // A million ranks are a unit test's: here they would only make inputs slow.
    if (record->size <= 1 << 12) records.push_back(*record);
  }
  const auto lines = plait::run::compare(records, {"it was killed by SIGKILL"});
  require(lines.size() <= plait::run::kMostLines, "there are at most 20 lines");
  require(!records.empty() || lines.empty(), "of nothing, nothing is said");
  for (const std::string& line : lines) require(is_printable(line), "a line is one, and can be shown");
  return 0;
}
