/* The text of a pod. */
#include <stdlib.h>
#include <string.h>

#include "../icl_driver.h"
#include "plan.h"

const struct icl_unit icl_units_time[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};
const struct icl_unit icl_units_size[] = {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"", 1}, {NULL, 0}};
const struct icl_unit icl_units_none[] = {{"", 1}, {NULL, 0}};

static bool ends_word(char c) { return c == '\0' || c == ' ' || c == '\t' || c == '\n'; }

bool icl_take_quantity(const char** text, const struct icl_unit* units, uint64_t most, uint64_t* value) {
  const char* at = *text;
  uint64_t sum = 0;
  if (*at < '0' || *at > '9') return false;
  for (; *at >= '0' && *at <= '9'; at++)
    if ((sum = sum * 10 + (uint64_t)(*at - '0')) > UINT64_MAX / 100) return false;
  for (; units->name != NULL; units++) {
    const size_t length = strlen(units->name);
    if (strncmp(at, units->name, length) != 0 || !ends_word(at[length])) continue;
    if (sum > most / units->factor) return false;
    *value = sum * units->factor;
    *text = at + length;
    return true;
  }
  return false;
}

struct option {
  const char* name;
  const struct icl_unit* units;
  uint64_t most, scale; /* what is kept is the quantity by scale */
  size_t at;
  bool wide; /* 64 bits */
};
#define AT(field) offsetof(struct icl_shape, field)
static const struct option options[] = {
    {"quads=", icl_units_none, ICL_MAX_QUADS, 1, AT(quads), false},
    {"mbps=", icl_units_none, 1000000, 1, AT(mbps), false},
    {"latency=", icl_units_time, 1000000000, 1, AT(latency_ns), false},
    {"mtu=", icl_units_none, ICL_MAX_MTU, 1, AT(mtu), false},
    {"credits=", icl_units_none, ICL_MAX_CREDITS, 1, AT(credits), false},
    {"channels=", icl_units_none, ICL_MAX_CHANNELS, 1, AT(channels), false},
    {"limit=", icl_units_time, UINT64_C(60000000000), 1000000, AT(limit_ms), false},
    {"silent=", icl_units_time, UINT64_C(600000000000), 1000000, AT(silent_ms), false},
    {"memory=", icl_units_size, UINT64_C(1) << 40, 1, AT(memory), true},
};

static bool take_option(const char** text, struct icl_shape* shape) {
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    const struct option* o = &options[i];
    const size_t length = strlen(o->name);
    uint64_t value;
    if (strncmp(*text, o->name, length) != 0) continue;
    *text += length;
    if (!icl_take_quantity(text, o->units, o->most, &value)) return false;
    value /= o->scale;
    const uint32_t narrow = (uint32_t)value;
    memcpy((char*)shape + o->at, o->wide ? (const void*)&value : (const void*)&narrow, o->wide ? 8 : 4);
    return true;
  }
  return false;
}

static icl_status parse_options(const char* text, struct icl_shape* shape) {
  for (;;) {
    while (*text != '\0' && ends_word(*text)) text++;
    if (*text == '\0') return ICL_OK;
    const char* word = text;
    if (!take_option(&text, shape) || !ends_word(*text)) {
      int length = 0;
      while (length < 24 && word[length] > ' ' && word[length] <= '~') length++;
      return icl_fail(ICL_ERR_INVALID, "pod: '%.*s' is no option, or out of range: quads mbps latency mtu credits channels limit "
                      "silent memory", length, word);
    }
  }
}

icl_status icl_pod_parse(const char* text, struct icl_graph** graph, struct icl_shape* shape) {
  const struct icl_shape defaults = {.channels = 2, .mtu = 4096, .credits = 16, .quads = 4, .mbps = 1000, .latency_ns = 1000,
                                     .limit_ms = 100, .silent_ms = 1500, .memory = 16 << 20};
  return icl_pod_parse_as(text, &defaults, graph, shape);
}

icl_status icl_pod_parse_as(const char* text, const struct icl_shape* defaults, struct icl_graph** graph,
                            struct icl_shape* shape) {
  char form[8192];
  const size_t length = strcspn(text, ";");
  if (length >= sizeof form) return icl_fail(ICL_ERR_INVALID, "pod: the graph is longer than %zu bytes", sizeof form);
  memcpy(form, text, length);
  form[length] = '\0';
  struct icl_graph* g = NULL;
  icl_status status = icl_graph_parse(form, &g);
  if (status != ICL_OK) return status;
  struct icl_shape s = *defaults;
  s.chips = icl_graph_chips(g);
  s.ports = icl_graph_ports(g);
  if (text[length] == ';') status = parse_options(text + length + 1, &s);
  if (status == ICL_OK) status = icl_shape_check(&s);
  if (status != ICL_OK) {
    icl_graph_free(g);
    return status;
  }
  *graph = g;
  *shape = s;
  return ICL_OK;
}
