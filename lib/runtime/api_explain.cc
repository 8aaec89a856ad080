// plait.h: what a call could run, over what, and what is chosen of it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/api.h"
#include "runtime/config.h"
#include "runtime/lists.h"
#include "runtime/survey.h"

using namespace plait;
using namespace plait::runtime;

namespace {

constexpr double kMicro = 1e-6, kNone = -1;

// Whether `plan` is one of a collective, in this process.
Status check_plan(const char* function, const plait_request* plan) {
  auto wrong = [&](const char* why) { return Status(Code::invalid, std::string(function) + ": " + why); };
  if (!is_request(plan)) return wrong("the plan is NULL or was freed");
  if (forked()) return check_ready();
  if (!plan->persistent) return wrong("the request is not a plan");
  if (plan->is_message()) return wrong("the plan is of a send or receive, which has no algorithm");
  return {};
}

plait_status refuse(plait_request* plan, const Status& status) {
  return is_request(plan) ? report(*plan->comm, status) : report(status);
}

// What fits, with a NUL behind it.
void give(const std::string& whole, char* text, size_t capacity, size_t* length) noexcept {
  if (capacity > 0) {
    const size_t fits = std::min(capacity - 1, whole.size());
    std::memcpy(text, whole.data(), fits);
    text[fits] = '\0';
  }
  *length = whole.size();
}

plait_candidate to_c(const collectives::Weighed& from) {
  plait_candidate c{};
  c.algorithm = from.method->name.data();  // ends with a NUL
  c.predicted_us = std::isfinite(from.predicted) ? from.predicted / kMicro : kNone;
  c.tuned_us = from.measured ? *from.measured / kMicro : kNone;
  c.simulated = from.simulated;
  c.runs = from.runs;
  c.chosen = from.chosen;
  return c;
}

}  // namespace

extern "C" {

plait_status plait_candidates(plait_request* plan, plait_candidate* candidates, size_t capacity,
                              size_t* count) {
  Status status = check_plan("plait_candidates", plan);
  if (status.ok() && (count == nullptr || (candidates == nullptr && capacity > 0)))
    status = {Code::invalid, "plait_candidates: count, or candidates with a capacity, is NULL"};
  if (!status.ok()) return refuse(plan, status);
  std::vector<plait_candidate> list;
  for (const collectives::Weighed& c : plan->comm->candidates(*plan)) list.push_back(to_c(c));
  status = write_list(candidates, capacity, std::span<const plait_candidate>(list), "plait_candidate");
  if (!status.ok()) return refuse(plan, status);
  *count = list.size();
  return PLAIT_OK;
}

plait_status plait_explain(plait_request* plan, char* text, size_t capacity, size_t* length) {
  Status status = check_plan("plait_explain", plan);
  if (status.ok() && (length == nullptr || (text == nullptr && capacity > 0)))
    status = {Code::invalid, "plait_explain: length, or text with a capacity, is NULL"};
  if (!status.ok()) return refuse(plan, status);
  give(plan->comm->explain(*plan), text, capacity, length);
  return PLAIT_OK;
}

plait_status plait_list_networks(char* text, size_t capacity, size_t* length) {
  Status status = forked() ? check_ready() : Status();
  if (status.ok() && (length == nullptr || (text == nullptr && capacity > 0)))
    status = {Code::invalid, "plait_list_networks: length, or text with a capacity, is NULL"};
  if (!status.ok()) return report(status);
  auto config = resolve(nullptr);
  if (!config.ok()) return report(config.status());
  give(survey(*config), text, capacity, length);
  return PLAIT_OK;
}

}  // extern "C"
