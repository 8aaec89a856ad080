// Measured calls ready to be simulated again and again: their programs are made once.
#pragma once

#include <memory>
#include <vector>

#include "sim/measured.h"
#include "sim/parameters.h"
#include "sim/places.h"
#include "sim/script.h"

namespace plait::sim {

class Stage {
 public:
  // `parameters` says how vectors are cut. Code::invalid, Code::unsupported: what cannot be simulated, and
  // why.
  static Result<Stage> make(const Plan& plan, const Parameters& parameters,
                            const std::vector<Measured>& rows);

  size_t size() const noexcept { return plays_.size(); }
  // How long call `i` takes, in seconds.
  Result<double> run(size_t i, const Network& network, const Parameters& parameters) const;

 private:
  struct Play {
    std::string what;
    uint64_t bytes = 0;
    Cut cut;
    Scripts scripts;
  };
  std::vector<std::unique_ptr<const Play>> plays_;
};

// The first `ranks` places that are free. Code::invalid: there are not as many.
Result<Places> first_places(const Plan& plan, int32_t ranks);

}  // namespace plait::sim
