// Writes beton files as FFCV's DatasetWriter does, but without the space before its first page.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ffkit::testing {

class BetonBuilder {
 public:
  enum Type : uint8_t { real, integer, image, bytes, array, json, tensor, own = 255 };

  template <typename T>
  static std::string number(T value) {
    std::string text(sizeof(T), '\0');
    std::memcpy(text.data(), &value, sizeof(T));
    return text;
  }

  BetonBuilder& field(const std::string& name, Type type, const std::string& arguments = "") {
    std::string descriptor(1, static_cast<char>(type));
    descriptor += padded(name, 16) + padded(arguments, 1024);
    descriptors_.push_back(descriptor);
    return *this;
  }
  // Of an array; `descr` is NumPy's: "<f4".
  static std::string array_arguments(const std::vector<uint64_t>& shape, const std::string& descr) {
    std::string text;
    for (const uint64_t size : shape) text += number(size);
    text.resize(32 * sizeof(uint64_t));
    const std::string json = R"([["", ")" + descr + R"("]])";
    return text + number(uint64_t{json.size()}) + json;
  }

  // The parts of a row, in the order of the fields: row() ends it. Bytes are written where the row
  // is complete.
  BetonBuilder& add_number(uint64_t bits) { return add({.numbers = {8, number(bits)}}); }
  BetonBuilder& add_real(double value) { return add({.numbers = {8, number(value)}}); }
  BetonBuilder& add_image(uint8_t mode, uint16_t width, uint16_t height, const std::string& data) {
    return add({.numbers = {1, number(mode) + number(width) + number(height)},
                .data = data,
                .has_data = true});
  }
  BetonBuilder& add_bytes(const std::string& data) {
    return add({.numbers = {1, ""}, .data = data, .has_data = true, .has_size = true});
  }
  BetonBuilder& add_array(const std::string& data) {
    return add({.numbers = {8, ""}, .data = data, .has_data = true});
  }
  BetonBuilder& row() {
    ++num_rows_;
    return *this;
  }

  // What is wrong on purpose.
  uint16_t version = 2;
  uint32_t page_bytes = 1U << 21;
  bool has_allocations = true;

  std::string file() const {
    std::string descriptors;
    for (const std::string& descriptor : descriptors_) descriptors += descriptor;
    // Twice: places are known when the length of the rows is.
    std::string rows = rows_at(0, nullptr, nullptr);
    const uint64_t pages = 24 + descriptors.size() + rows.size();
    std::string data;
    std::string allocations;
    rows = rows_at(pages, &data, &allocations);
    const std::string header =
        number(version) + number(static_cast<uint16_t>(descriptors_.size())) + number(page_bytes) +
        number(num_rows_) + number(has_allocations ? pages + data.size() : uint64_t{0});
    return header + descriptors + rows + data + allocations;
  }

 private:
  struct Numbers {
    size_t alignment = 1;
    std::string text;
  };
  struct Part {
    Numbers numbers;
    std::string data = {};
    bool has_data = false;
    bool has_size = false;
  };

  BetonBuilder& add(const Part& part) {
    parts_.push_back(part);
    return *this;
  }

  static std::string padded(std::string text, size_t num_bytes) {
    text.resize(num_bytes);
    return text;
  }

  std::string rows_at(uint64_t place, std::string* data, std::string* allocations) const {
    std::string rows;
    size_t next = 0;
    for (uint64_t row = 0; row < num_rows_; ++row) {
      const size_t begin = rows.size();
      size_t alignment = 1;
      const auto align = [&](size_t to) {
        while ((rows.size() - begin) % to != 0) rows += '\0';
      };
      for (size_t i = 0; i < descriptors_.size(); ++i) {
        const Part& part = parts_.at(next++);
        align(part.numbers.alignment);
        alignment = std::max(alignment, part.numbers.alignment);
        rows += part.numbers.text;
        if (part.has_data) rows += number(place);
        if (part.has_size) rows += number(uint64_t{part.data.size()});
        if (!part.has_data || data == nullptr) continue;
        *data += part.data;
        *allocations += number(row) + number(place) + number(uint64_t{part.data.size()});
        place += part.data.size();
      }
      align(alignment);
    }
    return rows;
  }

  std::vector<std::string> descriptors_;
  std::vector<Part> parts_;
  uint64_t num_rows_ = 0;
};

}  // namespace ffkit::testing
