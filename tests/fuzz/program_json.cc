// Program sets in JSON (docs/exchange.md). What is read is written and read again alike, and is either
// refused or proved; what is proved can be drawn.
#include "collectives/exchange/json.h"
#include "fuzz.h"
#include "program_set.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  Input input(data, size);
  const auto set = from_json(input.text(), "x.json", kSmall);
  check_refusal(set);
  if (set.ok()) check_set(*set);
  return 0;
}
