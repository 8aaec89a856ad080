#include "topology/lattice.h"

#include <spdlog/fmt/fmt.h>

namespace plait::topology {

Lattice::Lattice(std::vector<Factor> factors) : factors_(std::move(factors)), strides_(factors_.size()) {
  for (size_t i = factors_.size(); i-- > 0;) {
    strides_[i] = size_;
    size_ *= factors_[i].size;
  }
}

size_t Lattice::joining(uint64_t a, uint64_t b) const noexcept {
  for (size_t i = 0; i < factors_.size(); i++) {
    bool found = false;
    if (a != b) each_neighbour(a, i, [&](uint64_t to) { found |= to == b; });
    if (found) return i;
  }
  return factors_.size();
}

std::vector<std::pair<size_t, size_t>> runs_of(const std::vector<Factor>& f) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < f.size();) {
    size_t end = i + 1;
    const bool many = f[i].kind == FactorKind::line || f[i].kind == FactorKind::cycle;
    while (many && end < f.size() && f[end].kind == f[i].kind && f[end].bytes_per_s == f[i].bytes_per_s &&
           f[end].latency_s == f[i].latency_s)
      end++;
    runs.emplace_back(i, end);
    i = end;
  }
  return runs;
}

std::string describe_run(const std::vector<Factor>& f, std::pair<size_t, size_t> run) {
  const bool alone = run.second == run.first + 1;
  std::string sizes;
  for (size_t i = run.first; i < run.second; i++)
    sizes += (sizes.empty() ? "" : "x") + std::to_string(f[i].size);
  switch (f[run.first].kind) {
    case FactorKind::line:
      return (alone ? "line " : "mesh ") + sizes;
    case FactorKind::cycle:
      return (alone ? "ring " : "torus ") + sizes;
    case FactorKind::full:
      return "full " + sizes;
    case FactorKind::switched:
      return "switch " + sizes;
    case FactorKind::cube_mesh:
      break;
  }
  return "hybrid cube mesh";
}

std::string Lattice::describe() const {
  std::string text;
  for (const auto& run : runs_of(factors_))
    text += (text.empty() ? "" : " of ") + describe_run(factors_, run);
  return text;
}

}  // namespace plait::topology
