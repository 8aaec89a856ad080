// How a communicator keeps its flight recorder, and when it writes it.
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/communicator.h"
#include "runtime/dump.h"
#include "runtime/dump_signal.h"

namespace plait::runtime {

namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

void Communicator::begin_record(Recorder::Identity who) {
  who.host = host_name();
  who.path = dump_path(who.job_rank >= 0 ? who.job_rank : who.rank, who.communicator, who.split);
  recorder_.identify(std::move(who));
  enlist(&recorder_);
  save_record(Why::created);
}

Status Communicator::record_creation(Status status) {
  if (!status.ok()) {
    record_failure(status, -1, 0);
    return status;
  }
  recorder_.created(planner_->methods());
  return {};
}

// Its file stays when it tells something that somebody asked for.
void Communicator::end_record() noexcept {
  delist(&recorder_);
  const std::string& path = recorder_.who().path;
  if (!path.empty() && !recorder_.is_kept()) ::unlink(path.c_str());
}

// Called while waiting: this is where time is looked at and words are made, not in the operation itself.
void Communicator::record_wait() noexcept {
  if (head_ != nullptr && recorder_.waiting(head_->number, now_ns())) recorder_.waiting_for(whom());
}

void Communicator::record_failure(const Status& status, int32_t culprit, uint64_t number) noexcept {
  recorder_.failed(status, culprit, number);
  recorder_.keep();
  save_record(Why::error);
}

// It must not hide the failure it tells of: what goes wrong here is a line in the log.
void Communicator::save_record(Why why) noexcept {
  const std::string& path = recorder_.who().path;
  if (path.empty()) return;
  const int error = save_dump(recorder_, why, path.c_str());
  if (error != 0) log::warn("{}", Status::system(error, "PLAIT_DUMP: cannot write " + path).text());
}

// Within a poll of the network: nothing of it is called here. When a rail dies because its peer left, `out`
// is all that comes.
void Communicator::note_rail(const transport::rails::RailEvent& event) noexcept {
  using What = transport::rails::RailEvent::What;
  if (rail_record_ != nullptr) rail_record_->add(event, head_ != nullptr ? head_->number : 0);
  const auto rank = int32_t(event.endpoint);
  if (event.what == What::settled) {
    log::warn("rail {} ({}) to {} is out, the others go on: {}; {} parts ({} bytes) are sent again",
              event.rail, event.name, name_of(rank), event.why, event.parts, event.bytes);
  } else if (event.what == What::back) {
    log::info("rail {} ({}) to {} is used again", event.rail, event.name, name_of(rank));
  }
}

Status Communicator::dump(const char* path) const noexcept {
  const std::string& own = recorder_.who().path;
  if (path == nullptr && own.empty()) {
    const int error = write_dump(recorder_, Why::call, STDERR_FILENO);
    return error == 0 ? Status() : Status::system(error, "plait_comm_dump: cannot write to stderr");
  }
  if (path == nullptr) recorder_.keep();
  const char* to = path == nullptr ? own.c_str() : path;
  const int error = save_dump(recorder_, Why::call, to);
  return error == 0 ? Status() : Status::system(error, "plait_comm_dump: cannot write " + std::string(to));
}

}  // namespace plait::runtime
