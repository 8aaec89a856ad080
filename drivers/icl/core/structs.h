/* Structs that begin with struct_size: what the caller knows and what this library knows meet here. */
#ifndef ICL_CORE_STRUCTS_H
#define ICL_CORE_STRUCTS_H

#include "../icl_driver.h"

/* Copies a caller's config into `known` (of `size` bytes); the rest of `known` is zeroed. ICL_ERR_INVALID: see icl.h. */
icl_status icl_struct_in(const void* given, void* known, size_t size, const char* name);
/* Checks an out struct; icl_struct_out then copies what both know and zeroes the rest. */
icl_status icl_struct_check(const void* given, const char* name);
void icl_struct_out(void* given, const void* known, size_t size);

#endif
