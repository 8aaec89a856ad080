/* PCI devices, as sysfs shows them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../icl_driver.h"
#include "window.h"

extern const struct icl_pciwin_registers icl_pciwin_ivshmem;
const struct icl_pciwin_registers* const icl_pciwin_known[] = {&icl_pciwin_ivshmem, NULL};

#define ADDRESS 16 /* "0000:00:04.0", and some more */

static const char* devices(void) {
  const char* root = getenv("ICL_PCIWIN_SYSFS");
  return root != NULL && root[0] != '\0' ? root : "/sys/bus/pci/devices";
}

static bool is_address(const char* text) {
  unsigned domain, bus, slot, function;
  int used = 0;
  return strlen(text) < ADDRESS && sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &used) == 4 &&
         text[used] == '\0';
}

/* The file `name` of a device; false: it is too long, or not there. */
static bool read_text(const char* address, const char* name, char* text, size_t room) {
  char path[256];
  if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", devices(), address, name) >= sizeof path) return false;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

static const struct icl_pciwin_registers* known_device(const char* address) {
  char vendor[16], device[16];
  if (!read_text(address, "vendor", vendor, sizeof vendor) || !read_text(address, "device", device, sizeof device)) return NULL;
  for (uint32_t i = 0; icl_pciwin_known[i] != NULL; i++)
    if (strtoul(vendor, NULL, 16) == icl_pciwin_known[i]->vendor && strtoul(device, NULL, 16) == icl_pciwin_known[i]->device)
      return icl_pciwin_known[i];
  return NULL;
}

/* The first by address, into `address`; NULL: there is none. */
static const struct icl_pciwin_registers* find_first(char address[ADDRESS]) {
  DIR* folder = opendir(devices());
  const struct icl_pciwin_registers* found = NULL;
  const struct dirent* entry;
  while (folder != NULL && (entry = readdir(folder)) != NULL) {
    if (!is_address(entry->d_name) || (found != NULL && strcmp(entry->d_name, address) >= 0)) continue;
    const struct icl_pciwin_registers* registers = known_device(entry->d_name);
    if (registers == NULL) continue;
    found = registers;
    memcpy(address, entry->d_name, strlen(entry->d_name) + 1);
  }
  if (folder != NULL) closedir(folder);
  return found;
}

static icl_status system_error(const char* what, const char* path, int error) {
  const icl_status status = error == ENOENT ? ICL_ERR_NO_DEVICE : ICL_ERR_SYSTEM;
  return icl_fail(status, "pciwin: %s %s: %s%s", what, path, strerror(error),
                  error == EACCES || error == EPERM ? " (only root may drive PCI devices)" : "");
}

/* Until a device is enabled its BARs answer nothing. It stays so: who else uses it is not known. */
static icl_status enable(const char* address) {
  char text[16], path[256];
  if (read_text(address, "enable", text, sizeof text) && atoi(text) > 0) return ICL_OK;
  snprintf(path, sizeof path, "%.200s/%s/enable", devices(), address);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, "1", 1) == 1;
  const int error = errno;
  if (fd >= 0) close(fd);
  return written ? ICL_OK : system_error("cannot enable the device by", path, error);
}

/* The window's bounds, by the size of what shows it. */
static icl_status measure(struct icl_pciwin_place* place) {
  struct stat st;
  if (stat(place->path, &st) != 0) return system_error("cannot open", place->path, errno);
  const uint64_t all = st.st_size > 0 ? (uint64_t)st.st_size : 0;
  if (!S_ISREG(st.st_mode) || place->from >= all || (place->bytes > 0 && place->bytes > all - place->from))
    return icl_fail(ICL_ERR_INVALID, "pciwin: %s is no window: it has %llu bytes", place->path, (unsigned long long)all);
  if (place->bytes == 0) place->bytes = all - place->from;
  return ICL_OK;
}

static icl_status use_device(const char* address, const struct icl_pciwin_registers* r, struct icl_pciwin_place* place) {
  const icl_status status = enable(address);
  if (status != ICL_OK) return status;
  snprintf(place->name, sizeof place->name, "%s", address);
  snprintf(place->path, sizeof place->path, "%.200s/%s/resource%u", devices(), address, r->bar);
  place->from = r->from;
  place->bytes = r->bytes;
  return measure(place);
}

icl_status icl_pciwin_find(const char* where, struct icl_pciwin_place* place) {
  char address[ADDRESS];
  const struct icl_pciwin_registers* registers;
  *place = (struct icl_pciwin_place){.from = 0};
  if (where[0] == '/') {
    if ((size_t)snprintf(place->name, sizeof place->name, "%s", where) >= sizeof place->name)
      return icl_fail(ICL_ERR_INVALID, "pciwin: a path of at most %zu bytes is due", sizeof place->name - 1);
    memcpy(place->path, place->name, sizeof place->name);
    return measure(place);
  }
  if (where[0] == '\0') {
    registers = find_first(address);
    if (registers == NULL)
      return icl_fail(ICL_ERR_NO_DEVICE, "pciwin: no PCI device 1af4:1110 (%s) in %s: give the machine one, docs/icl.md",
                      icl_pciwin_known[0]->name, devices());
    return use_device(address, registers, place);
  }
  if (!is_address(where))
    return icl_fail(ICL_ERR_INVALID, "pciwin: '%.40s' is no PCI address as 0000:00:04.0, and no path", where);
  registers = known_device(where);
  if (registers == NULL)
    return icl_fail(ICL_ERR_NO_DEVICE, "pciwin: there is no device %s in %s with a window that is known (1af4:1110, %s)", where,
                    devices(), icl_pciwin_known[0]->name);
  return use_device(where, registers, place);
}
