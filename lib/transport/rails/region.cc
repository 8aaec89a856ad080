#include "transport/rails/region.h"

#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

Result<std::unique_ptr<Region>> RailsRegion::make(const std::vector<std::unique_ptr<Domain>>& rails,
                                                  const Memory& memory, Access access) {
  std::vector<std::unique_ptr<Region>> parts;
  for (const auto& rail : rails) {
    auto part = rail->expose(memory, access);
    if (!part.ok()) {
      return Status(part.status().code(), "rails: exposing memory on " + std::string(rail->name()) + ": " +
                                              std::string(part.status().text()));
    }
    parts.push_back(std::move(*part));
  }
  return std::unique_ptr<Region>(std::make_unique<RailsRegion>(memory, access, std::move(parts)));
}

RailsRegion::RailsRegion(const Memory& memory, Access access, std::vector<std::unique_ptr<Region>> parts)
    : Region(memory), parts_(std::move(parts)) {
  Key key;
  key.bytes = memory.bytes;
  key.access = access;
  for (const auto& part : parts_) key.keys.push_back(part->key());
  key_ = make_key(key);
}

RailsRemote::~RailsRemote() { endpoint_.drop(import_); }

}  // namespace plait::transport::rails
