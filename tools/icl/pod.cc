// icl-pod: makes emulated pods, breaks them on order, removes them; lays pods into the windows of PCI
// devices.
#include <cstdio>

#include "drivers/icl/emu/emu.h"
#include "drivers/icl/pciwin/pciwin.h"
#include "tools/icl/device.h"

namespace {

using namespace plait::icl;

std::string path, text;
void (*command)() = nullptr;

// Behind "pciwin:", or of "pciwin" alone; nothing: a file of emu.
std::optional<std::string> window() {
  const std::string driver = "pciwin";
  if (path == driver) return "";
  if (path.rfind(driver + ":", 0) == 0) return path.substr(driver.size() + 1);
  return std::nullopt;
}

void create() {
  if (const auto where = window()) {
    check(icl_pciwin_create(where->c_str(), text.c_str(), nullptr));
    std::printf("%s: %s\n", path.c_str(), text.c_str());
    return;
  }
  check(icl_emu_create(path.c_str(), text.c_str(), nullptr));
  std::printf("emu:%s: %s\n", path.c_str(), text.c_str());
}

void destroy() {
  const auto where = window();
  check(where ? icl_pciwin_destroy(where->c_str()) : icl_emu_destroy(path.c_str()));
}

void fault() {
  if (window()) throw std::runtime_error("faults on order are emu's; this pod is in the window of a device");
  check(icl_emu_fault(path.c_str(), text.c_str()));
}

void run_command() {
  if (command == nullptr) throw CLI::RequiredError("a command (create, fault or destroy)");
  command();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Pods of chips: emulated ones, files in shared memory; and in windows of PCI devices.",
               "icl-pod");
  const auto add = [&](const char* name, const char* what, const char* text_is, void (*does)()) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_option("path", path,
                    "the pod's file, best in /dev/shm; or a window: pciwin, pciwin:0000:00:04.0")
        ->required();
    if (text_is != nullptr) sub->add_option("text", text, text_is)->required();
    sub->callback([does] { command = does; });
  };
  add("create", "make a pod: 'ring N', 'mesh AxB', 'torus AxB', 'hybrid cube mesh'",
      "the graph: one of the above, 'full N', 'custom N: 0-1 ...'; then '; quads= mbps= latency= mtu= "
      "credits= "
      "channels= limit= silent= memory='",
      create);
  add("fault", "break something in a pod that runs",
      "'chip N dead|stuck|unstuck', 'link C:P cut MS', 'link C:P degrade N', 'link C:P errors PPM [SEED]'",
      fault);
  add("destroy", "remove the file", nullptr, destroy);
  app.footer(
      "Examples:\n  icl-pod create /dev/shm/pod 'torus 4x4; mbps=1000 latency=1us memory=64M'\n"
      "  icl-pod fault /dev/shm/pod 'link 0:1 cut 50ms'\n  icl-pod destroy /dev/shm/pod\n  icl-pod create "
      "pciwin 'ring 2'");
  return run(app, argc, argv, run_command, "icl-pod create /dev/shm/pod 'ring 4'");
}
