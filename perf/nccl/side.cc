#include "perf/nccl/side.h"

#include <sched.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <numeric>

namespace plait::nccl_drive {
namespace {

std::mutex log_mutex;
int warned = 0;
std::array<char, 400> warning{};

constexpr unsigned char kGuard = 0xc7;
constexpr size_t kGuardBytes = 64;

}  // namespace

int warnings() noexcept {
  const std::lock_guard lock(log_mutex);
  return warned;
}

std::string last_warning() {
  const std::lock_guard lock(log_mutex);
  return warning.data();
}

void logger(nccl::LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  if (level != nccl::LogLevel::warn) return;
  const std::lock_guard lock(log_mutex);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(warning.data(), warning.size(), format, arguments);
  va_end(arguments);
  ++warned;
}

void Pause::idle() noexcept {
  if (++polls_ % 16 == 0) ::sched_yield();
}

Status Side::said(NcclResult result, const std::string& who) const {
  if (result == NcclResult::success) return Status();
  const std::string text = last_warning();
  return Status(result == NcclResult::remote_error ? Code::peer : Code::system,
                who + " returned " + name_of(result) + (text.empty() ? "" : "; it logged: " + text));
}

Status Side::late(const std::string& what) const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", job_.seconds);
  return Status(Code::timeout, what + " after " + seconds + " s");
}

Status Side::load() {
  auto net = open_net(job_.plugin, job_.version);
  if (!net.ok()) return net.status();
  net_ = std::move(*net);
  const std::string missing = net_->missing();
  if (!missing.empty()) return Status(Code::invalid, "these may not be null and are: " + missing);
  return Status();
}

Status Side::begin(nccl::Logger log, int traffic_class) {
  config_.traffic_class = traffic_class;
  PLAIT_TRY(said(net_->init(&context_, 0x706c616974, &config_, log, nullptr), "init"));
  begun_ = true;
  int count = 0;
  PLAIT_TRY(said(net_->devices(&count), "devices"));
  if (count <= 0)
    return Status(Code::invalid, "the plugin has no device (" + std::to_string(count) +
                                     "), so NCCL goes on to another: nothing of it was driven");
  if (job_.device >= count || job_.joined > count)
    return Status(Code::invalid, "there is no device " +
                                     std::to_string(std::max(job_.device, job_.joined - 1)) + " of " +
                                     std::to_string(count) + "; see --device and --virtual");
  if (job_.joined != 0) return join();
  return said(net_->properties(device_, 0, &properties_), "getProperties");
}

// As NCCL does: after devices(), which counts the new one from then on.
Status Side::join() {
  std::vector<int> members(size_t(job_.joined));
  std::iota(members.begin(), members.end(), 0);
  int made = -1, count = 0;
  PLAIT_TRY(said(net_->make_virtual_device(members, &made), "makeVDevice"));
  PLAIT_TRY(said(net_->devices(&count), "devices"));
  if (made < job_.joined || made >= count)
    return Status(Code::invalid, "makeVDevice made device " + std::to_string(made) + " of " +
                                     std::to_string(count) + ", which is none or one of its members");
  device_ = made;
  PLAIT_TRY(said(net_->properties(made, 0, &properties_), "getProperties"));
  if (properties_.virtual_devices != members || !properties_.pci_path.empty())
    return Status(Code::invalid,
                  "vProps of the virtual device are not what makeVDevice was given, or it has a pciPath");
  return Status();
}

Status Side::open() {
  PLAIT_TRY(load());
  return begin();
}

Status Side::end() {
  const bool begun = begun_;
  begun_ = false;
  return begun ? said(net_->finalize(context_), "finalize") : Status();
}

Status Side::close() {
  const Status status = end();
  net_.reset();
  return status;
}

Status Side::listen(Handle* handle, void** comm) {
  struct {
    Handle handle;
    std::array<unsigned char, kGuardBytes> guard;
  } room;
  room.guard.fill(kGuard);
  *comm = nullptr;
  PLAIT_TRY(said(net_->listen(context_, device_, room.handle.bytes.data(), comm), "listen"));
  if (*comm == nullptr) return Status(Code::invalid, "listen gave success without a comm");
  handle_overrun_ = handle_overrun_ || std::ranges::count(room.guard, kGuard) != int(kGuardBytes);
  *handle = room.handle;
  return Status();
}

Status Side::connect(Handle& handle, void** comm) {
  *comm = nullptr;
  return said(net_->connect(context_, device_, &config_, handle.bytes.data(), comm, nullptr), "connect");
}

Status Side::accept(void* listen_comm, void** comm) {
  *comm = nullptr;
  return said(net_->accept(listen_comm, comm, nullptr), "accept");
}

Status Side::join(Handle& handle, void* listen_comm, Link* link) {
  const Deadline end = deadline();
  Pause pause;
  while (link->send == nullptr || link->receive == nullptr) {
    if (link->send == nullptr) PLAIT_TRY(connect(handle, &link->send));
    if (link->receive == nullptr) PLAIT_TRY(accept(listen_comm, &link->receive));
    if (end.passed())
      return late(std::string(link->send == nullptr ? "connect" : "accept") + " still gave no comm");
    pause.idle();
  }
  return Status();
}

Status Side::self(Link* link) {
  Handle handle;
  void* listening = nullptr;
  PLAIT_TRY(listen(&handle, &listening));
  PLAIT_TRY(join(handle, listening, link));
  return close_listen(listening);
}

Status Side::close(Link& link) {
  Status status;
  if (link.send != nullptr) status = said(net_->close_send(link.send), "closeSend");
  if (link.receive != nullptr && status.ok()) status = said(net_->close_receive(link.receive), "closeRecv");
  link = Link();
  return status;
}

Status Side::close_listen(void* comm) { return said(net_->close_listen(comm), "closeListen"); }

}  // namespace plait::nccl_drive
