/* Errors by name, and the sentence of this thread's last one. */
#include <stdarg.h>
#include <stdio.h>

#include "../icl_driver.h"

static _Thread_local char last_error[2048];

icl_status icl_fail(icl_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(last_error, sizeof last_error, format, args);
  va_end(args);
  return status;
}

const char* icl_last_error(void) { return last_error; }

uint32_t icl_version(void) { return ICL_VERSION; }

#define NAME(x) \
  case x: return #x

const char* icl_status_name(icl_status status) {
  switch (status) {
    NAME(ICL_OK);
    NAME(ICL_ERR_INVALID);
    NAME(ICL_ERR_NO_MEMORY);
    NAME(ICL_ERR_NO_DEVICE);
    NAME(ICL_ERR_UNSUPPORTED);
    NAME(ICL_ERR_SYSTEM);
    NAME(ICL_ERR_BUSY);
    NAME(ICL_ERR_STATE);
    NAME(ICL_ERR_CYCLE);
    NAME(ICL_ERR_AGAIN);
    NAME(ICL_ERR_DENIED);
    NAME(ICL_ERR_REFUSED);
    NAME(ICL_ERR_UNREACHABLE);
    NAME(ICL_ERR_LINK_DOWN);
    NAME(ICL_ERR_CHIP_DEAD);
    NAME(ICL_ERR_CHIP_RESET);
    NAME(ICL_ERR_TIMEOUT);
    NAME(ICL_ERR_PROTOCOL);
    NAME(ICL_ERR_ABORTED);
    NAME(ICL_ERR_FLUSHED);
    default: return "unknown status";
  }
}
