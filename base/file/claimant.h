// Claimant: the process that uses a folder, as a few lines of text say it, and whether it still
// runs. Pure values; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ffkit {

// The boot, the space of process numbers and the time at which the process began tell a process
// that is dead from another one that got its number.
struct Claimant {
  std::string host;
  int64_t pid = 0;
  std::string boot;
  std::string pid_space;
  std::string begin;
};

Claimant this_process();
// "host node17\npid 4711\n..."
std::string to_text(const Claimant& claimant);
// Takes any text. Members that it does not name stay empty.
Claimant parse_claimant(std::string_view text);

enum class ClaimantState {
  dead,
  alive,    // on this machine
  unknown,  // on another machine or in another container, or nothing is known of it
};
ClaimantState state_of(const Claimant& claimant, const Claimant& here);

// All of a small file that may be of /proc, which has no sizes; empty when it cannot be read.
std::string small_file(const std::filesystem::path& path);

}  // namespace ffkit
