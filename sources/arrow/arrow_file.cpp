#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include <ffkit/sources/arrow_file.h>

#include "arrow/row_batches.h"
#include "base/make_error.h"
#include "converter/input/input_file.h"
#include "parquet/module/parquet_module.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr char kModuleName[] = "libffkit_parquet.so";
constexpr size_t kErrorBytes = 1000;

// The folder of the program or library that holds this code.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&set_arrow_opener), &info) == 0) return {};
  std::error_code ignored;
  const fs::path file = info.dli_fname;
  // A program that PATH has found is called by its name alone.
  return fs::canonical(file.has_parent_path() ? file : "/proc/self/exe", ignored).parent_path();
}

struct ParquetModule {
  const FfkitParquetModule* functions = nullptr;
  std::string problem;  // without functions: why there are none
};

ParquetModule open_parquet_module() {
  ParquetModule module{.problem = fmt::format("{} is missing", kModuleName)};
  void* library = dlopen(kModuleName, RTLD_NOW | RTLD_LOCAL);
  const fs::path here = own_folder();
  for (const fs::path& folder : {here, here / "../lib", here / "../sources"}) {
    const fs::path path = folder / kModuleName;
    std::error_code ignored;
    if (library != nullptr || !fs::exists(path, ignored)) continue;
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      // Mostly for want of Arrow's library, which has its version in its name.
      module.problem = fmt::format("{} cannot be opened: {}", kModuleName, dlerror());
    }
  }
  if (library == nullptr) return module;
  using Get = const FfkitParquetModule* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, "ffkit_parquet_module_2"));
  module.problem = fmt::format("{} belongs to another version of ffkit", kModuleName);
  if (get != nullptr) module.functions = get();
  return module;
}

const ParquetModule& parquet_module() {
  static const ParquetModule module = open_parquet_module();
  return module;
}

class FileInput final : public ArrowInput {
 public:
  explicit FileInput(const fs::path& path) : file_(path) {}
  int64_t size() const override { return file_.size(); }
  void read_at(int64_t offset, std::span<std::byte> out) const override {
    if (!file_.is_in_store()) return file_.read_at(offset, out);
    if (file_.size() <= kSmallBytes) return read_of_whole(offset, out);
    // Columns are read from front to back.
    constexpr int64_t kAhead = 4 << 20;
    const int64_t ahead = std::min(kAhead, file_.size() - offset - std::ssize(out));
    if (ahead > 0) file_.will_read(offset + std::ssize(out), ahead);
    file_.read_at(offset, out);
  }

 private:
  // A small object takes longer to ask for than to fetch: it is fetched once, as a whole.
  static constexpr int64_t kSmallBytes = 256 << 10;

  void read_of_whole(int64_t offset, std::span<std::byte> out) const {
    const std::lock_guard lock(mutex_);
    if (whole_.empty() && file_.size() > 0) {
      std::vector<std::byte> whole(static_cast<size_t>(file_.size()));
      file_.read_at(0, whole);
      whole_ = std::move(whole);
    }
    std::copy_n(whole_.begin() + offset, out.size(), out.begin());
  }

  const InputFile file_;
  mutable std::mutex mutex_;
  mutable std::vector<std::byte> whole_;
};

class ModuleFile final : public ArrowFile {
 public:
  ModuleFile(const FfkitParquetModule& module, std::unique_ptr<ArrowInput> input,
             ArrowFormat format)
      : module_(module),
        format_(format),
        input_(std::move(input)),
        bytes_{this, input_->size(), &ModuleFile::read_bytes} {
    const int is_ipc = format == ArrowFormat::ipc ? 1 : 0;
    check([&](char* error) { return module_.open(&bytes_, is_ipc, &file_, error, kErrorBytes); });
  }
  ~ModuleFile() override {
    if (file_ != nullptr) module_.close(file_);
  }
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  ArrowFormat format() const override { return format_; }

  ArrowOwner<ArrowSchema> schema() override {
    ArrowOwner<ArrowSchema> schema;
    check([&](char* error) { return module_.schema(file_, schema.get(), error, kErrorBytes); });
    return schema;
  }

