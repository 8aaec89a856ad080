// An MSCCL algorithm as its file says it, checked for what can be seen in one line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/exchange/set.h"

namespace plait::collectives::exchange::msccl {

enum class Type : uint8_t { nop, s, r, cpy, re, rrc, rcs, rrs, rrcs };
constexpr bool sends(Type t) noexcept {
  return t == Type::s || t == Type::rcs || t == Type::rrs || t == Type::rrcs;
}
constexpr bool receives(Type t) noexcept {
  return t == Type::r || t == Type::rrc || t == Type::rcs || t == Type::rrs || t == Type::rrcs;
}
// Whether it reads where its src says, or where its dst says, and whether it writes its dst.
constexpr bool reads_src(Type t) noexcept { return t != Type::nop && t != Type::r && t != Type::rcs; }
constexpr bool reads_dst(Type t) noexcept { return t == Type::re; }
constexpr bool writes_dst(Type t) noexcept { return t != Type::nop && t != Type::s && t != Type::rrs; }
constexpr bool folds(Type t) noexcept {
  return t == Type::re || t == Type::rrc || t == Type::rrs || t == Type::rrcs;
}

enum class Area : uint8_t { input, output, scratch };
struct Spot {
  Area area = Area::input;
  uint32_t offset = 0;
};

struct Instruction {
  Type type = Type::nop;
  Spot src, dst;
  uint32_t count = 0;
  int32_t wait_block = -1;  // waits for this step of that thread block; -1: for none
  uint32_t wait_step = 0;
  uint32_t line = 0;
};

struct ThreadBlock {
  int32_t send = -1, recv = -1;  // peers; -1: none
  uint16_t channel = 0;
  uint32_t line = 0;
  std::vector<Instruction> steps;
};

struct Gpu {
  uint32_t scratch = 0;
  std::vector<ThreadBlock> blocks;
};

struct File {
  std::string path;
  std::string name;
  Collective collective = Collective::allreduce;
  int32_t root = 0;
  uint32_t chunks = 0;
  bool variants[2] = {false, false};  // out of place, in place
  std::vector<Gpu> gpus;              // by rank
};

// Peers, channels, offsets and steps waited for are in bounds; no two thread blocks of a rank send to, or
// receive from, one peer on one channel.
Result<File> read(std::string_view text, const std::string& file, const Limits& limits);

}  // namespace plait::collectives::exchange::msccl
