/* Pods as files. */
#include "pod.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../icl_driver.h"

static icl_status system_error(const char* what, const char* path, int error) {
  const icl_status status = error == EEXIST   ? ICL_ERR_BUSY
                            : error == ENOENT ? ICL_ERR_NO_DEVICE
                            : error == ENOSPC || error == ENOMEM ? ICL_ERR_NO_MEMORY
                                              : ICL_ERR_SYSTEM;
  return icl_fail(status, "%s %s: %s", what, path, strerror(error));
}

icl_status icl_pod_back(int fd, uint64_t at, uint64_t bytes) {
  const int error = posix_fallocate(fd, (off_t)at, (off_t)bytes);
  if (error == 0) return ICL_OK;
  return icl_fail(error == ENOSPC ? ICL_ERR_NO_MEMORY : ICL_ERR_SYSTEM,
                  "no %llu bytes on the pod's file system: %s (is /dev/shm large enough?)", (unsigned long long)bytes,
                  strerror(error));
}

/* A mapped window, without a look at what is in it. */
static icl_status map(int fd, const char* path, uint64_t bytes, void** base) {
  *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return *base == MAP_FAILED ? system_error("cannot map pod", path, errno) : ICL_OK;
}

icl_status icl_pod_map(const char* path, int* fd, struct icl_window* window) {
  struct stat st;
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened < 0) return system_error("cannot open pod", path, errno);
  void* base = NULL;
  icl_status status = fstat(opened, &st) == 0 ? ICL_OK : system_error("cannot open pod", path, errno);
  if (status == ICL_OK && (!S_ISREG(st.st_mode) || st.st_size < ICL_WINDOW_HEAD))
    status = icl_fail(ICL_ERR_INVALID, "%s is no pod (make one with icl-pod create)", path);
  if (status == ICL_OK) status = map(opened, path, (uint64_t)st.st_size, &base);
  if (status == ICL_OK) {
    status = icl_window_attach(base, (uint64_t)st.st_size, window);
    if (status == ICL_OK && window->outside) {
      icl_window_detach(window);
      status = icl_fail(ICL_ERR_INVALID, "%s is a pod of pciwin: open it as that", path);
    }
    if (status != ICL_OK) munmap(base, (size_t)st.st_size);
  }
  if (status == ICL_OK)
    *fd = opened;
  else
    close(opened);
  return status;
}

void icl_pod_unmap(int fd, struct icl_window* window) {
  munmap(window->base, window->bytes);
  icl_window_detach(window);
  close(fd);
}

static icl_status write_pod(int fd, const char* path, const char* text, const struct icl_shape* shape,
                            const struct icl_graph* graph, const struct icl_routes* routes) {
  struct icl_window w = {.shape = *shape};
  w.bytes = icl_window_lay_out(&w);
  if (ftruncate(fd, (off_t)w.bytes) != 0) return system_error("cannot make pod", path, errno);
  void* base = NULL;
  icl_status status = icl_pod_back(fd, 0, w.lanes_at);
  if (status == ICL_OK) status = map(fd, path, w.bytes, &base);
  if (status != ICL_OK) return status;
  w.base = base;
  icl_plan_write(&w, text, graph, routes);
  munmap(base, w.bytes);
  return ICL_OK;
}

icl_status icl_emu_create(const char* path, const char* text, const struct icl_routes* routes) {
  if (path == NULL || text == NULL) return icl_fail(ICL_ERR_INVALID, "icl_emu_create: NULL");
  struct icl_graph* graph = NULL;
  struct icl_routes* made = NULL;
  struct icl_shape shape;
  icl_status status = icl_pod_parse(text, &graph, &shape);
  if (status == ICL_OK && routes == NULL) status = icl_routes_make(graph, shape.channels, &made);
  if (status == ICL_OK && routes != NULL && icl_routes_chips(routes) != shape.chips)
    status = icl_fail(ICL_ERR_INVALID, "routes of %u chips are not for a pod of %u", icl_routes_chips(routes), shape.chips);
  const int fd = status == ICL_OK ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (status == ICL_OK && fd < 0) status = system_error("cannot make pod", path, errno);
  if (fd >= 0) {
    status = write_pod(fd, path, text, &shape, graph, routes == NULL ? made : routes);
    if (status != ICL_OK) unlink(path);
    close(fd);
  }
  icl_graph_free(graph);
  icl_routes_free(made);
  return status;
}

icl_status icl_emu_destroy(const char* path) {
  int fd;
  struct icl_window window;
  if (path == NULL) return icl_fail(ICL_ERR_INVALID, "icl_emu_destroy: NULL");
  const icl_status status = icl_pod_map(path, &fd, &window); /* nothing else is removed */
  if (status != ICL_OK) return status;
  icl_pod_unmap(fd, &window);
  return unlink(path) == 0 ? ICL_OK : system_error("cannot remove pod", path, errno);
}
