// Operators that the user made by plait_op_create: one table a process. And what a call needs to know of its
// operator, of whichever kind.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"
#include "collectives/machine/real/call.h"
#include "collectives/plan.h"
#include "plait/plait.h"
#include "runtime/request.h"

namespace plait::runtime {

constexpr plait_op kFirstUserOp = 1024;

struct UserOperator {
  collectives::Operator kernel;  // function and context, or factor and dtype
  bool commutes = true;
  uint32_t uses = 0;  // requests that are not freed; guarded by the table

  // Else it has a function.
  bool scales() const noexcept { return kernel.function == nullptr; }
};

// What plait_op_create and plait_op_free do. Any thread.
Result<plait_op> add_operator(const plait_op_desc& desc);
Status remove_operator(plait_op op);

// The operator of a number, for a call of `dtype`; stays until let_go(), which takes null, too. Any thread.
Result<const UserOperator*> use_operator(plait_op op, collectives::Dtype dtype);
void let_go(const UserOperator* op) noexcept;

// Forgets all; those in use stay valid. `forked`: another thread may have held the table when this process
// began.
void forget_operators(bool forked) noexcept;

// How ranks compare operators: numbers below 1024 are themselves; of those made by the user it is known
// whether they scale, or commute. Which function they call is the user's to keep alike.
int32_t compared(const Args& args) noexcept;

// Does each contribution enter by a step of its own (collectives/entry.h)? Alike on all ranks: a
// premultiplied sum; an average of a narrow float that is rounded on the way, where a sum could overflow.
bool contributions_enter(const Args& args, const collectives::Method& method, int32_t ranks) noexcept;

// Fills in what the machine folds with.
void bind_operator(const Args& args, bool entering, int32_t ranks, collectives::real::Call& call) noexcept;

}  // namespace plait::runtime
