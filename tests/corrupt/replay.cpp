// Runs a fuzz target over all files of a folder, then over changed seeds: replays TARGET FOLDER (if
// it exists). A crash or an exception ends it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "seeds/seeds.h"
#include "targets.h"
#include "temp_dir.h"
#include "whole_files.h"

namespace {

std::minstd_rand generator(1);

void run(const ffkit::fuzzing::Target& target, const std::string& bytes) {
  target.test(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// `bytes` with one to four changes, one upon the other.
void run_changed(const ffkit::fuzzing::Target& target, std::string bytes) {
  const size_t size = bytes.size();
  const size_t max_size = size + 1024;
  bytes.resize(max_size);
  auto* const data = reinterpret_cast<uint8_t*>(bytes.data());
  size_t changed = size;
  for (unsigned i = 0; i <= generator() % 4; ++i) {
    changed = target.mutate != nullptr
                  ? target.mutate(data, changed, max_size, static_cast<unsigned>(generator()))
                  : LLVMFuzzerMutate(data, changed, max_size);
  }
  bytes.resize(changed);
  run(target, bytes);
}

}  // namespace

// What libFuzzer has many ways for, in a simple one: bytes that are set to extreme or random
// values.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) {
  if (size == 0) return 0;
  static constexpr uint8_t kExtreme[] = {0, 1, 0x7F, 0x80, 0xFF, '0', '9', '-', '"'};
  for (unsigned i = 0; i <= generator() % 3; ++i) {
    data[generator() % size] = generator() % 2 == 0 ? kExtreme[generator() % sizeof(kExtreme)]
                                                    : static_cast<uint8_t>(generator());
  }
  return size;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto targets = ffkit::fuzzing::targets();
  const auto target = std::ranges::find_if(
      targets, [&](const auto& one) { return one.name == std::string_view(argv[1]); });
  if (target == targets.end()) {
    std::printf("there is no target '%s'\n", argv[1]);
    return 2;
  }
  int num_files = 0;
  if (std::filesystem::exists(argv[2])) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
      std::printf("%s\n", entry.path().c_str());
      run(*target, ffkit::testing::read_file(entry.path()));
      ++num_files;
    }
  }
  const ffkit::testing::TempDir dir;
  ffkit::fuzzing::make_seeds(dir.path());
  for (const auto& entry : std::filesystem::directory_iterator(dir / argv[1])) {
    const std::string seed = ffkit::testing::read_file(entry.path());
    for (int i = 0; i < 1000; ++i) run_changed(*target, seed);
  }
  std::printf("%d files\n", num_files);
}
