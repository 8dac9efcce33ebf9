// Arrow's C data interface, for arrays of other programs without Arrow's library. Source:
// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html, with the same
// guards, so that Arrow's own header may be included, too.
// May change in any version (docs/stability.md).
#pragma once

#include <cstdint>

// NOLINTBEGIN(modernize-use-using)
extern "C" {

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

}  // extern "C"
// NOLINTEND(modernize-use-using)

namespace ffkit {

// Owns one of the three: releases it at its end.
template <typename T>
class ArrowOwner {
 public:
  ArrowOwner() = default;
  ArrowOwner(ArrowOwner&& other) noexcept : value_(other.value_) { other.value_ = {}; }
  ArrowOwner& operator=(ArrowOwner&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = other.value_;
      other.value_ = {};
    }
    return *this;
  }
  ArrowOwner(const ArrowOwner&) = delete;
  ArrowOwner& operator=(const ArrowOwner&) = delete;
  ~ArrowOwner() { reset(); }

  T* get() noexcept { return &value_; }
  const T* get() const noexcept { return &value_; }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }
  // Whether there is one.
  explicit operator bool() const noexcept { return value_.release != nullptr; }

 private:
  void reset() noexcept {
    if (value_.release != nullptr) value_.release(&value_);
    value_ = {};
  }

  T value_{};
};

}  // namespace ffkit
