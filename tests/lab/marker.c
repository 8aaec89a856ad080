/* A rank whose gradients can be recognised: sums, by the largest, a MiB of a phrase that all ranks have alike. For
 * capture_tls.sh, which looks for it on the wire. */
#include <plait/plait.h>
#include <stdio.h>
#include <string.h>

static const char kPhrase[] = "these are gradients of a lab's. "; /* 32 bytes */
static char buffer[1 << 20];

static int fail(const char* what, plait_comm* comm) {
  fprintf(stderr, "%s: %s\n", what, plait_last_error(comm));
  return 1;
}

int main(void) {
  plait_comm* comm = NULL;
  if (plait_init(NULL) != PLAIT_OK || plait_comm_create(NULL, &comm) != PLAIT_OK) return fail("creating", NULL);
  for (size_t bytes = 32; bytes <= sizeof buffer; bytes *= 32) {
    for (size_t i = 0; i < bytes; i++) buffer[i] = kPhrase[i % 32];
    if (plait_allreduce(comm, buffer, buffer, bytes, PLAIT_UINT8, PLAIT_MAX, NULL, NULL) != PLAIT_OK)
      return fail("allreduce", comm);
    for (size_t i = 0; i < bytes; i++) {
      if (buffer[i] == kPhrase[i % 32]) continue;
      fprintf(stderr, "byte %zu of %zu is wrong\n", i, bytes);
      return 1;
    }
  }
  if (plait_comm_destroy(comm) != PLAIT_OK || plait_finalize() != PLAIT_OK) return fail("ending", NULL);
  return 0;
}
