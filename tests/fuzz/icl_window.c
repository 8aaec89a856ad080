/* A head of a pod from bytes: what is attached lies within them. Options of a pod's text, from the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "drivers/icl/emu/pod.h"

int fuzz_icl_window(const void* data, size_t bytes);

int fuzz_icl_window(const void* data, size_t bytes) {
  const size_t room = 1 << 20;
  unsigned char* base = calloc(1, room);
  char* text = calloc(1, bytes + 1);
  struct icl_graph* graph = NULL;
  struct icl_window window;
  struct icl_shape shape;
  memcpy(base, data, bytes < room ? bytes : room);
  memcpy(text, data, bytes);
  if (icl_window_attach(base, room, &window) == ICL_OK) {
    if (!window.outside && window.memory_at + window.shape.chips * window.shape.memory > room) abort();
    icl_window_detach(&window);
  }
  if (icl_pod_parse(text, &graph, &shape) == ICL_OK) {
    if (icl_shape_check(&shape) != ICL_OK) abort();
    icl_graph_free(graph);
  }
  free(text);
  free(base);
  return 0;
}