  std::vector<RowGroup> groups() override {
    std::vector<RowGroup> groups(static_cast<size_t>(module_.num_groups(file_)));
    for (size_t i = 0; i < groups.size(); ++i) {
      module_.group(file_, static_cast<int64_t>(i), &groups[i].num_rows, &groups[i].num_bytes);
    }
    return groups;
  }

  ArrowOwner<ArrowArrayStream> read(int64_t group, const std::vector<std::string>& columns,
                                    int64_t batch_rows) override {
    std::vector<const char*> names;
    names.reserve(columns.size());
    for (const std::string& column : columns) names.push_back(column.c_str());
    ArrowOwner<ArrowArrayStream> stream;
    check([&](char* error) {
      return module_.read(file_, group, names.empty() ? nullptr : names.data(), names.size(),
                          batch_rows, stream.get(), error, kErrorBytes);
    });
    return stream;
  }

 private:
  static int read_bytes(void* context, int64_t offset, int64_t num_bytes, void* out) {
    auto& self = *static_cast<ModuleFile*>(context);
    try {
      self.input_->read_at(offset, {static_cast<std::byte*>(out), static_cast<size_t>(num_bytes)});
      return 0;
    } catch (const Error& error) {
      self.error_ = error;
    } catch (const std::bad_alloc&) {
      self.error_ = Error(ErrorCode::io, "there is not enough memory");
    }
    return -1;
  }

  template <typename Call>
  void check(const Call& call) {
    std::array<char, kErrorBytes> text{};
    error_.reset();
    if (call(text.data()) == 0) return;
    if (error_) throw Error(*error_);
    throw unreadable_arrow(format_, text.data());
  }

  const FfkitParquetModule& module_;
  const ArrowFormat format_;
  const std::unique_ptr<ArrowInput> input_;
  const FfkitParquetBytes bytes_;
  void* file_ = nullptr;
  std::optional<Error> error_;  // of the last read of the file
};

std::mutex& opener_mutex() {
  static std::mutex mutex;
  return mutex;
}

OpenArrow& arrow_opener() {
  static OpenArrow opener;
  return opener;
}

}  // namespace

std::string_view to_string(ArrowFormat format) {
  return format == ArrowFormat::parquet ? "parquet files" : "Arrow tables";
}

void set_arrow_opener(OpenArrow open) {
  const std::lock_guard lock(opener_mutex());
  arrow_opener() = std::move(open);
}

std::unique_ptr<ArrowFile> open_arrow_file(std::unique_ptr<ArrowInput> input, ArrowFormat format) {
  OpenArrow open;
  {
    const std::lock_guard lock(opener_mutex());
    open = arrow_opener();
  }
  if (open) return open(std::move(input), format);
  const ParquetModule& module = parquet_module();
  if (module.functions != nullptr) {
    return std::make_unique<ModuleFile>(*module.functions, std::move(input), format);
  }
  throw error_of(ErrorCode::unsupported,
                 "ffkit reads {} with the library Arrow, but {}; run 'tools/setup --no-torch "
                 "--parquet' in the checkout of ffkit to install Arrow and build this module, or "
                 "convert in Python, where ffkit uses pyarrow",
                 to_string(format), module.problem);
}

namespace {

// Of a file, or of a stream, which begins with a mark and the length of its schema.
bool is_arrow_table(const ArrowInput& input) {
  constexpr std::string_view kFile = "ARROW1";
  constexpr std::string_view kStream = "\xff\xff\xff\xff";
  std::array<char, 8> head{};
  if (input.size() < std::ssize(head)) return false;
  input.read_at(0, std::as_writable_bytes(std::span(head)));
  const std::string_view text(head.data(), head.size());
  return text.starts_with(kFile) || text.starts_with(kStream);
}

}  // namespace

std::unique_ptr<ArrowFile> open_table_file(const fs::path& path) {
  auto input = std::make_unique<FileInput>(path);
  const bool is_arrow = path.extension() != ".parquet" && is_arrow_table(*input);
  return open_arrow_file(std::move(input), is_arrow ? ArrowFormat::ipc : ArrowFormat::parquet);
}

}  // namespace ffkit
