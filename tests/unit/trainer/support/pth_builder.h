// .pth files of any contents, for tests.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ffkit::testing {

using ZipEntries = std::vector<std::pair<std::string, std::string>>;  // names and contents

// Writes what archive_write_set_format_... chose.
inline void write_archive(archive* format, const std::filesystem::path& path,
                          const ZipEntries& entries) {
  const std::unique_ptr<archive, int (*)(archive*)> out(format, archive_write_free);
  archive_write_open_filename(out.get(), path.c_str());
  for (const auto& [name, contents] : entries) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<int64_t>(contents.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_write_header(out.get(), entry.get());
    archive_write_data(out.get(), contents.data(), contents.size());
  }
  archive_write_close(out.get());
}

inline void write_zip(const std::filesystem::path& path, const ZipEntries& entries,
                      bool is_compressed = false) {
  archive* const zip = archive_write_new();
  archive_write_set_format_zip(zip);
  if (is_compressed) {
    archive_write_zip_set_compression_deflate(zip);
  } else {
    archive_write_zip_set_compression_store(zip);
  }
  write_archive(zip, path, entries);
}

inline void write_tar(const std::filesystem::path& path, const ZipEntries& entries) {
  archive* const tar = archive_write_new();
  archive_write_set_format_ustar(tar);
  write_archive(tar, path, entries);
}

// Opcodes of protocol 2.
inline std::string pickle_text(const std::string& text) {
  std::string out = "X";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(text.size() >> (8 * i));
  return out + text;
}
inline std::string pickle_integer(int64_t value) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
inline std::string pickle_tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) out += pickle_integer(value);
  return out + "t";
}

// As torch.save() pickles a tensor; members that a test does not name describe four floats in
// storage 0.
struct PickledTensor {
  std::string function = "torch._utils\n_rebuild_tensor_v2";
  std::string storage_type = "torch\nFloatStorage";
  std::string key = "0";
  int64_t storage_numel = 4;
  int64_t offset = 0;
  std::vector<int64_t> sizes = {2, 2};
  std::vector<int64_t> strides = {2, 1};

  std::string bytes() const {
    return "c" + function + "\n((" + pickle_text("storage") + "c" + storage_type + "\n" +
           pickle_text(key) + pickle_text("cpu") + pickle_integer(storage_numel) + "tQ" +
           pickle_integer(offset) + pickle_tuple(sizes) + pickle_tuple(strides) +
           "\x89"
           "ccollections\nOrderedDict\n)RtR";
  }
};

// The pickle of {name: value, ...}; values are pickled already.
inline std::string pickle_dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "}(";
  for (const auto& [name, value] : entries) out += pickle_text(name) + value;
  return out + "u";
}
inline std::string whole_pickle(const std::string& value) {
  return "\x80\x02" + value + ".";
}

// A .pth with the pickle and one storage of 16 bytes, "0".
inline ZipEntries pth_entries(const std::string& pickle) {
  return {{"a/data.pkl", whole_pickle(pickle)},
          {"a/byteorder", "little"},
          {"a/data/0", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16)},
          {"a/version", "3\n"}};
}

}  // namespace ffkit::testing
