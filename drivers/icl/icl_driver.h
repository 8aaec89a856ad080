/* What a driver for a kind of chip fills in. A call of icl.h checks what can be checked for all drivers (NULL, struct sizes, the
 * range of chips and ports), then comes here with the same contract, threads included. docs/icl.md, "A new driver".
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The objects of a driver begin with the bases below, filled by the driver. A driver reports an error by
 * `return icl_fail(status, "sentence")`. */
#ifndef ICL_ICL_DRIVER_H
#define ICL_ICL_DRIVER_H

#include "icl.h"
#include "icl_route.h"

#ifdef __cplusplus
extern "C" {
#endif

struct icl_driver {
  size_t struct_size; /* sizeof; entries beyond it, and NULL ones, are ICL_ERR_UNSUPPORTED */
  const char* name;   /* before the colon of an address */

  /* `rest`: behind the colon. `config` has no zero left in it. */
  icl_status (*open)(const char* rest, const struct icl_config* config, struct icl_device** device);
  icl_status (*close)(struct icl_device*);
  icl_status (*device_info)(struct icl_device*, struct icl_device_info*);
  icl_status (*chip_info)(struct icl_device*, uint32_t chip, struct icl_chip_info*);
  icl_status (*port_info)(struct icl_device*, uint32_t chip, uint32_t port, struct icl_port_info*);
  int (*event_fd)(struct icl_device*);
  size_t (*read_events)(struct icl_device*, struct icl_event*, size_t room);
  icl_status (*reset_link)(struct icl_device*, uint32_t chip, uint32_t port);
  icl_status (*reset_chip)(struct icl_device*, uint32_t chip);
  /* The routes are checked already. */
  icl_status (*set_routes)(struct icl_device*, const struct icl_routes*);
  /* One step: by which port and channel a packet for `to` leaves `chip`. */
  icl_status (*get_route)(struct icl_device*, uint32_t chip, uint32_t to, uint32_t* port, uint32_t* channel);

  icl_status (*alloc)(struct icl_device*, uint32_t chip, uint64_t bytes, struct icl_memory**);
  icl_status (*register_memory)(struct icl_device*, uint32_t chip, uint32_t kind, void* base, uint64_t bytes,
                                struct icl_memory**);
  icl_status (*free_memory)(struct icl_memory*);
  icl_status (*export_memory)(struct icl_memory*, uint64_t offset, uint64_t bytes, uint32_t rights,
                              struct icl_exported**);
  void (*revoke)(struct icl_exported*);

  icl_status (*completions_open)(struct icl_device*, uint32_t max_entries, struct icl_completions**);
  icl_status (*completions_close)(struct icl_completions*);
  size_t (*poll)(struct icl_completions*, struct icl_completion*, size_t room);
  icl_status (*arm)(struct icl_completions*);
  int (*wait_fd)(struct icl_completions*);

  icl_status (*queue_open)(struct icl_completions*, const struct icl_queue_config*, struct icl_queue**);
  icl_status (*connect)(struct icl_queue*, const void* peer_ticket);
  uint32_t (*queue_state)(const struct icl_queue*);
  void (*queue_why)(const struct icl_queue*, char* text, size_t room);
  void (*abort)(struct icl_queue*);
  void (*queue_close)(struct icl_queue*);
  icl_status (*import)(struct icl_queue*, const void* key, struct icl_remote**);
  void (*forget)(struct icl_remote*);
  icl_status (*post)(struct icl_queue*, const struct icl_descriptor*, size_t count, size_t* taken);
};

struct icl_device {
  const struct icl_driver* driver;
  uint32_t chips, ports; /* of the pod; ports a chip */
};
struct icl_memory {
  const struct icl_driver* driver;
  struct icl_device* device;
  uint32_t chip;
  void* mapped; /* icl_map */
  uint64_t bytes;
};
struct icl_exported {
  const struct icl_driver* driver;
  unsigned char key[ICL_KEY_BYTES];
};
struct icl_completions {
  const struct icl_driver* driver;
};
struct icl_queue {
  const struct icl_driver* driver;
  unsigned char ticket[ICL_TICKET_BYTES];
};
struct icl_remote {
  const struct icl_driver* driver;
  struct icl_queue* queue;
  uint64_t bytes;
  uint32_t rights;
};

/* Keeps the sentence for icl_last_error(), and returns `status`. */
icl_status icl_fail(icl_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* Keys and tickets as all drivers write them: docs/icl.md has the bytes. Reading: ICL_ERR_INVALID unless well formed. */
struct icl_key_fields {
  uint32_t chip, slot, rights;
  uint64_t bytes, nonce;
};
struct icl_ticket_fields {
  uint32_t chip, queue, incarnation;
  uint64_t nonce;
};
void icl_key_write(const struct icl_key_fields* fields, void* key);
icl_status icl_key_read(const void* key, struct icl_key_fields* fields);
void icl_ticket_write(const struct icl_ticket_fields* fields, void* ticket);
icl_status icl_ticket_read(const void* ticket, struct icl_ticket_fields* fields);

/* The drivers of this library, ended by NULL: core/drivers.c. */
extern const struct icl_driver* const icl_drivers[];

#ifdef __cplusplus
}
#endif
#endif
