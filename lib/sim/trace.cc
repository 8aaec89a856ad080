// A run as a trace: the JSON that Perfetto (ui.perfetto.dev) and chrome://tracing read.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/report.h"

namespace plait::sim {

namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Tracer {
 public:
  explicit Tracer(const Report& report) : r_(report), slices_(report.outcome.slices.size()) {
    for (size_t i = 0; i < slices_.size(); i++) slices_[i] = &report.outcome.slices[i];
    std::stable_sort(slices_.begin(), slices_.end(), [](const Slice* a, const Slice* b) {
      return std::tuple(a->rank, flies(a), flies(a) ? a->peer : 0, a->begin) <
             std::tuple(b->rank, flies(b), flies(b) ? b->peer : 0, b->begin);
    });
  }

  std::string run() {
    out_ = fmt::format("{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"room\": {}, \"algorithm\": {}}},\n",
                       quoted(r_.room), quoted(r_.way));
    out_ += "\"traceEvents\": [\n";
    for (size_t i = 0; i < slices_.size();) {
      size_t end = i;
      while (end < slices_.size() && alike(slices_[i], slices_[end])) end++;
      if (i == 0 || slices_[i]->rank != slices_[i - 1]->rank) rank(slices_[i]->rank);
      track(i, end);
      i = end;
    }
    if (out_.ends_with(",\n")) out_.resize(out_.size() - 2);
    return out_ + "\n]}\n";
  }

 private:
  static bool flies(const Slice* s) { return s->kind == Slice::Kind::flight; }
  // Of one track: the core's, or messages to one peer.
  static bool alike(const Slice* a, const Slice* b) {
    return a->rank == b->rank && flies(a) == flies(b) && (!flies(a) || a->peer == b->peer);
  }

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += ",\n";
  }

  void rank(int32_t rank) {
    next_ = 0;
    event(R"({{"ph": "M", "pid": {0}, "name": "process_name", "args": {{"name": "rank {0}"}}}})", rank);
    event(R"({{"ph": "M", "pid": {0}, "name": "process_sort_index", "args": {{"sort_index": {0}}}}})", rank);
  }

  // Messages that are under way at the same time get further tracks.
  void track(size_t begin, size_t end) {
    std::vector<double> busy;  // of each track, until then
    const Slice* first = slices_[begin];
    const std::string name = flies(first) ? fmt::format("to {}", first->peer) : "core";
    const uint32_t base = next_;
    for (size_t i = begin; i < end; i++) {
      const Slice& s = *slices_[i];
      auto free =
          std::find_if(busy.begin(), busy.end(), [&](double until) { return until <= s.begin * (1 + 1e-9); });
      if (free == busy.end()) {
        free = busy.insert(busy.end(), 0);
        event(R"({{"ph": "M", "pid": {}, "tid": {}, "name": "thread_name", "args": {{"name": "{}"}}}})",
              s.rank, next_, name);
        event(
            R"({{"ph": "M", "pid": {0}, "tid": {1}, "name": "thread_sort_index", "args": {{"sort_index": {1}}}}})",
            s.rank, next_);
        next_++;
      }
      *free = s.end;
      write(s, base + uint32_t(free - busy.begin()));
    }
  }

  void write(const Slice& s, uint32_t track) {
    constexpr const char* kNames[] = {"send to", "take from", "local", "message to"};
    const std::string peer = s.peer < 0 ? "" : fmt::format(" {}", s.peer);
    event(
        R"({{"ph": "X", "pid": {}, "tid": {}, "ts": {:.4f}, "dur": {:.4f}, "name": "{}{}", "args": {{"node": {}, "segment": {}}}}})",
        s.rank, track, s.begin * 1e6, (s.end - s.begin) * 1e6, kNames[size_t(s.kind)], peer, s.node,
        s.segment);
  }

  const Report& r_;
  std::vector<const Slice*> slices_;
  uint32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string to_trace(const Report& report) { return Tracer(report).run(); }

}  // namespace plait::sim
