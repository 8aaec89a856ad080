#include "crc32c.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[8][256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
    table[0][i] = c;
  }
  for (int k = 1; k < 8; k++)
    for (int i = 0; i < 256; i++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

static uint32_t by_table(uint32_t crc, const unsigned char* at, size_t bytes) {
  pthread_once(&table_made, make_table);
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (int k = 0; k < 8; k++) crc ^= table[7 - k][word >> 8 * k & 0xff];
  }
  while (bytes-- > 0) crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const unsigned char* at, size_t bytes) {
  uint64_t sum = crc;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    sum = __builtin_ia32_crc32di(sum, word);
  }
  crc = (uint32_t)sum;
  while (bytes-- > 0) crc = __builtin_ia32_crc32qi(crc, *at++);
  return crc;
}
#endif

uint32_t icl_crc32c(uint32_t crc, const void* data, size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~crc, data, bytes);
#endif
  return ~by_table(~crc, data, bytes);
}
