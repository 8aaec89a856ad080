#include "runtime/queue/council.h"

#include <algorithm>
#include <cstring>

#include "runtime/api.h"
#include "runtime/operators.h"

namespace plait::runtime::queue {

namespace {

void and_words(void*, const void* left, const void* right, void* out, size_t count, plait_dtype) {
  for (size_t i = 0; i < count; i++) {
    uint64_t a, b;
    std::memcpy(&a, static_cast<const char*>(left) + i * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<const char*>(right) + i * sizeof b, sizeof b);
    a &= b;
    std::memcpy(static_cast<char*>(out) + i * sizeof a, &a, sizeof a);
  }
}

}  // namespace

Status Council::open() {
  plait_op_desc desc{};
  desc.struct_size = sizeof desc;
  desc.function = and_words;
  desc.commutative = 1;
  auto made = add_operator(desc);
  if (!made.ok()) return made.status();
  both_ = *made;
  return {};
}

Council::~Council() {
  forget(&round_);
  forget(&news_);
  forget(&trial_);
  // One that is still running is the communicator's, with its operator.
  if (both_ != 0) (void)remove_operator(both_);
}

void Council::forget(plait_request** request) noexcept {
  if (*request != nullptr && settled(*request)) comm_.release(*request);
  *request = nullptr;
}

Status Council::start(Step step, plait_request* request) noexcept {
  request->args.timeout_ms = timeout_ms_;
  request_ = request;
  step_ = step;
  comm_.start(request);
  return {};
}

bool Council::ended() noexcept {
  if (step_ == Step::none) return false;
  if (!settled(request_)) comm_.advance();
  if (!settled(request_)) return false;
  result_ = request_->result;
  if (!request_->persistent) comm_.release(request_);
  request_ = nullptr;
  step_ = Step::none;
  return true;
}

std::string Council::absent() const {
  std::string list;
  for (int32_t r : comm_.absent()) list += (list.empty() ? "" : ", ") + std::to_string(r);
  return list;
}

Result<plait_request*> Council::plan_round() {
  const auto words = agreed_.words();
  Args args = args::even(collectives::Collective::allreduce, words.data(), words.data(), words.size());
  args.dtype = collectives::Dtype::uint64;
  args.op = collectives::ReduceOp(both_);
  auto custom = use_operator(both_, args.dtype);
  if (!custom.ok()) return custom.status();
  args.custom = *custom;
  return comm_.make(args, true);
}

Status Council::begin_round(const Ballot& mine) {
  if (round_ == nullptr || planned_words_ != mine.words().size()) {
    forget(&round_);
    agreed_ = mine;
    auto plan = plan_round();
    if (!plan.ok()) return plan.status();
    round_ = *plan;
    planned_words_ = mine.words().size();
  }
  std::copy(mine.words().begin(), mine.words().end(), agreed_.words().begin());
  return start(Step::round, round_);
}

Args Council::gather(const void* mine, void* all, size_t bytes) const {
  Args args = args::even(collectives::Collective::allgather, mine, all, bytes / sizeof(uint64_t));
  args.dtype = collectives::Dtype::uint64;
  return args;
}

Status Council::begin_news(std::span<const Tensor> mine) {
  if (news_ == nullptr) {
    own_news_.resize(1);
    all_news_.resize(size_t(comm_.size()));
    auto plan = comm_.make(gather(own_news_.data(), all_news_.data(), sizeof(News)), true);
    if (!plan.ok()) return plan.status();
    news_ = *plan;
  }
  own_news_[0].count = std::min(mine.size(), kMostNews);
  std::copy_n(mine.begin(), own_news_[0].count, own_news_[0].tensors);
  return start(Step::news, news_);
}

std::vector<Told> Council::told() const {
  std::vector<Told> all;
  for (size_t r = 0; r < all_news_.size(); r++) {
    for (size_t i = 0; i < std::min<uint64_t>(all_news_[r].count, kMostNews); i++)
      all.push_back({int32_t(r), all_news_[r].tensors[i]});
  }
  return all;
}

Status Council::begin_census(const Ballot& mine, uint64_t late_key, bool late) {
  own_seat_.assign({uint64_t(late), late_key});
  own_seat_.insert(own_seat_.end(), mine.words().begin(), mine.words().end());
  all_seats_.resize(own_seat_.size() * size_t(comm_.size()));
  auto request =
      comm_.make(gather(own_seat_.data(), all_seats_.data(), own_seat_.size() * sizeof(uint64_t)), false);
  if (!request.ok()) return request.status();
  return start(Step::census, *request);
}

Council::Seat Council::seat(int32_t rank) const noexcept {
  const size_t words = own_seat_.size();
  const std::span<const uint64_t> own = std::span(all_seats_).subspan(size_t(rank) * words, words);
  return {own[0] != 0, own[1], own.subspan(2)};
}

Status Council::begin_trial(uint64_t busy_ns) {
  if (trial_ == nullptr) {
    Args args = args::even(collectives::Collective::allreduce, &busy_ns_, &busy_ns_, 1);
    args.dtype = collectives::Dtype::uint64;
    args.op = collectives::ReduceOp::max;
    auto plan = comm_.make(args, true);
    if (!plan.ok()) return plan.status();
    trial_ = *plan;
  }
  busy_ns_ = busy_ns;
  return start(Step::trial, trial_);
}

}  // namespace plait::runtime::queue
