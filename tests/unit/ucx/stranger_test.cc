// Messages that no plait would send, by a peer that has the ticket: each is refused, and harms nothing.
#include <cstring>
#include <functional>

#include "rig.h"
#include "transport/am/wire.h"
#include "transport/ucx/domain.h"

namespace plait::transport::ucx {
namespace {

using namespace am;

struct Raw {
  explicit Raw(Side& side) : other(side) {
    library = Library::open(
                  over("tcp"), [](auto...) { return UCS_OK; }, nullptr)
                  .value();
    theirs = parse_ticket(side.end->ticket(), kMaker).value();
    Ticket mine = theirs;
    mine.head.endpoint = 77;
    mine.address.assign(library->address().begin(), library->address().end());
    EXPECT_EQ(library->connect(theirs.address, {}, end), UCS_OK);
    EXPECT_TRUE(side.end->connect(to_bytes(mine)).ok());
    Header hello = header(Kind::hello);
    hello.value = 77;
    send(hello, {});
    EXPECT_TRUE(within_10_s([&] {
      poll();
      return side.end->state() == State::ready;
    }));
  }
  ~Raw() { library->close(end); }
  Header header(Kind kind) const {
    Header h;
    h.kind = uint8_t(kind);
    h.to = theirs.head.endpoint;
    return h;
  }
  void send(const Header& h, ByteView payload) {
    ucp_request_param_t param{};
    void* request = ucp_am_send_nbx(end, kMessages, &h, sizeof h, payload.data(), payload.size(), &param);
    within_10_s([&] {
      poll();
      return !UCS_PTR_IS_PTR(request) || ucp_request_check_status(request) != UCS_INPROGRESS;
    });
    if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    for (int i = 0; i < 200; ++i) poll();
  }
  void poll() {
    ucp_worker_progress(library->worker());
    other.poll();
  }
  Side& other;
  std::unique_ptr<Library> library;
  Ticket theirs;
  ucp_ep_h end = nullptr;
};

TEST(UcxStranger, IsRefused) {
  struct Case {
    const char* what;
    std::function<void(Header&)> change;
    const char* told;  // null: it is not even heard
  };
  const Case cases[] = {
      {"no such kind", [](Header& h) { h.kind = 1; }, nullptr},
      {"another endpoint", [](Header& h) { h.to ^= uint64_t{1} << 40; }, nullptr},
      {"an endpoint far off", [](Header& h) { h.to ^= 0xffff; }, nullptr},
      {"beyond all memory", [](Header& h) { h.offset = UINT64_MAX; }, nullptr},
      {"out of turn", [](Header& h) { h.number = 1; }, "out of turn"},
      {"no such slot", [](Header& h) { h.slot += 1; }, "not exposed"},
      {"a slot far off", [](Header& h) { h.slot = UINT32_MAX; }, "not exposed"},
      {"another nonce", [](Header& h) { h.nonce ^= 1; }, "not exposed"},
      {"beyond the end", [](Header& h) { h.offset = 60; }, "bounds"},
      {"no such counter", [](Header& h) { h.counter = 2; }, "counter"},
      {"an answer to nothing",
       [](Header& h) {
         const uint64_t to = h.to;
         h = {uint8_t(Kind::data), kLast};
         h.to = to;
       },
       "makes no sense"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Side side("tcp");
    Bytes memory(64);
    auto region = side.domain->expose({memory.data(), memory.size()}, Access::write).value();
    const RegionKey key = parse_region_key(region->key(), kMaker).value();
    Raw raw(side);
    Header h = raw.header(Kind::put);
    h.flags = kLast;
    h.slot = key.slot;
    h.nonce = key.nonce;
    h.add = 1;
    c.change(h);
    const Bytes payload(8, std::byte{1});
    raw.send(h, payload);
    EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{0}), 64);
    EXPECT_EQ(side.end->counter(0) + side.end->counter(1), 0u);
    if (c.told == nullptr) {
      EXPECT_EQ(side.end->state(), State::ready) << side.end->error();
    } else {
      EXPECT_EQ(side.end->state(), State::failed);
      EXPECT_NE(side.end->error().find(c.told), std::string_view::npos) << side.end->error();
    }
  }
}

}  // namespace
}  // namespace plait::transport::ucx
