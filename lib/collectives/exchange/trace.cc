#include "collectives/exchange/trace.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "collectives/cells.h"
#include "collectives/exchange/json.h"

namespace plait::collectives::exchange {

namespace {

// "chunk 3", "chunks 3-5", "chunks 0, 2, 4": those of the message of steps [first, end).
std::string chunks_of(const Program& p, uint32_t first, uint32_t end) {
  std::string text;
  uint32_t count = 0;
  for (uint32_t i = first; i < end; i++) {
    const Step& s = p.steps[i];
    count += s.count;
    text += i > first ? ", " : "";
    text += s.count == 1 ? fmt::format("{}", s.chunk) : fmt::format("{}-{}", s.chunk, s.chunk + s.count - 1);
  }
  return (count == 1 ? "chunk " : "chunks ") + text;
}

std::string title(const Program& p, uint32_t first, uint32_t end) {
  const Step& s = p.steps[first];
  const std::string chunks = chunks_of(p, first, end);
  if (sends(s.op)) return fmt::format("send {} to {}", chunks, s.peer);
  if (s.op == Op::recv) return fmt::format("recv {} from {}", chunks, s.peer);
  if (s.op == Op::recv_reduce) return fmt::format("fold {} from {}", chunks, s.peer);
  return fmt::format("{} {}", name_of(s.op), chunks);
}

class Writer {
 public:
  Writer(const ProgramSet& set, bool in_place, const Rounds& rounds, const Timing& timing)
      : set_(set), programs_(set.programs[in_place]), rounds_(rounds), timing_(timing) {}

  std::string run() {
    out_ = fmt::format(
        "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"algorithm\": {}, \"collective\": "
        "\"{}\"}},\n\"traceEvents\": [\n",
        quoted(set_.name), name_of(set_.collective));
    for (const Program& p : programs_) rank(p);
    if (out_.ends_with(",\n")) out_.resize(out_.size() - 2);
    return out_ + "]}\n";
  }

 private:
  // A row of slices that do not overlap.
  struct Track {
    int32_t id;
    double end;
  };
  struct Slice {
    uint32_t first, end;  // steps
    Interval when;
  };

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += ",\n";
  }

  void rank(const Program& p) {
    event("{{\"ph\": \"M\", \"pid\": {0}, \"name\": \"process_name\", \"args\": {{\"name\": \"rank {0}\"}}}}",
          p.rank);
    event(
        "{{\"ph\": \"M\", \"pid\": {0}, \"name\": \"process_sort_index\", \"args\": {{\"sort_index\": "
        "{0}}}}}",
        p.rank);
    // Tracks by what they are of, in the order of their names.
    std::map<std::pair<uint32_t, bool>, std::vector<Slice>> slices;
    for (uint32_t first = 0; first < p.steps.size();) {
      const uint32_t end = message_end(p, first);
      const Step& s = p.steps[first];
      const bool local = s.peer < 0;
      slices[{local ? UINT32_MAX : uint32_t{s.lane}, !local && receives(s.op)}].push_back(
          {first, end, timing_(p.rank, first)});
      first = end;
    }
    int32_t next = 0;
    for (auto& [key, list] : slices) {
      const std::string name = key.first == UINT32_MAX
                                   ? "local"
                                   : fmt::format("lane {} {}", key.first, key.second ? "recv" : "send");
      write(p, name, list, next);
    }
  }

  void write(const Program& p, const std::string& name, std::vector<Slice>& list, int32_t& next) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Slice& a, const Slice& b) { return a.when.begin < b.when.begin; });
    std::vector<Track> tracks;
    for (const Slice& slice : list) {
      auto track = std::find_if(tracks.begin(), tracks.end(),
                                [&](const Track& t) { return t.end <= slice.when.begin; });
      if (track == tracks.end()) {
        track = tracks.insert(tracks.end(), {next++, 0});
        event(
            "{{\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"thread_name\", \"args\": {{\"name\": "
            "\"{}{}\"}}}}",
            p.rank, track->id, name, tracks.size() > 1 ? fmt::format(" ({})", tracks.size()) : "");
        event(
            "{{\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"thread_sort_index\", \"args\": "
            "{{\"sort_index\": {}}}}}",
            p.rank, track->id, track->id);
      }
      track->end = slice.when.end;
      write(p, track->id, slice);
    }
  }

  void write(const Program& p, int32_t track, const Slice& slice) {
    const Step& s = p.steps[slice.first];
    const double lasts = slice.when.end - slice.when.begin;
    event(
        "{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}, \"cat\": \"{}\", "
        "\"name\": \"{}\", "
        "\"args\": {{\"step\": {}, \"what\": {}}}}}",
        p.rank, track, slice.when.begin, lasts, name_of(s.op), title(p, slice.first, slice.end), slice.first,
        quoted(describe(s)));
    if (s.peer < 0) return;
    // An arrow is named by its send.
    const bool sent = sends(s.op);
    const int32_t sender = sent ? p.rank : s.peer;
    const uint32_t step = sent ? slice.first : rounds_.match(p.rank, slice.first);
    event(
        "{{\"ph\": \"{}\", \"bp\": \"e\", \"id\": \"{}.{}\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}, "
        "\"cat\": \"message\", "
        "\"name\": \"message\"}}",
        sent ? "s" : "f", sender, step, p.rank, track, slice.when.begin + lasts * (sent ? 0.25 : 0.75));
  }

  const ProgramSet& set_;
  const std::vector<Program>& programs_;
  const Rounds& rounds_;
  const Timing& timing_;
  std::string out_;
};

}  // namespace

std::string to_trace(const ProgramSet& set, bool in_place, const Rounds& rounds, const Timing& timing) {
  return Writer(set, in_place, rounds, timing).run();
}

}  // namespace plait::collectives::exchange
