// Two sides find each other, whoever else comes to the port.
#include "perf/pair/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "bootstrap/socket.h"

namespace plait::perf::pair {
namespace {

using bootstrap::SecretPtr;
using ControlResult = Result<std::unique_ptr<Control>>;

SecretPtr secret(char c) {
  const Bytes bytes(32, std::byte(c));
  return std::make_shared<const bootstrap::Secret>(ByteView(bytes));
}

Hello hello(size_t size = 4096) {
  Options o;
  o.sizes = {size};
  o.iterations = 1;
  return hello_of(o, "tcp", "tcp:lo");
}

// A server on a thread of its own, at a port of the kernel's choice.
class Server {
 public:
  explicit Server(const SecretPtr& with, double wait = 20, size_t size = 4096) {
    std::promise<uint16_t> listening;
    auto heard = listening.get_future();
    thread_ = std::thread([this, with, wait, size, &listening] {
      control_ = Control::serve(0, with, wait, [&](uint16_t port) { listening.set_value(port); });
      if (control_.ok()) greeted_ = (*control_)->greet(hello(size), 5);
    });
    port_ = heard.get();
  }
  ~Server() { join(); }
  uint16_t port() const { return port_; }
  ControlResult& join() {
    if (thread_.joinable()) thread_.join();
    return control_;
  }
  const Status& greeted() const { return greeted_; }

 private:
  uint16_t port_ = 0;
  ControlResult control_ = Status(Code::state, "not yet");
  Status greeted_;
  std::thread thread_;
};

Fd stranger(uint16_t port, const std::string& words) {
  Address loopback = *parse_ip("127.0.0.1");
  Fd fd = bootstrap::start_connect({loopback.with_port(port), {}}, {});
  while (bootstrap::connect_result(fd.get()) == EINPROGRESS) std::this_thread::yield();
  (void)::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL);
  return fd;
}

TEST(PairControl, SidesMeetPlainAndWithASecret) {
  for (const SecretPtr& with : {SecretPtr(), secret('a')}) {
    Server server(with);
    auto client = Control::dial("127.0.0.1", server.port(), with, 10);
    ASSERT_TRUE(client.ok()) << client.status().text();
    const Status greeted = (*client)->greet(hello(), 5);
    EXPECT_TRUE(greeted.ok()) << greeted.text();
    ASSERT_TRUE(server.join().ok());
    EXPECT_TRUE(server.greeted().ok()) << server.greeted().text();
    EXPECT_EQ((*client)->authenticated(), with != nullptr);
    EXPECT_NE((*client)->other().find("the server (127.0.0.1:"), std::string::npos) << (*client)->other();
  }
}

TEST(PairControl, ADifferingOptionIsToldToBoth) {
  Server server({}, 20, 8192);
  auto client = Control::dial("127.0.0.1", server.port(), {}, 10);
  ASSERT_TRUE(client.ok()) << client.status().text();
  const Status here = (*client)->greet(hello(4096), 5);
  EXPECT_EQ(here.code(), Code::mismatch);
  EXPECT_NE(here.text().find("-s is 4096 here and 8192 at the server"), std::string_view::npos)
      << here.text();
  server.join();
  EXPECT_NE(server.greeted().text().find("-s is 8192 here and 4096 at the client"), std::string_view::npos)
      << server.greeted().text();
}

TEST(PairControl, StrangersDoNotKeepTheClientOut) {
  Server server({});
  std::vector<Fd> strangers;
  strangers.push_back(stranger(server.port(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(200, 'x')));
  strangers.push_back(stranger(server.port(), ""));
  strangers.push_back(stranger(server.port(), std::string(100'000, '\0')));
  for (int i = 0; i < 40; i++) strangers.push_back(stranger(server.port(), "?"));
  stranger(server.port(), "gone at once");
  auto client = Control::dial("127.0.0.1", server.port(), {}, 10);
  ASSERT_TRUE(client.ok()) << client.status().text();
  EXPECT_TRUE((*client)->greet(hello(), 5).ok());
  EXPECT_TRUE(server.join().ok());
}

TEST(PairControl, AnotherSecretIsNoClient) {
  for (const SecretPtr& other : {secret('b'), SecretPtr()}) {
    Server server(secret('a'));
    auto wrong = Control::dial("127.0.0.1", server.port(), other, 2);
    EXPECT_FALSE(wrong.ok());
    EXPECT_NE(wrong.status().code(), Code::timeout) << wrong.status().text();
    auto right = Control::dial("127.0.0.1", server.port(), secret('a'), 10);
    ASSERT_TRUE(right.ok()) << right.status().text();
    EXPECT_TRUE((*right)->greet(hello(), 5).ok());
  }
}

TEST(PairControl, NobodyComesAndNobodyIsThere) {
  Server server({}, 0.2);
  const uint16_t port = server.port();
  EXPECT_EQ(server.join().status().code(), Code::timeout);
  const auto client = Control::dial("127.0.0.1", port, {}, 0.2);
  EXPECT_EQ(client.status().code(), Code::peer) << client.status().text();
  EXPECT_NE(client.status().text().find("127.0.0.1:" + std::to_string(port)), std::string_view::npos);
  const auto nowhere = Control::dial("no-such-host.invalid", port, {}, 5);
  EXPECT_EQ(nowhere.status().code(), Code::invalid) << nowhere.status().text();
}

TEST(PairControl, WhatFailedIsToldAndSoIsSilence) {
  Server server({});
  auto client = Control::dial("127.0.0.1", server.port(), {}, 10);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->greet(hello(), 0.3).ok());
  Control& there = **server.join();
  const auto silent = (*client)->hear(Kind::ready);
  EXPECT_EQ(silent.status().code(), Code::timeout) << silent.status().text();
  there.fail({Code::system, "the disk\033 is full"});
  const auto failed = (*client)->hear(Kind::ready);
  EXPECT_EQ(failed.status().code(), Code::peer);
  EXPECT_NE(failed.status().text().find("failed: the disk? is full"), std::string_view::npos)
      << failed.status().text();
}

TEST(PairControl, ADifferentWordThanWasDueIsAnError) {
  Server server({});
  auto client = Control::dial("127.0.0.1", server.port(), {}, 10);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->greet(hello(), 5).ok());
  ASSERT_TRUE((*server.join())->say(Kind::done).ok());
  EXPECT_EQ((*client)->hear(Kind::ready).status().code(), Code::internal);
}

}  // namespace
}  // namespace plait::perf::pair
