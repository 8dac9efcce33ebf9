// Writes LMDB files by hand, of pages of 512 bytes: a leaf, or a branch over leaves. Keys come in
// their order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ffkit::testing {

class LmdbBuilder {
 public:
  static constexpr size_t kPageBytes = 512;

  template <typename T>
  static std::string number(T value) {
    std::string text(sizeof(T), '\0');
    std::memcpy(text.data(), &value, sizeof(T));
    return text;
  }

  // An entry of the leaf that is written last. A value of more than 100 bytes has overflow pages.
  LmdbBuilder& add(const std::string& key, const std::string& value, uint16_t node_flags = 0) {
    constexpr size_t kMostInLeaf = 100;
    const bool is_big = value.size() > kMostInLeaf;
    nodes_.push_back(number(static_cast<uint32_t>(value.size())) +
                     number(static_cast<uint16_t>(node_flags | (is_big ? 1 : 0))) +
                     number(static_cast<uint16_t>(key.size())) + key +
                     (is_big ? number(add_overflow(value)) : value));
    ++num_entries_;
    return *this;
  }
  // A database in a value.
  static std::string tree(uint16_t tree_flags, uint64_t entries, uint64_t root) {
    return number(uint32_t{0}) + number(tree_flags) + number(uint16_t{1}) + number(uint64_t{0}) +
           number(uint64_t{1}) + number(uint64_t{0}) + number(entries) + number(root);
  }
  // Ends a leaf; returns its page.
  uint64_t leaf() {
    leaves_.push_back(add_page(2, nodes_));
    nodes_.clear();
    return leaves_.back();
  }

  // What is wrong on purpose.
  uint32_t version = 1;
  uint32_t page_bytes = kPageBytes;
  uint64_t more_entries = 0;
  uint16_t flags = 0;  // of the main database
  bool leaves_are_main = true;

  std::string file() {
    if (!nodes_.empty()) leaf();
    uint64_t root = ~uint64_t{0};
    if (leaves_are_main && leaves_.size() == 1) root = leaves_[0];
    if (leaves_are_main && leaves_.size() > 1) {
      std::vector<std::string> children;
      for (const uint64_t leaf : leaves_) {
        children.push_back(number(static_cast<uint32_t>(leaf)) + number(uint16_t{0}) +
                           number(uint16_t{1}) + (children.empty() ? "" : "k"));
      }
      root = add_page(1, children);
    }
    if (!leaves_are_main) root = leaves_.back();
    std::string file;
    for (const uint64_t page : {0, 1}) {
      std::string meta = number(page) + number(uint16_t{0}) + number(uint16_t{8}) +
                         number(uint32_t{0}) + number(uint32_t{0xBEEFC0DE}) + number(version) +
                         number(uint64_t{0}) + number(uint64_t{1} << 20);
      meta += number(page_bytes) + tree(8, 0, ~uint64_t{0}).substr(4);
      // The older one knows nothing yet.
      meta += page == 0 ? tree(0, 0, ~uint64_t{0}) : tree(flags, num_entries_ + more_entries, root);
      meta += number(uint64_t{1}) + number(page);
      meta.resize(kPageBytes);
      file += meta;
    }
    for (const std::string& page : pages_) file += page;
    return file;
  }

  size_t num_pages() const { return 2 + pages_.size(); }
  void set_num_entries(uint64_t entries) { num_entries_ = entries; }

 private:
  uint64_t next_page() const { return 2 + pages_.size(); }

  uint64_t add_overflow(const std::string& value) {
    const uint64_t first = next_page();
    const size_t num_pages = (16 + value.size() + kPageBytes - 1) / kPageBytes;
    std::string all = number(first) + number(uint16_t{0}) + number(uint16_t{4}) +
                      number(static_cast<uint32_t>(num_pages)) + value;
    all.resize(num_pages * kPageBytes);
    for (size_t i = 0; i < num_pages; ++i) pages_.push_back(all.substr(i * kPageBytes, kPageBytes));
    return first;
  }

  // As liblmdb: nodes from the end of the page, their offsets behind its header.
  uint64_t add_page(uint16_t page_flags, const std::vector<std::string>& nodes) {
    const uint64_t page = next_page();
    std::string offsets;
    std::string data;
    for (const std::string& node : nodes) {
      const std::string even = node + std::string(node.size() % 2, '\0');
      data = even + data;
      offsets += number(static_cast<uint16_t>(kPageBytes - data.size()));
    }
    const auto lower = static_cast<uint16_t>(16 + offsets.size());
    std::string text = number(page) + number(uint16_t{0}) + number(page_flags) + number(lower) +
                       number(static_cast<uint16_t>(kPageBytes - data.size())) + offsets;
    text.resize(kPageBytes - data.size());
    pages_.push_back(text + data);
    return page;
  }

  std::vector<std::string> nodes_;
  std::vector<uint64_t> leaves_;
  std::vector<std::string> pages_;  // from page 2 on
  uint64_t num_entries_ = 0;
};

// Caffe's Datum, as protobuf writes it.
class DatumBuilder {
 public:
  DatumBuilder& shape(uint64_t channels, uint64_t height, uint64_t width) {
    return number(1, channels).number(2, height).number(3, width);
  }
  DatumBuilder& number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  DatumBuilder& bytes(uint32_t field, const std::string& value) {
    varint(field << 3 | 2);
    varint(value.size());
    message_ += value;
    return *this;
  }
  DatumBuilder& data(const std::string& value) { return bytes(4, value); }
  DatumBuilder& label(uint64_t value) { return number(5, value); }
  DatumBuilder& number_f32(float value) {
    varint(6 << 3 | 5);
    message_ += LmdbBuilder::number(value);
    return *this;
  }
  const std::string& message() const { return message_; }

 private:
  void varint(uint64_t value) {
    while (value >= 0x80) {
      message_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    message_ += static_cast<char>(value);
  }

  std::string message_;
};

}  // namespace ffkit::testing
