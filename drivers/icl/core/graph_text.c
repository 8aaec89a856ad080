/* Pods as one line of text. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Reads a number of at most `most` at *text and moves behind it. */
static bool take_number(const char** text, uint32_t most, uint32_t* value) {
  const char* at = *text;
  uint64_t sum = 0;
  if (*at < '0' || *at > '9') return false;
  for (; *at >= '0' && *at <= '9'; at++) {
    sum = sum * 10 + (uint64_t)(*at - '0');
    if (sum > most) return false;
  }
  *text = at;
  *value = (uint32_t)sum;
  return true;
}

static bool take_word(const char** text, const char* word) {
  const size_t length = strlen(word);
  if (strncmp(*text, word, length) != 0) return false;
  *text += length;
  return true;
}

static void skip_blanks(const char** text) {
  while (**text == ' ' || **text == '\t') ++*text;
}

static bool at_end(const char* text) {
  skip_blanks(&text);
  return *text == '\0' || *text == '\n';
}

static icl_status wrong(const char* text, const char* wanted) {
  char shown[25] = "";
  size_t n = 0;
  for (; n < sizeof shown - 1 && text[n] != '\0'; n++) shown[n] = text[n] < ' ' || text[n] > '~' ? '?' : text[n];
  return icl_fail(ICL_ERR_INVALID, "pod: '%s': %s", shown, wanted);
}

static uint32_t free_port(const struct icl_graph* g, uint32_t chip) {
  for (uint32_t port = 0; port < g->ports; port++)
    if (icl_far(g, chip, port).chip == ICL_ANY) return port;
  return g->ports;
}

static icl_status join(struct icl_graph* g, uint32_t a, uint32_t b) {
  return icl_graph_join(g, (struct icl_end){a, free_port(g, a)}, (struct icl_end){b, free_port(g, b)});
}

static icl_status make_full(uint32_t chips, struct icl_graph** graph) {
  icl_status status = icl_graph_new(chips, chips > 1 ? chips - 1 : 1, graph);
  for (uint32_t a = 0; status == ICL_OK && a < chips; a++)
    for (uint32_t b = a + 1; status == ICL_OK && b < chips; b++) status = join(*graph, a, b);
  return status;
}

/* Two quads, each fully connected, and a link from each chip to its like in the other. */
static icl_status make_cube_mesh(struct icl_graph** graph) {
  icl_status status = icl_graph_new(8, 4, graph);
  for (uint32_t a = 0; status == ICL_OK && a < 8; a++)
    for (uint32_t b = a + 1; status == ICL_OK && b < 8; b++)
      if (a / 4 == b / 4 || a + 4 == b) status = join(*graph, a, b);
  return status;
}

/* Of dimension d, port 2d leads up and port 2d+1 down. */
static icl_status make_grid(uint32_t dimensions, const uint32_t* size, bool wraps, struct icl_graph** graph) {
  uint32_t chips = 1;
  for (uint32_t d = 0; d < dimensions; d++)
    if (size[d] < 1 || (chips *= size[d]) > ICL_MAX_CHIPS)
      return icl_fail(ICL_ERR_INVALID, "a pod has 1..%d chips", ICL_MAX_CHIPS);
  icl_status status = icl_graph_new(chips, 2 * dimensions, graph);
  for (uint32_t d = 0, stride = chips; status == ICL_OK && d < dimensions; d++) {
    stride /= size[d];
    for (uint32_t chip = 0; status == ICL_OK && chip < chips; chip++) {
      const uint32_t x = chip / stride % size[d];
      const bool last = x + 1 == size[d];
      if (last && (!wraps || size[d] < 3)) continue;
      const uint32_t next = last ? chip - x * stride : chip + stride;
      status = icl_graph_join(*graph, (struct icl_end){chip, 2 * d}, (struct icl_end){next, 2 * d + 1});
    }
  }
  if (status != ICL_OK) return status;
  (*graph)->dimensions = dimensions;
  (*graph)->wraps = wraps;
  memcpy((*graph)->size, size, dimensions * sizeof *size);
  return ICL_OK;
}

