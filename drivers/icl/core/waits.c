/* The channel dependency graph, and cycles in it. */
#include <stdlib.h>

#include "graph.h"

icl_status icl_waits_new(uint32_t chips, uint32_t ports, uint32_t channels, struct icl_waits* waits) {
  *waits = (struct icl_waits){.chips = chips, .ports = ports, .channels = channels};
  waits->on = calloc((size_t)chips * ports * channels, sizeof *waits->on);
  return waits->on != NULL ? ICL_OK : icl_fail(ICL_ERR_NO_MEMORY, "no memory to check routes of %u chips", chips);
}

void icl_waits_free(struct icl_waits* waits) {
  free(waits->on);
  waits->on = NULL;
}

void icl_waits_add(struct icl_waits* waits, uint32_t index, uint32_t next_port, uint32_t next_channel) {
  const uint32_t bit = next_port * ICL_MAX_CHANNELS + next_channel;
  waits->on[index][bit / 64] |= UINT64_C(1) << bit % 64;
}

/* Takes one of the channels that `index` waits for out of `left`; -1: none is left. */
static int64_t next_wait(const struct icl_waits* w, const struct icl_graph* g, uint32_t index, uint64_t left[2]) {
  const int half = left[0] != 0 ? 0 : 1;
  if (left[half] == 0) return -1;
  const uint32_t bit = (uint32_t)__builtin_ctzll(left[half]) + 64 * (uint32_t)half;
  left[half] &= left[half] - 1;
  const uint32_t chip = g->far[index / w->channels].chip;
  return icl_waits_index(w, chip, bit / ICL_MAX_CHANNELS, bit % ICL_MAX_CHANNELS);
}

enum { UNSEEN, ON_PATH, DONE };
struct walk {
  uint32_t* path;
  uint64_t (*left)[2]; /* of path[i], what was not followed yet */
  uint8_t* state;      /* a channel */
};

/* Depth first from `start`; the length of the path when it meets itself in channel *meets, else 0. */
static uint32_t walk_from(const struct icl_waits* w, const struct icl_graph* g, uint32_t start, struct walk* walk,
                          uint32_t* meets) {
  uint32_t depth = 0;
  int64_t next = start;
  for (;;) {
    if (next >= 0 && walk->state[next] == ON_PATH) {
      *meets = (uint32_t)next;
      return depth;
    }
    if (next >= 0 && walk->state[next] == UNSEEN) {
      walk->state[next] = ON_PATH;
      walk->path[depth] = (uint32_t)next;
      walk->left[depth][0] = w->on[next][0];
      walk->left[depth][1] = w->on[next][1];
      depth++;
    } else if (next < 0) {
      walk->state[walk->path[--depth]] = DONE;
    }
    if (depth == 0) return 0;
    next = next_wait(w, g, walk->path[depth - 1], walk->left[depth - 1]);
  }
}

int64_t icl_waits_cycle(const struct icl_waits* waits, const struct icl_graph* graph, uint32_t* cycle) {
  const uint32_t all = waits->chips * waits->ports * waits->channels;
  struct walk walk = {malloc(all * sizeof *walk.path), malloc(all * sizeof *walk.left), calloc(all, 1)};
  int64_t length = walk.path != NULL && walk.left != NULL && walk.state != NULL ? 0 : -1;
  for (uint32_t start = 0; length == 0 && start < all; start++) {
    if (walk.state[start] != UNSEEN || (waits->on[start][0] | waits->on[start][1]) == 0) continue;
    uint32_t meets = 0;
    const uint32_t depth = walk_from(waits, graph, start, &walk, &meets);
    uint32_t first = 0;
    while (first < depth && walk.path[first] != meets) first++;
    for (uint32_t i = first; i < depth; i++) cycle[length++] = walk.path[i];
  }
  free(walk.path);
  free(walk.left);
  free(walk.state);
  return length;
}
