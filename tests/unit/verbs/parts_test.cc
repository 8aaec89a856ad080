// What needs no device: parsing, choosing, explaining, refusing.
#include "rdma/explain.h"
#include "rdma/ports.h"
#include "unit/verbs/rig.h"

namespace plait::transport::verbs::test {

using namespace rdma;
namespace {

Ticket good_ticket() {
  Ticket t;
  t.station.link = Link::roce2;
  t.station.mtu = 3;
  t.station.gid[15] = 1;
  t.station.queue_pair = 17;
  t.station.signals = 64;
  t.counters = 4;
  t.station.reads = 1;
  t.sum = sum_of(t);
  return t;
}

template <class Change>
Code after(const Change& change) {
  Ticket t = good_ticket();
  change(t);
  t.sum = sum_of(t);
  return parse_ticket(bytes_of(t)).status().code();
}

TEST(Wire, TicketsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(after([](Ticket&) {}), Code::ok);
  EXPECT_EQ(after([](Ticket& t) { t.version = 9; }), Code::version);
  EXPECT_EQ(after([](Ticket& t) { t.station.link = Link(4); }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.mtu = 6; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.mtu = 0; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.gid = {}; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.queue_pair = 1 << 24; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.queue_pair = 1; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.packet = 1 << 24; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.slot = kSlots; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.counters = kCounters + 1; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.signals = 0; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.reads = 0; }), Code::invalid);
  EXPECT_EQ(after([](Ticket& t) { t.station.zero2 = 1; }), Code::invalid);
}

TEST(Wire, SignalsKeepTheirParts) {
  for (const uint32_t slot : {0U, 1U, kSlots - 1}) {
    for (const uint32_t number : {0U, 1U, uint32_t{kCounters}, 127U}) {
      for (const uint32_t add : {0U, 1U, uint32_t{kMaxAdd}}) {
        const Immediate i = unpack(pack({slot, number, add}));
        EXPECT_TRUE(i.slot == slot && i.number == number && i.add == add)
            << slot << " " << number << " " << add;
      }
    }
  }
}

GidEntry entry(uint32_t index, Link link, std::initializer_list<uint8_t> front, bool ip4 = false) {
  GidEntry e{index, link, {}};
  std::copy(front.begin(), front.end(), e.gid.begin() + (ip4 ? 12 : 0));
  if (ip4) e.gid[10] = e.gid[11] = 0xff;
  return e;
}

TEST(Gids, TheOneThatIsRoutedIsChosen) {
  const GidEntry local1 = entry(0, Link::roce1, {0xfe, 0x80, 1}),
                 local2 = entry(1, Link::roce2, {0xfe, 0x80, 1});
  const GidEntry ip41 = entry(2, Link::roce1, {10, 0, 0, 1}, true),
                 ip42 = entry(3, Link::roce2, {10, 0, 0, 1}, true);
  const GidEntry ip6 = entry(4, Link::roce2, {0xfd, 0}), second = entry(5, Link::roce2, {10, 9, 0, 1}, true);
  const auto chosen = [](std::vector<GidEntry> table, int wanted = -1) {
    const auto choice = choose_gid(table, wanted);
    return choice.ok() ? int(choice->entry.index) : -int(choice.status().code());
  };
  EXPECT_EQ(chosen({local1, local2, ip41, ip42, ip6, second}), 3);
  EXPECT_EQ(chosen({second, ip42}), 3);
  EXPECT_EQ(chosen({local1, local2, ip41, ip6}), 4);
  EXPECT_EQ(chosen({local1, local2, ip41}), 1) << "v2 of the link before v1, which is not routed at all";
  EXPECT_EQ(chosen({local1, ip41}), 2);
  EXPECT_EQ(chosen({entry(0, Link::infiniband, {0xfe, 0x80}), entry(1, Link::infiniband, {0xfd})}), 0);
  EXPECT_EQ(chosen({local1, ip42}, 0), 0);
  EXPECT_EQ(chosen({local1, ip42}, 7), -int(Code::invalid));
  EXPECT_EQ(chosen({}), -int(Code::unsupported));
  EXPECT_EQ(choose_gid(std::vector{ip42, local2}, -1)->why, "the best of 2: an IPv4 address");
  EXPECT_EQ(to_string(ip42.gid), "10.0.0.1");
  EXPECT_EQ(to_string(ip6.gid), "fd00::");
}

TEST(Explain, EveryStatusHasASentence) {
  for (int i = IBV_WC_SUCCESS; i <= IBV_WC_TM_RNDV_INCOMPLETE; ++i) {
    const Explanation& e = explain(ibv_wc_status(i));
    EXPECT_EQ(e.status, i);
    EXPECT_EQ(e.code == Code::ok, i == IBV_WC_SUCCESS);
    EXPECT_GT(e.cause.size(), 10u);
    EXPECT_GT(e.advice.size(), 10u);
    const std::string text = sentence(e.status, "mlx5_0: a put to peer 10.0.0.2");
    for (const std::string_view part : {e.cause, e.advice, std::string_view(ibv_wc_status_str(e.status))})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  const int unknown = IBV_WC_TM_RNDV_INCOMPLETE + 1;  // to this library
  EXPECT_EQ(explain(static_cast<ibv_wc_status>(unknown)).code, Code::system);
  EXPECT_EQ(explain(IBV_WC_RETRY_EXC_ERR).code, Code::peer);
  EXPECT_NE(sentence(IBV_WC_RETRY_EXC_ERR, "x").find("the peer did not answer"), std::string::npos);
}

TEST(Explain, RegistrationsThatFail) {
  EXPECT_EQ(registration_failed(ENOMEM, 4096, "d").code(), Code::memory);
  EXPECT_NE(registration_failed(EFAULT, 4096, "d").text().find("must be mapped"), std::string_view::npos);
  EXPECT_EQ(registration_failed(EOPNOTSUPP, 4096, "d").code(), Code::unsupported);
}

TEST(Options, ThatMakeNoSenseAreRefused) {
  const auto code = [](const std::function<void(Options&)>& change) {
    Options options;
    change(options);
    return make_domain(options).status().code();
  };
  EXPECT_EQ(code([](Options& o) { o.depth = 0; }), Code::invalid);
  EXPECT_EQ(code([](Options& o) { o.signals = 1024; }), Code::invalid);
  EXPECT_EQ(code([](Options& o) { o.retries = 8; }), Code::invalid);
  EXPECT_EQ(code([](Options& o) { o.timeout = 32; }), Code::invalid);
  EXPECT_EQ(code([](Options& o) { o.mtu = 100; }), Code::invalid);
  EXPECT_EQ(code([](Options& o) { o.service_level = 16; }), Code::invalid);
}

TEST(Ports, WithoutADeviceTheReasonIsSaid) {
  std::string none;
  if (!find_ports(&none).empty()) GTEST_SKIP() << "this machine has RDMA devices";
  EXPECT_FALSE(none.empty());
  const auto made = make_domain({});
  EXPECT_EQ(made.status().code(), Code::unsupported);
  EXPECT_NE(made.status().text().find(none), std::string_view::npos) << made.status().text();
}

TEST(Ports, ADeviceThatIsNotThereIsRefused) {
  PLAIT_NEEDS_A_DEVICE();
  Options options;
  options.device = "nothing7";
  EXPECT_EQ(make_domain(options).status().code(), Code::invalid);
  options = {};
  options.gid_index = 900;
  const auto made = make_domain(options);
  EXPECT_EQ(made.status().code(), Code::unsupported);
  EXPECT_NE(made.status().text().find("no index 900"), std::string_view::npos) << made.status().text();
}

}  // namespace
}  // namespace plait::transport::verbs::test
