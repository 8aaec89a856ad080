#include "bootstrap/meetings.h"

#include <algorithm>

namespace plait::bootstrap {
namespace {

constexpr int64_t kRedialMs = 20;

}  // namespace

void MeetingState::fail(Status why) {
  if (state == Meeting::State::failed) return;
  state = Meeting::State::failed;
  status = Status(why.code(), "talking to rank " + std::to_string(rank) + ": " + std::string(why.text()));
  dialer.reset();
  link.reset();
  out.clear();
}

Meetings::Meetings(const Self& self, Poller& poller, Door& door)
    : self_(self), poller_(poller), door_(door) {}

Meetings::~Meetings() {
  for (auto& meeting : meetings_) meeting->fail({Code::state, "the communicator was destroyed"});
}

MeetingState* Meetings::connecting(int32_t rank) {
  for (auto& meeting : meetings_) {
    if (meeting->rank == rank && !meeting->dropped && meeting->state == Meeting::State::connecting)
      return meeting.get();
  }
  return nullptr;
}

void Meetings::arrive(Arrival arrival) {
  const int32_t rank = arrival.rank();
  if (rank >= self_.size || rank == self_.rank) {
    return door_.refuse(std::move(arrival.link),
                        {false, 0, {Code::mismatch, "that rank is none to talk to"}});
  }
  arrival.link->limit(Meeting::kMostMessage + 1);
  const uint64_t number = arrival.hello.meeting, last = last_[rank];
  if (number <= last) {
    return door_.refuse(std::move(arrival.link), {true, last, {Code::state, "that conversation is over"}});
  }
  MeetingState* mine = connecting(rank);
  if (mine == nullptr) {
    visitors_.insert_or_assign(rank, Visitor{std::move(arrival.link), number});
  } else if (rank < self_.rank) {
    take_up(*mine, {std::move(arrival.link), number});
  } else {
    door_.refuse(std::move(arrival.link), {true, 0, {Code::state, "this rank dials itself"}});
  }
}

std::unique_ptr<Meeting> Meetings::meet(int32_t rank, const Contact& contact) {
  auto meeting = std::make_shared<MeetingState>();
  meetings_.push_back(meeting);
  meeting->rank = rank;
  meeting->number = last_[rank] + 1;
  contacts_[rank] = contact;
  auto visitor = visitors_.find(rank);
  if (visitor == visitors_.end() || visitor->second.link->state() != Link::State::open) {
    dial(*meeting, 0);
  } else {
    Visitor taken = std::move(visitor->second);
    visitors_.erase(visitor);
    take_up(*meeting, std::move(taken));
  }
  return std::make_unique<Meeting>(std::move(meeting));
}

void Meetings::dial(MeetingState& meeting, int64_t delay_ms) {
  meeting.link.reset();
  meeting.dialer = std::make_unique<Dialer>(self_, poller_, self_.claim(meeting.rank, Purpose::meeting),
                                            places_of(contacts_[meeting.rank]), delay_ms);
}

// A connection that the other side dialed becomes this conversation.
void Meetings::take_up(MeetingState& meeting, Visitor visitor) {
  meeting.number = std::max(meeting.number, visitor.number);
  meeting.link = std::move(visitor.link);
  meeting.link->send(plain(Kind::met, meeting.number));
  opened(meeting);
}

void Meetings::opened(MeetingState& meeting) {
  meeting.dialer.reset();
  meeting.state = Meeting::State::open;
  uint64_t& last = last_[meeting.rank];
  last = std::max(last, meeting.number);
  for (const Bytes& message : std::exchange(meeting.out, {})) meeting.link->send(message);
}

void Meetings::poll() {
  // By number: what one conversation does may not begin another, but let no later change break this.
  for (size_t i = 0; i < meetings_.size(); i++) progress(*meetings_[i]);
  std::erase_if(meetings_, [&](auto& meeting) {
    if (!meeting->dropped) return false;
    // What was said before is still heard. Not taken up yet, nothing was: then the words are lost.
    if (meeting->state == Meeting::State::open) door_.let_go(std::move(meeting->link));
    meeting->fail({Code::state, "closed"});
    return true;
  });
  std::erase_if(visitors_, [](auto& visitor) { return visitor.second.link->state() == Link::State::closed; });
}

void Meetings::progress(MeetingState& meeting) {
  if (meeting.state == Meeting::State::failed) return;
  if (meeting.state == Meeting::State::open) return hear(meeting);
  if (meeting.link) {
    if (const auto message = meeting.link->receive()) {
      hear_answer(meeting, *message);
      if (meeting.state == Meeting::State::open) hear(meeting);
    } else if (meeting.link->state() == Link::State::closed) {
      dial(meeting, kRedialMs);
    }
    return;
  }
  if (auto link = meeting.dialer->poll()) {
    Hello hello;
    hello.size = self_.size;
    hello.instance = self_.instance;
    hello.meeting = meeting.number;
    link->limit(Meeting::kMostMessage + 1);
    link->send(encode(hello));
    meeting.link = std::move(link);
    meeting.dialer.reset();
  } else if (meeting.dialer->hopeless() || meeting.dialer->rounds() >= kMostRounds) {
    // Its door is open for as long as it is in the group: where nobody listens any more, it is gone.
    const Status& why = meeting.dialer->why();
    const bool gone = why.code() == Code::system && !meeting.dialer->hopeless();
    meeting.fail(
        {gone ? Code::peer : why.code(), (gone ? "it died or left: " : "") + std::string(why.text())});
  }
}

void Meetings::hear_answer(MeetingState& meeting, ByteView message) {
  const auto kind = take_kind(message);
  uint64_t number = 0;
  Refusal refusal;
  if (kind == Kind::met && take(message, number) && message.empty()) {
    meeting.number = std::max(meeting.number, number);
    opened(meeting);
  } else if (kind == Kind::refuse && decode(message, refusal)) {
    if (!refusal.later) return meeting.fail(refusal.status);
    uint64_t& last = last_[meeting.rank];
    last = std::max(last, refusal.meeting);
    meeting.number = std::max(meeting.number, last + 1);
    dial(meeting, kRedialMs);
  } else {
    meeting.fail({Code::internal, "its message makes no sense"});
  }
}

void Meetings::hear(MeetingState& meeting) {
  while (meeting.link && meeting.queued_in < Meeting::kMostQueued) {
    auto message = meeting.link->receive();
    if (!message) {
      if (meeting.link->state() == Link::State::closed) meeting.fail(Status(meeting.link->status()));
      return;
    }
    ByteView view = *message;
    if (take_kind(view) != Kind::say) return meeting.fail({Code::internal, "its message makes no sense"});
    meeting.queued_in += view.size();
    meeting.in.emplace_back(view.begin(), view.end());
  }
}

std::vector<int> Meetings::visitors() const {
  std::vector<int> ranks;
  for (const auto& [rank, visitor] : visitors_) {
    if (visitor.link->state() == Link::State::open) ranks.push_back(rank);
  }
  return ranks;
}

int Meetings::idle_ms() const noexcept {
  int ms = 100;
  for (const auto& meeting : meetings_) {
    if (meeting->dialer) ms = std::min(ms, meeting->dialer->idle_ms());
  }
  return ms;
}

Meeting::Meeting(std::shared_ptr<MeetingState> state) noexcept : state_(std::move(state)) {}
Meeting::~Meeting() { state_->dropped = true; }

int Meeting::rank() const noexcept { return state_->rank; }
Meeting::State Meeting::state() const noexcept { return state_->state; }
const Status& Meeting::status() const noexcept { return state_->status; }

bool Meeting::send(ByteView message) {
  if (state_->state == State::failed || message.size() > kMostMessage) return false;
  Bytes whole = plain(Kind::say, message);
  if (state_->state == State::open) {
    return state_->link->unsent() + whole.size() <= kMostQueued && state_->link->send(whole);
  }
  if (state_->queued_out + whole.size() > kMostQueued) return false;
  state_->queued_out += whole.size();
  state_->out.push_back(std::move(whole));
  return true;
}

std::optional<Bytes> Meeting::receive() {
  if (state_->in.empty()) return std::nullopt;
  Bytes message = std::move(state_->in.front());
  state_->in.pop_front();
  state_->queued_in -= message.size();
  return message;
}

}  // namespace plait::bootstrap
