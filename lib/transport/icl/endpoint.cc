#include "transport/icl/endpoint.h"

#include <cstring>

#include "transport/icl/domain.h"
#include "transport/misuse.h"

namespace plait::transport::icl {

Status IclEndpoint::start() {
  icl_queue_config config{};
  config.struct_size = sizeof config;
  config.chip = domain_->device().chip();
  config.depth = domain_->options().depth;
  config.timeout_ms = uint32_t(domain_->options().timeout_ms);
  config.cookie = place_;
  const icl_status status = icl_queue_open(domain_->completions(), &config, &queue_->handle);
  if (status != ICL_OK) return failure(status, ours() + ": an endpoint cannot be opened");
  PLAIT_TRY(start_counters());
  std::memcpy(mine_.queue.data(), icl_ticket(queue_->handle), ICL_TICKET_BYTES);
  mine_.domain = domain_->nonce();
  mine_.sum = sum_of(mine_);
  return {};
}

Status IclEndpoint::start_counters() {
  if (mine_.counters == 0) return {};
  const auto first = domain_->words().take(mine_.counters);
  if (!first) return {Code::memory, ours() + ": the counters of a domain are all in use"};
  first_word_ = *first;
  counters_ = domain_->word(first_word_);
  for (uint16_t i = 0; i < mine_.counters; i++) counters_[i].store(0, std::memory_order_relaxed);
  const icl_status status = icl_export(domain_->words_memory(), first_word_ * sizeof(uint64_t),
                                       mine_.counters * sizeof(uint64_t), ICL_SIGNAL, &exported_);
  if (status != ICL_OK) return failure(status, ours() + ": counters cannot be exported");
  std::memcpy(mine_.words.data(), icl_key(exported_), ICL_KEY_BYTES);
  return {};
}

IclEndpoint::~IclEndpoint() {
  close();
  if (domain_ == nullptr) return;
  if (counters_ != nullptr) domain_->words().give(first_word_, mine_.counters);
  domain_->forget(*this);
}

void IclEndpoint::orphan() noexcept {
  close();
  domain_ = nullptr;
  counters_ = nullptr;
}

void IclEndpoint::close() noexcept {
  if (state_ == State::closed) return;
  state_ = State::closed;
  icl_queue_close(queue_->handle);
  queue_->handle = nullptr;
  icl_revoke(exported_);
  exported_ = nullptr;
}

std::string IclEndpoint::ours() const { return domain_ == nullptr ? "icl" : std::string(domain_->name()); }

std::string IclEndpoint::peer_name() const { return "chip " + std::to_string(chip_of(theirs_)); }

Status IclEndpoint::connect(ByteView peer_ticket) noexcept {
  if (state_ != State::opened) return connected_before(ours());
  const auto parsed = parse_ticket(peer_ticket);
  if (!parsed.ok()) return parsed.status();
  icl_status status = icl_connect(queue_->handle, parsed->queue.data());
  if (status != ICL_OK)
    return failure(status, ours() + ": connecting to chip " + std::to_string(chip_of(*parsed)));
  theirs_ = *parsed;
  state_ = State::ready;
  if (theirs_.counters == 0) return {};
  status = icl_import(queue_->handle, theirs_.words.data(), &peer_words_);
  if (status == ICL_OK) return {};
  const Status failed = failure(status, ours() + ": the counters of " + peer_name());
  refuse(std::string(failed.text()));
  return failed;
}

Result<std::unique_ptr<RemoteRegion>> IclEndpoint::import(ByteView bytes) {
  if (state_ == State::opened || state_ == State::closed) return import_out_of_turn(ours());
  const auto key = parse_key(bytes);
  if (!key.ok()) return key.status();
  if (key->owner != theirs_.domain)
    return Status(Code::auth, ours() + ": a key that is not of " + peer_name() + " was to be imported");
  icl_remote* remote = nullptr;
  const icl_status status = icl_import(queue_->handle, key->memory.data(), &remote);
  if (status != ICL_OK) return failure(status, ours() + ": a key of " + peer_name());
  return std::unique_ptr<RemoteRegion>(
      std::make_unique<PeerRegion>(queue_, remote, bytes_of_memory(*key), Access(key->access)));
}

// The user broke the contract: the queue ends, and poll() brings its Done.
void IclEndpoint::refuse(const std::string& why) noexcept {
  broke_ = true;
  why_ = why;
  state_ = State::failed;
  icl_abort(queue_->handle);
}

Done IclEndpoint::failed(icl_status status) noexcept {
  if (broke_) return {cookie_, Code::invalid};
  char why[320];
  icl_queue_why(queue_->handle, why, sizeof why);
  why_ =
      ours() + ": the endpoint to " + peer_name() + " failed: " + why + " (" + icl_status_name(status) + ")";
  state_ = State::failed;
  if (status == ICL_ERR_CHIP_DEAD) domain_->look_at_own_chip();
  return {cookie_, code_of(status)};
}

}  // namespace plait::transport::icl
