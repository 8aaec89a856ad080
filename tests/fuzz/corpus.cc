// The main program of a fuzz target where there is no libFuzzer: runs it over the files of the folders given,
// so that what was found once is tested by every build.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.h"

int main(int count, char** folders) {
  size_t files = 0;
  for (int i = 1; i < count; i++) {
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      // Said before: where it ends, the last line names the file.
      std::printf("%s\n", entry.path().filename().c_str());
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      files++;
    }
  }
  std::printf("%zu files\n", files);
  return files > 0 ? 0 : 1;
}
