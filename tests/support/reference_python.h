// Comparing with torchvision: the Python named by FFKIT_REFERENCE_PYTHON runs a script on raw files
// in a folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ffkit::testing {

inline const char* reference_python() {
  const char* python = std::getenv("FFKIT_REFERENCE_PYTHON");
  return python != nullptr && *python != '\0' ? python : nullptr;
}

// Runs `script` with `folder` as its working folder. What it complains of goes to stderr.
inline bool run_python(const std::string& script, const std::filesystem::path& folder) {
  std::ofstream(folder / "script.py") << script;
  const std::string command =
      "cd '" + folder.string() + "' && '" + reference_python() + "' script.py >/dev/null";
  return std::system(command.c_str()) == 0;
}

template <typename T>
void write_values(const std::filesystem::path& path, const std::vector<T>& values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

template <typename T>
std::vector<T> read_values(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(values.size() * sizeof(T)),
            reinterpret_cast<char*>(values.data()));
  return values;
}

}  // namespace ffkit::testing

// Ends the test as skipped, with the reason, without a Python that has torchvision.
#define FFKIT_REQUIRE_REFERENCE_PYTHON()               \
  if (::ffkit::testing::reference_python() == nullptr) \
  GTEST_SKIP() << "$FFKIT_REFERENCE_PYTHON names no Python with torchvision"
