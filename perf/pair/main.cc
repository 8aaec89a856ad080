// plait_write_bw and its like; the build says which.
#include "perf/pair/run.h"

int main(int argc, char** argv) {
  using plait::perf::pair::Measure;
  using plait::perf::pair::Operation;
  return plait::perf::pair::run({Operation::PLAIT_OPERATION, Measure::PLAIT_MEASURE}, argc, argv);
}
