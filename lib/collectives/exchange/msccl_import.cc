// Runs an MSCCL algorithm symbolically: which chunk moves when.
#include <spdlog/fmt/fmt.h>

#include <deque>
#include <unordered_map>

#include "collectives/exchange/msccl.h"
#include "collectives/exchange/msccl_emit.h"
#include "collectives/exchange/msccl_hazards.h"

namespace plait::collectives::exchange {

namespace msccl {

namespace {

// Of all ranks, in place or out of place. Thread blocks go on by turns, a step each; one that waits is woken
// by what it waits for. Sends never wait.
class Importer {
 public:
  Importer(const File& file, bool in_place, Budget& budget)
      : file_(file), in_place_(in_place), budget_(budget) {
    for (uint32_t r = 0; r < file.gpus.size(); r++) {
      emitters_.emplace_back(file, r, in_place, budget);
      orders_.emplace_back();
      for (uint32_t b = 0; b < file.gpus[r].blocks.size(); b++) {
        if (file.gpus[r].blocks[b].steps.empty()) continue;
        if (first_of_rank_.size() == r) first_of_rank_.push_back(uint32_t(blocks_.size()));
        ready_.push_back(uint32_t(blocks_.size()));
        blocks_.push_back({r, b, 0});
      }
      if (first_of_rank_.size() == r) first_of_rank_.push_back(uint32_t(blocks_.size()));
      number_blocks(r);
    }
  }

  Status run(ProgramSet& set) {
    while (!ready_.empty()) {
      const uint32_t block = ready_.front();
      ready_.pop_front();
      PLAIT_TRY(advance(block));
    }
    for (const Block& block : blocks_) {
      if (block.next < steps_of(block).size()) return stuck(block);
    }
    for (const auto& [stream, messages] : streams_) {
      if (!messages.empty()) return never_received(messages.front());
    }
    for (uint32_t r = 0; r < file_.gpus.size(); r++) PLAIT_TRY(finish(r, set));
    return {};
  }

 private:
  struct Block {
    uint32_t rank, block, next;
  };
  struct Message {
    std::vector<Value> values;
    Block sender;  // where it is
  };

  void number_blocks(uint32_t rank) {
    auto& numbers = numbers_.emplace_back(file_.gpus[rank].blocks.size());
    for (uint32_t i = first_of_rank_[rank]; i < blocks_.size(); i++) numbers[blocks_[i].block] = i;
  }
  const ThreadBlock& thread_block(const Block& b) const { return file_.gpus[b.rank].blocks[b.block]; }
  const std::vector<Instruction>& steps_of(const Block& b) const { return thread_block(b).steps; }
  // Fewer than 2^16 channels, 2^24 ranks.
  static uint64_t stream(uint32_t from, uint32_t to, uint16_t channel) {
    return uint64_t{from} << 40 | uint64_t{to} << 16 | channel;
  }
  static uint64_t step_key(uint32_t block, uint32_t step) { return uint64_t{block} << 32 | step; }

  // One step of a thread block, if it can be done now.
  Status advance(uint32_t number) {
    Block& b = blocks_[number];
    const Instruction& i = steps_of(b)[b.next];
    if (i.wait_block >= 0) {
      const uint32_t other = numbers_[b.rank][size_t(i.wait_block)];
      if (blocks_[other].next <= i.wait_step) {
        waiting_[step_key(other, i.wait_step)].push_back(number);
        return {};
      }
    }
    Message arrived{{}, b};
    if (receives(i.type)) {
      const uint64_t from = stream(uint32_t(thread_block(b).recv), b.rank, thread_block(b).channel);
      auto& messages = streams_[from];
      if (messages.empty()) {
        receivers_[from] = number;
        return {};
      }
      arrived = std::move(messages.front());
      messages.pop_front();
      PLAIT_TRY(check_count(b, i, arrived));
    }
    std::vector<Value> sent;
    if (std::string why = carry_out(b, i, arrived.values, sent); !why.empty()) return refused(b, why);
    if (sends(i.type)) deliver(b, std::move(sent));
    orders_[b.rank].push_back({b.block, b.next});
    wake(step_key(number, b.next));
    if (++b.next < steps_of(b).size()) ready_.push_back(number);
    return {};
  }

