#include "perf/nccl/flow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "perf/nccl/where.h"

namespace plait::nccl_drive {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGap = 64;        // between messages in memory
constexpr int kUnwritten = -7777;  // sizes before test

uint64_t word(uint64_t id, uint64_t index) {
  uint64_t x = id * 0x9e3779b97f4a7c15 + index;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

size_t spaced(size_t bytes) { return (bytes + kGap + 15) / 16 * 16; }

}  // namespace

Memory::Memory(size_t bytes)
    : size_((bytes + kPage) / kPage * kPage),
      bytes_(static_cast<unsigned char*>(std::aligned_alloc(kPage, size_))) {
  forget();
}
void Memory::forbid() { ::mprotect(bytes_.get(), size_, PROT_NONE); }
void Memory::allow() { ::mprotect(bytes_.get(), size_, PROT_READ | PROT_WRITE); }
void Memory::forget() { std::memset(bytes_.get(), kUntouched, size_); }
bool Memory::untouched(size_t begin, size_t end) const {
  return std::all_of(bytes_.get() + begin, bytes_.get() + end,
                     [](unsigned char c) { return c == kUntouched; });
}

void fill_message(unsigned char* to, size_t bytes, uint64_t id) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t w = word(id, at);
    std::memcpy(to + at, &w, std::min(sizeof w, bytes - at));
  }
}

bool is_message(const unsigned char* at, size_t bytes, uint64_t id) {
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    const uint64_t w = word(id, i);
    if (std::memcmp(at + i, &w, std::min(sizeof w, bytes - i)) != 0) return false;
  }
  return true;
}

Status Flow::prepare(int type) {
  requests_.resize(count());
  return side_.said(side_.net().reg_mr(comm_, memory_->data(), room(), type, &registration_),
                    "regMr for a " + who_);
}

Status Flow::release() {
  void* memory = registration_;
  registration_ = nullptr;
  return side_.said(side_.net().dereg_mr(comm_, memory), "deregMr for a " + who_);
}

Status Flow::post() {
  if (all_posted() || outstanding() >= window) return Status();
  void* request = optional_completion ? reinterpret_cast<void*>(nccl::optional_completion) : nullptr;
  PLAIT_TRY(side_.said(start(posted_, &request), "i" + who_ + " " + std::to_string(posted_)));
  if (request == nullptr) return Status();
  if (request == reinterpret_cast<void*>(nccl::optional_completion))
    return Status(Code::invalid, "irecv left 0x1, the wish for an optional completion, in *request");
  requests_[posted_++].handle = request;
  return Status();
}

Status Flow::test(size_t index) {
  Request& request = requests_[index];
  const auto n = size_t(places(index));
  std::vector<int>& sizes = sizes_;
  sizes.assign(n + 1, kUnwritten);
  int done = 0;
  const NcclResult result = side_.net().test(request.handle, &done, ask_size ? sizes.data() : nullptr);
  PLAIT_TRY(side_.said(result, "test of " + who_ + " " + std::to_string(index)));
  if (sizes[n] != kUnwritten)
    return Status(Code::invalid, "test of " + who_ + " " + std::to_string(index) + " wrote more than " +
                                     std::to_string(n) + " sizes");
  if (done == 0) return Status();
  request.done = true;
  ++finished_;
  while (turn_ < posted_ && requests_[turn_].done) ++turn_;
  return verify(index, ask_size ? sizes.data() : nullptr);
}

Status Flow::test(Order order) {
  if (outstanding() == 0) return Status();
  size_t index = 0;
  switch (order) {
    case Order::oldest:
      index = turn_;
      break;
    case Order::newest:
      index = posted_ - 1;
      while (requests_[index].done) --index;
      break;
    case Order::round_robin:
      index = robin_;
      do index = index + 1 < posted_ ? index + 1 : turn_;
      while (requests_[index].done);
      robin_ = index;
      break;
  }
  return test(index);
}

std::string Flow::waits_for() const {
  if (done()) return "";
  const bool posting = turn_ == posted_;
  return (posting ? "i" + who_ + " gave no request, " + who_ + " " : "test had not ended " + who_ + " ") +
         std::to_string(posting ? posted_ : turn_) + " of " + std::to_string(count());
}

Sender::Sender(Side& side, void* comm, std::vector<Message> all)
    : Flow(side, comm, "send"), messages_(std::move(all)) {
  size_t at = kGap;
  for (const Message& message : messages_) {
    at_.push_back(at);
    at += spaced(message.bytes);
  }
  at_.push_back(at);
  memory_ = std::make_unique<Memory>(at);
  for (size_t i = 0; i < messages_.size(); ++i)
    fill_message(memory_->data() + at_[i], messages_[i].bytes, messages_[i].id);
}

size_t Sender::room() const { return at_.back(); }

NcclResult Sender::start(size_t index, void** request) {
  const Message& m = messages_[index];
  return side_.net().isend(comm_, memory_->data() + at_[index], m.bytes, m.tag, registration_, request);
}

