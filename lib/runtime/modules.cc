#include "runtime/modules.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.h"
#include "runtime/signals.h"

namespace plait::runtime {
namespace {

using transport::Module;

// The folder of the object that this code is in.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::unique_ptr<char, decltype(&std::free)> real(realpath(info.dli_fname, nullptr), &std::free);
  const std::string file = real != nullptr ? real.get() : info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// Beside this object; where that is a program, in bin/, its run path leads there.
Result<std::string> find(const std::string& file) {
  const std::string folder = own_folder();
  for (const std::string& path : {folder + "/plait/" + file, folder + "/" + file}) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  const KeptSignals signals;
  if (dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return file;
  return Status(Code::unsupported, "this plait has no module for it: no " + file + " in " + folder +
                                       "/plait or " + folder +
                                       "; it is built where the fabric's library is installed");
}

// Lines of a module go where this library's go, at the level that is wanted here.
void log_on(log::Level level, std::string_view line) { log::line(level, "{}", line); }

Result<const Module*> load(std::string_view name) {
  auto path = find("plait_" + std::string(name) + ".so");
  if (!path.ok()) return path.status();
  const KeptSignals signals;
  void* handle = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return Status(Code::system, dlerror());
  auto get = reinterpret_cast<const Module* (*)()>(dlsym(handle, transport::kModuleSymbol));
  if (get == nullptr) return Status(Code::unsupported, *path + " is no module of plait");
  const Module* module = get();
  if (module->build != transport::kModuleBuild) {
    return Status(Code::unsupported, *path + " was built with another plait (" + std::string(module->build) +
                                         ", and this is " + std::string(transport::kModuleBuild) + ")");
  }
  module->log_to(log_on);
  log::debug("loaded {}", *path);
  return module;
}

}  // namespace

Result<const Module*> load_module(std::string_view name) {
  static std::mutex mutex;
  static auto* loaded = new std::map<std::string, const Module*, std::less<>>;
  if (std::ranges::find(module_names(), name) == module_names().end())
    return Status(Code::unsupported, "there is no such fabric");
  std::lock_guard lock(mutex);
  if (auto it = loaded->find(name); it != loaded->end()) return it->second;
  auto module = load(name);
  if (module.ok()) loaded->emplace(name, *module);
  return module;
}

}  // namespace plait::runtime
