#include "io/shard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <future>
#include <new>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>

#include "base/file/file.h"
#include "format/dataset/fetch_ahead.h"
#include "io/kernel_read_engine.h"

namespace ffkit {
namespace {

// Where the kernel cannot say (before Linux 6.1): a page always works.
constexpr size_t kDefaultAlignment = 4096;

[[noreturn]] void throw_open_error(const std::filesystem::path& path, int error) {
  const char* message =
      error == EMFILE || error == ENFILE
          ? "cannot open the shard, because too many files are open; raise the limit (ulimit -n) "
            "or convert with larger shards"
          : "cannot open the shard for reading";
  throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io, message,
              {.path = path.string(), .errno_value = error, .subject = ErrorSubject::shard});
}

// Opens the file again, and not what may have taken its name since (proc(5)). Without /proc there
// is only the name; what another file holds is then noticed by the records' checksums.
int reopen(const ReadFile& file, int flags) {
  const int fd = open_descriptor(fmt::format("/proc/self/fd/{}", file.descriptor), flags);
  return fd < 0 && errno == ENOENT ? open_descriptor(file.path, flags) : fd;
}

// The alignment that O_DIRECT needs on the open file, 0 when its file system does not take it.
size_t direct_alignment([[maybe_unused]] int fd) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
      (info.stx_mask & STATX_DIOALIGN) != 0) {
    return std::max<size_t>(info.stx_dio_offset_align, info.stx_dio_mem_align);
  }
#endif
  return kDefaultAlignment;
}

// Some file systems take the flag when opening and refuse the reads (EINVAL).
bool direct_read_works(int fd, size_t alignment) {
  const auto aligned = std::align_val_t{alignment};
  void* buffer = ::operator new(alignment, aligned);
  const ssize_t result = TEMP_FAILURE_RETRY(pread(fd, buffer, alignment, 0));
  ::operator delete(buffer, aligned);
  return result >= 0;
}

struct DirectFile {
  int descriptor = -1;  // -1: its file system does not take O_DIRECT
  size_t alignment = 0;
};

// Throws Error(io) when the file cannot be opened again.
DirectFile open_direct_file(const ReadFile& file) {
  const int fd = reopen(file, O_RDONLY | O_DIRECT);
  if (fd < 0) {
    if (errno == EINVAL) return {};
    throw_open_error(file.path, errno);
  }
  const size_t needed = direct_alignment(fd);
  if (needed > 0 && direct_read_works(fd, needed)) return {fd, needed};
  close(fd);
  return {};
}

// 0 without O_DIRECT.
size_t direct_alignment_of(const ReadFile& file) {
  const DirectFile direct = open_direct_file(file);
  if (direct.descriptor >= 0) close(direct.descriptor);
  return direct.alignment;
}

[[noreturn]] void refuse_direct(const std::filesystem::path& path) {
  throw Error(ErrorCode::unsupported,
              "io.direct is on, but this file system does not support O_DIRECT; set io.direct to "
              "automatic or off",
              {.path = path.string()});
}

// The same file, read through the descriptor `fd`, which is closed with it.
ShardReader::OpenFile open_own(ShardReader::OpenFile file, int fd) {
  const RandomReader* reader = file.reader.get();
  return {fd, std::shared_ptr<const RandomReader>(reader, [fd, keeps = std::move(file.reader)](
                                                              const RandomReader*) { close(fd); })};
}

}  // namespace

bool wants_direct_io(DirectIo direct, int64_t data_bytes, int64_t memory) {
  return direct == DirectIo::on || (direct == DirectIo::automatic && data_bytes > memory / 2);
}

int64_t bytes_of_records(const Dataset& dataset) {
  if (!dataset.is_subset()) return dataset.manifest().file_bytes();
  std::vector<int64_t> first_records = {0};  // of each shard, and the total
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    first_records.push_back(first_records.back() + dataset.shard(i).num_records());
  }
  std::vector<bool> is_chosen(first_records.back());
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    is_chosen[dataset.index_in_split(i)] = true;
  }
  double num_bytes = 0;
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto num_chosen = std::count(is_chosen.begin() + first_records[at],
                                       is_chosen.begin() + first_records[at + 1], true);
    if (num_chosen == 0) continue;
    const ShardSummary facts = dataset.shard(i).summary();
    num_bytes += static_cast<double>(facts.record_bytes) / static_cast<double>(facts.num_records) *
                 static_cast<double>(num_chosen);
  }
  return static_cast<int64_t>(num_bytes);
}

