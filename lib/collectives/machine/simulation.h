// The simulation behind cost(): events in the order of their times.
#pragma once

#include <algorithm>
#include <queue>
#include <string>
#include <vector>

#include "collectives/cells.h"
#include "collectives/machine/cost.h"
#include "collectives/machine/graph.h"
#include "collectives/machine/work.h"

namespace plait::collectives {

using Task = size_t;  // a node in a segment: segment * nodes + node

// The way of a message: its sender's core, what each of these is, its receiver's core.
enum class Stage : uint8_t { leave, host_out, host_in, enter, there };

class Simulation {
 public:
  Simulation(std::span<const Program> programs, const Graph& graph, const Sizes& sizes, const Room& room)
      : programs_(programs),
        graph_(graph),
        work_(graph, programs.size()),
        sizes_(sizes),
        room_(room),
        nodes_(graph.size()),
        tasks_(size_t(nodes_) * sizes.segments),
        queues_(programs.size()),
        left_(programs.size() * sizes.segments) {
    uint32_t lanes = 1;
    for (uint32_t i = 0; i < nodes_; i++) lanes = std::max(lanes, graph.step(i).lane + 1u);
    for (const Program& p : programs) buffered_ = buffered_ || p.min_credits > 0;
    windows_ = std::max(1u, room.windows / lanes);
    for (auto& ports : ports_) ports.resize(programs.size() * kLinkClasses);
    place_cores();
  }

  uint64_t messages() const { return uint64_t{work_.messages()} * sizes_.segments; }

  Status run(Cost& cost, bool timeline) {
    if (timeline) spans_.resize(tasks_.size());
    cost.finish.assign(programs_.size(), 0);
    finish_ = cost.finish.data();
    for (int32_t r = 0; r < int32_t(programs_.size()); r++) {
      for (uint32_t s = 0; s < std::min(windows_, sizes_.segments); s++) begin_segment(r, s);
    }
    while (!events_.empty()) {
      const Event e = events_.top();
      events_.pop();
      now_ = e.time;
      handle(e);
    }
    PLAIT_TRY(find_stuck());
    cost.seconds = *std::max_element(cost.finish.begin(), cost.finish.end());
    cost.messages = messages();
    return {};
  }

  // Times of nodes as times of steps.
  void spread(Cost& cost) const {
    for (const Program& p : programs_) {
      cost.first_step.push_back(uint32_t(cost.steps));
      cost.steps += p.steps.size();
    }
    cost.spans.resize(cost.steps * sizes_.segments);
    for (Task t = 0; t < tasks_.size(); t++) {
      const uint32_t node = uint32_t(t % nodes_), first = graph_.first(node);
      const size_t at = t / nodes_ * cost.steps + cost.first_step[size_t(work_[node].rank)];
      for (uint32_t i = first; i < message_end(graph_.program(node), first); i++)
        cost.spans[at + i] = spans_[t];
    }
  }

 private:
  enum class What : uint8_t { ready, over, done, stage };
  struct Event {
    double time;
    uint64_t number;  // of those of one time, the first made comes first
    Task task;
    What what;
    Stage stage;
    bool operator>(const Event& o) const { return time > o.time || (time == o.time && number > o.number); }
  };
  struct State {
    uint32_t waits = 0;
    bool enabled = false, here = false, done = false;
    double first = 0, last = 0;  // a receive: when the first piece of its message is there, and the last
  };
  struct Queue {  // tasks of a rank that could run, and the core it runs on
    std::vector<Task> tasks;
    size_t next = 0;
    uint32_t core = 0;
    bool empty() const { return next == tasks.size(); }
  };
  struct Core {
    int32_t rank = -1;  // that it ran last
    bool busy = false;
    std::vector<int32_t> waiting;  // other ranks with tasks, in the order in which they came
    size_t next = 0;
  };

  void place_cores() {
    std::vector<int32_t> seated;  // of each host
    uint32_t count = 0;
    const auto shared = uint32_t(room_.cores);
    for (size_t r = 0; r < queues_.size(); r++) {
      if (shared == 0) {
        queues_[r].core = count++;
        continue;
      }
      const auto host = uint32_t(room_.host(int32_t(r)));
      if (seated.size() <= host) seated.resize(host + 1);
      queues_[r].core = host * shared + uint32_t(seated[host]++) % shared;
      count = std::max(count, queues_[r].core + 1);
    }
    cores_.resize(count);
  }

  uint32_t node_of(Task t) const { return uint32_t(t % nodes_); }
  uint32_t segment_of(Task t) const { return uint32_t(t / nodes_); }
  Task with_node(Task t, uint32_t node) const { return t - t % nodes_ + node; }
  void at(double time, What what, Task task, Stage stage = Stage::there) {
    events_.push({time, number_++, task, what, stage});
  }

