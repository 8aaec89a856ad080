/* Calls of icl.h about memory, completions and queues: NULL and sizes are checked here, the rest is the driver's. */
#include <string.h>

#include "structs.h"

static icl_status null(const char* what) { return icl_fail(ICL_ERR_INVALID, "%s: NULL", what); }

static icl_status check_new(struct icl_device* device, uint32_t chip, uint64_t bytes, void* out, const char* what) {
  if (device == NULL || out == NULL) return null(what);
  if (chip >= device->chips) return icl_fail(ICL_ERR_INVALID, "%s: no chip %u in a pod of %u", what, chip, device->chips);
  if (bytes == 0 || bytes > UINT64_C(1) << 48) return icl_fail(ICL_ERR_INVALID, "%s: %llu bytes", what, (unsigned long long)bytes);
  return ICL_OK;
}

icl_status icl_alloc(struct icl_device* device, uint32_t chip, uint64_t bytes, struct icl_memory** memory) {
  const icl_status status = check_new(device, chip, bytes, memory, "icl_alloc");
  return status != ICL_OK ? status : device->driver->alloc(device, chip, bytes, memory);
}

icl_status icl_register(struct icl_device* device, uint32_t chip, uint32_t kind, void* base, uint64_t bytes,
                        struct icl_memory** memory) {
  const icl_status status = check_new(device, chip, bytes, memory, "icl_register");
  if (status != ICL_OK) return status;
  if (base == NULL) return null("icl_register");
  return device->driver->register_memory(device, chip, kind, base, bytes, memory);
}

icl_status icl_free(struct icl_memory* memory) { return memory == NULL ? ICL_OK : memory->driver->free_memory(memory); }

void* icl_map(const struct icl_memory* memory) { return memory == NULL ? NULL : memory->mapped; }

icl_status icl_export(struct icl_memory* memory, uint64_t offset, uint64_t bytes, uint32_t rights,
                      struct icl_exported** exported) {
  if (memory == NULL || exported == NULL) return null("icl_export");
  if (offset > memory->bytes || bytes > memory->bytes - offset)
    return icl_fail(ICL_ERR_INVALID, "icl_export: %llu bytes at %llu do not lie in memory of %llu", (unsigned long long)bytes,
                    (unsigned long long)offset, (unsigned long long)memory->bytes);
  if (rights > (ICL_READ | ICL_WRITE | ICL_SIGNAL)) return icl_fail(ICL_ERR_INVALID, "icl_export: no rights %u", rights);
  if ((rights & ICL_SIGNAL) != 0 && (memory->mapped == NULL || ((uintptr_t)memory->mapped + offset) % 8 != 0))
    return icl_fail(ICL_ERR_INVALID, "icl_export: semaphores lie in mapped memory, aligned to 8");
  return memory->driver->export_memory(memory, offset, bytes, rights, exported);
}

const void* icl_key(const struct icl_exported* exported) { return exported == NULL ? NULL : exported->key; }

void icl_revoke(struct icl_exported* exported) {
  if (exported != NULL) exported->driver->revoke(exported);
}

icl_status icl_completions_open(struct icl_device* device, uint32_t max_entries, struct icl_completions** completions) {
  if (device == NULL || completions == NULL) return null("icl_completions_open");
  if (max_entries > 1u << 24) return icl_fail(ICL_ERR_INVALID, "icl_completions_open: at most 16777216 entries");
  return device->driver->completions_open(device, max_entries == 0 ? 65536 : max_entries, completions);
}

icl_status icl_completions_close(struct icl_completions* c) { return c == NULL ? ICL_OK : c->driver->completions_close(c); }

size_t icl_poll(struct icl_completions* c, struct icl_completion* out, size_t room) {
  return c == NULL || (out == NULL && room > 0) ? 0 : c->driver->poll(c, out, room);
}

icl_status icl_arm(struct icl_completions* c) { return c == NULL ? null("icl_arm") : c->driver->arm(c); }

int icl_wait_fd(struct icl_completions* c) { return c == NULL ? -1 : c->driver->wait_fd(c); }

icl_status icl_queue_open(struct icl_completions* completions, const struct icl_queue_config* config,
                          struct icl_queue** queue) {
  if (completions == NULL || queue == NULL) return null("icl_queue_open");
  struct icl_queue_config known;
  const icl_status status = icl_struct_in(config, &known, sizeof known, "icl_queue_config");
  if (status != ICL_OK) return status;
  if (known.depth == 0) known.depth = 64;
  if (known.timeout_ms == 0) known.timeout_ms = 10000;
  if ((known.depth & (known.depth - 1)) != 0)
    return icl_fail(ICL_ERR_INVALID, "icl_queue_config: depth %u is no power of two", known.depth);
  if (known.reserved != 0) return icl_fail(ICL_ERR_INVALID, "icl_queue_config: reserved is not 0");
  return completions->driver->queue_open(completions, &known, queue);
}

const void* icl_ticket(const struct icl_queue* queue) { return queue == NULL ? NULL : queue->ticket; }

icl_status icl_connect(struct icl_queue* queue, const void* peer_ticket) {
  return queue == NULL || peer_ticket == NULL ? null("icl_connect") : queue->driver->connect(queue, peer_ticket);
}

uint32_t icl_queue_state(const struct icl_queue* queue) {
  return queue == NULL ? (uint32_t)ICL_QUEUE_FAILED : queue->driver->queue_state(queue);
}

void icl_queue_why(const struct icl_queue* queue, char* text, size_t room) {
  if (text == NULL || room == 0) return;
  text[0] = '\0';
  if (queue != NULL) queue->driver->queue_why(queue, text, room);
}

void icl_abort(struct icl_queue* queue) {
  if (queue != NULL) queue->driver->abort(queue);
}

void icl_queue_close(struct icl_queue* queue) {
  if (queue != NULL) queue->driver->queue_close(queue);
}

icl_status icl_import(struct icl_queue* queue, const void* key, struct icl_remote** remote) {
  return queue == NULL || key == NULL || remote == NULL ? null("icl_import") : queue->driver->import(queue, key, remote);
}

void icl_remote_info(const struct icl_remote* remote, uint64_t* bytes, uint32_t* rights) {
  if (bytes != NULL) *bytes = remote == NULL ? 0 : remote->bytes;
  if (rights != NULL) *rights = remote == NULL ? 0 : remote->rights;
}

void icl_forget(struct icl_remote* remote) {
  if (remote != NULL) remote->driver->forget(remote);
}

icl_status icl_post(struct icl_queue* queue, const struct icl_descriptor* descriptors, size_t count, size_t* taken) {
  if (taken != NULL) *taken = 0;
  if (queue == NULL || taken == NULL || (descriptors == NULL && count > 0)) return null("icl_post");
  return queue->driver->post(queue, descriptors, count, taken);
}
