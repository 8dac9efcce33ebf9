// DctFile: the parts of a picture in the dct code (format/DCT.md). A view, which owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dct/dct_geometry.h"

namespace ffkit {

class DctFile {
 public:
  static constexpr size_t kMagicBytes = 6;
  static constexpr std::string_view kMagic = {
      "\x93"
      "FFDCT",
      kMagicBytes};
  static constexpr uint8_t kVersion = 1;
  static constexpr size_t kHeaderBytes = 28;
  static constexpr size_t kCodeBytes = 19;   // of a component: widths and flags
  static constexpr size_t kSlackBytes = 16;  // zeros at the end

  // Checks header and index. Throws Error(corrupt) or, for another version, Error(unsupported).
  // `dct` must stay.
  void open(std::span<const std::byte> dct);

  uint8_t padding() const { return padding_; }
  std::span<const std::byte> head() const { return head_; }
  std::span<const std::byte> tail() const { return tail_; }
  size_t num_rows() const { return num_rows_; }
  size_t num_components() const { return num_components_; }
  const DctComponentCodes& codes() const { return codes_; }
  // kSlackBytes more can be read behind it.
  std::span<const uint8_t> row(size_t i) const;

 private:
  uint8_t padding_ = 0;
  size_t num_rows_ = 0;
  size_t num_components_ = 0;
  std::span<const std::byte> head_;
  std::span<const std::byte> tail_;
  DctComponentCodes codes_;
  const uint8_t* index_ = nullptr;
  const uint8_t* rows_ = nullptr;
};

// Throws Error(corrupt): the dct code of a picture is broken, and `what` says how.
[[noreturn]] void throw_broken_dct(std::string_view what);

}  // namespace ffkit
