// StoreClaim: keeps other writers away from a data set in a store. Stores have no locks: an object
// in the set says which process writes it.
//
//   .ffkit-in-use-1   host, process, boot, and a count that the process raises every 5 s: the beat
//   .ffkit-in-use-2   the next writer's: it found -1 of a process that is gone, wrote this one, and
//                     removed -1
//
// An object is written only where there is none (If-None-Match), so of several newcomers one alone
// gets the next number. Whether the process of an object is gone is told without clocks of other
// machines:
//
//   this machine, same boot   by the process's number and begin: taken over at once, or refused
//   any other                 the newcomer watches for 30 s: a beat that goes on is refused, one
//                             that stands still is taken over
//
// A process that was stopped for longer than that and wakes up finds at its next beat, and before
// each shard and manifest that it would complete, that it was taken over, and ends with an error.
// What it may still do in the moment between that look and its write does no harm. The same plan
// gives the same bytes. Of another plan a shard is not the one whose checksum the manifest has, so
// readers refuse it; and a manifest is never replaced: whoever comes second gets an error.
//
// Where a store ignores conditions (rclone) two that come within the same instant may both get a
// number; the one whose object was replaced finds that at its next look.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ffkit {

class StoreClaim {
 public:
  struct Pace {
    std::chrono::milliseconds beat{5'000};
    std::chrono::milliseconds patience{30'000};  // how long a newcomer watches
  };
  // What is used in this process; tests change it.
  static Pace& pace();

  // Claims the data set at the address `folder`. Throws Error(invalid_argument) where another
  // process uses it. May wait, of which `note` gets a sentence; `poll` is called meanwhile, every
  // 0.1 s, and what it throws ends the wait. Both may be empty.
  StoreClaim(std::filesystem::path folder, const std::function<void(const std::string&)>& note,
             const std::function<void()>& poll);
  // release()
  ~StoreClaim();
  StoreClaim(const StoreClaim&) = delete;
  StoreClaim& operator=(const StoreClaim&) = delete;

  // Asks the store whether the claim still holds. Throws Error(invalid_argument) when another
  // process has taken over, Error(io). Thread-safe.
  void require_held();
  // Ends the beat and removes the object. A failure leaves the object: the next writer finds it.
  void release() noexcept;

  static bool is_claim(const std::string& name);

 private:
  void claim(const std::function<void(const std::string&)>& note,
             const std::function<void()>& poll);
  void beat();
  // Who has taken over; empty while the claim holds.
  std::string taken_by() const;
  std::string text() const;

  const std::filesystem::path folder_;
  std::string token_;  // no other claim has the same
  std::filesystem::path path_;
  int64_t number_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable is_ending_changed_;
  bool is_ending_ = false;
  int64_t num_beats_ = 0;
  std::thread thread_;  // last
};

}  // namespace ffkit
