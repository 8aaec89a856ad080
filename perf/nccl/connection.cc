#include "perf/nccl/connection.h"

#include <algorithm>
#include <cstring>

namespace plait::nccl_drive {
namespace {

constexpr size_t kMostBytes = 150'000;  // of a connection: scripts are short

size_t some_size(Dice& dice) {
  const size_t what = dice.below(100);
  if (what < 10) return 0;
  if (what < 45) return dice.between(1, 64);
  if (what < 80) return dice.between(65, 5000);
  if (what < 97) return dice.between(5000, 20'000);
  return dice.between(20'000, 300'000);
}

// A random order in which messages of one tag keep theirs.
std::vector<Message> sending_order(Dice& dice, const Group& group) {
  std::vector<size_t> order(group.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[dice.below(i)]);
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = i + 1; j < order.size(); ++j)
      if (group[order[i]].message.tag == group[order[j]].message.tag && order[i] > order[j])
        std::swap(order[i], order[j]);
  std::vector<Message> all;
  for (const size_t i : order) all.push_back(group[i].message);
  return all;
}

struct Plan {
  std::vector<Group> receives;
  std::vector<Message> sends;
};

Plan make_plan(Dice& dice, size_t max_receives) {
  Plan plan;
  const size_t groups = dice.between(1, dice.chance(20) ? 60 : 12);
  const size_t tags = dice.between(1, 4);
  size_t bytes = 0;
  for (size_t g = 0; g < groups && bytes < kMostBytes; ++g) {
    Group group;
    const size_t n = dice.chance(50) ? 1 : dice.between(1, max_receives);
    for (size_t i = 0; i < n; ++i) {
      const Message message{dice.word(), some_size(dice), int(dice.below(tags))};
      group.push_back({message, message.bytes + (dice.chance(40) ? some_size(dice) % 5000 : 0)});
      bytes += message.bytes;
    }
    for (const Message& message : sending_order(dice, group)) plan.sends.push_back(message);
    plan.receives.push_back(std::move(group));
  }
  return plan;
}

Order some_order(Dice& dice) { return Order(dice.below(3)); }

}  // namespace

Status Connection::handshake(Dice& dice) {
  if (dice.chance(50)) {
    if (sender_.comm == nullptr) PLAIT_TRY(side_.connect(handle_, &sender_.comm));
  } else if (receiver_.comm == nullptr) {
    PLAIT_TRY(side_.accept(listener_->comm, &receiver_.comm));
  }
  if (sender_.comm == nullptr || receiver_.comm == nullptr) return Status();
  listener_->busy = false;
  return arm(dice);
}

Status Connection::arm(Dice& dice) {
  const auto most = size_t(std::clamp(side_.properties().max_receives, 1, 8));
  Plan plan = make_plan(dice, most);
  sender_.flow = std::make_unique<Sender>(side_, sender_.comm, std::move(plan.sends));
  receiver_.flow = std::make_unique<Receiver>(side_, receiver_.comm, std::move(plan.receives));
  sender_.flow->window = dice.between(1, nccl::max_requests * (dice.chance(30) ? most : 1));
  receiver_.flow->window = dice.between(1, nccl::max_requests);
  receiver_.flow->optional_completion = dice.chance(20);
  for (Half* half : {&sender_, &receiver_}) {
    half->flow->ask_size = dice.chance(80);
    half->flow->size_of_sends = true;
    PLAIT_TRY(half->flow->prepare());
    half->armed = true;
  }
  return Status();
}

Status Connection::tolerate(Half& half, const Half& other, Status status) {
  if (status.code() != Code::peer || !other.closed) return status;
  half.dead = true;
  return Status();
}

Status Connection::register_more(Dice& dice, Half& half) {
  Memory memory(dice.between(1, 100'000));
  void* registration = nullptr;
  PLAIT_TRY(side_.said(
      side_.net().reg_mr(half.comm, memory.data(), memory.size(), nccl::pointer_host, &registration),
      "regMr"));
  PLAIT_TRY(tolerate(half, half, half.flow->test(some_order(dice))));
  return side_.said(side_.net().dereg_mr(half.comm, registration), "deregMr");
}

Status Connection::use(Dice& dice, Half& half, const Half& other) {
  if (half.closed || half.dead) return Status();
  const size_t times = dice.chance(10) ? 40 : 1;
  for (size_t i = 0; i < times && !half.dead; ++i)
    PLAIT_TRY(tolerate(half, other, dice.chance(55) ? half.flow->post() : half.flow->test(some_order(dice))));
  return Status();
}

Status Connection::step(Dice& dice) {
  if (!connected()) return handshake(dice);
  const bool is_send = dice.chance(50);
  Half& half = is_send ? sender_ : receiver_;
  const Half& other = is_send ? receiver_ : sender_;
  const size_t what = dice.below(200);
  if (what == 0) return close_half(dice, is_send);
  if (what < 8 && !half.closed && !half.dead && !other.closed) return register_more(dice, half);
  return use(dice, half, other);
}

Status Connection::finish(Dice& dice) {
  const Deadline end = side_.deadline();
  Pause pause;
  while (!connected()) {
    PLAIT_TRY(handshake(dice));
    if (end.passed()) return side_.late("connect or accept still gave no comm");
    pause.idle();
  }
  if (!sender_.closed && !receiver_.closed) {
    PLAIT_TRY(drive(side_, {sender_.flow.get(), receiver_.flow.get()}, {some_order(dice)}));
    for (Half* half : {&sender_, &receiver_}) PLAIT_TRY(half->flow->release());
  } else {
    for (int i = 0; i < 50; ++i) {
      PLAIT_TRY(use(dice, sender_, receiver_));
      PLAIT_TRY(use(dice, receiver_, sender_));
    }
  }
  const bool send_first = dice.chance(50);
  PLAIT_TRY(close_half(dice, send_first));
  return close_half(dice, !send_first);
}

Status Connection::close_half(Dice& dice, bool is_send) {
  Half& half = is_send ? sender_ : receiver_;
  if (half.closed) return Status();
  half.closed = true;
  if (half.flow->registration() != nullptr) PLAIT_TRY(half.flow->release());
  Link link{is_send ? half.comm : nullptr, is_send ? nullptr : half.comm};
  PLAIT_TRY(side_.close(link));
  if (dice.chance(50)) {
    half.flow.reset();  // a sanitizer sees who touches it now
  } else {
    Memory& memory = half.flow->memory();
    half.then.assign(memory.data(), memory.data() + memory.size());
  }
  return Status();
}

Status Connection::abandon() {
  Link link{sender_.comm, receiver_.comm};
  return side_.close(link);
}

Status Connection::check_kept() const {
  for (const Half* half : {&sender_, &receiver_}) {
    if (half->then.empty()) continue;
    if (std::memcmp(half->then.data(), half->flow->memory().data(), half->then.size()) != 0)
      return Status(Code::mismatch, std::string("the plugin wrote into memory after ") +
                                        (half == &sender_ ? "closeSend" : "closeRecv"));
  }
  return Status();
}

}  // namespace plait::nccl_drive
