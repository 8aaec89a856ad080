// The state behind simulate().
#pragma once

#include "sim/engine.h"
#include "sim/heap.h"

namespace plait::sim {

class Run {
 public:
  Run(const Scripts& scripts, const Cut& cut, const Network& network, const Parameters& parameters,
      std::span<const Change> changes, const Options& options);
  Result<Outcome> run();

 private:
  enum class What : uint8_t {
    over,    // a core has done its part: rank
    leave,   // a message comes to its port: message
    inject,  // its bytes begin to flow
    enter,   // it comes to the receiver's port (ideal networks)
    arrive,  // it is there, or begins to be received
    ready,   // its receive may run
    sent,    // its source is free
    credit,  // is back: flight
    change,
  };
  struct Event {
    double time;
    uint64_t order;  // of those of one time, the first made comes first
    uint32_t id;
    What what;
    bool operator<(const Event& o) const noexcept {
      return time < o.time || (time == o.time && order < o.order);
    }
  };
  struct List {  // of messages
    uint32_t head = kNone, tail = kNone;
  };
  struct Task {
    uint32_t node = kNone, slot = 0, message = kNone;
  };
  struct Offer {
    Task task;
    double since;
    Path path;
  };
  struct Rank {
    const Script* script = nullptr;
    uint32_t streams = 0;   // the first of its own
    uint32_t sends_at = 0;  // among these, the first that sends
    size_t waits = 0;       // of its first node, in its first slot
    bool busy = false, dead = false;
    uint32_t engines = 0;   // at work
    uint32_t outgoing = 0;  // messages that have left the core and not the rank
    uint32_t drawn = 0;     // random numbers
    double slow = 1;
    Task running;
    Path path;  // at the end of what runs
    std::vector<Offer> queue;
    size_t next = 0;
    List engine;                       // messages that wait for one
    double port_out = 0, port_in = 0;  // busy until then
    double since = 0;                  // of the state that it is in
    RankUse use;
    bool sends(const Node& n) const noexcept { return n.stream != kNone && n.stream >= sends_at; }
  };
  struct Lane {  // a stream's end, of all segments
    int32_t rank = -1, peer = -1;
    uint32_t there = kNone;  // the other end
    uint32_t lead = kNone;   // the first stream to the same peer, which has the bundle
    uint32_t bundle = kNone;
    double waited = 0;
  };
  struct Flight {              // of a stream, in a slot
    uint32_t waiting = kNone;  // a receive without its message
    uint32_t out = 0;          // sent and not taken
    bool flowing = false;
    List list;  // sends: not begun; receives: arrived before they were waited for
  };
  struct Slot {
    uint32_t segment = 0, left = 0;  // nodes that are not done
  };
  struct Message {
    uint32_t stream, node, slot, segment;
    uint32_t next = kNone, taker = kNone;  // in a list; the receive's node
    uint32_t bundle = kNone;               // while it flows
    uint8_t refs = 2;
    double bytes = 0;
    double left = 0, begun = 0;  // when it left its core, then its port
    double last = 0;             // when all of it is there; while it flows: how long it would take alone
    double latency = 0;
    Path path;  // until `left`, which is when it has crossed the network once it has
  };

  void place();
  void begin_segment(uint32_t rank, uint32_t slot, uint32_t segment);
  void loop();
  void give_up();
  double share() const noexcept { return all_ == 0 ? 1 : double(finished_) / double(all_); }
  void handle(const Event& e);
  void at(double time, What what, uint32_t id);

  // Cores.
  void satisfy(uint32_t rank, uint32_t slot, uint32_t node);
  void enable(uint32_t rank, uint32_t slot, uint32_t node);
  void offer(uint32_t rank, const Task& task, const Path& path);
  void run_next(uint32_t rank);
  void over(uint32_t rank);
  void done(uint32_t rank, uint32_t slot, uint32_t node);
  double length(Rank& rank, const Node& node, double bytes, Path& path);
  double shaken(Rank& rank) noexcept;
  void account(Rank& rank) noexcept;
  void record(Slice::Kind kind, uint32_t rank, const Task& task, double begin, double end);

  // Messages.
  uint32_t make_message(uint32_t rank, const Task& task, const Path& path);
  void append(List& list, uint32_t message) noexcept;
  uint32_t pop(List& list) noexcept;
  Flight& flight(uint32_t stream, uint32_t slot) noexcept {
    return flights_[size_t(stream) * windows_ + slot];
  }
  Status find_there(uint32_t stream);
  void leave(uint32_t message);
  void leave_ideal(uint32_t message);
  void enter_ideal(uint32_t message);
  void pump(uint32_t stream, uint32_t slot);
  void start(uint32_t message);
  void inject(uint32_t message);
  void drained(uint32_t message, bool gone);
  void arrive(uint32_t message);
  void take(uint32_t message, uint32_t node);
  void ready(uint32_t message);
  void sent(uint32_t message);
  void give_back(uint32_t message);
  void taken(uint32_t message);
  Path arrived(const Message& m) const;
  double occupied(const Rank& rank, double bytes) const noexcept;
  uint32_t receiver(const Message& m) const noexcept { return uint32_t(lanes_[m.stream].peer); }

  void change(uint32_t number);
  void find_stuck(Outcome& outcome) const;
  void sum_up(Outcome& outcome);

  const Scripts& scripts_;
  const Cut& cut_;
  const Network& network_;
  const Parameters p_;
  const std::span<const Change> changes_;
  const Options& options_;
  const bool ideal_;
  const uint32_t windows_;
  Fluid fluid_;
  double now_ = 0;
  uint64_t order_ = 0, events_ = 0, refills_ = 0, finished_ = 0, all_ = 0;
  Heap<Event> heap_;
  std::vector<Event> soon_;  // events of this very time, behind those of the heap
  size_t soon_next_ = 0;
  Path context_;  // of the event being handled
  std::vector<Rank> ranks_;
  std::vector<Lane> lanes_;
  std::vector<Flight> flights_;
  std::vector<Slot> slots_;
  std::vector<uint16_t> waits_;
  std::vector<Message> messages_;
  std::vector<uint32_t> free_;
  uint64_t sent_ = 0;
  Path end_path_;
  double end_ = 0;
  std::vector<Slice> slices_;
  bool slices_cut_ = false;
  Status status_;
};

}  // namespace plait::sim
