#include "tools/tune/place.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace plait::tune {
namespace {

// As /proc/cpuinfo has it.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) {
      std::string name = line.substr(colon + 2, collectives::kMostTuningText);
      make_printable(name);
      return name;
    }
  }
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[16] = "";
  if (::gmtime_r(&now, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

collectives::TuningMachine this_machine(uint32_t hosts) {
  return {.cpu = cpu_name(), .date = today(), .cores = std::thread::hardware_concurrency(), .hosts = hosts};
}

Status same_kind(const collectives::TuningMachine& a, const collectives::TuningMachine& b) {
  if (a.cpu == b.cpu && a.cores == b.cores) return {};
  auto text = [](const collectives::TuningMachine& m) {
    return m.cpu + " with " + std::to_string(m.cores) + (m.cores == 1 ? " core" : " cores");
  };
  return {Code::invalid, "measured on another machine: " + text(b) + ", not " + text(a)};
}

Status write_file(const std::string& path, const collectives::Tuning& tuning) {
  const std::string text = collectives::write_tuning(tuning);
  if (auto read = collectives::parse_tuning(text); !read.ok()) return read.status();
  const std::string part = path + "." + std::to_string(::getpid());
  auto failed = [&](const std::string& name) {
    const Status status = Status::system(errno, "cannot write " + name);
    ::unlink(part.c_str());
    return status;
  };
  std::ofstream file(part, std::ios::trunc);
  file << text;
  file.close();
  if (!file) return failed(part);
  return std::rename(part.c_str(), path.c_str()) == 0 ? Status() : failed(path);
}

}  // namespace plait::tune
