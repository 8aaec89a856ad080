#include "runtime/codecs.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "base/hash.h"
#include "collectives/codec/makers.h"
#include "runtime/user_codec.h"

namespace plait::runtime {

using collectives::Dtype;
using collectives::Encoded;
using collectives::codec::Codec;

namespace {

struct Table {
  std::mutex mutex;
  std::map<std::pair<std::string, Dtype>, std::unique_ptr<CodecUse>, std::less<>> uses;
  std::map<std::string, plait_codec_desc, std::less<>> users;
};

Table& table() {
  static auto* t = new Table;  // never destroyed: what it gave lives as long as the process
  return *t;
}

constexpr std::string_view kLowRank = "powersgd";

// A text, taken apart: what is for the codec, and what is said of its use.
struct Words {
  std::string codec;  // "int8:block=64"
  Encoded links = Encoded::all;
  std::string at = "";
  bool always = false;
};

Status wrong(std::string_view word, std::string_view there_are) {
  return {Code::invalid, "codec option \"" + std::string(word) + "\": there are " + std::string(there_are)};
}

Status take(std::string_view word, Words& words, bool* taken) {
  const size_t equal = word.find('=');
  const std::string_view key = word.substr(0, equal),
                         value = equal == word.npos ? "" : word.substr(equal + 1);
  *taken = key == "links" || key == "at" || key == "use";
  if (key == "links") {
    if (value != "all" && value != "hosts") return wrong(word, "links=all and links=hosts");
    words.links = value == "all" ? Encoded::all : Encoded::between_hosts;
  } else if (key == "at") {
    if (value != "hop" && value != "edge") return wrong(word, "at=hop and at=edge");
    words.at = value;
  } else if (key == "use") {
    if (value != "pays" && value != "always") return wrong(word, "use=pays and use=always");
    words.always = value == "always";
  }
  return {};
}

Result<Words> take_apart(std::string_view text) {
  const size_t colon = text.find(':');
  Words words{.codec = std::string(text.substr(0, colon))};
  std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  char before = ':';
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    bool taken = false;
    PLAIT_TRY(take(word, words, &taken));
    if (taken) continue;
    words.codec += before;
    words.codec += word;
    before = ',';
  }
  return words;
}

// What few values are left of is summed whole; what all are left of is encoded again at each hop, which
// takes fewer bytes.
bool suits_edge(std::string_view name) {
  return name.starts_with("topk") || name.starts_with("threshold") || name.starts_with("randomk") ||
         name.starts_with("onebit");
}

// A method, not a wire.
Status make_low_rank(std::string_view text, Dtype dtype, CodecUse& use) {
  auto words = collectives::codec::OptionWords::read(text);
  if (!words.ok()) return words.status();
  auto rank = words->whole("rank", 4, 1, 64);
  if (!rank.ok()) return rank.status();
  PLAIT_TRY(words->done());
  if (dtype != Dtype::float32) return collectives::codec::refuse_dtype(kLowRank, dtype, "float32");
  use.rank = *rank;
  return {};
}

Result<std::unique_ptr<const Codec>> make(const Table& t, const std::string& text, Dtype dtype) {
  if (const auto user = t.users.find(text); user != t.users.end())
    return make_user_codec(user->second, dtype);
  auto made = collectives::codec::make(text, dtype);
  if (made.ok()) return std::unique_ptr<const Codec>(std::move(*made));
  std::string own = ", " + std::string(kLowRank);
  for (const auto& [name, desc] : t.users) own += (own.empty() ? "; of plait_codec_register: " : ", ") + name;
  return Status(made.status().code(), std::string(made.status().text()) + own);
}

}  // namespace

std::string CodecUse::name() const {
  return codec != nullptr ? codec->name() : std::string(kLowRank) + ":rank=" + std::to_string(rank);
}

Result<const CodecUse*> use_codec(std::string_view text, Dtype dtype) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  auto key = std::pair(std::string(text), dtype);
  if (const auto known = t.uses.find(key); known != t.uses.end()) return known->second.get();
  auto words = take_apart(text);
  if (!words.ok()) return words.status();
  auto use = std::make_unique<CodecUse>();
  const bool low_rank = words->codec.substr(0, words->codec.find(':')) == kLowRank;
  if (low_rank && (!words->at.empty() || words->links != Encoded::all))
    return Status(Code::invalid, "codec powersgd is no wire: it has neither at= nor links=");
  if (low_rank) {
    PLAIT_TRY(make_low_rank(words->codec, dtype, *use));
  } else {
    auto codec = make(t, words->codec, dtype);
    if (!codec.ok()) return codec.status();
    use->codec = std::move(*codec);
  }
  use->links = words->links;
  use->always = words->always;
  use->text = use->name();
  use->text += use->text.find(':') == std::string::npos ? ':' : ',';
  if (!low_rank) {
    use->edge = words->at.empty() ? suits_edge(use->name()) : words->at == "edge";
    use->text += use->edge ? "at=edge" : "at=hop";
    use->text += use->links == Encoded::all ? ",links=all," : ",links=hosts,";
  }
  use->text += use->always ? "use=always" : "use=pays";
  use->hash = uint32_t(fnv1a(use->text)) | 1;
  return t.uses.emplace(std::move(key), std::move(use)).first->second.get();
}

std::string codec_name(uint32_t hash) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  for (const auto& [key, use] : t.uses)
    if (use->hash == hash) return use->text;
  char text[24];
  std::snprintf(text, sizeof text, "codec #%08x", hash);
  return text;
}

Status add_codec(const plait_codec_desc& desc) {
  auto bad = [](const std::string& why) { return Status(Code::invalid, "plait_codec_register: " + why); };
  const std::string name = desc.name == nullptr ? "" : desc.name;
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), fits))
    return bad("a name has 1 to 64 letters, digits and '_'");
  if (desc.bound == nullptr || desc.encode == nullptr || desc.decode == nullptr)
    return bad("bound, encode and decode must be given");
  if (desc.dtypes >> collectives::kDtypes != 0) return bad("dtypes has bits of no dtype");
  if (desc.state_bytes > 4096) return bad("state_bytes is more than 4096 for each element");
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const auto own = collectives::codec::make(name, Dtype::float32);
  const bool taken =
      t.users.contains(name) || own.ok() || own.status().code() == Code::unsupported || name == kLowRank;
  if (taken) return bad("there is a codec \"" + name + "\" already");
  plait_codec_desc& kept = t.users.emplace(name, desc).first->second;
  kept.name = t.users.find(name)->first.c_str();
  return {};
}

}  // namespace plait::runtime
