// Point 15.
#include <sched.h>

#include "perf/nccl/checks.h"
#include "perf/nccl/flow.h"

namespace plait::nccl_drive {
namespace {

// Waits for a flush; a null request is none to wait for.
Status flush(Side& side, Receiver& receiver, void* comm, int bytes) {
  void* data = receiver.place(0, 0);
  void* memory = receiver.registration();
  void* request = nullptr;
  PLAIT_TRY(side.said(side.net().iflush(comm, 1, &data, &bytes, &memory, &request), "iflush"));
  const Deadline end = side.deadline();
  int done = request == nullptr ? 1 : 0;
  while (done == 0) {
    PLAIT_TRY(side.said(side.net().test(request, &done, nullptr), "test of a flush"));
    if (end.passed()) return side.late("test had not ended a flush");
  }
  return Status();
}

Status move_and_flush(Side& side, const Link& link, int type) {
  const auto all = messages(4, 10'000);
  Sender sender(side, link.send, all);
  Receiver receiver(side, link.receive, singles(all));
  for (Flow* flow : {static_cast<Flow*>(&sender), static_cast<Flow*>(&receiver)}) {
    const Status status = flow->prepare(type);
    if (!status.ok() && type == nccl::pointer_device)
      return not_exercised("memory of the host was refused as a device's: " + std::string(status.text()));
    PLAIT_TRY(status);
  }
  PLAIT_TRY(drive(side, {&receiver, &sender}));
  PLAIT_TRY(flush(side, receiver, link.receive, 10'000));
  PLAIT_TRY(flush(side, receiver, link.receive, 0));
  PLAIT_TRY(sender.release());
  return receiver.release();
}

Status host_flush(const Job& job) {
  return alone(job,
               [](Side& side, const Link& link) { return move_and_flush(side, link, nccl::pointer_host); });
}

Status faked_device(const Job& job) {
  return alone(job, [](Side& side, const Link& link) -> Status {
    if ((side.properties().pointer_support & nccl::pointer_device) == 0)
      return not_exercised("ptrSupport has no memory of devices");
    return move_and_flush(side, link, nccl::pointer_device);
  });
}

Status dmabuf(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.open());
  const bool has = (side.properties().pointer_support & nccl::pointer_dmabuf) != 0;
  PLAIT_TRY(side.close());
  return not_exercised(has ? "a dma-buf needs a device" : "ptrSupport has no dma-buf");
}

// Nothing is left open where init or connect refuses.
Status with_class(const Job& job, int traffic_class) {
  Side side(job);
  Handle handle;
  Link link;
  void* listening = nullptr;
  PLAIT_TRY(side.load());
  PLAIT_TRY(side.begin(logger, traffic_class));
  PLAIT_TRY(side.listen(&handle, &listening));
  const Status joined = side.join(handle, listening, &link);
  PLAIT_TRY(side.close_listen(listening));
  if (joined.ok()) PLAIT_TRY(prove(side, link));
  PLAIT_TRY(side.close(link));
  PLAIT_TRY(side.close());
  return joined;
}

Status has_class(const Job& job) {
  Side side(job);
  PLAIT_TRY(side.load());
  return side.net().version() >= 10 ? Status() : not_exercised("before version 10 there is no traffic class");
}

Status classes(const Job& job) {
  PLAIT_TRY(has_class(job));
  for (const int traffic_class : {nccl::unset, 0, 104}) {
    const Status status = with_class(job, traffic_class);
    if (!status.ok())
      return broken("with traffic class " + std::to_string(traffic_class) + ": " +
                    std::string(status.text()));
  }
  return Status();
}

Status wrong_classes(const Job& job) {
  PLAIT_TRY(has_class(job));
  for (const int traffic_class : {-2, 256, 1 << 30}) {
    const Status status = with_class(job, traffic_class);
    if (status.ok()) return broken("traffic class " + std::to_string(traffic_class) + " was taken");
    if (status.code() == Code::timeout) return status;
  }
  return Status();
}

constexpr Named kDeviceChecks[] = {
    {15, "iflush of the host's memory", host_flush},
    {15, "memory of a device, which the host's stands for", faked_device},
    {15, "regMrDmaBuf", dmabuf},
    {15, "traffic classes -1, 0, 104", classes},
    {15, "traffic classes out of range are refused", wrong_classes},
};

}  // namespace

std::span<const Named> device_checks() { return kDeviceChecks; }

}  // namespace plait::nccl_drive