  uint64_t bytes_of(Task t) const {
    const uint32_t node = node_of(t);
    const Program& p = graph_.program(node);
    uint64_t bytes = 0;
    for (uint32_t i = graph_.first(node), end = message_end(p, i); i < end; i++)
      bytes += sizes_.of(p.steps[i].chunk, p.steps[i].count, segment_of(t));
    return bytes;
  }
  const Delivery& delivery(uint32_t node, uint64_t bytes) const {
    return room_.link(work_[node].rank, graph_.step(node).peer).delivery(bytes, buffered_);
  }

  void begin_segment(int32_t rank, uint32_t segment) {
    const auto [first, end] = work_.of_rank(rank);
    left_[size_t(rank) * sizes_.segments + segment] = end - first;
    for (uint32_t i = first; i < end; i++) {
      const Task t = size_t(segment) * nodes_ + i;
      tasks_[t].waits = work_[i].waits;
    }
    // Apart from the above: what is enabled may be done at once, and enable others.
    for (uint32_t i = first; i < end; i++) {
      const Task t = size_t(segment) * nodes_ + i;
      if (work_[i].waits == 0) enable(t);
    }
  }

  void enable(Task t) {
    tasks_[t].enabled = true;
    if (!receives(graph_.step(node_of(t)).op)) return offer(t);
    if (tasks_[t].here) take(t);
  }

  // A message is there, or will have been by the time that its receiver could be done with it.
  void take(Task t) {
    const uint64_t bytes = bytes_of(t);
    const Delivery& d = delivery(node_of(t), bytes);
    const double rest = (length(t, bytes, d) - d.recv) * (1 - front(d, bytes));
    const double when = std::max(tasks_[t].first, tasks_[t].last - rest);
    if (when <= now_) return offer(t);
    at(when, What::ready, t);
  }

  // The share of a message that is its first piece.
  static double front(const Delivery& d, uint64_t bytes) {
    return bytes <= d.piece ? 1 : double(d.piece) / double(bytes);
  }

  // A task that waits for nothing but its core.
  void offer(Task t) {
    const int32_t rank = work_[node_of(t)].rank;
    Queue& queue = queues_[size_t(rank)];
    Core& core = cores_[queue.core];
    if (queue.empty() && core.rank != rank) core.waiting.push_back(rank);
    queue.tasks.push_back(t);
    if (!core.busy) run_next(core);
  }

  // A core stays with a rank while that has something to do.
  void run_next(Core& core) {
    double begin = now_;
    if (core.rank < 0 || queues_[size_t(core.rank)].empty()) {
      if (core.next == core.waiting.size()) return;
      if (core.rank >= 0) begin += room_.task_switch;
      core.rank = core.waiting[core.next++];
      if (core.next == core.waiting.size()) core.waiting.clear(), core.next = 0;
    }
    Queue& queue = queues_[size_t(core.rank)];
    const Task t = queue.tasks[queue.next++];
    if (queue.empty()) queue.tasks.clear(), queue.next = 0;
    core.busy = true;
    const uint64_t bytes = bytes_of(t);
    const uint32_t node = node_of(t);
    const bool local = graph_.match(node) == Graph::kNone;
    const double end = begin + (local ? local_length(node, bytes) : length(t, bytes, delivery(node, bytes)));
    if (!spans_.empty()) spans_[t] = {begin, end};
    if (sends(graph_.step(node).op)) send(t, bytes, begin, end);
    at(end, What::over, t);
  }

  double local_length(uint32_t node, uint64_t bytes) const {
    const Work::Node& w = work_[node];
    return double(bytes) * (w.copies ? room_.copy : room_.fold * w.folds);
  }
  bool placed(uint32_t send, const Delivery& d) const {
    return d.placed && work_[send].fused && work_[graph_.match(send)].plain;
  }
  // How long an end of a message keeps its rank's core.
  double length(Task t, uint64_t bytes, const Delivery& d) const {
    const uint32_t node = node_of(t);
    const Work::Node& w = work_[node];
    if (sends(graph_.step(node).op))
      return d.send + double(bytes) * (w.fused && d.fused ? room_.store : d.send_byte);
    if (placed(graph_.match(node), d)) return d.recv;
    return d.recv + double(bytes) * (d.recv_byte + room_.fold * w.folds + (w.plain ? room_.copy : 0));
  }

  bool acknowledged(uint32_t send, const Delivery& d) const { return d.acknowledged && !placed(send, d); }

  // The first piece leaves when it is ready, the whole not before the core has seen to the last one.
  void send(Task t, uint64_t bytes, double begin, double end) {
    const Delivery& d = delivery(node_of(t), bytes);
    const double share = front(d, bytes);
    if (share == 1) return at(end, What::stage, t, Stage::leave);
    const double first = begin + d.send + (end - begin - d.send) * share;
    at(std::max(first, end - double(bytes) * d.byte * (1 - share)), What::stage, t, Stage::leave);
  }

