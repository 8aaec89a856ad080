#include "tools/run/diagnose.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

namespace plait::run {
namespace {

constexpr int64_t kLongMs = 1000;  // a wait that is worth a word
constexpr size_t kMostGroups = 4;  // of ranks at different operations, in one line
constexpr size_t kMostWaits = 3;
constexpr size_t kMostRails = 4;
constexpr size_t kMostRuns = 32;  // of ranks, in a list of them

using Ranks = std::vector<int>;

// Where a rank is, ordered by how far it has come: after operation n comes in operation n + 1.
struct Place {
  uint64_t number = 0;
  bool between = false;  // after `number`, else in it
  friend auto operator<=>(const Place&, const Place&) = default;
};

std::string seconds_text(int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", double(ms) / 1000);
  return text;
}

std::string shortened(const std::string& text) {
  constexpr size_t kMost = 160;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

const char* verb(const Ranks& ranks, const char* one, const char* many) {
  return ranks.size() == 1 ? one : many;
}

// One communicator. Its records come from files, which may claim a million ranks: what is done for each rank
// must not look through all ranks or all records.
class Comparison {
 public:
  Comparison(const std::vector<const Record*>& records, const std::vector<std::string>& fates)
      : records_(records), fates_(fates) {
    for (const Record* r : records) size_ = std::max(size_, r->size);
    by_rank_.resize(size_t(size_));
    noted_.resize(size_t(size_));
    for (const Record* r : records) {
      noted_[size_t(r->rank)] = true;
      const Record*& first = by_rank_[size_t(r->rank)];
      if (first == nullptr && !r->is_note()) first = r;
    }
    sort_ranks();
  }
  std::vector<std::string> lines() {
    say_creating();
    say_mismatch();
    say_places();
    say_waits();
    say_missing();
    say_failure();
    say_rails();
    return lines_;
  }
  // All ranks are at one place and none of them in an operation.
  bool quiet() const { return quiet_; }

 private:
  void sort_ranks();
  void say_creating();
  void say_mismatch();
  void say_places();
  void say_behind(const Ranks& ranks);
  void say_waits();
  void say_missing();
  void say_failure();
  void say_rails();

  const Record* record_of(int rank) const { return by_rank_[size_t(rank)]; }
  const Operation* find(const Ranks& ranks, uint64_t number) const;
  std::string name_of(const Ranks& ranks, uint64_t number, bool arguments) const;
  std::string place_text(const Place& place, const Ranks& ranks, bool arguments) const;
  int64_t longest_wait(const Ranks& ranks) const;
  using Seen = std::optional<uint64_t>;
  std::vector<Seen> last_seen() const;

  const std::vector<const Record*>& records_;
  const std::vector<std::string>& fates_;
  int size_ = 0;
  std::vector<const Record*> by_rank_;  // null: none
  std::vector<bool> noted_;             // left a record, or a note at least
  std::map<Place, Ranks> places_;
  Ranks creating_, missing_;
  std::vector<std::string> lines_;
  bool quiet_ = false, differ_ = false;
};

void Comparison::sort_ranks() {
  for (int rank = 0; rank < size_; rank++) {
    const Record* r = record_of(rank);
    if (r == nullptr) {
      missing_.push_back(rank);
    } else if (!r->created) {
      creating_.push_back(rank);
    } else if (r->running() != 0) {
      places_[{r->running(), false}].push_back(rank);
    } else {
      places_[{r->done, true}].push_back(rank);
    }
  }
}

const Operation* Comparison::find(const Ranks& ranks, uint64_t number) const {
  for (int rank : ranks) {
    const Record* r = record_of(rank);
    const Operation* o = r == nullptr ? nullptr : r->find(number);
    if (o != nullptr) return o;
  }
  return nullptr;
}

// "allreduce 1207 (count=4, ...)"
std::string Comparison::name_of(const Ranks& ranks, uint64_t number, bool arguments) const {
  const Operation* o = find(ranks, number);
  if (o == nullptr) return "operation " + std::to_string(number);
  std::string text = o->kind + " " + std::to_string(number);
  return arguments && !o->arguments.empty() ? text + " (" + o->arguments + ")" : text;
}

std::string Comparison::place_text(const Place& place, const Ranks& ranks, bool arguments) const {
  if (!place.between) return "in " + name_of(ranks, place.number, arguments);
  if (place.number == 0) return "before the first operation";
  return "between operations, after " + name_of(ranks, place.number, false);
}

int64_t Comparison::longest_wait(const Ranks& ranks) const {
  int64_t ms = 0;
  for (int rank : ranks) {
    const Record* r = record_of(rank);
    if (r != nullptr && r->wait) ms = std::max(ms, r->wait->ms);
  }
  return ms;
}

void Comparison::say_creating() {
  if (creating_.empty()) return;
  Ranks absent;  // they have not even left a note
  std::copy_if(missing_.begin(), missing_.end(), std::back_inserter(absent),
               [&](int r) { return !noted_[size_t(r)]; });
  const std::string who = ranks_text(creating_);
  if (absent.empty()) {
    lines_.push_back(who + verb(creating_, " is", " are") + " in plait_comm_create");
    return;
  }
  std::erase_if(missing_, [&](int r) { return !noted_[size_t(r)]; });
  lines_.push_back(ranks_text(absent) + verb(absent, " has", " have") + " not called plait_comm_create; " +
                   who + verb(creating_, " waits", " wait") + " in it");
}

// The first operation that ranks call differently: what comes after it follows from it.
void Comparison::say_mismatch() {
  std::map<uint64_t, std::map<std::string, Ranks>> calls;
  for (int rank = 0; rank < size_; rank++) {
    const Record* r = record_of(rank);
    if (r == nullptr) continue;
    for (const Operation& o : r->operations) calls[o.number][o.call()].push_back(rank);
  }
  auto differ = [](auto& entry) { return entry.second.size() > 1; };
  const auto it = std::find_if(calls.begin(), calls.end(), differ);
  if (it == calls.end()) return;
  differ_ = true;
  std::vector<std::pair<Ranks, std::string>> sides;
  for (auto& [call, ranks] : it->second) sides.emplace_back(ranks, call);
  std::sort(sides.begin(), sides.end());
  std::string text = "under number " + std::to_string(it->first);
  for (size_t i = 0; i < sides.size() && i < kMostGroups; i++) {
    text += (i > 0 ? ", " : " ") + ranks_text(sides[i].first) + verb(sides[i].first, " calls ", " call ") +
            sides[i].second;
  }
  if (sides.size() > kMostGroups) text += ", and others call yet others";
  lines_.push_back(text);
}

// They are after the operation before the one that all others are in.
void Comparison::say_behind(const Ranks& ranks) {
  const auto& [next, waiting] = *std::next(places_.begin());
  std::string text = ranks_text(ranks) + verb(ranks, " has", " have") + " not started " +
                     name_of(waiting, next.number, true) + "; " + ranks_text(waiting) +
                     verb(waiting, " waits", " wait") + " in it";
  if (longest_wait(waiting) >= kLongMs) text += ", for " + seconds_text(longest_wait(waiting)) + " now";
  lines_.push_back(text);
}

void Comparison::say_places() {
  if (places_.empty()) return;
  const auto& [place, ranks] = *places_.begin();
  if (places_.size() == 2 && place.between &&
      std::next(places_.begin())->first == Place{place.number + 1, false})
    return say_behind(ranks);
  const bool all = missing_.empty() && creating_.empty();
  if (places_.size() == 1 && differ_) return;  // of the same number, which means nothing then
  if (places_.size() == 1) {
    const bool alone = all && size_ > 1;
    std::string text = alone ? "all ranks are " : ranks_text(ranks) + verb(ranks, " is ", " are ");
    text += place_text(place, ranks, true);
    if (!place.between && longest_wait(ranks) >= kLongMs)
      text += ", for " + seconds_text(longest_wait(ranks)) + " now";
    quiet_ = all && place.between && lines_.empty();
    lines_.push_back(text);
    return;
  }
  std::string text = ranks_text(ranks) + verb(ranks, " is ", " are ") + place_text(place, ranks, true);
  size_t group = 1;
  for (auto it = std::next(places_.begin()); it != places_.end() && group < kMostGroups; ++it, ++group) {
    const bool last = std::next(it) == places_.end();
    const Operation* first = find(ranks, place.number);
    const Operation* own = find(it->second, it->first.number);
    text += ", " + (last && all && it->second.size() > 1 ? "all others" : ranks_text(it->second)) + " ";
    const bool same_kind = !place.between && !it->first.between && first && own && first->kind == own->kind;
    text += same_kind ? "in " + std::to_string(it->first.number) : place_text(it->first, it->second, false);
  }
  if (places_.size() > group) text += ", others further on";
  lines_.push_back(text);
}

// Of the ranks that are furthest behind: who does not come back to plait, or else who waits for whom.
void Comparison::say_waits() {
  if (places_.empty() || places_.begin()->first.between || !missing_.empty() || differ_) return;
  const Ranks& ranks = places_.begin()->second;
  Ranks absent, never;
  std::vector<std::string> waits;
  for (int rank : ranks) {
    const Record* r = record_of(rank);
    if (r->failure) continue;
    if (!r->wait) {
      never.push_back(rank);
    } else if (r->wait->seen_ms_ago >= kLongMs) {
      absent.push_back(rank);
    } else if (!r->wait->peers.empty()) {
      waits.push_back("rank " + std::to_string(rank) + " waits for " + shortened(r->wait->peers));
    }
  }
  int64_t longest = 0;
  for (const auto& [place, there] : places_) longest = std::max(longest, longest_wait(there));
  if (longest < kLongMs) never.clear();  // they may wait in the next moment
  const std::string why = ": computing, or stuck elsewhere, while only plait calls move it on";
  for (int rank : absent)
    lines_.push_back("rank " + std::to_string(rank) + " was last in plait " +
                     seconds_text(record_of(rank)->wait->seen_ms_ago) + " ago" + why);
  if (!never.empty())
    lines_.push_back(ranks_text(never) + verb(never, " has", " have") + " not waited for it" + why);
  if (!absent.empty() || !never.empty()) return;
  waits.resize(std::min(waits.size(), kMostWaits));
  lines_.insert(lines_.end(), waits.begin(), waits.end());
}

// By rank: the latest operation that another rank has seen it start; none: nobody has.
std::vector<Comparison::Seen> Comparison::last_seen() const {
  std::vector<Seen> seen(static_cast<size_t>(size_));
  for (const Record* r : records_) {
    if (r->is_note()) continue;
    for (const Record::Arrived& a : r->arrived) {
      for (int rank = a.first; rank <= a.last; rank++)
        seen[size_t(rank)] = std::max(seen[size_t(rank)].value_or(0), a.operation);
    }
  }
  return seen;
}

void Comparison::say_missing() {
  if (missing_.empty()) return;
  const auto seen = last_seen();
  std::map<std::pair<std::string_view, Seen>, Ranks> same;
  for (int rank : missing_) {
    const bool told = size_t(rank) < fates_.size() && !fates_[size_t(rank)].empty();
    same[{told ? std::string_view(fates_[size_t(rank)]) : "it did not answer", seen[size_t(rank)]}].push_back(
        rank);
  }
  Ranks others;
  for (const auto& place : places_) others.insert(others.end(), place.second.begin(), place.second.end());
  for (const auto& [what, ranks] : same) {
    if (lines_.size() > kMostLines) return;
    std::string text = ranks_text(ranks) + " left no record: " + std::string(what.first);
    if (what.second == 0) text += "; it was not seen to start an operation";
    if (what.second > 0) text += "; it was last seen to start " + name_of(others, *what.second, false);
    lines_.push_back(text);
  }
}

// The others mostly heard of it from the first.
void Comparison::say_failure() {
  const Record* first = nullptr;
  for (const Record* r : records_) {
    if (r->failure && r->why == "error" && (first == nullptr || r->clock_ns < first->clock_ns)) first = r;
  }
  if (first == nullptr || differ_) return;  // the cause is told
  lines_.push_back("rank " + std::to_string(first->rank) +
                   " was the first to give up: " + first->failure->text);
}

// Both ends know of a rail that is out; the reason is with the one that found out. All is slower than it
// could be.
void Comparison::say_rails() {
  size_t said = 0, more = 0;
  for (int rank = 0; rank < size_; rank++) {
    const Record* r = record_of(rank);
    if (r == nullptr) continue;
    for (const Record::Rail& rail : r->rails_out) {
      if (said++ >= kMostRails) {
        more++;
        continue;
      }
      lines_.push_back("rank " + std::to_string(rank) + " lacks rail " + std::to_string(rail.rail) + " (" +
                       rail.name + ") to rank " + std::to_string(rail.rank) + ", for " +
                       seconds_text(rail.ms_ago) + " now: " + shortened(rail.why));
      quiet_ = false;
    }
  }
  if (more > 0) lines_.push_back("and so " + std::to_string(more) + " times more");
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  size_t runs = 0;
  for (size_t i = 0; i < ranks.size(); runs++) {
    if (runs == kMostRuns) return text + " and " + std::to_string(ranks.size() - i) + " more";
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) last++;
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::vector<std::string> compare(const std::vector<Record>& records, const std::vector<std::string>& fates) {
  using Key = std::tuple<std::string, uint64_t, std::string>;
  std::map<Key, std::vector<const Record*>> communicators;
  for (const Record& r : records) communicators[{r.job, r.communicator, r.split}].push_back(&r);
  const std::vector<std::string> unknown;
  std::vector<std::string> lines, quiet;
  for (auto& [key, of_it] : communicators) {
    // Ranks of one that was made from another have numbers of its own: whose fate is whose, it does not tell.
    const std::string& split = std::get<2>(key);
    const std::string name = std::to_string(std::get<1>(key)) + (split.empty() ? "" : "-" + split);
    Comparison comparison(of_it, split.empty() ? fates : unknown);
    for (const std::string& line : comparison.lines()) {
      (comparison.quiet() ? quiet : lines).push_back("communicator " + name + ": " + line);
    }
  }
  if (lines.empty()) lines = quiet;
  if (lines.size() > kMostLines) {
    const size_t more = lines.size() - kMostLines + 1;
    lines.resize(kMostLines - 1);
    lines.push_back("and " + std::to_string(more) + " lines more; plait-run --dump FOLDER keeps the records");
  }
  return lines;
}

}  // namespace plait::run
