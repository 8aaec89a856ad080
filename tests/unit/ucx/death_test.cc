// A process that is killed is missed, over TCP and in shared memory.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "rig.h"

namespace plait::transport::ucx {
namespace {

// Gives my ticket for the other's.
Bytes swap(int socket, ByteView mine) {
  const uint64_t size = mine.size();
  uint64_t theirs = 0;
  if (write(socket, &size, sizeof size) != sizeof size || write(socket, mine.data(), size) != ssize_t(size) ||
      recv(socket, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs || theirs > 100'000)
    return {};
  Bytes got(theirs);
  return recv(socket, got.data(), theirs, MSG_WAITALL) == ssize_t(theirs) ? got : Bytes();
}

class UcxDeath : public testing::TestWithParam<std::string> {};

TEST_P(UcxDeath, OfAProcessIsTold) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Side side(GetParam());
    if (!side.end->connect(swap(sockets[1], side.end->ticket())).ok()) _exit(1);
    for (;;) side.poll();
  }
  Side side(GetParam(), 7);
  ASSERT_TRUE(side.domain->capabilities().detects_death);
  EXPECT_TRUE(side.end->connect(swap(sockets[0], side.end->ticket())).ok());
  EXPECT_TRUE(within_10_s([&] {
    side.poll();
    return side.end->state() == State::ready;
  })) << side.end->error();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(within_10_s([&] {
    side.poll();
    return !side.dones.empty();
  }));
  EXPECT_EQ(side.end->state(), State::failed);
  const std::string text(side.end->error());
  EXPECT_NE(text.find("peer process " + std::to_string(child) + " on host "), text.npos) << text;
  for (const int socket : sockets) close(socket);
}

INSTANTIATE_TEST_SUITE_P(Over, UcxDeath, testing::Values("tcp", "posix", "sysv"),
                         [](auto& tested) { return tested.param; });

}  // namespace
}  // namespace plait::transport::ucx
