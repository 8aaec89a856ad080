/* How pods are made: a line of text becomes a graph and a shape, and these a window's head, wires and routes. */
#ifndef ICL_ENGINE_PLAN_H
#define ICL_ENGINE_PLAN_H

#include "../icl_route.h"
#include "window.h"

/* Reads `text` (emu/emu.h): the graph, for the caller to free, and the shape. Where the text says nothing: as emu. */
icl_status icl_pod_parse(const char* text, struct icl_graph** graph, struct icl_shape* shape);
/* Likewise; where the text says nothing: as `defaults`. Its chips and ports do not count. */
icl_status icl_pod_parse_as(const char* text, const struct icl_shape* defaults, struct icl_graph** graph,
                            struct icl_shape* shape);
/* A number of at most `most` with one of the units ("" among them), for which `factor` stands; moves *text behind it. */
struct icl_unit {
  const char* name;
  uint64_t factor;
};
bool icl_take_quantity(const char** text, const struct icl_unit* units, uint64_t most, uint64_t* value);
extern const struct icl_unit icl_units_time[], icl_units_size[], icl_units_none[]; /* time: in ns */

/* Writes a pod into memory that is zero: `window` is laid out, and mapped at its base. The mark comes last: a pod without it
 * is not finished. */
void icl_plan_write(struct icl_window* window, const char* text, const struct icl_graph* graph,
                    const struct icl_routes* routes);

/* Addresses of the drivers with windows: "PATH" or "PATH?chips=LIST"; *chips is NULL without. ICL_ERR_INVALID. */
icl_status icl_address_split(const char* driver, const char* rest, char* path, size_t room, const char** chips);
/* "0,1,4-7" into `chips` (ICL_MAX_CHIPS), each once and below `all`; NULL: none. ICL_ERR_INVALID: it is no such list. */
icl_status icl_address_chips(const char* driver, const char* list, uint32_t all, uint32_t* chips, uint32_t* owned);

#endif
