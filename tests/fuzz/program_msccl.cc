// Algorithms of MSCCL, in XML (docs/exchange.md): as program_json.cc.
#include "collectives/exchange/msccl.h"
#include "fuzz.h"
#include "program_set.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  Input input(data, size);
  const auto set = from_msccl(input.text(), "x.json", kSmall);
  check_refusal(set);
  if (set.ok()) check_set(*set);
  return 0;
}