  std::string carry_out(const Block& b, const Instruction& i, const std::vector<Value>& arrived,
                        std::vector<Value>& sent) {
    Emitter& emitter = emitters_[b.rank];
    const ThreadBlock& peers = thread_block(b);
    switch (i.type) {
      case Type::nop:
        return {};
      case Type::s:
        return emitter.send(i, peers.send, peers.channel, i.src, sent);
      case Type::cpy:
        return emitter.copy(i);
      case Type::re:
        return emitter.reduce(i);
      case Type::rrs:
        return emitter.fold_and_send(i, b.block, peers, arrived, sent);
      default:
        break;
    }
    std::string why = emitter.receive(i, peers.recv, peers.channel, arrived);
    if (!why.empty() || !sends(i.type)) return why;
    return emitter.send(i, peers.send, peers.channel, i.dst, sent);
  }

  void deliver(const Block& b, std::vector<Value> values) {
    const uint64_t to = stream(b.rank, uint32_t(thread_block(b).send), thread_block(b).channel);
    streams_[to].push_back({std::move(values), b});
    if (auto receiver = receivers_.find(to); receiver != receivers_.end()) {
      ready_.push_back(receiver->second);
      receivers_.erase(receiver);
    }
  }
  void wake(uint64_t step) {
    const auto waiting = waiting_.find(step);
    if (waiting == waiting_.end()) return;
    ready_.insert(ready_.end(), waiting->second.begin(), waiting->second.end());
    waiting_.erase(waiting);
  }

  Status refused(const Block& b, const std::string& why) const {
    return refuse(file_.path, steps_of(b)[b.next].line,
                  fmt::format("step {} of thread block {} of rank {}: {}{}", b.next, b.block, b.rank, why,
                              in_place_ ? " (in place)" : ""));
  }
  Status check_count(const Block& b, const Instruction& i, const Message& message) const {
    if (message.values.size() == i.count) return {};
    return refused(b, fmt::format("receives {} chunks, but step {} of thread block {} of rank {} sends {}",
                                  i.count, message.sender.next, message.sender.block, message.sender.rank,
                                  message.values.size()));
  }
  Status stuck(const Block& b) const {
    const Instruction& i = steps_of(b)[b.next];
    if (i.wait_block >= 0 && blocks_[numbers_[b.rank][size_t(i.wait_block)]].next <= i.wait_step) {
      return refused(b,
                     fmt::format("waits for ever for step {} of thread block {}", i.wait_step, i.wait_block));
    }
    return refused(b, fmt::format("waits for ever for a message from rank {} on channel {}",
                                  thread_block(b).recv, thread_block(b).channel));
  }
  Status never_received(const Message& message) const {
    return refused(message.sender, "nobody receives what it sends");
  }

  Status finish(uint32_t rank, ProgramSet& set) {
    PLAIT_TRY(check_hazards(file_, rank, in_place_, orders_[rank]));
    std::vector<uint32_t> lines;
    Program program = emitters_[rank].take(lines);
    if (std::string why = budget_.rank(program.chunks, program.scratch); !why.empty())
      return {Code::invalid, file_.path + ": " + why};
    if (std::string why = derive_dependencies(program); !why.empty())
      return {Code::invalid, file_.path + ": " + why};
    set.programs[in_place_].push_back(std::move(program));
    set.origin.lines[in_place_].push_back(std::move(lines));
    return {};
  }

  const File& file_;
  const bool in_place_;
  Budget& budget_;
  std::vector<Emitter> emitters_;               // by rank
  std::vector<std::vector<StepId>> orders_;     // by rank: what was done
  std::vector<Block> blocks_;                   // those that have steps
  std::vector<uint32_t> first_of_rank_;         // in blocks_
  std::vector<std::vector<uint32_t>> numbers_;  // in blocks_, by rank and thread block
  std::deque<uint32_t> ready_;
  std::unordered_map<uint64_t, std::deque<Message>> streams_;
  std::unordered_map<uint64_t, uint32_t> receivers_;             // who waits for a message of a stream
  std::unordered_map<uint64_t, std::vector<uint32_t>> waiting_;  // who waits for a step
};

}  // namespace

}  // namespace msccl

Result<ProgramSet> from_msccl(std::string_view text, const std::string& file, const Limits& limits) {
  auto read = msccl::read(text, file, limits);
  if (!read.ok()) return read.status();
  ProgramSet set{.name = read->name,
                 .collective = read->collective,
                 .root = read->root,
                 .programs = {},
                 .origin = {.file = file, .lines = {}}};
  Budget budget(limits);
  for (bool in_place : {false, true}) {
    if (read->variants[in_place]) PLAIT_TRY(msccl::Importer(*read, in_place, budget).run(set));
  }
  return set;
}

}  // namespace plait::collectives::exchange
