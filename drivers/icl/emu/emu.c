/* The driver "emu": chips whose engines are threads, in a pod that is a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../engine/engine.h"
#include "pod.h"

struct emu {
  struct icl_engine engine; /* first */
  int fd;
  char path[108];
};

extern const struct icl_driver icl_emu_driver;
static struct icl_driver calls; /* the engine's, with open and close */
static pthread_once_t calls_made = PTHREAD_ONCE_INIT;

/* A byte of the file is locked for each chip that is owned: the kernel lets go of it when the process is gone, however. */
static struct flock byte_of(uint32_t chip) {
  return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)chip, .l_len = 1};
}

static bool owner_lives(struct icl_engine* engine, uint32_t chip) {
  struct flock lock = byte_of(chip);
  return fcntl(((struct emu*)engine)->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static icl_status back(struct icl_engine* engine, uint64_t at, uint64_t bytes) {
  return icl_pod_back(((struct emu*)engine)->fd, at, bytes);
}

static icl_status claim(struct emu* emu, const uint32_t* chips, uint32_t owned) {
  const struct icl_window* w = &emu->engine.window;
  for (uint32_t i = 0; i < owned; i++) {
    struct flock lock = byte_of(chips[i]);
    if (fcntl(emu->fd, F_OFD_SETLK, &lock) != 0)
      return icl_fail(ICL_ERR_BUSY, "chip %u of %s is owned by process %d already", chips[i], emu->path,
                      atomic_load(&icl_chip_words(w, chips[i])->pid));
    for (uint32_t port = 0; port < w->shape.ports; port++) {
      uint32_t far_chip, far_port;
      if (!icl_window_far(w, chips[i], port, &far_chip, &far_port)) continue;
      const uint64_t ends[] = {chips[i] * w->shape.ports + port, far_chip * w->shape.ports + far_port};
      for (int end = 0; end < 2; end++) {
        const icl_status status = icl_pod_back(emu->fd, w->lanes_at + ends[end] * w->lane_bytes, w->lane_bytes);
        if (status != ICL_OK) return status;
      }
    }
  }
  return ICL_OK;
}

static icl_status start(struct emu* emu, const char* list) {
  uint32_t chips[ICL_MAX_CHIPS], owned;
  icl_status status = icl_address_chips("emu", list, emu->engine.window.shape.chips, chips, &owned);
  if (status == ICL_OK) status = claim(emu, chips, owned);
  return status != ICL_OK ? status : icl_engine_start(&emu->engine, &calls, chips, owned);
}

static icl_status emu_open(const char* rest, const struct icl_config* config, struct icl_device** device) {
  struct emu* emu = calloc(1, sizeof *emu);
  const char* list;
  if (emu == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a device");
  icl_status status = icl_address_split("emu", rest, emu->path, sizeof emu->path, &list);
  if (status == ICL_OK) status = icl_pod_map(emu->path, &emu->fd, &emu->engine.window);
  if (status != ICL_OK) {
    free(emu);
    return status;
  }
  emu->engine.config = *config;
  emu->engine.owner_lives = owner_lives;
  emu->engine.back = back;
  status = start(emu, list);
  if (status != ICL_OK) {
    icl_pod_unmap(emu->fd, &emu->engine.window);
    free(emu);
    return status;
  }
  *device = &emu->engine.base;
  return ICL_OK;
}

static icl_status emu_close(struct icl_device* device) {
  struct emu* emu = (struct emu*)(void*)device;
  const icl_status status = icl_engine_stop(&emu->engine);
  if (status != ICL_OK) return status;
  icl_pod_unmap(emu->fd, &emu->engine.window);
  free(emu);
  return ICL_OK;
}

static icl_status emu_device_info(struct icl_device* device, struct icl_device_info* info) {
  snprintf(info->address, sizeof info->address, "emu:%s", ((struct emu*)(void*)device)->path);
  return icl_engine_calls.device_info(device, info);
}

static void make_calls(void) {
  calls = icl_engine_calls;
  calls.name = "emu";
  calls.open = emu_open;
  calls.close = emu_close;
  calls.device_info = emu_device_info;
}

static icl_status open_first(const char* rest, const struct icl_config* config, struct icl_device** device) {
  pthread_once(&calls_made, make_calls);
  return calls.open(rest, config, device);
}

const struct icl_driver icl_emu_driver = {.struct_size = sizeof(struct icl_driver), .name = "emu", .open = open_first};
