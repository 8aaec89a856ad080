// What a peer writes into a message link's memory: whole lives of a link whose peer does as it likes. No line
// makes it touch memory that is not its own or a request's, and every request ends once.
#include <memory>
#include <vector>

#include "fuzz.h"
#include "transport/message_inline.h"

namespace plait::fuzz {
namespace {

using namespace transport;

// Memory of its own length where it is mapped, so that a byte beyond is found.
class Remote final : public RemoteRegion {
 public:
  Remote(size_t bytes, Access access, bool mapped)
      : RemoteRegion(bytes, access),
        memory_(mapped ? static_cast<std::byte*>(operator new(bytes, kAlign)) : nullptr) {
    if (mapped) std::fill_n(memory_, bytes, std::byte{0});
  }
  ~Remote() override { operator delete(memory_, kAlign); }
  std::byte* mapped() const noexcept override { return memory_; }

 private:
  static constexpr std::align_val_t kAlign{64};
  std::byte* const memory_;
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
  explicit Stub(bool mapped) : mapped_(mapped) { counters_ = words_; }
  ByteView ticket() const noexcept override { return {}; }
  Status connect(ByteView) noexcept override { return {}; }
  State state() const noexcept override { return State::ready; }
  std::string_view error() const noexcept override { return ""; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override {
    uint32_t bytes = 0;
    ByteView view = key;
    if (!take(view, bytes) || bytes % 5 == 0) return Status(Code::auth, "no such region");
    return std::unique_ptr<RemoteRegion>(
        std::make_unique<Remote>(bytes % 100'000, Access(bytes % 4), mapped_));
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
  const bool mapped_;
  std::atomic<uint64_t> words_[kMessageCounters]{};
};

// A link, its memory, and the buffers of its requests: each of its own length, so that a byte too much is
// found.
class Life {
 public:
  // Mapped: the peer writes to what both copy by, too.
  explicit Life(bool mapped)
      : endpoint_(mapped),
        remote_(sizeof(MessageMemory) + kArena, Access::both, mapped),
        arena_({arena_memory_, kArena}, 0) {
    capabilities_.max_transfer = 10'000;
    capabilities_.max_add = 7;
    MessageWiring wiring;
    wiring.endpoint = &endpoint_;
    wiring.capabilities = &capabilities_;
    wiring.remote = &remote_;
    wiring.mapped = reinterpret_cast<MessageMemory*>(remote_.mapped());
    if (mapped) wiring.arena = &arena_;
    wiring.own = own_.get();
    wiring.shadow = shadow_.get();
    link_ = std::make_unique<MessageLink>(wiring, "the peer");
  }

  // Most of a line is made plausible, as random bits hardly ever are.
  void write_line(Input& input) {
    MessageLine line;
    line.kind = input.number() % 13;
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
      f.slot = MessageHandle::make(input.number() % 4, uint16_t(1 + input.number() % 2));
      f.send = input.number() % 2 == 0 ? input.number() % 4 : MessageHandle::make(input.number() % 4, 1);
      f.bytes = length(input);
      f.offset = (input.number() % 2 == 0 ? 0 : sizeof(MessageMemory)) + input.number<uint16_t>();
      f.ahead = input.number() % 4;
      f.seen = input.number() % 8;
      const uint32_t pieces[] = {uint32_t(parts_of(f.bytes)), 1, 0, input.number()};
      f.pieces = pieces[input.number() % 4];
    }
    put(line);
  }
  void put(MessageLine& line) {
    line.turn = message_turn(lines_);
    own_->lines[lines_++ % kMessageLines] = line;
    endpoint_.add(0, 1);
  }
  // What a link writes, mostly: a slot, in memory that can be put to.
  void write_post(Input& input) {
    constexpr uint64_t kKey = 99'999;  // Stub::import()
    MessageLine region;
    region.kind = uint8_t(LineKind::region);
    region.flags = sizeof kKey;
    std::memcpy(region.key, &kKey, sizeof kKey);
    put(region);
    MessageLine post;
    post.kind = uint8_t(LineKind::post);
    post.fields.tag = input.number() % 3;
    post.fields.slot = MessageHandle::make(input.number() % 4, 1);
    post.fields.bytes = length(input);
    post.fields.offset = input.number<uint16_t>();
    put(post);
  }
  // And a message to a slot of this side's.
  void write_direct(Input& input) {
    MessageLine line;
    line.kind = uint8_t(LineKind::direct);
    line.flags = input.number() % 3;
    line.fields.tag = input.number() % 3;
    line.fields.slot = MessageHandle::make(input.number() % 4, 1);
    line.fields.bytes = length(input);
    if (line.flags == kShared) {
      line.fields.send = ++shares_;
      line.fields.offset = sizeof(MessageMemory) + input.number<uint16_t>();
    } else {
      line.fields.pieces = line.flags == kStreamed ? uint32_t(parts_of(line.fields.bytes)) : 1;
    }
    put(line);
  }
  // Mostly of a message or its room, which others are refused for not being.
  uint64_t length(Input& input) {
    switch (input.number() % 8) {
      case 0:
        return uint64_t(input.number<uint16_t>()) << 48;
      case 1:
        return input.number<uint16_t>();
      default:
        return lengths_.empty()
                   ? 1
                   : lengths_[lengths_.size() - 1 - input.number() % std::min<size_t>(lengths_.size(), 4)];
    }
  }
  void write_share(Input& input) {
    MessageShare& share =
        (input.number() % 2 == 0 ? own_.get() : reinterpret_cast<MessageMemory*>(remote_.mapped()))
            ->shares[input.number() % 4];
    MessageHalf& half = share.halves[input.number() % 2];
    (input.number() % 2 == 0 ? half.taken : half.copied) =
        uint64_t(input.number() % 4) << 32 | input.number<uint32_t>();
  }
  void send(Input& input) {
    auto data = std::make_unique<Bytes>(size_t(input.number<uint16_t>()));
    lengths_.push_back(data->size());
    if (input.number() % 2 == 0) {
      data->resize(std::min(data->size(), kArena));
      return keep(link_->send(input.number() % 3, {arena_memory_, data->size(), nullptr}), data);
    }
    keep(link_->send(input.number() % 3, {data->data(), data->size(), nullptr}), data);
  }
  void receive(Input& input) {
    auto data = std::make_unique<Bytes>(size_t(input.number<uint16_t>()) + 1);
    regions_.push_back(std::make_unique<Own>(Memory{data->data(), data->size()}, regions_.size()));
    lengths_.push_back(data->size() - 1);
    const LocalSlice slice{data->data(), data->size() - 1,
                           input.number() % 2 == 0 ? nullptr : regions_.back().get()};
    keep(link_->receive(input.number() % 3, slice), data);
  }
  void send_now(Input& input) {
    const Bytes data(input.number<uint16_t>());
    const bool waits = input.number() % 2 == 0;
    if (remote_.mapped() != nullptr && data.size() <= kInlineBytes && waits)
      return void(link_->send_inline(input.number() % 3, data.data(), uint32_t(data.size())));
    const std::byte* from = waits && data.size() <= kArena ? arena_memory_ : data.data();
    (void)link_->send_now(input.number() % 3, from, data.size(), waits);
  }
  void receive_now(Input& input) {
    Bytes data(input.number<uint16_t>());
    size_t moved = 0;
    if (input.number() % 2 == 0 &&
        link_->receive_inline(input.number() % 3, data.data(), data.size(), 1, moved))
      return require(moved <= data.size(), "no more came than there was room for");
    if (link_->receive_now(input.number() % 3, data.data(), data.size(), moved))
      require(moved <= data.size(), "no more came than there was room for");
  }
  void live(Input& input) {
    switch (input.number() % 14) {
      case 6:
        if (remote_.mapped() != nullptr) write_share(input);
        return;
      case 7:
        return write_post(input);
      case 8:
        return write_direct(input);
      case 9:
        return send_now(input);
      case 10:
        return receive_now(input);
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
  static constexpr size_t kArena = 40'000;
  std::byte arena_memory_[kArena] = {};
  Capabilities capabilities_;
  Stub endpoint_;
  Remote remote_;
  Own arena_;
  std::vector<std::unique_ptr<Own>> regions_;
  std::vector<std::pair<MessageRequest*, std::unique_ptr<Bytes>>> kept_;
  std::unique_ptr<MessageLink> link_;
  std::vector<uint64_t> lengths_;
  uint32_t lines_ = 0, shares_ = 0;
};

void try_life(Input& input) {
  Life life(input.number() % 2 == 0);
  while (!input.empty()) life.live(input);
  life.end();
}

// A line of any bits.
void try_line(ByteView bytes) {
  MessageLine line;
  if (bytes.size() < sizeof line) return;
  std::memcpy(static_cast<void*>(&line), bytes.data(), sizeof line);
  if (refusal(line) != nullptr) return;
  require(line.kind >= uint8_t(LineKind::credit) && line.kind <= uint8_t(LineKind::lent),
          "a line is of some kind");
  if (LineKind(line.kind) == LineKind::eager || LineKind(line.kind) == LineKind::lent)
    require(kRings.units_of(uint32_t(line.fields.bytes)) <= kUnits, "it is short");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_life, try_line});
}
