// tf.train.Example messages and TFRecord files, as TensorFlow writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/crc32c.h>

namespace ffkit::testing {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// A field of a message whose value has a length.
inline std::string message_field(int number, const std::string& value) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(value.size()) + value;
}

template <typename T>
std::string little_bytes(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string tf_feature(const std::string& name, int list, const std::string& values) {
  return message_field(1, message_field(1, name) + message_field(2, message_field(list, values)));
}
inline std::string tf_bytes(const std::string& name, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += message_field(1, value);
  return tf_feature(name, 1, list);
}
inline std::string tf_floats(const std::string& name, const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) packed += little_bytes(value);
  return tf_feature(name, 2, message_field(1, packed));
}
inline std::string tf_integers(const std::string& name, const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) packed += varint(static_cast<uint64_t>(value));
  return tf_feature(name, 3, message_field(1, packed));
}
// Of the features of one of the three, joined.
inline std::string tf_example(const std::string& features) {
  return message_field(1, features);
}

inline uint32_t tf_crc(const std::string& data) {
  const uint32_t crc = crc32c(std::as_bytes(std::span(data)));
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}
inline std::string tf_record(const std::string& data) {
  const std::string length = little_bytes(static_cast<uint64_t>(data.size()));
  return length + little_bytes(tf_crc(length)) + data + little_bytes(tf_crc(data));
}

}  // namespace ffkit::testing
