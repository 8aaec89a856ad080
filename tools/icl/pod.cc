// icl-pod: makes emulated pods, breaks them on order, removes them.
#include <cstdio>

#include "drivers/icl/emu/emu.h"
#include "tools/icl/device.h"

namespace {

using namespace plait::icl;

std::string path, text;
void (*command)() = nullptr;

void create() {
  check(icl_emu_create(path.c_str(), text.c_str(), nullptr));
  std::printf("emu:%s: %s\n", path.c_str(), text.c_str());
}

void destroy() { check(icl_emu_destroy(path.c_str())); }

void fault() { check(icl_emu_fault(path.c_str(), text.c_str())); }

void run_command() { command(); }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Emulated pods of chips: files in shared memory.", "icl-pod");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what, const char* text_is, void (*does)()) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_option("path", path, "the pod's file, best in /dev/shm")->required();
    if (text_is != nullptr) sub->add_option("text", text, text_is)->required();
    sub->callback([does] { command = does; });
  };
  add("create",
      "make a pod: 'ring N', 'full N', 'mesh AxB', 'torus AxB', 'hybrid cube mesh', 'custom N: 0-1 ...'",
      "the graph, then '; quads= mbps= latency= mtu= credits= channels= limit= silent= memory='", create);
  add("fault", "break something in a pod that runs",
      "'chip N dead|stuck|unstuck', 'link C:P cut MS', 'link C:P degrade N', 'link C:P errors PPM [SEED]'",
      fault);
  add("destroy", "remove the file", nullptr, destroy);
  app.footer(
      "Examples:\n  icl-pod create /dev/shm/pod 'torus 4x4; mbps=1000 latency=1us memory=64M'\n"
      "  icl-pod fault /dev/shm/pod 'link 0:1 cut 50ms'\n  icl-pod destroy /dev/shm/pod");
  return run(app, argc, argv, run_command);
}
