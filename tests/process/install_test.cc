// What `meson install` puts down is what others can build on: with pkg-config, with CMake, and taken away
// again.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <sstream>

#include "support/command.h"

namespace plait::test {
namespace {

namespace fs = std::filesystem;

// The installation, made once, in a folder of its own as DESTDIR.
class Install : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/plait-install-test-XXXXXX";
    root_ = mkdtemp(name);
    build_ = required("PLAIT_BUILD");
    prefix_ = root_.string() + required("PLAIT_PREFIX");
    libdir_ = prefix_ / required("PLAIT_LIBDIR");
    log_ = fs::path(build_) / "meson-logs" / "install-log.txt";
    // ninja uninstall goes by this log: it must go on telling of the user's installation, not of ours.
    if (fs::exists(log_)) fs::copy_file(log_, root_ / "saved-log");
    install_ = run({{"meson", "install", "-C", build_, "--no-rebuild", "--destdir", root_}, {}, {}, {}});
  }

  static void TearDownTestSuite() {
    fs::remove(log_);
    if (fs::exists(root_ / "saved-log")) fs::copy_file(root_ / "saved-log", log_);
    fs::remove_all(root_);
  }

  void SetUp() override { ASSERT_EQ(install_.status, 0) << install_.out << install_.err; }

  // Runs a shell script in an empty folder. $prefix, $libdir and $source are set.
  static Outcome shell(const std::string& script) {
    fs::path work = root_ / "work";
    fs::remove_all(work);
    fs::create_directories(work);
    Command c{{"sh", "-ec", "cd \"$work\"\n" + script}, {}, {"LD_LIBRARY_PATH"}, {}};
    c.set = {{"work", work},
             {"prefix", prefix_},
             {"libdir", libdir_},
             {"source", required("PLAIT_SOURCE")},
             {"PKG_CONFIG_PATH", libdir_ / "pkgconfig"},
             {"PKG_CONFIG_SYSROOT_DIR", root_}};
    return run(c, 120);
  }

  static bool has(const std::string& program) {
    return run({{"sh", "-c", "command -v " + program}, {}, {}, {}}).status == 0;
  }

  static inline fs::path root_, prefix_, libdir_, log_;
  static inline std::string build_;
  static inline Outcome install_;
};

constexpr const char* kSum = "[0] sum over 2: each element is 3\n";

TEST_F(Install, PutsDownHeaderLibraryAndTools) {
  for (fs::path file : {prefix_ / "include/plait/plait.h", prefix_ / "include/plait/collectives.h",
                        prefix_ / "include/plait/codec.h", prefix_ / "include/plait/memory.h",
                        prefix_ / "include/plait/plait.hpp", prefix_ / "include/plait/queue.h",
                        prefix_ / "bin/plait-run", prefix_ / "bin/plait-perf", prefix_ / "bin/plait-tune",
                        libdir_ / "libplait.so", libdir_ / "libplait.so.0", libdir_ / "pkgconfig/plait.pc",
                        libdir_ / "cmake/plait/plaitConfig.cmake"}) {
    EXPECT_TRUE(fs::exists(file)) << file;
  }
}

TEST_F(Install, PairToolsFindTheirModulesAndPages) {
  for (const char* name : {"plait_write_bw", "plait_write_lat", "plait_read_bw", "plait_read_lat",
                           "plait_send_bw", "plait_send_lat"}) {
    EXPECT_TRUE(fs::exists(prefix_ / "bin" / name)) << name;
    EXPECT_TRUE(fs::exists(prefix_ / "share/man/man1" / (std::string(name) + ".1"))) << name;
    EXPECT_TRUE(fs::exists(prefix_ / "share/bash-completion/completions" / name)) << name;
  }
  // There is a module for chips' links in every build; without a pod it says so itself.
  const Outcome o = shell("\"$prefix/bin/plait_write_bw\" -p 0 -d icl:emu:/no/such/pod");
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.err.find("no module"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("/no/such/pod"), std::string::npos) << o.err;
}

TEST_F(Install, EveryToolHasAPageAndCompletes) {
  for (const auto& entry : fs::directory_iterator(prefix_ / "bin")) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(fs::exists(prefix_ / "share/man/man1" / (name + ".1"))) << name;
    EXPECT_TRUE(fs::exists(prefix_ / "share/bash-completion/completions" / name)) << name;
  }
  const Outcome o = shell(
      "bash -c 'source \"$prefix/share/bash-completion/completions/plait-topo\"\n"
      "_plait_tool \"$prefix/bin/plait-topo\" --s plait-topo; echo ${COMPREPLY[*]}\n"
      "_plait_tool \"$prefix/bin/plait-topo\" r plait-topo; echo ${COMPREPLY[*]}'");
  EXPECT_EQ(o.out, "--shape --svg\nrings\n") << o.err;
}

TEST_F(Install, CompletesOptionsAndDevices) {
  const Outcome o = shell(
      "bash -c 'source \"$prefix/share/bash-completion/completions/plait_send_lat\"\n"
      "_plait_pair plait_send_lat --out plait_send_lat; echo ${COMPREPLY[*]}\n"
      "_plait_pair plait_send_lat sh -d; echo ${COMPREPLY[*]}'");
  EXPECT_EQ(o.out, "--output --out_json --out_json_file\nshm\n") << o.err;
}

