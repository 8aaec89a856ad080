/* Inside the core: what graphs and routes are made of. */
#ifndef ICL_CORE_GRAPH_H
#define ICL_CORE_GRAPH_H

#include <stdbool.h>

#include "../icl_driver.h"

#define ICL_MAX_DIMENSIONS 3

struct icl_graph {
  uint32_t chips, ports;
  /* 0: not a grid, or not whole. Chip ((a * B) + b) * C + c of a grid AxBxC. */
  uint32_t dimensions, size[ICL_MAX_DIMENSIONS];
  bool wraps;          /* a torus, a ring */
  struct icl_end* far; /* [chip * ports + port] */
};

#define ICL_NO_ROUTE UINT16_MAX
struct icl_routes {
  uint32_t chips;
  uint16_t* entry; /* [chip * chips + to]: port | channel << 8 */
};

static inline struct icl_end icl_far(const struct icl_graph* g, uint32_t chip, uint32_t port) {
  return g->far[chip * g->ports + port];
}
static inline uint16_t icl_entry(uint32_t port, uint32_t channel) { return (uint16_t)(port | channel << 8); }
static inline uint32_t icl_entry_port(uint16_t entry) { return entry & 0xff; }
static inline uint32_t icl_entry_channel(uint16_t entry) { return entry >> 8; }

/* Each fills the whole table, by its method; ICL_ERR_UNSUPPORTED: it is not for this graph, or needs more channels. */
icl_status icl_routes_by_dimension(const struct icl_graph* graph, uint32_t channels, struct icl_routes* routes);
icl_status icl_routes_in_layers(const struct icl_graph* graph, uint32_t channels, struct icl_routes* routes);
icl_status icl_routes_up_down(const struct icl_graph* graph, struct icl_routes* routes);

/* Hops of every chip to `to`, UINT16_MAX where there is no way. `queue` has room for all chips. */
void icl_graph_distances(const struct icl_graph* graph, uint32_t to, uint16_t* distance, uint32_t* queue);

/* Channels that wait for channels. Channel (chip, port, vc) may wait for any of the next chip's (port, vc): 128 bits. */
struct icl_waits {
  uint32_t chips, ports, channels;
  uint64_t (*on)[2]; /* [(chip * ports + port) * channels + vc]: bit port * ICL_MAX_CHANNELS + vc */
};
icl_status icl_waits_new(uint32_t chips, uint32_t ports, uint32_t channels, struct icl_waits* waits);
void icl_waits_free(struct icl_waits* waits);
static inline uint32_t icl_waits_index(const struct icl_waits* w, uint32_t chip, uint32_t port, uint32_t channel) {
  return (chip * w->ports + port) * w->channels + channel;
}
void icl_waits_add(struct icl_waits* waits, uint32_t index, uint32_t next_port, uint32_t next_channel);
/* Looks for a cycle: fills `cycle` (room for all channels) and returns its length; 0: there is none; < 0: no memory. */
int64_t icl_waits_cycle(const struct icl_waits* waits, const struct icl_graph* graph, uint32_t* cycle);

#endif
