// Program sets of strangers as methods, among which a planner chooses.
#pragma once

#include <memory>

#include "collectives/exchange/admit.h"
#include "collectives/method.h"

namespace plait::collectives::exchange {

// The set under its own name. Besides what admit() has proved it proves what running needs: each chunk by
// itself (chunkwise.h), and of a rooted collective a root in place among others that are not. Refused as
// admit() does where that does not hold. It runs calls of even blocks only.
Result<Method> method_of(std::shared_ptr<const Admitted> admitted);

}  // namespace plait::collectives::exchange
