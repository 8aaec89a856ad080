#include <gtest/gtest.h>

#include <cstdlib>

// All moves over loopback, whatever the machine has else; PLAIT_TEST_NETWORK names another network of it.
int main(int argc, char** argv) {
  setenv("PLAIT_IFACE", "lo", 1);
  const char* network = std::getenv("PLAIT_TEST_NETWORK");
  setenv("PLAIT_NETWORK", network != nullptr ? network : "tcp", 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
