// Communicators made of a communicator's ranks. A split is an operation of the parent, a barrier of a kind of
// its own: it comes after those started before, and whoever calls something else, dies or does not come is
// found as in any operation. Then ranks tell each other over the parent's group what they want and where they
// listen, and those of one child form a group of their own while they keep an eye on the parent: it knows of
// a death, and carries the reasons of those that fail, to whom a child's own connections may not lead.
#include "base/log.h"
#include "runtime/communicator.h"
#include "runtime/family.h"

namespace plait::runtime {

namespace {

constexpr int64_t kRootFirstMs = 500;  // rank 0 knows best who is missing: it gets a moment to say so
constexpr int64_t kPatienceMs = 3000;  // for the reason of a peer that hung up
constexpr timespec kNap{0, 2'000'000};

// For as long as it lives, what phase() says.
class Making {
 public:
  Making(uint32_t& making, uint32_t maker) noexcept : making_(making) { making_ = maker; }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  ~Making() { making_ = 0; }

 private:
  uint32_t& making_;
};

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::split(uint32_t maker, int32_t color, int32_t key,
                                                          const Config& made) {
  while (tail_ != nullptr) wait(tail_);
  PLAIT_TRY(broken());
  const Deadline deadline = Deadline::in_ms(made.bootstrap_timeout_ms);
  child_news_.clear();
  Wish wish{.color = color, .key = key, .status = {}, .card = {}};
  std::optional<bootstrap::Invitation> mine;
  if (color >= 0 && config_.size > 1) {
    auto invitation = group_->invite(config_.port_min, config_.port_max);
    if (invitation.ok()) {
      mine.emplace(std::move(invitation).value());
      wish.card = mine->card();
    } else {
      wish.status = invitation.status();
    }
  }
  PLAIT_TRY(assemble(maker, deadline));
  const uint64_t operation = calls_;
  const Making making(making_, maker);
  std::vector<Wish> wishes(size_t(config_.size));
  wishes[size_t(config_.rank)] = wish;
  if (config_.size > 1) {
    auto all = exchange(encode(wish), deadline);
    if (!all.ok()) return all.status();
    for (size_t r = 0; r < wishes.size(); r++) {
      if (!decode((*all)[r], wishes[r]))
        return Status(Code::version, name_of(int32_t(r)) + " sent a broken wish: is it the same plait?");
    }
  }
  if (color < 0) return std::unique_ptr<Communicator>();
  auto family = family_of(wishes, config_.rank, operation);
  if (!family.ok()) return family.status();
  return raise(*family, std::move(mine), made, deadline);
}

// All ranks are in this call, or it fails as operations do.
Status Communicator::assemble(uint32_t maker, const Deadline& deadline) {
  Args args;
  args.timeout_ms = std::max(1, deadline.left_ms(INT32_MAX));
  args.maker = maker;
  auto request = make(args, true);
  if (!request.ok()) return request.status();
  start(*request);
  wait(*request);
  const Status status = (*request)->result;
  release(*request);
  return status;
}

// An allgather over the group, with an eye on everything else that may happen meanwhile.
Result<std::vector<Bytes>> Communicator::exchange(ByteView mine, const Deadline& deadline) {
  group_->begin(mine);
  const Deadline late =
      Deadline::in_ms(deadline.left_ms(INT32_MAX / 2) + (config_.rank == 0 ? 0 : kRootFirstMs));
  Waiter waiter(policy_);
  for (;;) {
    group_->poll();
    if (auto all = group_->finished()) return std::move(*all);
    check(nullptr);
    if (Status failed = group_->failed(); !failed.ok()) fail(std::move(failed), -1);
    if (late.passed()) fail(group_->missing(), -1);
    PLAIT_TRY(broken());
    if (waiter.next() == Turn::sleep) sleep();
  }
}

Result<std::unique_ptr<Communicator>> Communicator::raise(const Family& family,
                                                          std::optional<bootstrap::Invitation> mine,
                                                          const Config& made, const Deadline& deadline) {
  Config config = made;
  config.rank = family.rank;
  config.size = int32_t(family.ranks.size());
  config.local_rank = -1;
  std::unique_ptr<Communicator> child(new Communicator(config));
  child->programs_ = programs_;
  Recorder::Identity who = recorder_.who();
  if (who.job_rank < 0) who.job_rank = who.rank;
  who.rank = config.rank;
  who.size = config.size;
  who.split += (who.split.empty() ? "" : "-") + family.name;
  child->begin_record(std::move(who));
  Status status = child->make_board();
  if (status.ok() && config.size == 1) status = child->join_nobody();
  if (status.ok() && config.size > 1) {
    status = child->join_family(*this, family, std::move(*mine), deadline);
    if (!status.ok()) status = explain(family, std::move(status));
  }
  PLAIT_TRY(child->record_creation(std::move(status)));
  return child;
}

Status Communicator::join_family(Communicator& parent, const Family& family, bootstrap::Invitation mine,
                                 const Deadline& deadline) {
  const transport::Bounds bounds{deadline, &parent.abort_};
  bootstrap::Watch watch{parent.group_->wait_fd(), [&] { return parent.news_of(family); }};
  auto group = parent.group_->subgroup(
      std::move(mine), {family.name, family.number, family.rank, family.cards}, std::move(watch), bounds);
  if (!group.ok()) return group.status();
  group_ = std::move(group).value();
  PLAIT_TRY(settle_in(bounds));
  group_->unwatch();
  return {};
}

// Not ok: the child cannot come about any more, and why.
Status Communicator::news_of(const Family& family) {
  check(nullptr);
  for (const bootstrap::Notice& news : child_news_) {
    if (news.number != family.number) continue;
    const bool known = news.code < 0 && news.code >= int32_t(Code::internal);
    return {known ? Code(news.code) : Code::internal,
            news.text + " (heard from rank " + std::to_string(news.origin) + ")"};
  }
  return broken();
}

// A child did not come about, as `status` says here: what the others, and the user, are told. Who was hung up
// on waits for the reason, which comes over the parent's group.
Status Communicator::explain(const Family& family, Status status) {
  const Deadline patience = Deadline::in_ms(status.code() == Code::peer ? kPatienceMs : 0);
  Status news = news_of(family);
  while (news.ok() && !patience.passed()) {
    ::nanosleep(&kNap, nullptr);
    news = news_of(family);
  }
  if (!news.ok()) return news;
  const std::string text = "rank " + std::to_string(config_.rank) + " could not join the new communicator " +
                           family.name + ": " + std::string(status.text());
  group_->tell({kChildFailed, -1, config_.rank, int32_t(status.code()), family.number, text});
  group_->poll();
  log::info("{}; {}", text, describe(family));
  return {status.code(), text + "; " + describe(family)};
}

}  // namespace plait::runtime