namespace {

bool are_kept_open(const Dataset& dataset) {
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    if (!dataset.shard(i).is_kept_open() || !dataset.shard(i).is_local()) return false;
  }
  return true;
}

// Those that are closed at the moment have no descriptor.
std::vector<ReadFile> files_of(const Dataset& dataset, bool are_open) {
  std::vector<ReadFile> files;
  files.reserve(static_cast<size_t>(dataset.num_shards()));
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const ShardReader& shard = dataset.shard(i);
    files.push_back({shard.path(), are_open ? shard.open_file().descriptor : -1});
  }
  return files;
}

}  // namespace

ShardFiles::ShardFiles(const Dataset& dataset, int64_t data_bytes, DirectIo direct) {
  if (are_kept_open(dataset)) {
    files_ = files_of(dataset, true);
    open_all_direct(data_bytes, direct);
    return;
  }
  dataset_ = dataset;
  are_local_ = has_local_shards(dataset);
  if (!wants_direct_io(direct, data_bytes, usable_memory_bytes())) return;
  // One shard stands for all; of another that is not like it, lease() gives the ordinary file.
  const ReadFile first{dataset.shard(0).path(), dataset.shard(0).open_file().descriptor};
  alignment_ = first.descriptor >= 0 ? direct_alignment_of(first) : 0;
  direct_ = alignment_ > 0;
  if (!direct_) {
    if (direct == DirectIo::on) refuse_direct(first.path);
    alignment_ = 1;
  }
}

ShardFiles::ShardFiles(const std::vector<ReadFile>& files, int64_t data_bytes, DirectIo direct)
    : files_(files) {
  open_all_direct(data_bytes, direct);
}

void ShardFiles::open_all_direct(int64_t data_bytes, DirectIo direct) {
  if (!wants_direct_io(direct, data_bytes, usable_memory_bytes())) return;
  try {
    direct_ = open_direct();
    if (!direct_ && direct == DirectIo::on) {
      refuse_direct(path(own_descriptors_.size()));
    }
  } catch (...) {
    close_own();
    throw;
  }
  if (!direct_) {
    close_own();
    return;
  }
  for (size_t i = 0; i < files_.size(); ++i) files_[i].descriptor = own_descriptors_[i];
}

ShardFiles::~ShardFiles() {
  close_own();
}

// False when a file refuses; own_descriptors_ then holds those before it.
bool ShardFiles::open_direct() {
  own_descriptors_.reserve(files_.size());
  size_t alignment = 1;
  for (const ReadFile& file : files_) {
    const auto [fd, needed] = open_direct_file(file);
    if (fd < 0) return false;
    alignment = std::max(alignment, needed);
    own_descriptors_.push_back(fd);
  }
  alignment_ = alignment;
  return true;
}

std::vector<int> ShardFiles::descriptors() const {
  std::vector<int> all;
  for (const ReadFile& file : files_) all.push_back(file.descriptor);
  return all;
}

std::vector<ReadFile> ShardFiles::all_files() const {
  return dataset_ ? files_of(*dataset_, false) : files_;
}

const std::filesystem::path& ShardFiles::path(size_t shard) const {
  return dataset_ ? dataset_->shard(static_cast<int64_t>(shard)).path() : files_[shard].path;
}

ShardReader::OpenFile ShardFiles::lease(size_t shard, int64_t offset, int64_t num_bytes) const {
  if (!dataset_) return {files_[shard].descriptor, nullptr};
  const ShardReader& reader = dataset_->shard(static_cast<int64_t>(shard));
  return direct_ ? lease_direct(shard, reader) : reader.open_file(offset, num_bytes);
}

