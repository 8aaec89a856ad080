#include <gtest/gtest.h>

#include <cstdlib>

// All moves over loopback, whatever the machine has else.
int main(int argc, char** argv) {
  setenv("PLAIT_IFACE", "lo", 1);
  unsetenv("PLAIT_NETWORK");
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