static icl_status parse_grid(const char** text, bool wraps, struct icl_graph** graph) {
  uint32_t size[ICL_MAX_DIMENSIONS], n = 0;
  do {
    if (n == ICL_MAX_DIMENSIONS || !take_number(text, ICL_MAX_CHIPS, &size[n++]))
      return wrong(*text, "a size as 8, 4x4 or 4x4x4 is due here");
  } while (take_word(text, "x"));
  return make_grid(n, size, wraps, graph);
}

static bool take_end(const char** text, const struct icl_graph* g, struct icl_end* end) {
  if (!take_number(text, g->chips - 1, &end->chip)) return false;
  end->port = free_port(g, end->chip);
  return !take_word(text, ":") || take_number(text, ICL_MAX_PORTS - 1, &end->port);
}

/* Leaves out ports that no chip uses. */
static void shrink(struct icl_graph* g) {
  uint32_t used = 1;
  for (uint32_t i = 0; i < g->chips * g->ports; i++)
    if (g->far[i].chip != ICL_ANY && i % g->ports >= used) used = i % g->ports + 1;
  for (uint32_t chip = 0; chip < g->chips; chip++)
    memmove(&g->far[chip * used], &g->far[chip * g->ports], used * sizeof *g->far);
  g->ports = used;
}

static icl_status parse_custom(const char** text, struct icl_graph** graph) {
  uint32_t chips;
  if (!take_number(text, ICL_MAX_CHIPS, &chips) || !take_word(text, ":"))
    return wrong(*text, "a number of chips and a colon are due here: custom 3: 0-1 1-2");
  icl_status status = icl_graph_new(chips, ICL_MAX_PORTS, graph);
  for (skip_blanks(text); status == ICL_OK && !at_end(*text); skip_blanks(text)) {
    const char* word = *text;
    struct icl_end a, b;
    if (!take_end(text, *graph, &a) || !take_word(text, "-") || !take_end(text, *graph, &b))
      return wrong(word, "a link as 0-1 or 0:3-1:2 between chips and ports of the pod is due here");
    status = icl_graph_join(*graph, a, b);
  }
  if (status == ICL_OK) shrink(*graph);
  return status;
}

static icl_status parse(const char** text, struct icl_graph** graph) {
  uint32_t chips;
  if (take_word(text, "ring ")) {
    if (!take_number(text, ICL_MAX_CHIPS, &chips)) return wrong(*text, "a number of chips is due here");
    return make_grid(1, &chips, true, graph);
  }
  if (take_word(text, "full ")) {
    if (!take_number(text, ICL_MAX_PORTS + 1, &chips)) return wrong(*text, "1..17 chips may be fully connected");
    return make_full(chips, graph);
  }
  if (take_word(text, "mesh ")) return parse_grid(text, false, graph);
  if (take_word(text, "torus ")) return parse_grid(text, true, graph);
  if (take_word(text, "hybrid cube mesh")) return make_cube_mesh(graph);
  if (take_word(text, "custom ")) return parse_custom(text, graph);
  return wrong(*text, "a pod is: ring N, full N, mesh AxB, torus AxB, hybrid cube mesh, custom N: 0-1 1-2 ...");
}

icl_status icl_graph_parse(const char* text, struct icl_graph** graph) {
  if (text == NULL || graph == NULL) return icl_fail(ICL_ERR_INVALID, "icl_graph_parse: NULL");
  struct icl_graph* g = NULL;
  skip_blanks(&text);
  icl_status status = parse(&text, &g);
  if (status == ICL_OK && !at_end(text)) status = wrong(text, "nothing is due here");
  if (status == ICL_OK)
    *graph = g;
  else
    icl_graph_free(g);
  return status;
}
