/* Inside emu: pods as files. */
#ifndef ICL_EMU_POD_H
#define ICL_EMU_POD_H

#include "../engine/plan.h"
#include "emu.h"

/* Maps the pod at `path`. */
icl_status icl_pod_map(const char* path, int* fd, struct icl_window* window);
void icl_pod_unmap(int fd, struct icl_window* window);
/* Room on the file system for `bytes` at `at`, so that touching them cannot fail. */
icl_status icl_pod_back(int fd, uint64_t at, uint64_t bytes);

#endif
