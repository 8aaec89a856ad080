// What UCX finds, refuses and does to the process.
#include <dlfcn.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "rig.h"

namespace plait::transport::ucx {
namespace {

TEST(UcxDomain, UnknownTransportsAndDevicesAreRefusedWithWhatThereIs) {
  for (const auto& [transports, devices] : {std::pair("no_such", ""), std::pair("tcp", "no_such0")}) {
    Options options;
    options.transports = transports;
    options.devices = devices;
    const auto made = make_domain(options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::unsupported);
    const std::string text(made.status().text());
    EXPECT_NE(text.find(std::string("'") + transports + "'"), text.npos) << text;
    EXPECT_NE(text.find(devices), text.npos) << text;
    EXPECT_NE(text.find("tcp on lo"), text.npos) << text;
  }
  Options hasty;
  hasty.keepalive_s = 1;
  EXPECT_EQ(make_domain(hasty).status().code(), Code::invalid);
}

TEST(UcxDomain, ListsWhatThereIs) {
  const auto found = list();
  EXPECT_TRUE(std::ranges::any_of(found, [](auto& d) { return d.transport == "tcp" && d.device == "lo"; }));
  EXPECT_TRUE(std::ranges::any_of(found, [](auto& d) { return d.transport == "posix"; }));
}

// UCX takes them when it is loaded.
TEST(UcxDomain, SignalsAreTheProgramsOwn) {
  if (getenv("UCX_HANDLE_ERRORS") != nullptr) GTEST_SKIP() << "UCX_HANDLE_ERRORS is set";
  Side side("tcp");
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction now {};
    ASSERT_EQ(sigaction(number, nullptr, &now), 0);
    Dl_info where{};
    if (dladdr(reinterpret_cast<void*>(now.sa_handler), &where) != 0) {
      EXPECT_EQ(std::strstr(where.dli_fname, "libucs"), nullptr) << number;
    }
  }
}

TEST(UcxDomain, DomainsOfOtherTransportsAreNotReached) {
  Side tcp("tcp"), shm("posix");
  EXPECT_TRUE(tcp.domain->reaches(tcp.domain->identity()));
  EXPECT_TRUE(shm.domain->reaches(shm.domain->identity()));
  EXPECT_EQ(tcp.domain->capabilities().ticket_bytes, tcp.end->ticket().size());
}

TEST(UcxDomain, WhoIsNotThereIsNamed) {
  Bytes ticket;
  {
    Side gone("tcp");
    ticket.assign(gone.end->ticket().begin(), gone.end->ticket().end());
  }
  Side side("tcp", 7);
  ASSERT_TRUE(side.end->connect(ticket).ok());
  ASSERT_TRUE(within_10_s([&] {
    side.poll();
    return !side.dones.empty();
  }));
  EXPECT_EQ(side.dones[0].cookie, 7u);
  EXPECT_EQ(side.dones[0].status, Code::peer);
  const std::string text(side.end->error());
  for (const char* part : {"connecting to peer process ", " on host ", "UCX (tcp)", "UCX_NET_DEVICES"})
    EXPECT_NE(text.find(part), text.npos) << text;
}

TEST(UcxDomain, ATransportWithoutTheOthersIsRefused) {
  Side tcp("tcp"), shm("posix", 7);
  const Status status = shm.end->connect(tcp.end->ticket());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::unsupported) << status.text();
  EXPECT_NE(std::string(status.text()).find("UCX_TLS"), std::string::npos) << status.text();
  EXPECT_EQ(shm.end->state(), State::failed);
}

}  // namespace
}  // namespace plait::transport::ucx
