// A peer's regions, on every rail that lives.
#include "transport/misuse.h"
#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

// Imports the control region, and all that the caller has imported.
Status RailsEndpoint::know_peer(size_t i) {
  Link& link = rails_[i].link;
  auto cell = link.end->import(rails_[i].cell_key);
  if (!cell.ok()) return cell.status();
  if ((*cell)->bytes() < their_cell_bytes_ * rails_.size() || !may_write((*cell)->access()))
    return Status(Code::auth, "the peer's control region is too small or may not be written");
  link.cell = std::move(*cell);
  for (Import& import : imports_) {
    if (import.on[i] != nullptr) continue;
    auto on = link.end->import(import.keys[i]);
    if (on.ok()) import.on[i] = std::move(*on);
  }
  return {};
}

Result<std::unique_ptr<RemoteRegion>> RailsEndpoint::import(ByteView bytes) {
  if (over() || state_ == State::opened) return import_out_of_turn("rails");
  auto key = parse_key(bytes);
  if (!key.ok()) return key.status();
  if (key->keys.size() != rails_.size()) return Status(Code::auth, "rails: this key is of other rails");
  Import import;
  import.bytes = size_t(key->bytes);
  import.access = key->access;
  Status last(Code::state, "rails: no rail is there to import a key on");
  bool any = false;
  for (size_t i = 0; i < rails_.size(); ++i) {
    import.keys.emplace_back(key->keys[i].begin(), key->keys[i].end());
    const Link& link = rails_[i].link;
    if (link.end == nullptr || rails_[i].refused || rails_[i].state.phase() > Phase::live ||
        (rails_[i].state.phase() == Phase::joining && rails_[i].state.generation() > 1))
      continue;
    auto on = link.end->import(key->keys[i]);
    if (!on.ok()) {
      last = on.status();
      if (last.code() != Code::state || state_ != State::ready) return last;  // else it is dying just now
      continue;
    }
    if ((*on)->bytes() != import.bytes || (*on)->access() != import.access)
      return Status(Code::invalid, "rails: a key whose rails do not agree");
    import.on[i] = std::move(*on);
    any = true;
  }
  if (!any) return last;
  imports_.push_back(std::move(import));
  imports_.back().self = std::prev(imports_.end());
  return std::unique_ptr<RemoteRegion>(std::make_unique<RailsRemote>(*this, imports_.back()));
}

void RailsEndpoint::drop(Import& import) noexcept {
  import.dropped = true;
  if (import.uses == 0) imports_.erase(import.self);
}

void RailsEndpoint::unuse(Import* import) noexcept {
  if (import == nullptr || --import->uses != 0 || !import->dropped) return;
  imports_.erase(import->self);
}

}  // namespace plait::transport::rails
