#include "fabric/completions.h"

#include "fabric/explain.h"

namespace plait::fabric {
namespace {

// No context: a peer's write, or what was injected.
std::string what_failed(const fi_cq_err_entry& e) {
  const auto* context = static_cast<const Context*>(e.op_context);
  if ((e.flags & FI_REMOTE_WRITE) != 0 || context == nullptr) return "its connection";
  switch (context->step) {
    case Step::sent:
      return "sending a message";
    case Step::received:
      return "receiving a message";
    case Step::written:
      return "a put";
  }
  return "a transfer";
}

}  // namespace

std::optional<Failure> take_failure(fid_cq& queue) {
  fi_cq_err_entry e{};
  if (fi_cq_readerr(&queue, &e, 0) < 0) return std::nullopt;
  char text[256] = "";
  const char* more = fi_cq_strerror(&queue, e.prov_errno, e.err_data, text, sizeof text);
  const std::string why = reason(e.err);
  std::string sentence = what_failed(e) + " failed: " + why;
  if (more != nullptr && *more != '\0' && why != more) sentence += " (" + std::string(more) + ")";
  return Failure{e.err, sentence + "; " + advice(e.err)};
}

}  // namespace plait::fabric
