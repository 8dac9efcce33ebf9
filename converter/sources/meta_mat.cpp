#include <fcntl.h>
#include <fmt/format.h>
#include <matio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>

#include <ffkit/format/error.h>

#include "devkit.h"
#include "mat_file.h"

namespace ffkit {
namespace {

[[noreturn]] void bad_meta(const std::string& origin, const std::string& message) {
  throw Error(ErrorCode::corrupt,
              fmt::format("{}; is it ILSVRC2012's meta.mat? Get the devkit again", message),
              {.path = origin});
}

// matio reads files only: a nameless one in memory spares unpacking the devkit to disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes)
      : fd_(::memfd_create("meta.mat", MFD_CLOEXEC)) {
    size_t num_written = 0;
    while (fd_ >= 0 && num_written < bytes.size()) {
      const ssize_t n = ::write(fd_, bytes.data() + num_written, bytes.size() - num_written);
      if (n > 0) num_written += static_cast<size_t>(n);
      if (n < 0 && errno != EINTR) break;
    }
    if (fd_ < 0 || num_written < bytes.size()) {
      const int error = errno;
      if (fd_ >= 0) ::close(fd_);
      throw Error(ErrorCode::io, "cannot keep meta.mat in memory", {.errno_value = error});
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

struct CloseMat {
  void operator()(mat_t* mat) const { Mat_Close(mat); }
};
struct FreeVar {
  void operator()(matvar_t* var) const { Mat_VarFree(var); }
};

class SynsetTable {
 public:
  SynsetTable(const matvar_t& table, const std::string& origin) : table_(table), origin_(origin) {}

  size_t num_rows() const {
    return std::accumulate(table_.dims, table_.dims + table_.rank, size_t{1}, std::multiplies<>());
  }

  int64_t integer(const char* field, size_t row) const {
    const matvar_t& value = cell(field, row);
    if (value.data != nullptr && value.nbytes >= static_cast<size_t>(value.data_size)) {
      switch (value.class_type) {
        case MAT_C_DOUBLE: {
          const double number = *static_cast<const double*>(value.data);
          if (value.data_type != MAT_T_DOUBLE || !(number >= 0 && number < 1e9)) break;
          return static_cast<int64_t>(number);
        }
        case MAT_C_UINT8:
          return *static_cast<const uint8_t*>(value.data);
        case MAT_C_UINT16:
          return *static_cast<const uint16_t*>(value.data);
        case MAT_C_INT16:
          return *static_cast<const int16_t*>(value.data);
        case MAT_C_INT32:
          return *static_cast<const int32_t*>(value.data);
        default:
          break;
      }
    }
    bad_meta(origin_, fmt::format("row {}: '{}' is not a number", row + 1, field));
  }

  std::string text(const char* field, size_t row) const {
    const matvar_t& value = cell(field, row);
    std::string text;
    if (value.class_type == MAT_C_CHAR && (value.data != nullptr || value.nbytes == 0)) {
      // MATLAB writes characters as 8 or 16 bits; the names are ASCII but for a few accents, kept
      // as UTF-8.
      if (value.data_size == 1) {
        return {static_cast<const char*>(value.data), value.nbytes};
      }
      if (value.data_size == 2) {
        const auto* units = static_cast<const uint16_t*>(value.data);
        for (size_t i = 0; i < value.nbytes / 2; ++i) append_utf8(units[i], text);
        return text;
      }
    }
    bad_meta(origin_, fmt::format("row {}: '{}' is not text", row + 1, field));
  }

 private:
  const matvar_t& cell(const char* field, size_t row) const {
    const matvar_t* value = Mat_VarGetStructFieldByName(const_cast<matvar_t*>(&table_), field, row);
    if (value == nullptr) bad_meta(origin_, fmt::format("row {} has no '{}'", row + 1, field));
    return *value;
  }

  // Only the basic plane: MATLAB's names hold no surrogates.
  static void append_utf8(uint16_t unit, std::string& text) {
    if (unit < 0x80) {
      text += static_cast<char>(unit);
    } else if (unit < 0x800) {
      text += static_cast<char>(0xC0 | (unit >> 6));
      text += static_cast<char>(0x80 | (unit & 0x3F));
    } else {
      text += static_cast<char>(0xE0 | (unit >> 12));
      text += static_cast<char>(0x80 | ((unit >> 6) & 0x3F));
      text += static_cast<char>(0x80 | (unit & 0x3F));
    }
  }

  const matvar_t& table_;
  const std::string& origin_;
};

struct Leaf {
  std::string wnid;
  std::string words;
  int64_t id = 0;
};

}  // namespace

Synsets parse_meta_mat(std::span<const std::byte> bytes, const std::string& origin) {
  const MemoryFile file(expand_mat_file(bytes, origin));
  const std::unique_ptr<mat_t, CloseMat> mat(Mat_Open(file.path().c_str(), MAT_ACC_RDONLY));
  if (mat == nullptr) bad_meta(origin, "cannot be read by matio");
  const std::unique_ptr<matvar_t, FreeVar> variable(Mat_VarRead(mat.get(), "synsets"));
  if (variable == nullptr || variable->class_type != MAT_C_STRUCT || variable->data == nullptr) {
    bad_meta(origin, "has no table 'synsets'");
  }
  const SynsetTable table(*variable, origin);
  std::vector<Leaf> leaves;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    if (table.integer("num_children", row) != 0) continue;
    leaves.push_back({.wnid = table.text("WNID", row),
                      .words = table.text("words", row),
                      .id = table.integer("ILSVRC2012_ID", row)});
  }
  if (leaves.empty()) bad_meta(origin, "has no class without children");
  std::ranges::sort(leaves, {}, &Leaf::wnid);

  Synsets synsets;
  for (Leaf& leaf : leaves) {
    const auto label = static_cast<int64_t>(synsets.wnids.size());
    const bool is_new_id = synsets.label_of_id.emplace(leaf.id, label).second;
    if (!is_new_id || (label > 0 && synsets.wnids.back() == leaf.wnid)) {
      bad_meta(origin, fmt::format("has class '{}' or its number {} twice", leaf.wnid, leaf.id));
    }
    synsets.wnids.push_back(std::move(leaf.wnid));
    synsets.words.push_back(std::move(leaf.words));
  }
  return synsets;
}

}  // namespace ffkit
