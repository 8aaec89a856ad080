// What hurts the rails of a pair while a script runs over them: one rail that lives is always left alone.
#pragma once

#include <random>
#include <string>

#include "unit/rails/pair.h"

namespace plait::transport::rails {

class Faults {
 public:
  virtual ~Faults() = default;
  // Between any two steps of the script.
  virtual void step(Pair& pair, std::mt19937_64& random) = 0;
  // When it returns nothing is hurt any more.
  virtual void heal_all(Pair& pair) = 0;
  // False: the script goes on until it is.
  virtual bool over() const { return true; }
  // What is hurt now, and was before, for who looks into a failure.
  virtual std::string now() const = 0;
};

}  // namespace plait::transport::rails
