// What meson compiles once for all tests: option precompiled_gtest.
#include <gtest/gtest.h>