Status Sender::verify(size_t index, const int* sizes) {
  const Message& m = messages_[index];
  if (sizes != nullptr && size_of_sends && sizes[0] != int(m.bytes))
    return Status(Code::mismatch,
                  "test gave the size " + (sizes[0] == kUnwritten ? "nothing" : std::to_string(sizes[0])) +
                      " for send " + std::to_string(index) + " of " + std::to_string(m.bytes) + " bytes");
  if (!is_message(memory_->data() + at_[index], m.bytes, m.id))
    return Status(Code::mismatch, "the plugin wrote into the memory of send " + std::to_string(index));
  return Status();
}

Receiver::Receiver(Side& side, void* comm, std::vector<Group> groups)
    : Flow(side, comm, "recv"), groups_(std::move(groups)) {
  size_t at = kGap;
  for (const Group& group : groups_) {
    at_.emplace_back();
    for (const Place& place : group) {
      at_.back().push_back(at);
      at += spaced(place.room);
    }
  }
  at_.push_back({at});
  memory_ = std::make_unique<Memory>(at);
}

size_t Receiver::room() const { return at_.back().front(); }

NcclResult Receiver::start(size_t index, void** request) {
  const Group& group = groups_[index];
  std::vector<void*> data, memories(group.size(), registration_);
  std::vector<size_t> sizes;
  std::vector<int> tags;
  for (size_t i = 0; i < group.size(); ++i) {
    data.push_back(memory_->data() + at_[index][i]);
    sizes.push_back(group[i].room);
    tags.push_back(group[i].message.tag);
  }
  return side_.net().irecv(comm_, int(group.size()), data.data(), sizes.data(), tags.data(), memories.data(),
                           request);
}

Status Receiver::verify(size_t index, const int* sizes) {
  const Group& group = groups_[index];
  for (size_t i = 0; i < group.size(); ++i) {
    const Message& m = group[i].message;
    const std::string name = "place " + std::to_string(i) + " of receive " + std::to_string(index) +
                             " (tag " + std::to_string(m.tag) + ", " + std::to_string(m.bytes) + " bytes)";
    if (sizes != nullptr && sizes[i] != int(m.bytes))
      return Status(Code::mismatch, "test gave the size " +
                                        (sizes[i] == kUnwritten ? "nothing" : std::to_string(sizes[i])) +
                                        " for " + name);
    const size_t at = at_[index][i];
    if (!is_message(memory_->data() + at, m.bytes, m.id))
      return Status(Code::mismatch, name + (memory_->untouched(at, at + m.bytes)
                                                ? " was done and no byte had moved"
                                                : " holds other bytes than were sent to it"));
    if (!memory_->untouched(at + m.bytes, at + spaced(group[i].room)))
      return Status(Code::mismatch, "the plugin wrote past the message in " + name);
    where().bytes.fetch_add(m.bytes, std::memory_order_relaxed);
  }
  return Status();
}

std::vector<Message> messages(size_t count, size_t bytes, uint64_t first_id) {
  std::vector<Message> all;
  for (size_t i = 0; i < count; ++i) all.push_back({first_id + i, bytes, 7});
  return all;
}

std::vector<Group> singles(const std::vector<Message>& all) {
  std::vector<Group> groups;
  for (const Message& message : all) groups.push_back({Place{message, message.bytes}});
  return groups;
}

Status drive(Side& side, const std::vector<Flow*>& flows, Drive how) {
  Deadline end = side.deadline();
  size_t moved = 0;
  Pause pause;
  for (;;) {
    bool posted = true, done = true;
    size_t progress = 0;
    for (Flow* flow : flows) {
      PLAIT_TRY(flow->post());
      posted = posted && flow->all_posted();
      done = done && flow->done();
      progress += 2 * flow->posted() - flow->outstanding();
    }
    if (done) return Status();
    if (progress != moved)
      end = side.deadline();
    else
      pause.idle();
    moved = progress;
    if (posted || !how.post_all_first)
      for (Flow* flow : flows) PLAIT_TRY(flow->test(how.order));
    if (end.passed()) {
      std::string what;
      for (Flow* flow : flows)
        if (!flow->done()) what += (what.empty() ? "" : ", ") + flow->waits_for();
      return side.late(what);
    }
  }
}

Status exchange(Side& side, const Link& link, const std::vector<Message>& sends, std::vector<Group> receives,
                Drive how, Sizes sizes) {
  Sender sender(side, link.send, sends);
  Receiver receiver(side, link.receive, std::move(receives));
  if (sends.size() > receiver.count()) sender.window = nccl::max_requests * 8;
  sender.ask_size = receiver.ask_size = sizes != Sizes::none;
  sender.size_of_sends = sizes == Sizes::of_all;
  PLAIT_TRY(sender.prepare());
  PLAIT_TRY(receiver.prepare());
  PLAIT_TRY(drive(side, {&receiver, &sender}, how));
  PLAIT_TRY(sender.release());
  return receiver.release();
}

Status prove(Side& side, const Link& link, uint64_t id) {
  std::vector<Message> all = messages(3, 1000, id << 8);
  all[1].bytes = 70000;
  return exchange(side, link, all, singles(all));
}

Status alone(const Job& job, Status (*work)(Side& side, const Link& link)) {
  Side side(job);
  PLAIT_TRY(side.open());
  Link link;
  PLAIT_TRY(side.self(&link));
  PLAIT_TRY(work(side, link));
  PLAIT_TRY(side.close(link));
  return side.close();
}

}  // namespace plait::nccl_drive
