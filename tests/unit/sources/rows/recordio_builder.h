// Writes RecordIO files as dmlc-core and MXNet do.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ffkit::testing {

class RecordIoBuilder {
 public:
  static constexpr uint32_t kMagic = 0xCED7230A;

  template <typename T>
  static std::string bytes_of(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }

  // A part: its header with `length`, and `data`, padded.
  static std::string part(uint32_t kind, const std::string& data, uint32_t length) {
    std::string bytes = bytes_of(kMagic) + bytes_of(kind << 29 | length) + data;
    bytes.resize((bytes.size() + 3) / 4 * 4);
    return bytes;
  }
  static std::string part(uint32_t kind, const std::string& data) {
    return part(kind, data, static_cast<uint32_t>(data.size()));
  }

  // In parts where the magic stands at a multiple of 4 bytes.
  RecordIoBuilder& add(const std::string& record) {
    offsets_.push_back(file_.size());
    size_t begin = 0;
    for (size_t i = 0; i + 4 <= record.size(); i += 4) {
      if (record.compare(i, 4, bytes_of(kMagic)) != 0) continue;
      file_ += part(begin == 0 && offsets_.back() == file_.size() ? 1 : 2,
                    record.substr(begin, i - begin));
      begin = i + 4;
    }
    const bool is_whole = offsets_.back() == file_.size();
    file_ += part(is_whole ? 0 : 3, record.substr(begin));
    return *this;
  }

  // MXNet's pack(): `labels` of one are the header's label, others stand behind it.
  static std::string image(const std::vector<float>& labels, uint64_t id, const std::string& data,
                           uint64_t id2 = 0) {
    const bool is_one = labels.size() == 1;
    std::string record = bytes_of(is_one ? 0U : static_cast<uint32_t>(labels.size())) +
                         bytes_of(is_one ? labels[0] : 0.0F) + bytes_of(id) + bytes_of(id2);
    for (size_t i = 0; i < labels.size() && !is_one; ++i) record += bytes_of(labels[i]);
    return record + data;
  }
  RecordIoBuilder& add_image(const std::vector<float>& labels, uint64_t id, const std::string& data,
                             uint64_t id2 = 0) {
    return add(image(labels, id, data, id2));
  }

  RecordIoBuilder& add_bytes(const std::string& bytes) {
    file_ += bytes;
    return *this;
  }

  const std::string& file() const { return file_; }
  // Of the records that were added, with keys from 0.
  std::string idx() const {
    std::string text;
    for (size_t i = 0; i < offsets_.size(); ++i) {
      text += std::to_string(i) + "\t" + std::to_string(offsets_[i]) + "\n";
    }
    return text;
  }

 private:
  std::string file_;
  std::vector<size_t> offsets_;
};

}  // namespace ffkit::testing
