// What a rank reads of another one's board, whose lines may be landing just then.
#include "runtime/board.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace plait::runtime {
namespace {

CallId some_call() {
  CallId call;
  call.kind = 3;
  call.dtype = 7;
  call.op = 2;
  call.root = 5;
  call.algorithm = 4;
  call.in_place = 1;
  call.count = 1000;
  call.counts = 6;
  call.counts_hash = 0x1234567;
  return call;
}

TEST(Board, GivesBackWhatWasWritten) {
  const auto board = std::make_unique<Board>();
  board->write(17, some_call());
  CallId read;
  ASSERT_TRUE(board->read(17, &read));
  EXPECT_EQ(read, some_call());
  EXPECT_FALSE(board->read(1, &read)) << "the place of another operation";
}

// A network may land the bytes of a line in pieces: from the front, from the back, or the middle last.
TEST(Board, NoRecordIsReadBeforeAllOfItHasLanded) {
  const auto theirs = std::make_unique<Board>();
  theirs->write(1, CallId{});
  theirs->write(17, some_call());
  const auto* from = reinterpret_cast<const std::byte*>(&theirs->record_of(17));
  constexpr size_t kFields = offsetof(CallRecord, sum) + sizeof(uint64_t);
  for (const bool first : {false, true}) {  // is something there already, of operation 1?
    for (size_t begin = 0; begin <= kFields; begin += 4) {
      for (size_t end = begin; end <= kFields; end += 4) {
        if (end - begin == kFields) continue;
        const auto copy = std::make_unique<Board>();
        if (first) copy->write(1, CallId{});
        std::memcpy(reinterpret_cast<std::byte*>(&copy->record_of(17)) + begin, from + begin, end - begin);
        CallId read;
        EXPECT_TRUE(!copy->read(17, &read) || read == some_call()) << begin << " to " << end;
      }
    }
  }
}

}  // namespace
}  // namespace plait::runtime
