// Points 1, 2 and 6.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"
#include "perf/nccl/where.h"

namespace plait::nccl_drive {
namespace {

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

Status begin_and_end(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  if (side.net().name()[0] == 0) return broken("the table's name is empty; NCCL_NET chooses by it");
  return side.close();
}

// A connection that is not closed, so that a failure is that of the handshake.
Status link_to_itself(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Link link;
  PLAIT_TRY(side.self(&link));
  where().end(Status());
  ::_exit(0);
}

Status close_of_idle(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Link link;
  PLAIT_TRY(side.self(&link));
  PLAIT_TRY(side.close(link));
  return side.close();
}

Status whole_life(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Link link;
  PLAIT_TRY(side.self(&link));
  PLAIT_TRY(prove(side, link));
  PLAIT_TRY(side.close(link));
  return side.close();
}

Status two_communicators(const Job& job) {
  Side first(job), second(job);
  PLAIT_TRY(first.open());
  if (!first.net().per_communicator()) return not_exercised("before version 11, init is called once");
  PLAIT_TRY(second.open());
  Link one, two;
  PLAIT_TRY(first.self(&one));
  PLAIT_TRY(second.self(&two));
  PLAIT_TRY(prove(first, one));
  PLAIT_TRY(first.close(one));
  PLAIT_TRY(first.close());
  PLAIT_TRY(prove(second, two));  // the end of one communicator is not the end of another
  PLAIT_TRY(second.close(two));
  return second.close();
}

Status load_again(const Job& job) {
  const std::ptrdiff_t threads = entries("/proc/self/task");
  for (int time = 0; time < 3; ++time) {
    PLAIT_TRY(whole_life(job));
    const Deadline end = Deadline::in_ns(int64_t(job.seconds * 1e9));
    while (entries("/proc/self/task") > threads)  // a joined thread may still be listed for a moment
      if (end.passed())
        return broken(std::to_string(entries("/proc/self/task") - threads) +
                      " threads outlive finalize and dlclose");
  }
  return Status();
}

Status descriptors(const Job& job) {
  PLAIT_TRY(whole_life(job));  // what is opened once and kept, such as a log, is open now
  const std::ptrdiff_t before = entries("/proc/self/fd");
  Side side(job);
  PLAIT_TRY(side.open());
  if (!side.net().has_finalize()) return not_exercised("before version 11 there is no finalize");
  Link link;
  PLAIT_TRY(side.self(&link));
  PLAIT_TRY(side.close(link));
  PLAIT_TRY(side.close());
  const std::ptrdiff_t after = entries("/proc/self/fd");
  if (after > before) return broken(std::to_string(after - before) + " file descriptors outlive finalize");
  return Status();
}

// The fields of a device that differ between two readings: nothing wrote them.
std::string unwritten(const Properties& a, const Properties& b) {
  std::string all;
  const auto compare = [&](const char* field, bool same) {
    if (!same) all += (all.empty() ? "" : ", ") + std::string(field);
  };
  compare("name", a.name == b.name && !a.name.empty());
  compare("pciPath", a.pci_path == b.pci_path);
  compare("guid", a.guid == b.guid);
  compare("ptrSupport", a.pointer_support == b.pointer_support);
  compare("regIsGlobal", a.reg_is_global == b.reg_is_global);
  compare("forceFlush", a.force_flush == b.force_flush);
  compare("speed", a.speed == b.speed);
  compare("port", a.port == b.port);
  compare("latency", a.latency == b.latency);
  compare("maxComms", a.max_comms == b.max_comms);
  compare("maxRecvs", a.max_receives == b.max_receives);
  compare("netDeviceType", a.device_type == b.device_type);
  compare("netDeviceVersion", a.device_version == b.device_version);
  compare("vProps", a.virtual_count == b.virtual_count && a.virtual_devices == b.virtual_devices);
  compare("maxP2pBytes", a.max_p2p_bytes == b.max_p2p_bytes);
  compare("maxCollBytes", a.max_coll_bytes == b.max_coll_bytes);
  compare("maxMultiRequestSize", a.max_multi_request_size == b.max_multi_request_size);
  compare("railId", a.rail == b.rail);
  compare("planeId", a.plane == b.plane);
  return all;
}

Status each_device(const Job& job, Status (*look)(Side& side, int device, int count)) {
  Side side(job);
  PLAIT_TRY(side.open());
  int count = 0;
  PLAIT_TRY(side.said(side.net().devices(&count), "devices"));
  for (int device = 0; device < count; ++device) PLAIT_TRY(look(side, device, count));
  return side.close();
}

Status every_field(const Job& job) {
  return each_device(job, [](Side& side, int device, int) -> Status {
    Properties a, b;
    PLAIT_TRY(side.said(side.net().properties(device, 0x5a, &a), "getProperties"));
    PLAIT_TRY(side.said(side.net().properties(device, 0xa5, &b), "getProperties"));
    const std::string fields = unwritten(a, b);
    if (fields.empty()) return Status();
    return broken("getProperties leaves as they were, of device " + std::to_string(device) + ": " + fields);
  });
}

Status limits(const Job& job) {
  return each_device(job, [](Side& side, int device, int count) -> Status {
    Properties p;
    PLAIT_TRY(side.said(side.net().properties(device, 0x5a, &p), "getProperties"));
    const int most = side.net().version() >= 12 ? 8 : 4;
    const auto of = [&](const char* field, auto value, const char* rule) {
      return broken(std::string(field) + " of device " + std::to_string(device) + " is " +
                    std::to_string(value) + "; " + rule);
    };
    if (p.max_p2p_bytes == 0 || p.max_p2p_bytes > nccl::max_transfer)
      return of("maxP2pBytes", p.max_p2p_bytes, "NCCL takes 1 to 2^40");
    if (p.max_coll_bytes == 0 || p.max_coll_bytes > nccl::max_transfer)
      return of("maxCollBytes", p.max_coll_bytes, "NCCL takes 1 to 2^40");
    if (p.device_type != nccl::DeviceType::host)
      return of("netDeviceType", int(p.device_type), "0 is the host, which this drives");
    if (p.max_receives < 1 || p.max_receives > 8)
      return of("maxRecvs", p.max_receives, "1 to 8 are possible");
    if (p.max_comms < 1) return of("maxComms", p.max_comms, "at least 1");
    if (p.speed < 1) return of("speed", p.speed, "Mbit/s");
    if ((p.pointer_support & nccl::pointer_host) == 0)
      return of("ptrSupport", p.pointer_support, "bit 1, the host's memory, is always there");
    if (p.virtual_count < 1 || p.virtual_count > most)
      return of("vProps.ndevs", p.virtual_count, "a device of its own has 1, itself");
    if (std::ranges::any_of(p.virtual_devices, [count](int d) { return d < 0 || d >= count; }))
      return of("vProps.devs", p.virtual_devices.front(), "a number of a device");
    if (p.rail < -1) return of("railId", p.rail, "-1 is unknown");
    if (p.plane < -1) return of("planeId", p.plane, "-1 is unknown");
    return Status();
  });
}

Status no_callbacks(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.load());
  PLAIT_TRY(side.begin(nullptr));
  Link link;
  PLAIT_TRY(side.self(&link));
  PLAIT_TRY(prove(side, link));
  PLAIT_TRY(side.close(link));
  return side.close();
}

Status garbage_device_handles(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  Handle handle;
  void* listening = nullptr;
  PLAIT_TRY(side.listen(&handle, &listening));
  auto* const garbage = reinterpret_cast<nccl::DeviceHandle*>(uintptr_t{0x6b6b6b6b6b68});
  nccl::DeviceHandle* of_send = garbage;
  nccl::DeviceHandle* of_receive = garbage;
  nccl::Config config{nccl::unset};
  Link link;
  const Deadline end = side.deadline();
  while (link.send == nullptr || link.receive == nullptr) {
    if (link.send == nullptr)
      PLAIT_TRY(side.said(side.net().connect(side.context(), side.device(), &config, handle.bytes.data(),
                                             &link.send, &of_send),
                          "connect"));
    if (link.receive == nullptr)
      PLAIT_TRY(side.said(side.net().accept(listening, &link.receive, &of_receive), "accept"));
    if (end.passed()) return side.late("connect and accept still gave no comm");
  }
  if (of_send != garbage) return broken("connect wrote *sendDevComm of a device of the host");
  if (of_receive != garbage) return broken("accept wrote *recvDevComm of a device of the host");
  PLAIT_TRY(prove(side, link));
  PLAIT_TRY(side.close(link));
  PLAIT_TRY(side.close_listen(listening));
  return side.close();
}

constexpr Named kSetupChecks[] = {
    {1, "no function null; init, devices, finalize", begin_and_end, Needs::nothing, Needs::communicator},
    {4, "connect and accept, to itself", link_to_itself, Needs::communicator, Needs::link},
    {14, "both halves of an idle connection close in one thread", close_of_idle, Needs::link, Needs::close},
    {1, "init, bytes move, finalize", whole_life},
    {1, "two communicators, one ends first", two_communicators},
    {1, "unloaded and loaded again three times, no thread left", load_again},
    {1, "no file descriptor left after finalize", descriptors},
    {2, "every field of getProperties is written", every_field, Needs::communicator},
    {2, "fields are within NCCL's limits", limits, Needs::communicator},
    {6, "no device handle (NULL), no logger, no profiler", no_callbacks},
    {6, "garbage in *sendDevComm and *recvDevComm stays", garbage_device_handles},
};

}  // namespace

std::span<const Named> setup_checks() { return kSetupChecks; }

}  // namespace plait::nccl_drive