ShardReader::OpenFile ShardFiles::lease_direct(size_t shard, const ShardReader& reader) const {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(leased_, shard, &Leased::shard);
    if (found != leased_.end()) {
      leased_.splice(leased_.begin(), leased_, found);
      return found->file;
    }
  }
  ShardReader::OpenFile ordinary = reader.open_file();
  const auto [fd, needed] = open_direct_file({reader.path(), ordinary.descriptor});
  if (fd < 0) return ordinary;
  auto own = open_own(std::move(ordinary), fd);
  if (needed > alignment_) return reader.open_file();
  const std::scoped_lock lock(mutex_);
  leased_.push_front({shard, std::move(own)});
  if (leased_.size() > kMaxLeased) leased_.pop_back();
  return leased_.front().file;
}

int64_t ShardFiles::missing_bytes(size_t shard, int64_t whole_bytes) const {
  struct stat status {};
  if (fstat(lease(shard).descriptor, &status) != 0) return 0;  // it is in a store, too
  return std::max<int64_t>(whole_bytes - status.st_size, 0);
}

void ShardFiles::close_own() noexcept {
  for (int fd : own_descriptors_) close(fd);
  own_descriptors_.clear();
}

Error read_error(const std::filesystem::path& path, const Dataset::Location& location,
                 int64_t num_bytes, int64_t result, int64_t num_missing) {
  const bool failed = result < 0;
  const bool is_about_file = result != -EIO && result != -ENOMEM;
  const std::string message =
      failed ? fmt::format("reading {} bytes failed", num_bytes)
             : fmt::format(
                   "the file ends {} bytes before the end of the record, so the file was cut while "
                   "in use; copy or convert the file again",
                   num_missing);
  return {ErrorCode::io, message,
          ErrorContext{.path = path.string(),
                       .record = location.local_index,
                       .offset = location.record.offset,
                       .errno_value = failed ? static_cast<int>(-result) : 0,
                       .subject = is_about_file ? ErrorSubject::shard : ErrorSubject::sample}};
}

CachedReader::CachedReader(const ShardFiles& files, const IoOptions& options, StatsCounters& stats)
    : files_(files),
      options_(options),
      stats_(stats),
      is_on_(options.decoders_read_cache && !files.direct()) {}

bool CachedReader::holds(int descriptor, int64_t offset, int64_t num_bytes) {
  if (!is_on_ || descriptor < 0) return false;
  char last = 0;
  iovec target{.iov_base = &last, .iov_len = 1};
  const ssize_t result = preadv2(descriptor, &target, 1, offset + num_bytes - 1, RWF_NOWAIT);
  // The file system, or the kernel, cannot tell.
  if (result < 0 && errno == EOPNOTSUPP) is_on_ = false;
  return result == 1;
}

namespace {

// The cache has given it up since.
std::span<const std::byte> read_elsewhere(const ShardReader::OpenFile& file,
                                          const Dataset::Location& location,
                                          std::span<std::byte> out) {
  std::promise<std::exception_ptr> answer;
  file.read(location.record.offset, out,
            [&answer](std::exception_ptr error) { answer.set_value(std::move(error)); });
  if (std::exception_ptr error = answer.get_future().get()) std::rethrow_exception(error);
  return out;
}

}  // namespace

std::span<const std::byte> CachedReader::read(const Dataset::Location& location,
                                              std::vector<std::byte>& buffer) const {
  const RecordLocation& record = location.record;
  const auto num_bytes = static_cast<size_t>(record.stored_bytes);
  if (buffer.size() < num_bytes) buffer.resize(num_bytes);
  const auto shard = static_cast<size_t>(location.shard_index);
  const ShardReader::OpenFile file = files_.lease(shard, record.offset, record.stored_bytes);
  if (file.descriptor < 0)
    return read_elsewhere(file, location, std::span(buffer).first(num_bytes));
  const int64_t begin = now_ns();
  const ReadEngineOptions engine{.num_retries = options_.num_retries};
  ReadProgress progress({.offset = record.offset, .num_bytes = num_bytes, .buffer = buffer.data()});
  int64_t result = 0;
  do {
    result = pread(file.descriptor, progress.buffer(), progress.num_bytes(), progress.offset());
  } while (!progress.advance(result < 0 ? -errno : result, engine));
  result = progress.completion().result;
  stats_.add_read(begin, result, file);
  if (result < record.stored_bytes) {
    throw read_error(files_.path(shard), location, record.stored_bytes, result,
                     record.stored_bytes - result);
  }
  return std::span(buffer).first(num_bytes);
}

}  // namespace ffkit
