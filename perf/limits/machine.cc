// What the parts of a machine can do, each by itself: memory, adding, a flag from core to core, process_vm_readv, TCP, waking a
// sleeper. Each line: what,parameter,median,min,max,unit over several repeats (the wake lines: median, 5th and 95th
// percentile). Usage: machine [section...], sections: mem reduce flag cma tcp zc wake
#include "machine.h"

int main(int c, char** a) {
  auto on = [&](const char* s) { if (c < 2) return true; for (int i = 1; i < c; i++) if (!strcmp(a[i], s)) return true; return false; };
  printf("what,parameter,median,min,max,unit\n");
  if (on("flag")) flag();
  if (on("wake")) wake();
  if (on("tcp")) tcp();
  if (on("zc")) zc();
  if (on("cma")) cma();
  if (on("reduce")) reduce();
  if (on("mem")) mem();
}