  // What a stage keeps busy, and until when it is; null: nobody.
  double* port(Stage stage, uint32_t node) {
    const int32_t from = work_[node].rank, to = graph_.step(node).peer;
    const LinkClass link_class = room_.link_class(from, to);
    const bool sender = stage == Stage::leave || stage == Stage::host_out;
    const int32_t rank = sender ? from : to;
    if (stage == Stage::leave || stage == Stage::enter)
      return &ports_[size_t(stage)][size_t(rank) * kLinkClasses + size_t(link_class)];
    const bool between = link_class == LinkClass::between;
    if (room_.links(link_class).host_byte == 0 || (!between && !sender)) return nullptr;
    return &ports_[size_t(stage)][size_t(room_.host(rank)) * kLinkClasses + size_t(link_class)];
  }

  // The first bytes of a message come to a stage, which serves messages in the order in which they come.
  void pass(Task t, Stage stage) {
    const uint32_t node = node_of(t);
    const uint64_t bytes = bytes_of(t);
    const Delivery& d = delivery(node, bytes);
    State& receive = tasks_[with_node(t, graph_.match(node))];
    double head = now_;
    for (; stage != Stage::there; stage = Stage(uint8_t(stage) + 1)) {
      if (head > now_) return at(head, What::stage, t, stage);
      if (double* free = port(stage, node)) {
        const bool shared = stage == Stage::host_out || stage == Stage::host_in;
        const double byte = shared ? room_.link(work_[node].rank, graph_.step(node).peer).host_byte : d.byte;
        const double busy = (shared ? 0 : d.gap) + double(bytes) * byte;
        head = std::max(head, *free);
        *free = head + busy;
        receive.last = std::max(receive.last, *free);
      }
      if (stage == Stage::leave && !acknowledged(node, d)) at(receive.last, What::done, t);
      if (stage == Stage::host_out) head += d.latency, receive.last += d.latency;
    }
    if (head > now_) return at(head, What::stage, t, Stage::there);
    arrive(with_node(t, graph_.match(node)), d.gap + double(bytes) * d.byte * front(d, bytes));
  }

  // `first`: how long its first piece still takes.
  void arrive(Task t, double first) {
    tasks_[t].first = now_ + first;
    tasks_[t].here = true;
    if (tasks_[t].enabled) take(t);
  }

  void handle(const Event& e) {
    switch (e.what) {
      case What::ready:
        return offer(e.task);
      case What::over: {
        Core& core = cores_[queues_[size_t(work_[node_of(e.task)].rank)].core];
        core.busy = false;
        over(e.task);
        if (!core.busy) run_next(core);
        return;
      }
      case What::done:
        return done(e.task);
      case What::stage:
        return pass(e.task, e.stage);
    }
  }

  // A core has done its part.
  void over(Task t) {
    const uint32_t node = node_of(t);
    if (!sends(graph_.step(node).op)) done(t);
    if (work_[node].next != Graph::kNone) satisfy(with_node(t, work_[node].next));
    for (uint32_t receive : work_.takes(node)) {
      const uint32_t send = graph_.match(receive);
      const Delivery& d = delivery(send, bytes_of(with_node(t, send)));
      if (acknowledged(send, d)) at(now_ + d.latency, What::done, with_node(t, send));
    }
  }

  void satisfy(Task t) {
    if (--tasks_[t].waits == 0) enable(t);
  }

  void done(Task t) {
    const uint32_t node = node_of(t), segment = segment_of(t);
    const int32_t rank = work_[node].rank;
    tasks_[t].done = true;
    if (!spans_.empty()) spans_[t].end = now_;
    finish_[rank] = std::max(finish_[rank], now_);
    for (uint32_t follower : work_.followers(node)) satisfy(with_node(t, follower));
    if (--left_[size_t(rank) * sizes_.segments + segment] > 0) return;
    if (segment + windows_ < sizes_.segments) begin_segment(rank, segment + windows_);
  }

  Status find_stuck() const {
    auto stuck = std::find_if(tasks_.begin(), tasks_.end(), [](const State& s) { return !s.done; });
    if (stuck == tasks_.end()) return {};
    return {Code::invalid, graph_.describe(node_of(size_t(stuck - tasks_.begin()))) +
                               " never happens: steps wait for each other"};
  }

  std::span<const Program> programs_;
  const Graph& graph_;
  const Work work_;
  const Sizes& sizes_;
  const Room& room_;
  const uint32_t nodes_;
  uint32_t windows_ = 1;
  bool buffered_ = false;
  double now_ = 0;
  uint64_t number_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<State> tasks_;
  std::vector<Queue> queues_;
  std::vector<Core> cores_;
  std::vector<uint32_t> left_;    // of each rank and segment: nodes not done
  std::vector<double> ports_[4];  // by stage, rank or host, and class of links: busy until then
  std::vector<Span> spans_;
  double* finish_ = nullptr;
};

}  // namespace plait::collectives
