// What a peer writes into a message link's memory: whole lives of a link whose peer does as it likes. No line
// makes it touch memory that is not its own or a request's, and every request ends once.
#include <memory>
#include <vector>

#include "fuzz.h"
#include "transport/message.h"

namespace plait::fuzz {
namespace {

using namespace transport;

class Remote final : public RemoteRegion {
 public:
  Remote(size_t bytes, Access access) : RemoteRegion(bytes, access) {}
  std::byte* mapped() const noexcept override { return nullptr; }
};

class Own final : public Region {
 public:
  explicit Own(const Memory& memory, uint64_t number) : Region(memory), number_(number) {}
  ByteView key() const noexcept override { return bytes_of(number_); }

 private:
  uint64_t number_;
};

// Takes what it is told to, and checks that it is in bounds.
class Stub final : public Endpoint {
 public:
  Stub() { counters_ = words_; }
  ByteView ticket() const noexcept override { return {}; }
  Status connect(ByteView) noexcept override { return {}; }
  State state() const noexcept override { return State::ready; }
  std::string_view error() const noexcept override { return ""; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override {
    uint32_t bytes = 0;
    ByteView view = key;
    if (!take(view, bytes) || bytes % 5 == 0) return Status(Code::auth, "no such region");
    return std::unique_ptr<RemoteRegion>(std::make_unique<Remote>(bytes % 100'000, Access(bytes % 4)));
  }
  size_t post(std::span<const Transfer> transfers) noexcept override {
    size_t taken = 0;
    for (const Transfer& t : transfers) {
      if (closed || room == 0) break;
      room--;
      taken++;
      require(t.local.bytes == t.remote.bytes, "both slices are as long");
      if (t.remote.bytes != 0) {
        require(t.remote.region != nullptr && may_write(t.remote.region->access()),
                "nothing is put without a right");
        require(in_bounds(t.remote.offset, t.remote.bytes, t.remote.region->bytes()),
                "nothing is put out of bounds");
        for (size_t i = 0; i < t.local.bytes; i += 64) read += uint8_t(t.local.data[i]);
      }
      if (t.when != When::never) dones.push_back({t.cookie, Code::ok});
    }
    return taken;
  }
  void close() noexcept override { closed = true; }
  void add(uint16_t counter, uint64_t n) noexcept { words_[counter].fetch_add(n); }

  bool closed = false;
  size_t room = 0, read = 0;
  std::vector<Done> dones;

 private:
  std::atomic<uint64_t> words_[kMessageCounters]{};
};

// A link, its memory, and the buffers of its requests: each of its own length, so that a byte too much is
// found.
class Life {
 public:
  Life() : remote_(sizeof(MessageMemory), Access::write) {
    capabilities_.max_transfer = 10'000;
    capabilities_.max_add = 7;
    MessageWiring wiring;
    wiring.endpoint = &endpoint_;
    wiring.capabilities = &capabilities_;
    wiring.remote = &remote_;
    wiring.own = own_.get();
    wiring.shadow = shadow_.get();
    link_ = std::make_unique<MessageLink>(wiring, "the peer");
  }

  // Most of a line is made plausible, as random bits hardly ever are.
  void write_line(Input& input) {
    MessageLine line;
    line.kind = input.number() % 11;
    line.flags = input.number() % 4;
    line.id = input.number() % 66;
    if (line.id == 65) line.id = kNoRegion;
    line.lines = input.number() % 8;
    if (holds_key(line.kind)) {
      if (LineKind(line.kind) == LineKind::region) line.flags = input.number() % 4 == 0 ? input.number() : 8;
      for (auto& b : line.key) b = std::byte(input.number());
    } else {
      MessageFields& f = line.fields;
      f.units = input.number() % 4;
      f.tag = input.number() % 3;
      f.slot = MessageHandle::make(255 - input.number() % 4, input.number() % 4);
      f.send = MessageHandle::make(input.number() % 4, input.number() % 4);
      f.bytes = input.number<uint16_t>() * (input.number() % 8 == 0 ? uint64_t(1) << 48 : 1);
      f.offset = input.number<uint16_t>();
      f.ahead = input.number() % 4;
      f.seen = input.number() % 8;
      f.pieces = input.number() % 4 == 0 ? input.number() : uint32_t(parts_of(f.bytes));
    }
    line.turn = message_turn(lines_);
    own_->lines[lines_++ % kMessageLines] = line;
    endpoint_.add(0, 1);
  }
  void send(Input& input) {
    auto data = std::make_unique<Bytes>(size_t(input.number<uint16_t>()));
    keep(link_->send(input.number() % 3, {data->data(), data->size(), nullptr}), data);
  }
  void receive(Input& input) {
    auto data = std::make_unique<Bytes>(size_t(input.number<uint16_t>()) + 1);
    regions_.push_back(std::make_unique<Own>(Memory{data->data(), data->size()}, regions_.size()));
    const LocalSlice slice{data->data(), data->size() - 1,
                           input.number() % 2 == 0 ? nullptr : regions_.back().get()};
    keep(link_->receive(input.number() % 3, slice), data);
  }
  void live(Input& input) {
    switch (input.number() % 8) {
      case 0:
        return send(input);
      case 1:
        return receive(input);
      case 2:
        return endpoint_.add(1, input.number() % 4);
      case 3:
        endpoint_.room += input.number();
        return;
      case 4:
        for (const Done& done : std::exchange(endpoint_.dones, {})) link_->done(done);
        return;
      case 5:
        link_->progress();
        return;
      default:
        return write_line(input);
    }
  }
  void end() {
    for (int i = 0; i < 3; i++) link_->progress();
    link_->close();
    for (auto& [request, data] : kept_) {
      require(request->done(), "every request ends");
      require(request->bytes()[0] <= data->size(), "no more came than there was room for");
      link_->release(request);
    }
    require(!link_->status().ok() && endpoint_.closed, "what is closed stays closed");
  }

 private:
  void keep(MessageRequest* request, std::unique_ptr<Bytes>& data) {
    if (request != nullptr) kept_.emplace_back(request, std::move(data));
  }

  std::unique_ptr<MessageMemory> own_ = std::make_unique<MessageMemory>(),
                                 shadow_ = std::make_unique<MessageMemory>();
  Capabilities capabilities_;
  Stub endpoint_;
  Remote remote_;
  std::vector<std::unique_ptr<Own>> regions_;
  std::vector<std::pair<MessageRequest*, std::unique_ptr<Bytes>>> kept_;
  std::unique_ptr<MessageLink> link_;
  uint32_t lines_ = 0;
};

void try_life(Input& input) {
  Life life;
  while (!input.empty()) life.live(input);
  life.end();
}

// A line of any bits.
void try_line(ByteView bytes) {
  MessageLine line;
  if (bytes.size() < sizeof line) return;
  std::memcpy(static_cast<void*>(&line), bytes.data(), sizeof line);
  if (refusal(line) != nullptr) return;
  require(line.kind >= uint8_t(LineKind::credit) && line.kind <= uint8_t(LineKind::key),
          "a line is of some kind");
  if (LineKind(line.kind) == LineKind::eager)
    require(units_of(uint32_t(line.fields.bytes)) <= kUnits, "it is short");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_life, try_line});
}
