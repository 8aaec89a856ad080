#include "tools/command_line.h"

#include <cstdio>

#include "plait/plait.h"

namespace plait::tools {

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, const About& about,
                         const std::function<void()>& settle) {
  bool help = false, version = false;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  app.add_flag(about.version, version);
  try {
    app.parse(argc, argv);
    if (help) std::fputs(about.help.c_str(), stdout);
    if (version)
      std::printf("%s %d.%d.%d\n", about.name.c_str(), PLAIT_VERSION_MAJOR, PLAIT_VERSION_MINOR,
                  PLAIT_VERSION_PATCH);
    if (help || version) return 0;
    settle();
  } catch (const std::exception& e) {  // CLI::ParseError and Mistake
    std::fprintf(stderr, "%s: %s\nTry: %s --help\n", about.name.c_str(), e.what(), about.name.c_str());
    return about.mistake;
  }
  return std::nullopt;
}

void add_refused(CLI::App& app, std::span<const Refused> refused) {
  for (const Refused& r : refused) {
    if (r.takes_value)
      app.add_option(r.names)->expected(1);
    else
      app.add_flag(r.names);
  }
}

void check_refused(const CLI::App& app, std::span<const Refused> refused, const std::string& tool) {
  for (const Refused& r : refused) {
    const std::string names = r.names, first = names.substr(0, names.find(','));
    if (app.count(first) != 0) throw Mistake(first + " of " + tool + " is not taken: " + r.why);
  }
}

}  // namespace plait::tools
