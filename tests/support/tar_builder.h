// TarBuilder: writes tar files by hand, hostile ones included, that no sane tool would make.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "whole_files.h"

namespace ffkit::testing {

class TarBuilder {
 public:
  // A member of any type: '0' file, '1' hard link, '2' symbolic link, '3' device, '5' folder, '6'
  // FIFO, 'L' long name, 'x' pax header.
  TarBuilder& add(const std::string& name, const std::string& data, char type = '0',
                  const std::string& link = "") {
    char header[512] = {};
    std::snprintf(header, 100, "%s", name.c_str());
    std::snprintf(header + 100, 8, "%07o", 0644);
    std::snprintf(header + 108, 8, "%07o", 0);
    std::snprintf(header + 116, 8, "%07o", 0);
    std::snprintf(header + 124, 12, "%011llo", static_cast<unsigned long long>(data.size()));
    std::snprintf(header + 136, 12, "%011o", 1336999980);
    header[156] = type;
    std::snprintf(header + 157, 100, "%s", link.c_str());
    std::memcpy(header + 257, "ustar\00000", 8);
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(header + 148, 8, "%06o", sum);
    bytes_.append(header, sizeof(header));
    bytes_ += data;
    bytes_.append((512 - data.size() % 512) % 512, '\0');
    return *this;
  }

  // A file whose name is kept in a GNU long-name member before it.
  TarBuilder& add_gnu_long(const std::string& name, const std::string& data) {
    return add("././@LongLink", name + '\0', 'L').add(name.substr(0, 99), data);
  }

  // A file with a pax header of one "key=value" before it.
  TarBuilder& add_pax(const std::string& key, const std::string& value, const std::string& name,
                      const std::string& data) {
    return add("PaxHeaders/x", pax_record(key, value), 'x').add(name, data);
  }

  static std::string pax_record(const std::string& key, const std::string& value) {
    const size_t rest = key.size() + value.size() + 3;  // " ", "=" and newline
    size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) ++length;
    return std::to_string(length) + " " + key + "=" + value + "\n";
  }

  // The tar so far, with the end mark of two zero blocks.
  std::string finish() const { return bytes_ + std::string(1024, '\0'); }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

}  // namespace ffkit::testing
