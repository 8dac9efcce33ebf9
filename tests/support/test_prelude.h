// What nearly every unit test starts with, and the short names that it uses.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <latch>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ffkit/base/error.h>

#include "child_process.h"
#include "expect_error.h"
#include "shared_data.h"
#include "temp_dir.h"
#include "whole_files.h"

namespace ffkit::testing {

// The record that a builder was given.
template <typename Builder>
std::vector<std::byte> encoded(Builder& builder) {
  std::vector<std::byte> record;
  builder.encode(record);
  return record;
}

}  // namespace ffkit::testing

namespace ffkit {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using testing::read_file;
using testing::TempDir;
using testing::write_file;

}  // namespace ffkit