TEST_F(Install, PutsDownNothingOfItsInside) {
  for (const auto& entry : fs::recursive_directory_iterator(prefix_)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_NE(entry.path().extension(), ".a") << entry.path();
    EXPECT_TRUE(entry.path().extension() != ".h" || entry.path().filename() == "plait.h" ||
                entry.path().filename() == "collectives.h" || entry.path().filename() == "codec.h" ||
                entry.path().filename() == "memory.h" || entry.path().filename() == "queue.h")
        << entry.path();
  }
}

TEST_F(Install, ExportsOnlyPlait) {
  Outcome o = shell("nm -D --defined-only \"$libdir/libplait.so\"");
  ASSERT_EQ(o.status, 0) << o.err;
  int functions = 0;
  for (const std::string& line : lines(o.out)) {
    std::istringstream words(line);
    std::string address, type, name;
    words >> address >> type >> name;
    if (type == "A") continue;  // the version's own name
    EXPECT_EQ(name.substr(0, 6), "plait_") << line;
    ++functions;
  }
  EXPECT_GT(functions, 20);
}

TEST_F(Install, HasASoname) {
  Outcome o = shell("objdump -p \"$libdir/libplait.so\" | grep SONAME");
  EXPECT_NE(o.out.find("libplait.so.0"), std::string::npos) << o.out << o.err;
}

TEST_F(Install, ToolsFindTheirLibrary) {
  Outcome o = shell("\"$prefix/bin/plait-run\" -n 2 \"$prefix/bin/plait-perf\" allreduce -b 8 -e 8 -n 1");
  EXPECT_EQ(o.status, 0) << o.out << o.err;
}

TEST_F(Install, BuildsTheExampleByPkgConfig) {
  Outcome o = shell(
      "cc -Wall -Werror \"$source/examples/allreduce.c\" $(pkg-config --cflags --libs plait) "
      "-Wl,-rpath,\"$libdir\"\n"
      "\"$prefix/bin/plait-run\" -n 2 ./a.out");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, kSum);
}

TEST_F(Install, BuildsWithTheHeaderForCxx) {
  Outcome o = shell(
      "cat >sum.cc <<END\n"
      "#include <plait/plait.hpp>\n"
      "int main() {\n"
      "  plait::library library;\n"
      "  plait::communicator comm = plait::make_communicator();\n"
      "  plait::vector<float> x(1000, 1);\n"
      "  plait::check(plait_allreduce(comm.get(), x.data(), x.data(), x.size(), PLAIT_FLOAT32, PLAIT_SUM, "
      "nullptr,\n"
      "                               nullptr), comm.get());\n"
      "  return x[999] == 2 ? 0 : 1;\n"
      "}\n"
      "END\n"
      "c++ -std=c++17 -Wall -Werror sum.cc $(pkg-config --cflags --libs plait) -Wl,-rpath,\"$libdir\"\n"
      "\"$prefix/bin/plait-run\" -n 2 ./a.out");
  EXPECT_EQ(o.status, 0) << o.out << o.err;
}

TEST_F(Install, PythonFindsItsModuleAndTheLibrary) {
  Outcome o = shell(
      "module=$(find \"$prefix\" -path '*/plait/memory.py')\n"
      "[ -n \"$module\" ] || exit 77\n"
      "cd / && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${module%/plait/memory.py} python3 -c 'import "
      "plait.memory\n"
      "print(plait.memory.is_shared(plait.memory.alloc(100)), plait.memory.library()._name)'");
  if (o.status == 77) GTEST_SKIP() << "the module of Python is not built (-Dpython)";
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_EQ(o.out, "True " + (libdir_ / "libplait.so.0").string() + "\n");
}

TEST_F(Install, BuildsTheExampleByCMake) {
  if (!has("cmake")) GTEST_SKIP() << "cmake is not installed (Debian package cmake)";
  Outcome o = shell(
      "cat >CMakeLists.txt <<END\n"
      "cmake_minimum_required(VERSION 3.18)\n"
      "project(example C)\n"
      "find_package(plait 0.1 REQUIRED)\n"
      "add_executable(example $source/examples/allreduce.c)\n"
      "target_link_libraries(example plait::plait)\n"
      "END\n"
      "cmake -G Ninja -S . -B out -DCMAKE_PREFIX_PATH=\"$prefix\" >log 2>&1 && cmake --build out >>log 2>&1 "
      "|| { cat "
      "log >&2; exit 1; }\n"
      "\"$prefix/bin/plait-run\" -n 2 out/example");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, kSum);
}

TEST_F(Install, CMakeRefusesAnotherVersion) {
  if (!has("cmake")) GTEST_SKIP() << "cmake is not installed (Debian package cmake)";
  Outcome o = shell(
      "cat >CMakeLists.txt <<END\n"
      "cmake_minimum_required(VERSION 3.18)\n"
      "project(example C)\n"
      "find_package(plait 7.0 REQUIRED)\n"
      "END\n"
      "cmake -G Ninja -S . -B out -DCMAKE_PREFIX_PATH=\"$prefix\"");
  EXPECT_NE(o.status, 0);
  EXPECT_NE(o.err.find("considered but not accepted"), std::string::npos) << o.err;
}

// The last: it takes away what the others look at.
TEST_F(Install, UninstallTakesEverythingAway) {
  Outcome o = run({{"ninja", "-C", build_, "uninstall"}, {}, {}, {}});
  ASSERT_EQ(o.status, 0) << o.out << o.err;
  if (!fs::exists(prefix_)) return;
  for (const auto& entry : fs::recursive_directory_iterator(prefix_)) {
    EXPECT_TRUE(entry.is_directory()) << entry.path() << " was left behind";
  }
}

}  // namespace
}  // namespace plait::test
