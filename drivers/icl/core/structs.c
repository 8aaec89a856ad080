#include "structs.h"

#include <string.h>

#define MOST 4096 /* no struct of any version is larger */

icl_status icl_struct_check(const void* given, const char* name) {
  if (given == NULL) return icl_fail(ICL_ERR_INVALID, "%s: NULL", name);
  size_t size;
  memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > MOST)
    return icl_fail(ICL_ERR_INVALID, "%s: struct_size is %zu; set it to sizeof", name, size);
  return ICL_OK;
}

icl_status icl_struct_in(const void* given, void* known, size_t size, const char* name) {
  const icl_status status = icl_struct_check(given, name);
  if (status != ICL_OK) return status;
  size_t theirs;
  memcpy(&theirs, given, sizeof theirs);
  for (size_t i = size; i < theirs; i++)
    if (((const unsigned char*)given)[i] != 0)
      return icl_fail(ICL_ERR_INVALID, "%s: made for a later version, with fields that this one does not know", name);
  memset(known, 0, size);
  memcpy(known, given, theirs < size ? theirs : size);
  return ICL_OK;
}

void icl_struct_out(void* given, const void* known, size_t size) {
  size_t theirs;
  memcpy(&theirs, given, sizeof theirs);
  memset((char*)given + sizeof theirs, 0, theirs - sizeof theirs);
  if (theirs < size) size = theirs;
  memcpy((char*)given + sizeof theirs, (const char*)known + sizeof theirs, size - sizeof theirs);
}
