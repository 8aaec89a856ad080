// Ranks as threads, each a host of its own, over rails that are made here: in the middle of an allreduce a
// link of one rank fails, on one rail.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/rails/rails.h"

namespace plait::test {

// A rail of a rank, fresh, and what makes a link of it fail, in a post on that link.
struct Rail {
  std::unique_ptr<transport::Domain> domain;
  std::function<void(transport::Endpoint& of_the_domain)> fail;
};

struct Losses {
  int ranks = 3;     // 4 at most
  size_t count = 0;  // elements of an allreduce
  int rounds = 6;    // over two rails: in how many of them a link fails
  std::function<Rail(int rank, size_t rail)> make;
};

// Over two rails each round ends with right sums; the rails say which was out, sent again what was under way,
// and come back. What happened is printed; the test fails otherwise.
void lose_rails(const Losses& losses, uint64_t seed);

// Over one rail every rank's call, or its next, fails with an error that names a rank. An error of a rank at
// an end of the link names the other one and its own device, as `name` does, unless it heard of it from
// others first; one does at least.
void lose_the_rail(const Losses& losses, uint64_t seed, const std::function<std::string(int rank)>& name);

// PLAIT_TEST_SEED, or a new one; it is printed.
uint64_t seed_of_test();

}  // namespace plait::test
