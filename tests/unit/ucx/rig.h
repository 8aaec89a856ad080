// A domain over loopback TCP or shared memory, and one endpoint of it.
#pragma once

#include <gtest/gtest.h>

#include "base/clock.h"
#include "transport/ucx/ucx.h"

namespace plait::transport::ucx {

inline Options over(const std::string& transports) {
  Options options;
  options.transports = transports;
  if (transports == "tcp") options.devices = "lo";
  options.label = "ucx:" + transports;
  return options;
}

struct Side {
  explicit Side(const std::string& transports, uint64_t cookie = 1) {
    auto made = make_domain(over(transports));
    EXPECT_TRUE(made.ok()) << made.status().text();
    domain = std::move(*made);
    end = domain->open(2, cookie).value();
  }
  void poll() {
    Done some[8];
    const size_t n = domain->poll(some);
    dones.insert(dones.end(), some, some + n);
  }
  std::unique_ptr<Domain> domain;
  std::unique_ptr<Endpoint> end;
  std::vector<Done> dones;
};

template <class F>
bool within_10_s(F holds) {
  const Deadline end = Deadline::in_ms(10'000);
  while (!holds()) {
    if (end.passed()) return false;
  }
  return true;
}

}  // namespace plait::transport::ucx
