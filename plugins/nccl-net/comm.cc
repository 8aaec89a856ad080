#include "comm.h"

#include <algorithm>
#include <climits>

#include "base/log.h"

namespace plait::nccl {

namespace {

constexpr uint64_t kMarkCookie = UINT64_MAX - 16;  // of transfers that mark the end; no message's
constexpr uint32_t kMarks = 2;                     // one for each counter

}  // namespace

Comm::Comm(std::unique_ptr<Connection> connection, std::string device, bool sends)
    : wire_(connection->take_wire()),
      link_(wire_->link()),
      name_(device + (sends ? " to " : " from ") + connection->peer()),
      sends_(sends) {
  for (Request& request : requests_) request.comm = this;
  if (!wire_->domain().capabilities().detects_death) pulse_ = std::move(connection);
}

Comm::~Comm() {
  link_.close();
  for (Request& request : requests_) {
    for (Memory*& memory : request.memories) {
      if (memory != nullptr) memory->release();
      memory = nullptr;
    }
  }
}

void Comm::lose(std::string_view why) noexcept {
  if (!lost_.ok()) return;
  lost_ = Status(Code::peer, name_ + ": " + std::string(why.empty() ? "the connection ended" : why));
}

// True when something moved. What came before the peer went is still taken.
bool Comm::poll() noexcept {
  std::array<transport::Done, 32> done;
  const size_t n = wire_->domain().poll(done);
  bool failed = false;
  for (size_t i = 0; i < n; i++) {
    if (done[i].status != Code::ok) {
      failed = failed || done[i].status != Code::aborted;
    } else if (done[i].cookie >= kMarkCookie) {
      marks_done_++;
    } else {
      link_.done(done[i]);
    }
  }
  const bool moved = link_.progress() || n != 0;
  if (failed) lose(wire_->endpoint().error());
  if (pulse_ != nullptr && ++polls_ % kLookEvery == 0 && !pulse_->alive())
    lose("its process ended, or closed its side");
  return moved;
}

// What stands in the way of requests that are not done. A failure of one surfaces through all, as callers
// wait for the oldest.
Status Comm::judge() const {
  if (!link_.trouble().ok())
    return {link_.trouble().code(), name_ + ": " + std::string(link_.trouble().text())};
  return link_.status().ok() ? lost_ : link_.status();
}

Status Comm::slice(const Piece& piece, transport::LocalSlice& slice) const noexcept {
  slice = {static_cast<std::byte*>(piece.data), piece.bytes, nullptr};
  if (piece.bytes == 0 || piece.memory == nullptr || piece.memory->comm() != this) return {};
  slice.region = piece.memory->region_of(piece.data, piece.bytes);
  if (slice.region != nullptr) return {};
  return {Code::invalid, name_ + ": a buffer of " + std::to_string(piece.bytes) +
                             " bytes does not lie in the memory that was registered for it"};
}

Request& Comm::take(transport::MessageRequest* message, std::span<const Piece> pieces) noexcept {
  Request& request = requests_[free_.take()];
  request.message = message;
  for (size_t i = 0; i < pieces.size(); i++) {
    Memory* memory = pieces[i].memory;
    if (memory != nullptr) memory->hold();
    request.memories[i] = memory;
  }
  return request;
}

void Comm::give(Request& request) noexcept {
  const size_t pieces = request.message->bytes().size();
  for (size_t i = 0; i < pieces; i++) {
    if (request.memories[i] != nullptr) request.memories[i]->release();
    request.memories[i] = nullptr;
  }
  link_.release(request.message);
  request.message = nullptr;
  free_.give(uint16_t(&request - requests_.data()));
}

Status Comm::send(const Piece& piece, Request*& request) noexcept {
  request = nullptr;
  transport::LocalSlice data;
  PLAIT_TRY(slice(piece, data));
  if (!lost_.ok()) return lost_;
  // The peer may have said where a long one goes: else it is to be asked.
  if (piece.bytes > transport::kEagerBytes) (void)poll();
  auto* message = free_.empty() ? nullptr : link_.send(uint32_t(piece.tag), data);
  if (message == nullptr) {
    (void)poll();  // the caller asks again
    return judge();
  }
  request = &take(message, {&piece, 1});
  return {};
}

Status Comm::receive(std::span<const Piece> pieces, Request*& request) noexcept {
  request = nullptr;
  std::array<transport::MessageSlot, transport::kMessageTogether> slots;
  for (size_t i = 0; i < pieces.size(); i++) {
    slots[i].tag = uint32_t(pieces[i].tag);
    PLAIT_TRY(slice(pieces[i], slots[i].data));
  }
  auto* message = free_.empty() ? nullptr : link_.receive({slots.data(), pieces.size()});
  if (message == nullptr) {
    (void)poll();
    return judge();
  }
  request = &take(message, pieces);
  return {};
}

Status Comm::test(Request& request, bool& done, int* sizes) noexcept {
  done = request.message->done();
  if (!done) {
    (void)poll();
    done = request.message->done();
  }
  if (!done) return judge();
  const Status status = request.message->status();
  const auto bytes = request.message->bytes();
  for (size_t i = 0; sizes != nullptr && i < bytes.size(); i++)
    sizes[i] = int(std::min<size_t>(bytes[i], INT_MAX));
  if (status.ok()) {
    messages_ += bytes.size();
    for (const size_t n : bytes) bytes_ += n;
  }
  give(request);
  return status.ok() ? status : Status(status.code(), name_ + ": " + std::string(status.text()));
}

bool Comm::close() noexcept {
  const bool owes = sends_ && lost_.ok() && link_.status().ok() && free_.size() == kRequests;
  if (!owes) return false;
  linger_until_ = Deadline::in_ms(kLingerMs);
  return linger();
}

// Behind all that was posted, on either counter.
void Comm::mark_end() noexcept {
  while (marks_posted_ < kMarks) {
    transport::Transfer mark;
    mark.when = transport::When::delivered;
    mark.signal = {uint16_t(marks_posted_), 0};
    mark.cookie = kMarkCookie + marks_posted_;
    if (wire_->endpoint().post({&mark, 1}) != 1) return;
    marks_posted_++;
  }
}

bool Comm::linger() noexcept {
  for (int i = 0; i < 16; i++) {
    if (!lost_.ok() || !link_.status().ok()) return false;
    const bool moved = poll();
    if (link_.flushed()) mark_end();
    if (marks_done_ == kMarks) return false;
    if (!moved) break;
  }
  return !linger_until_.passed();
}

}  // namespace plait::nccl
