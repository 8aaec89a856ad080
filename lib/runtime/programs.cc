#include "runtime/programs.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "collectives/exchange/json.h"
#include "collectives/exchange/method.h"

namespace plait::runtime {

namespace {

using collectives::Method;
namespace exchange = collectives::exchange;

constexpr char kAlike[] =
    ": all ranks need the same files, in the same order (PLAIT_PROGRAMS, "
    "plait_comm_config.programs)";
constexpr size_t kMostCardText = 1024;  // of a path or sentence; longer ones are cut

// Of each file on a card; behind it its path. On the card of a failure there is one, with the sentence.
struct CardEntry {
  uint64_t hash = 0;
  int32_t code = 0;
  uint32_t text_bytes = 0;
};
static_assert(sizeof(CardEntry) == 16);

struct Entry {
  uint64_t hash = 0;
  Code code = Code::ok;
  std::string text;
};

void append_entry(Bytes& card, uint64_t hash, Code code, std::string_view text) {
  text = text.substr(0, kMostCardText);
  plait::append(card, CardEntry{hash, int32_t(code), uint32_t(text.size())});
  const auto bytes = std::as_bytes(std::span(text));
  card.insert(card.end(), bytes.begin(), bytes.end());
}

// False when it makes no sense.
bool decode(ByteView card, std::vector<Entry>& entries) {
  while (!card.empty()) {
    CardEntry head;
    if (!take(card, head) || head.text_bytes > card.size()) return false;
    const bool known = head.code <= 0 && head.code >= int32_t(Code::internal);
    Entry& entry = entries.emplace_back();
    entry.hash = head.hash;
    entry.code = known ? Code(head.code) : Code::internal;
    entry.text.assign(reinterpret_cast<const char*>(card.data()), head.text_bytes);
    make_printable(entry.text);
    card = card.subspan(head.text_bytes);
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const Programs>> Programs::read(const std::string& paths) {
  auto programs = std::make_shared<Programs>();
  for (size_t at = 0; at < paths.size();) {
    const size_t end = std::min(paths.find(':', at), paths.size());
    File file;
    file.path = paths.substr(at, end - at);
    at = end + 1;
    if (file.path.empty()) continue;
    auto admitted = exchange::admit_file(file.path);
    if (!admitted.ok()) return admitted.status();
    file.hash = fnv1a(exchange::to_json(admitted->set));
    auto method = exchange::method_of(std::make_shared<const exchange::Admitted>(std::move(*admitted)));
    if (!method.ok()) return method.status();
    file.method = std::move(*method);
    programs->files_.push_back(std::move(file));
  }
  return std::shared_ptr<const Programs>(std::move(programs));
}

Status Programs::add_to(collectives::Planner& planner) const {
  for (const File& file : files_) {
    const Method& m = file.method;
    if (m.ranks != planner.methods().ranks()) {
      log::info("{}: {} {} is for {} ranks, this communicator has {}: left out", file.path, m.name,
                collectives::name_of(m.collective), m.ranks, planner.methods().ranks());
      continue;
    }
    auto refuse = [&](const Status& why) {
      return Status(why.code(), file.path + ": " + std::string(why.text()));
    };
    if (Status added = planner.add(m); !added.ok()) return refuse(added);
    const Method& added = *planner.methods().find(m.collective, m.name);
    for (bool in_place : {false, true}) {
      if (!m.fits(std::max(m.root, 0), in_place, false)) continue;
      if (const Status& runs = planner.runs(added, in_place); !runs.ok()) return refuse(runs);
    }
  }
  return {};
}

uint32_t Programs::fingerprint() const noexcept {
  uint64_t hash = files_.size();
  for (const File& file : files_) hash = (hash ^ file.hash) * 0x9E3779B97F4A7C15ull;
  return std::max(1u, uint32_t(hash ^ hash >> 32));
}

Bytes Programs::card() const {
  Bytes card;
  for (const File& file : files_) append_entry(card, file.hash, Code::ok, file.path);
  return card;
}

Bytes card_of(const Status& status) {
  Bytes card;
  append_entry(card, 0, status.code(), status.text());
  return card;
}

Status compare_cards(const std::vector<Bytes>& cards,
                     const std::function<std::string(int32_t rank)>& name_of) {
  std::vector<std::vector<Entry>> all(cards.size());
  for (size_t r = 0; r < cards.size(); r++) {
    if (!decode(cards[r], all[r]))
      return {Code::version, name_of(int32_t(r)) + " sent a broken list of programs: is it the same plait?"};
    if (!all[r].empty() && all[r][0].code != Code::ok)
      return {all[r][0].code, name_of(int32_t(r)) + " cannot use its programs: " + all[r][0].text};
  }
  for (size_t r = 1; r < all.size(); r++) {
    for (size_t i = 0; i < std::max(all[0].size(), all[r].size()); i++) {
      const Entry* first = i < all[0].size() ? &all[0][i] : nullptr;
      const Entry* other = i < all[r].size() ? &all[r][i] : nullptr;
      if (first != nullptr && other != nullptr && first->hash == other->hash) continue;
      const std::string mine = name_of(0), theirs = name_of(int32_t(r));
      if (other == nullptr)
        return {Code::mismatch, theirs + " lacks " + first->text + " of " + mine + kAlike};
      if (first == nullptr)
        return {Code::mismatch, mine + " lacks " + other->text + " of " + theirs + kAlike};
      return {Code::mismatch, theirs + " has in " + other->text + " other programs than " + mine + " in " +
                                  first->text + kAlike};
    }
  }
  return {Code::internal, "programs differ and do not: please report it"};
}

}  // namespace plait::runtime
