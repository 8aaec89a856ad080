#include "runtime/queue/timeline.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "runtime/json_text.h"
#include "runtime/names.h"

namespace plait::runtime::queue {

void Timeline::note(const Ticket& t) noexcept {
  if (ring_.empty()) return;
  ring_[count_++ % ring_.size()] = {t.tensor,  t.pushed_ns,  t.agreed_ns, t.started_ns,
                                    t.done_ns, t.operations, t.fused_with};
}

namespace {

// Microseconds with three places.
void put_us(JsonText& out, int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ns / 1000), int(ns % 1000));
  out.raw(text);
}

struct Row {
  int32_t rank;
  const Tensor& tensor;
};

// A part of a tensor's time. The tensor is a track of the rank.
void put_part(JsonText& out, const Row& row, const char* name, int64_t from, int64_t to) {
  out.raw(",\n{\"ph\": \"X\", \"name\": \"").raw(name).raw("\", \"pid\": ").number(row.rank);
  out.raw(", \"tid\": ").number(row.tensor.key).raw(", \"ts\": ");
  put_us(out, from);
  out.raw(", \"dur\": ");
  put_us(out, std::max<int64_t>(to - from, 0));
}

void put_args(JsonText& out, const Tensor& tensor, uint32_t operations, uint32_t fused_with) {
  out.raw(", \"args\": {\"key\": ").number(tensor.key).raw(", \"bytes\": ").number(tensor.bytes());
  out.raw(", \"dtype\": ").quoted(dtype_name(tensor.dtype)).raw(", \"op\": ").quoted(op_name(tensor.op));
  out.raw(", \"priority\": ").number(tensor.priority).raw(", \"operations\": ").number(operations);
  out.raw(", \"fused_with\": ").number(fused_with).raw("}");
}

}  // namespace

Status Timeline::write(const std::string& path, int32_t rank) const {
  static std::atomic<uint32_t> files{0};
  const std::string temporary =
      path + "." + std::to_string(getpid()) + "." + std::to_string(files.fetch_add(1)) + ".tmp";
  Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return Status::system(errno, "the timeline cannot be written to " + temporary);
  JsonText out(file.get());
  out.raw("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", ");
  out.raw("\"pid\": ").number(rank).raw(", \"args\": {\"name\": \"rank ").number(rank).raw("\"}}");
  for (uint64_t i = count_ - std::min<uint64_t>(count_, ring_.size()); i < count_; i++) {
    const Span& s = ring_[i % ring_.size()];
    const Row row{rank, s.tensor};
    put_part(out, row, "waits for ranks", s.pushed_ns, s.agreed_ns);
    out.raw("}");
    put_part(out, row, "in line", s.agreed_ns, s.started_ns);
    out.raw("}");
    put_part(out, row, s.fused_with > 0 ? "fused" : "on the wire", s.started_ns, s.done_ns);
    put_args(out, s.tensor, s.operations, s.fused_with);
    out.raw("}");
  }
  int error = out.raw("\n]}\n").finish();
  if (::close(file.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return Status::system(error, "the timeline cannot be written to " + path);
}

}  // namespace plait::runtime::queue
