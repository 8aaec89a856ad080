/* Inside emu: pods as files. */
#ifndef ICL_EMU_POD_H
#define ICL_EMU_POD_H

#include "../engine/window.h"
#include "emu.h"

/* Reads `text` (emu.h): the graph, for the caller to free, and the shape. */
icl_status icl_pod_parse(const char* text, struct icl_graph** graph, struct icl_shape* shape);
/* Maps the pod at `path`. */
icl_status icl_pod_map(const char* path, int* fd, struct icl_window* window);
void icl_pod_unmap(int fd, struct icl_window* window);
/* Room on the file system for `bytes` at `at`, so that touching them cannot fail. */
icl_status icl_pod_back(int fd, uint64_t at, uint64_t bytes);
/* A number of at most `most` with one of the units ("" among them), for which `factor` stands; moves *text behind it. */
struct icl_unit {
  const char* name;
  uint64_t factor;
};
bool icl_take_quantity(const char** text, const struct icl_unit* units, uint64_t most, uint64_t* value);
extern const struct icl_unit icl_units_time[], icl_units_size[], icl_units_none[]; /* time: in ns */

#endif
