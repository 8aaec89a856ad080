/* Sums a gradient over all ranks. Build: cc allreduce.c $(pkg-config --cflags --libs plait)
 * Run: plait-run -n 4 ./a.out */
#include <plait/plait.h>
#include <stdio.h>
#include <stdlib.h>

static plait_comm* comm;

static void check(plait_status status, const char* what) {
  if (status == PLAIT_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, plait_status_string(status), plait_last_error(comm));
  exit(1);
}

int main(void) {
  const size_t count = 1000003;
  int32_t rank = 0, size = 1;
  void* memory = NULL;

  check(plait_init(NULL), "plait_init");
  check(plait_comm_create(NULL, &comm), "plait_comm_create"); /* who we are: from plait-run or torchrun */
  check(plait_comm_rank(comm, &rank), "plait_comm_rank");
  check(plait_comm_size(comm, &size), "plait_comm_size");

  /* Memory that the other ranks reach directly: several times faster than malloc's, which works too. */
  check(plait_mem_alloc(count * sizeof(float), &memory), "plait_mem_alloc");
  float* gradient = memory;
  for (size_t i = 0; i < count; ++i) gradient[i] = (float)(rank + 1);

  check(plait_allreduce(comm, gradient, gradient, count, PLAIT_FLOAT32, PLAIT_SUM, NULL, NULL),
        "plait_allreduce");
  if (rank == 0) printf("sum over %d: each element is %g\n", (int)size, (double)gradient[count - 1]);

  check(plait_mem_free(memory), "plait_mem_free");
  plait_status left = plait_comm_destroy(comm);
  comm = NULL; /* gone, whatever came of it */
  check(left, "plait_comm_destroy");
  check(plait_finalize(), "plait_finalize");
  return 0;
}
