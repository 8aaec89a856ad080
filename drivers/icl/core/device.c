/* Calls of icl.h about devices: what holds for all drivers is checked here, once. */
#include <string.h>

#include "structs.h"

#define HAS(driver, entry)                                                                                    \
  ((driver)->struct_size >= offsetof(struct icl_driver, entry) + sizeof((driver)->entry) && (driver)->entry != NULL)

static icl_status unsupported(const char* what, const struct icl_driver* driver) {
  return icl_fail(ICL_ERR_UNSUPPORTED, "%s: driver %s cannot", what, driver->name);
}

static icl_status null_handle(const char* what) { return icl_fail(ICL_ERR_INVALID, "%s: NULL", what); }

const char* icl_driver_name(uint32_t i) {
  uint32_t n = 0;
  while (icl_drivers[n] != NULL) n++;
  return i < n ? icl_drivers[i]->name : NULL;
}

static const struct icl_driver* find_driver(const char* address, size_t length) {
  for (uint32_t i = 0; icl_drivers[i] != NULL; i++)
    if (strlen(icl_drivers[i]->name) == length && strncmp(icl_drivers[i]->name, address, length) == 0)
      return icl_drivers[i];
  return NULL;
}

icl_status icl_open(const char* address, const struct icl_config* config, struct icl_device** device) {
  if (address == NULL || device == NULL) return null_handle("icl_open");
  const char* rest = address + strcspn(address, ":?");
  const struct icl_driver* driver = find_driver(address, (size_t)(rest - address));
  if (driver == NULL)
    return icl_fail(ICL_ERR_NO_DEVICE, "'%.60s' names no driver of this library (as emu:/dev/shm/pod)", address);
  struct icl_config known = {.struct_size = sizeof known};
  if (config != NULL) {
    const icl_status status = icl_struct_in(config, &known, sizeof known, "icl_config");
    if (status != ICL_OK) return status;
  }
  if (known.max_queues == 0) known.max_queues = 256;
  if (known.max_exports == 0) known.max_exports = 1024;
  if (known.max_queues > 4096 || known.max_exports > 65536)
    return icl_fail(ICL_ERR_INVALID, "icl_config: at most 4096 queues and 65536 exports a chip");
  return driver->open(*rest == ':' ? rest + 1 : rest, &known, device);
}

icl_status icl_close(struct icl_device* device) {
  return device == NULL ? null_handle("icl_close") : device->driver->close(device);
}

icl_status icl_query_device(struct icl_device* device, struct icl_device_info* info) {
  if (device == NULL) return null_handle("icl_query_device");
  struct icl_device_info known = {.struct_size = sizeof known};
  icl_status status = icl_struct_check(info, "icl_query_device");
  if (status == ICL_OK) status = device->driver->device_info(device, &known);
  if (status == ICL_OK) icl_struct_out(info, &known, sizeof known);
  return status;
}

static icl_status check_chip(struct icl_device* device, uint32_t chip, const char* what) {
  if (device == NULL) return null_handle(what);
  if (chip >= device->chips) return icl_fail(ICL_ERR_INVALID, "%s: no chip %u in a pod of %u", what, chip, device->chips);
  return ICL_OK;
}

static icl_status check_port(struct icl_device* device, uint32_t chip, uint32_t port, const char* what) {
  const icl_status status = check_chip(device, chip, what);
  if (status == ICL_OK && port >= device->ports)
    return icl_fail(ICL_ERR_INVALID, "%s: no port %u; chips have %u", what, port, device->ports);
  return status;
}

icl_status icl_query_chip(struct icl_device* device, uint32_t chip, struct icl_chip_info* info) {
  struct icl_chip_info known = {.struct_size = sizeof known};
  icl_status status = check_chip(device, chip, "icl_query_chip");
  if (status == ICL_OK) status = icl_struct_check(info, "icl_query_chip");
  if (status == ICL_OK) status = device->driver->chip_info(device, chip, &known);
  if (status == ICL_OK) icl_struct_out(info, &known, sizeof known);
  return status;
}

icl_status icl_query_port(struct icl_device* device, uint32_t chip, uint32_t port, struct icl_port_info* info) {
  struct icl_port_info known = {.struct_size = sizeof known};
  icl_status status = check_port(device, chip, port, "icl_query_port");
  if (status == ICL_OK) status = icl_struct_check(info, "icl_query_port");
  if (status == ICL_OK) status = device->driver->port_info(device, chip, port, &known);
  if (status == ICL_OK) icl_struct_out(info, &known, sizeof known);
  return status;
}

int icl_event_fd(struct icl_device* device) {
  return device == NULL || !HAS(device->driver, event_fd) ? -1 : device->driver->event_fd(device);
}

size_t icl_read_events(struct icl_device* device, struct icl_event* events, size_t room) {
  if (device == NULL || events == NULL || !HAS(device->driver, read_events)) return 0;
  return device->driver->read_events(device, events, room);
}

icl_status icl_reset_link(struct icl_device* device, uint32_t chip, uint32_t port) {
  const icl_status status = check_port(device, chip, port, "icl_reset_link");
  if (status != ICL_OK) return status;
  return HAS(device->driver, reset_link) ? device->driver->reset_link(device, chip, port)
                                         : unsupported("icl_reset_link", device->driver);
}

icl_status icl_reset_chip(struct icl_device* device, uint32_t chip) {
  const icl_status status = check_chip(device, chip, "icl_reset_chip");
  if (status != ICL_OK) return status;
  return HAS(device->driver, reset_chip) ? device->driver->reset_chip(device, chip)
                                         : unsupported("icl_reset_chip", device->driver);
}

icl_status icl_set_routes(struct icl_device* device, const struct icl_routes* routes) {
  struct icl_device_info info = {.struct_size = sizeof info};
  icl_status status = icl_query_device(device, &info);
  if (status != ICL_OK) return status;
  if (!HAS(device->driver, set_routes)) return unsupported("icl_set_routes", device->driver);
  struct icl_graph* graph = NULL;
  status = icl_graph_read(device, &graph);
  if (status == ICL_OK) status = icl_routes_check(graph, routes, info.channels);
  if (status == ICL_OK) status = device->driver->set_routes(device, routes);
  icl_graph_free(graph);
  return status;
}

int32_t icl_route_hops(struct icl_device* device, uint32_t from, uint32_t to, struct icl_end* hops, size_t room) {
  icl_status status = check_chip(device, from, "icl_route_hops");
  if (status == ICL_OK) status = check_chip(device, to, "icl_route_hops");
  if (status != ICL_OK) return status;
  int32_t n = 0;
  for (uint32_t at = from; at != to; n++) {
    uint32_t port = 0, channel = 0;
    struct icl_port_info info = {.struct_size = sizeof info};
    status = device->driver->get_route(device, at, to, &port, &channel);
    if (status == ICL_OK) status = icl_query_port(device, at, port, &info);
    if (status != ICL_OK) return status;
    const uint32_t far = info.far_chip == ICL_ANY ? info.planned_chip : info.far_chip; /* it may not have been opened yet */
    if (n == ICL_MAX_CHIPS || far >= device->chips)
      return icl_fail(ICL_ERR_UNREACHABLE, "the route from chip %u to chip %u does not arrive", from, to);
    if (hops != NULL && (size_t)n < room) hops[n] = (struct icl_end){at, port};
    at = far;
  }
  return n;
}
