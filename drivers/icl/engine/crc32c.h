/* CRC-32C (Castagnoli), as links check it. */
#ifndef ICL_ENGINE_CRC32C_H
#define ICL_ENGINE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of `bytes` at `data`, going on from `crc` (0 at first). */
uint32_t icl_crc32c(uint32_t crc, const void* data, size_t bytes);

#endif
