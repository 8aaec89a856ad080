// What the inter-chip-link driver parses: pods and routes as text, keys and tickets, faults, and the head of
// a pod that somebody else wrote. The first byte chooses.
#include "drivers/icl/emu/emu.h"
#include "drivers/icl/icl_driver.h"
#include "fuzz.h"

extern "C" int fuzz_icl_window(const void* data, size_t bytes);  // icl_window.c

namespace plait::fuzz {
namespace {

void check_graph(const std::string& text) {
  icl_graph* g = nullptr;
  if (icl_graph_parse(text.c_str(), &g) != ICL_OK) {
    require(g == nullptr && icl_last_error()[0] != '\0', "what is refused leaves nothing but a sentence");
    return;
  }
  const uint32_t chips = icl_graph_chips(g), ports = icl_graph_ports(g);
  require(chips >= 1 && chips <= ICL_MAX_CHIPS && ports >= 1 && ports <= ICL_MAX_PORTS, "a pod has bounds");
  for (uint32_t c = 0; c < chips; c++)
    for (uint32_t p = 0; p < ports; p++) {
      const icl_end far = icl_graph_far(g, {c, p});
      if (far.chip == ICL_ANY) continue;
      const icl_end back = icl_graph_far(g, far);
      require(back.chip == c && back.port == p, "both ends of a link know each other");
    }
  icl_routes* r = nullptr;
  // Many chips are a unit test's: here they would only make inputs slow.
  if (chips <= 64) require(icl_routes_make(g, 2, &r) == ICL_OK, "every pod has routes that pass the check");
  icl_routes_free(r);
  icl_graph_free(g);
}

void check_routes(const std::string& text) {
  icl_routes* r = nullptr;
  icl_graph* g = nullptr;
  if (icl_routes_parse(text.c_str(), 8, &r) != ICL_OK) return;
  require(icl_graph_parse("torus 2x4", &g) == ICL_OK, "a pod");
  icl_routes_check(g, r, 2);  // says what it says, and ends
  icl_routes_free(r);
  icl_graph_free(g);
}

void check_bytes(const std::string& bytes) {
  std::string padded = bytes;
  padded.resize(ICL_KEY_BYTES);
  icl_key_fields key;
  icl_ticket_fields ticket;
  std::string again(ICL_KEY_BYTES, '\0');
  if (icl_key_read(padded.data(), &key) == ICL_OK) {
    icl_key_write(&key, again.data());
    require(again == padded, "a key written again is the same");
  }
  if (icl_ticket_read(padded.data(), &ticket) == ICL_OK) {
    icl_ticket_write(&ticket, again.data());
    require(again.substr(0, ICL_TICKET_BYTES) == padded.substr(0, ICL_TICKET_BYTES),
            "a ticket written again is the same");
  }
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      check_graph(rest);
      break;
    case 1:
      check_routes(rest);
      break;
    case 2:
      check_bytes(rest);
      break;
    default:
      fuzz_icl_window(rest.data(), rest.size());
      break;
  }
  return 0;
}
