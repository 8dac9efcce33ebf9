// FaultInjection: while it exists, chosen system calls of this program fail. For programs that link
// ffkit_fault_injection, which has the linker lead the calls of all that is linked statically
// (--wrap) through here; shared libraries are not affected.
//
// One at a time; disturb() for the calls of one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ffkit::testing {

// close: of files open for writing only. Writers need not care what closing a folder says.
enum class SystemCall : uint8_t { open, write, pwrite, fsync, close, rename, sync_file_range };
inline constexpr std::array kSystemCalls = {
    SystemCall::open,  SystemCall::write,  SystemCall::pwrite,         SystemCall::fsync,
    SystemCall::close, SystemCall::rename, SystemCall::sync_file_range};
std::string_view to_string(SystemCall call);

struct Fault {
  SystemCall call = SystemCall::write;
  int64_t first = 0;     // the call that fails, counted from 0
  int error = 0;         // errno; 0: the call does nothing and returns 0
  bool forever = false;  // so do all after it
};

class FaultInjection {
 public:
  FaultInjection();  // counts calls, nothing fails
  explicit FaultInjection(const Fault& fault);
  ~FaultInjection();
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;

  // write and pwrite take a part of what they are given, some hundred bytes to a few kB, and every
  // third call of them, fsync and open fails with EINTR.
  void disturb();

  int64_t num_calls(SystemCall call) const { return num_calls_[static_cast<size_t>(call)]; }

  // For the wrapped calls. Counts one; true when it has to fail, with errno set.
  bool fails(SystemCall call);
  bool is_interrupted();
  size_t part_of(size_t num_bytes);
  int result() const { return fault_.error == 0 ? 0 : -1; }

 private:
  Fault fault_;
  bool has_fault_ = false;
  bool is_disturbed_ = false;
  uint32_t random_ = 1;
  std::array<std::atomic<int64_t>, kSystemCalls.size()> num_calls_{};
};

}  // namespace ffkit::testing
