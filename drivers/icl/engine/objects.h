/* What an engine does of a driver's table, a file each; engine.c joins them to icl_engine_calls. */
#ifndef ICL_ENGINE_OBJECTS_H
#define ICL_ENGINE_OBJECTS_H

#include "engine.h"

struct icl_chip_memory { /* an icl_memory */
  struct icl_memory base;
  struct icl_chip* chip;
  uint32_t slot;
  uint64_t nonce;
  bool of_chip; /* else the host's */
  _Atomic uint32_t exports;
};
struct icl_chip_export { /* an icl_exported */
  struct icl_exported base;
  struct icl_chip_memory* memory;
  uint32_t slot;
  uint64_t nonce;
};
struct icl_chip_remote { /* an icl_remote, in the list of its queue */
  struct icl_remote base;
  uint32_t slot;
  uint64_t nonce;
  struct icl_chip_remote *next, **before;
};

icl_status icl_memory_alloc(struct icl_device*, uint32_t chip, uint64_t bytes, struct icl_memory**);
icl_status icl_memory_register(struct icl_device*, uint32_t chip, uint32_t kind, void* base, uint64_t bytes,
                               struct icl_memory**);
icl_status icl_memory_free(struct icl_memory*);
icl_status icl_memory_export(struct icl_memory*, uint64_t offset, uint64_t bytes, uint32_t rights, struct icl_exported**);
void icl_memory_revoke(struct icl_exported*);

icl_status icl_ring_open(struct icl_device*, uint32_t max_entries, struct icl_completions**);
icl_status icl_ring_close(struct icl_completions*);
size_t icl_ring_poll(struct icl_completions*, struct icl_completion*, size_t room);
icl_status icl_ring_arm(struct icl_completions*);
int icl_ring_fd(struct icl_completions*);

icl_status icl_queue_make(struct icl_completions*, const struct icl_queue_config*, struct icl_queue**);
icl_status icl_queue_connect(struct icl_queue*, const void* peer_ticket);
uint32_t icl_queue_state_of(const struct icl_queue*);
void icl_queue_why_of(const struct icl_queue*, char* text, size_t room);
void icl_queue_abort(struct icl_queue*);
void icl_queue_end(struct icl_queue*);
icl_status icl_queue_import(struct icl_queue*, const void* key, struct icl_remote**);
void icl_queue_forget(struct icl_remote*);
icl_status icl_queue_post(struct icl_queue*, const struct icl_descriptor*, size_t count, size_t* taken);

icl_status icl_engine_device_info(struct icl_device*, struct icl_device_info*);
icl_status icl_engine_chip_info(struct icl_device*, uint32_t chip, struct icl_chip_info*);
icl_status icl_engine_port_info(struct icl_device*, uint32_t chip, uint32_t port, struct icl_port_info*);
int icl_engine_event_fd(struct icl_device*);
size_t icl_engine_read_events(struct icl_device*, struct icl_event*, size_t room);
icl_status icl_engine_reset_link(struct icl_device*, uint32_t chip, uint32_t port);
icl_status icl_engine_reset_chip(struct icl_device*, uint32_t chip);
icl_status icl_engine_set_routes(struct icl_device*, const struct icl_routes*);
icl_status icl_engine_get_route(struct icl_device*, uint32_t chip, uint32_t to, uint32_t* port, uint32_t* channel);

#endif
