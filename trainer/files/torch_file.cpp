#include "files/torch_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

// --- archives: the files in a zip or a tar, as far as the weights of PyTorch need it

enum class ArchiveForm { zip, tar };

class ArchiveReader {
 public:
  ArchiveReader(const File& file, ArchiveForm form)
      : file_(file), form_(form), archive_(archive_read_new(), archive_read_free) {}

  // Reads the files in the archive one after the other. `target(name, num_bytes)` gives the memory
  // for the contents of each: exactly num_bytes, or an empty span to leave the file out. All files
  // together claim no more bytes than the archive itself has, or than deflate can make of it, so
  // what is allocated for them is bounded. The CRC-32 of a file in a zip is compared unless it is
  // 0, which stands for none (torch.serialization.set_crc32_options). Throws Error(io), and
  // Error(corrupt) for a file that is no such archive, is cut off or holds contents of another
  // length or CRC-32 than it says.
  void read(const std::function<std::span<std::byte>(const std::string&, int64_t)>& target) {
    if (form_ == ArchiveForm::tar) {
      archive_read_support_format_tar(archive_.get());
    } else {
      // Not the streaming reader: it takes a file without its directory, that is, a cut one.
      archive_read_support_format_zip_seekable(archive_.get());
    }
    ::lseek(file_.fd(), 0, SEEK_SET);  // where the archive before it has left it
    if (archive_read_open_fd(archive_.get(), file_.fd(), 1 << 20) != ARCHIVE_OK) fail();
    constexpr int64_t kMostDeflated = 1032;  // bytes that deflate makes of one
    int64_t num_left = file_.size();
    for (bool may_be_deflated = false;;) {
      archive_entry* entry = nullptr;
      const int result = archive_read_next_header(archive_.get(), &entry);
      if (result == ARCHIVE_EOF) return;
      if (result != ARCHIVE_OK) fail();
      if (!may_be_deflated && is_deflated()) {
        may_be_deflated = true;
        if (__builtin_mul_overflow(num_left, kMostDeflated, &num_left)) num_left = INT64_MAX;
      }
      const char* name = archive_entry_pathname(entry);
      const int64_t num_bytes = archive_entry_size(entry);
      if (name == nullptr || num_bytes < 0) fail("a file in it has no name or no length");
      if (num_bytes > num_left) {
        fail(fmt::format("'{}' should have {} bytes, more than is possible", name, num_bytes));
      }
      num_left -= num_bytes;
      const std::span<std::byte> out = target(name, num_bytes);
      if (!out.empty()) read_contents(out);
    }
  }

 private:
  // Without a reason: libarchive's.
  [[noreturn]] void fail(const std::string& reason = {}) const {
    const char* own = archive_error_string(archive_.get());
    throw error_at(file_.path(), ErrorCode::corrupt,
                   "the file cannot be read as a {}: {}; it is damaged or cut off",
                   form_ == ArchiveForm::zip ? "zip" : "tar",
                   !reason.empty()  ? reason
                   : own != nullptr ? own
                                    : "its structure is broken");
  }
  // Whether the warning is about a CRC-32 that was never written. What was read is right then, as
  // far as anybody can tell.
  bool lacks_crc() const {
    const char* reason = archive_error_string(archive_.get());
    const std::string_view text = reason != nullptr ? reason : "";
    return text.starts_with("ZIP bad CRC") && text.ends_with("should be 0x0");
  }
  // As archive_read_data(), past such a warning.
  la_ssize_t read_some(void* out, size_t size) {
    la_ssize_t n = archive_read_data(archive_.get(), out, size);
    if (n == ARCHIVE_WARN && lacks_crc()) n = archive_read_data(archive_.get(), out, size);
    if (n < 0) fail();
    return n;
  }
  void read_contents(std::span<std::byte> out) {
    while (!out.empty()) {
      const la_ssize_t n = read_some(out.data(), out.size());
      if (n == 0) fail(fmt::format("a file in it ends {} bytes early", out.size()));
      out = out.subspan(n);
    }
    // The CRC-32 is compared at the end of the contents.
    std::byte none{};
    if (read_some(&none, 1) > 0) fail("a file in it is longer than its header says");
  }
  bool is_deflated() const {
    const char* format = archive_format_name(archive_.get());
    return format != nullptr &&
           std::string_view(format).find("deflation") != std::string_view::npos;
  }

  const File& file_;
  const ArchiveForm form_;
  const std::unique_ptr<archive, int (*)(archive*)> archive_;
};

constexpr auto kValues = Pickle::Objects::as_values;
// LONG1 of 10 bytes: 0x1950a86a20f9469cfc6c, then the end of its pickle.
constexpr std::string_view kMagic = "\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.";

// Of each storage that a tensor of the dict needs: its bytes in memory.
using Storages = std::map<std::string, std::span<std::byte>>;

// Throws unless every element lies within the storage, which is there.
void check_place(const StoredTensor& t, const Storages& storages) {
  const auto storage = storages.find(t.storage);
  if (storage == storages.end())
    throw_corrupt_tensors(fmt::format("the numbers of tensor '{}' are missing", printable(t.name)));
  const bool is_empty = std::ranges::find(t.sizes, 0) != t.sizes.end();
  int64_t last = t.offset, room = t.type->num_bytes, end = 0;
  bool is_right = t.sizes.size() == t.strides.size() && t.sizes.size() <= 64 && t.offset >= 0;
  for (size_t i = 0; is_right && i < t.sizes.size(); ++i) {
    int64_t span = 0;
    is_right = t.sizes[i] >= 0 && t.strides[i] >= 0;
    if (!is_right || is_empty) continue;
    is_right = !__builtin_mul_overflow(t.sizes[i] - 1, t.strides[i], &span) &&
               !__builtin_add_overflow(last, span, &last) &&
               !__builtin_mul_overflow(room, t.sizes[i], &room);
  }
  is_right = is_right && !__builtin_add_overflow(last, 1, &end) &&
             !__builtin_mul_overflow(end, t.type->num_bytes, &end);
  if (!is_right || (!is_empty && end > std::ssize(storage->second))) {
    throw_corrupt_tensors(
        fmt::format("tensor '{}' needs more numbers than the file has for it", printable(t.name)));
  }
}

void swap_bytes(std::span<std::byte> bytes, size_t word) {
  for (size_t at = 0; at + word <= bytes.size(); at += word)
    std::reverse(bytes.begin() + at, bytes.begin() + at + word);
}

void swap_all(const StateDict& dict, const Storages& storages) {
  std::set<std::string> done;
  for (const StoredTensor& t : dict.tensors) {
    if (done.insert(t.storage).second) swap_bytes(storages.at(t.storage), t.type->word_bytes);
  }
}

// --- zip

// data.pkl, and the folder that it lies in.
struct PickleEntry {
  std::string folder;
  std::vector<std::byte> bytes;
  bool is_big_endian = false;
};

// What a zip without data.pkl, or with a program, is.
struct ZipContents {
  bool has_program = false, has_arrays = false, has_keras = false;
  std::string weights;  // the name of a file of weights in it

  void look_at(std::string_view name) {
    has_program = has_program || name.ends_with("/constants.pkl") || name == "constants.pkl" ||
                  name.find("/code/") != std::string_view::npos;
    has_arrays = has_arrays || name.ends_with(".npy");
    has_keras = has_keras || name.ends_with(".weights.h5");
    for (const char* ending : {".pth", ".pt", ".bin", ".ckpt", ".safetensors"}) {
      if (weights.empty() && name.ends_with(ending)) weights = name;
    }
  }
};

PickleEntry read_pickle_entry(const File& file) {
  constexpr std::string_view kName = "data.pkl";
  constexpr std::string_view kOrder = "byteorder";
  std::optional<PickleEntry> found;
  std::array<std::byte, 3> byte_order{};
  ZipContents contents;
  ArchiveReader(file, ArchiveForm::zip)
      .read([&](const std::string& name, int64_t num_bytes) -> std::span<std::byte> {
        contents.look_at(name);
        const size_t slash = name.rfind('/');
        const std::string folder = slash == std::string::npos ? "" : name.substr(0, slash + 1);
        const std::string last = name.substr(folder.size());
        if (last == kOrder && num_bytes == std::ssize(byte_order)) return byte_order;
        if (last != kName || found) return {};
        found = PickleEntry{folder, std::vector<std::byte>(num_bytes)};
        return found->bytes;
      });
  if (contents.has_program) {
    refuse_tensors(
        "the file is a TorchScript program; save the weights in Python: "
        "torch.save(torch.jit.load(OLD).state_dict(), NEW)");
  }
  if (!found && contents.has_arrays) {
    refuse_tensors(
        "the file is an archive of NumPy arrays (.npz); save the arrays in Python: torch.save({k: "
        "torch.from_numpy(v) for k, v in numpy.load(OLD).items()}, NEW)");
  }
  if (!found && contents.has_keras)
    refuse_tensors("the file is a model of Keras; give weights in a .safetensors or .pth file");
  if (!found && !contents.weights.empty())
    refuse_tensors(fmt::format("the zip contains '{}'; unpack it", printable(contents.weights)));
  if (!found) refuse_tensors("the zip has no data.pkl, so torch.save() did not write it");
  found->is_big_endian = std::memcmp(byte_order.data(), "big", byte_order.size()) == 0;
  return std::move(*found);
}

StateDict read_zip_form(const File& file, const std::string& key, const StorageTarget& target) {
  const PickleEntry entry = read_pickle_entry(file);
  Pickle pickle;
  pickle.parse(entry.bytes, kValues);
  StateDict dict = find_state_dict(pickle, key);
  std::set<std::string> wanted;
  for (const StoredTensor& t : dict.tensors) wanted.insert(t.storage);
  const std::string folder = entry.folder + "data/";
  Storages storages;
  ArchiveReader(file, ArchiveForm::zip)
      .read([&](const std::string& name, int64_t num_bytes) -> std::span<std::byte> {
        if (!name.starts_with(folder)) return {};
        const std::string storage = name.substr(folder.size());
        if (!wanted.contains(storage) || storages.contains(storage)) return {};
        return storages[storage] = target(storage, num_bytes);
      });
  for (const StoredTensor& t : dict.tensors) check_place(t, storages);
  if (entry.is_big_endian) swap_all(dict, storages);
  return dict;
}

// --- pickles

// Bytes from anywhere.
struct Bytes {
  int64_t size = 0;
  std::function<void(int64_t offset, std::span<std::byte> out)> read_at;
};

Bytes bytes_of_file(const File& file) {
  return {.size = file.size(),
          .read_at = [&file](int64_t at, std::span<std::byte> out) { file.read_at(at, out); }};
}
Bytes bytes_of_memory(const std::vector<std::byte>& memory) {
  return {.size = std::ssize(memory), .read_at = [&memory](int64_t at, std::span<std::byte> out) {
            std::copy_n(memory.begin() + at, out.size(), out.begin());
          }};
}

// Pickles one after the other, with numbers between them.
class PickleStream {
 public:
  explicit PickleStream(Bytes in) : in_(std::move(in)) {}

  // The next pickle; valid until the one after it.
  const Pickle& next() {
    // Nobody knows its length: a part is read, and a larger one where it did not suffice.
    for (int64_t most = kFirstBytes;; most *= 8) {
      const int64_t num_bytes = std::min(most, in_.size - at_);
      pickled_.resize(num_bytes);
      in_.read_at(at_, pickled_);
      try {
        at_ += pickle_.parse_first(pickled_, kValues);
        return pickle_;
      } catch (const Error& error) {
        const bool is_all = num_bytes == in_.size - at_ || most > kMostPickleBytes;
        if (error.code() != ErrorCode::corrupt || is_all) throw;
      }
    }
  }
  int64_t next_integer() {
    const Pickle& pickle = next();
    return pickle.integer(pickle.root(), "a count");
  }
  // The bytes that follow.
  void read(std::span<std::byte> out) {
    require(std::ssize(out));
    in_.read_at(at_, out);
    at_ += std::ssize(out);
  }
  template <typename T>
  T read_number() {
    std::array<std::byte, sizeof(T)> bytes{};
    read(bytes);
    return load_le<T>(bytes.data());
  }
  void skip(int64_t num_bytes) {
    require(num_bytes);
    at_ += num_bytes;
  }
  void require(int64_t num_bytes) const {
    if (num_bytes < 0 || num_bytes > in_.size - at_)
      throw_corrupt_tensors("the file ends before the end of its numbers");
  }

 private:
  static constexpr int64_t kFirstBytes = 4096, kMostPickleBytes = int64_t{1} << 30;

  const Bytes in_;
  int64_t at_ = 0;
  std::vector<std::byte> pickled_;
  Pickle pickle_;
};

// Length and numbers of one storage; the numbers go to `target` where they are wanted.
void read_numbers(PickleStream& stream, const std::string& key, std::string_view type,
                  bool is_wanted, const StorageTarget& target, Storages& storages) {
  const TorchType* known = find_torch_storage(type);
  if (known == nullptr)
    refuse_tensors(fmt::format("ffkit cannot read the numbers in a {:.60} of the file", type));
  int64_t num_bytes = 0;
  if (__builtin_mul_overflow(stream.read_number<int64_t>(), known->num_bytes, &num_bytes))
    throw_corrupt_tensors("the file ends before the end of its numbers");
  stream.require(num_bytes);
  if (!is_wanted || storages.contains(key)) return stream.skip(num_bytes);
  stream.read(storages[key] = target(key, num_bytes));
}

StateDict read_pickles_form(const File& file, const std::string& key, const StorageTarget& target) {
  PickleStream stream(bytes_of_file(file));
  for (int i = 0; i < 3; ++i) stream.next();  // the magic number, a version, the machine
  StateDict dict;
  std::map<std::string, std::string> types;
  {
    const Pickle& object = stream.next();
    dict = find_state_dict(object, key);
    for (NamedStorage& s : all_storages(object)) types.emplace(std::move(s.key), s.type);
  }
  std::vector<std::string> keys;
  {
    const Pickle& list = stream.next();
    for (const Pickle::Ref item : list.items(list.root(), "the list of storages"))
      keys.emplace_back(list.text(item, "a storage's key"));
  }
  std::set<std::string> wanted;
  for (const StoredTensor& t : dict.tensors) wanted.insert(t.storage);
  Storages storages;
  for (const std::string& storage : keys) {
    const auto type = types.find(storage);
    if (type == types.end()) throw_corrupt_tensors("it has numbers that belong to no tensor");
    read_numbers(stream, storage, type->second, wanted.contains(storage), target, storages);
  }
  for (const StoredTensor& t : dict.tensors) check_place(t, storages);
  return dict;
}

// --- tar

struct TarEntries {
  std::vector<std::byte> pickle, storages, tensors;
};

TarEntries read_tar_entries(const File& file) {
  TarEntries entries;
  std::set<std::string> found;
  std::string first;
  ArchiveReader(file, ArchiveForm::tar)
      .read([&](const std::string& name, int64_t num_bytes) -> std::span<std::byte> {
        if (first.empty()) first = name;
        for (const auto& [wanted, bytes] :
             {std::pair("pickle", &entries.pickle), std::pair("storages", &entries.storages),
              std::pair("tensors", &entries.tensors)}) {
          if (name != wanted || !found.insert(name).second) continue;
          bytes->resize(num_bytes);
          return *bytes;
        }
        return {};
      });
  if (found.size() != 3) {
    refuse_tensors(fmt::format(
        "the file is a tar archive{}; unpack the archive and give the weights from it",
        first.empty() ? std::string()
                      : fmt::format(" that begins with the file '{}'", printable(first))));
  }
  return entries;
}

// The triple (key, storage or place, type) before numbers.
struct TarItem {
  std::string key, second, type;

  static TarItem next(PickleStream& stream) {
    const Pickle& pickle = stream.next();
    const std::vector<Pickle::Ref>& parts = pickle.items(pickle.root(), "an entry before numbers");
    if (parts.size() < 3) throw_corrupt_tensors("an entry before numbers is incomplete");
    const bool has_storage = pickle.kind(parts[1]) == Pickle::Kind::integer;
    return {std::to_string(pickle.integer(parts[0], "a key")),
            has_storage ? std::to_string(pickle.integer(parts[1], "a storage")) : "",
            pickle.global_name(parts[2])};
  }
};

// Part of another storage.
struct TarView {
  std::string root;
  int64_t offset = 0;
};

StateDict read_tar_form(const File& file, const std::string& key, const StorageTarget& target) {
  const TarEntries entries = read_tar_entries(file);
  // Twice, because which are wanted is known only when their types are.
  std::map<std::string, const TorchType*> types;
  std::map<std::string, TarView> views;
  const auto read_all = [&](const std::set<std::string>& wanted, Storages& storages) {
    PickleStream stream(bytes_of_memory(entries.storages));
    for (int64_t n = stream.next_integer(); n > 0; --n) {
      const TarItem item = TarItem::next(stream);
      types[item.key] = find_torch_storage(item.type);
      read_numbers(stream, item.key, item.type, wanted.contains(item.key), target, storages);
    }
    const Pickle& list = stream.next();
    for (const Pickle::Ref view : list.items(list.root(), "the views")) {
      const std::vector<Pickle::Ref>& parts = list.items(view, "a view");
      if (parts.size() < 3) throw_corrupt_tensors("a view is incomplete");
      views[std::to_string(list.integer(parts[0], "a view"))] = {
          std::to_string(list.integer(parts[1], "a view")), list.integer(parts[2], "a view")};
    }
  };
  Storages storages;
  read_all({}, storages);

  OutsideTensors tensors;
  PickleStream stream(bytes_of_memory(entries.tensors));
  for (int64_t n = stream.next_integer(); n > 0; --n) {
    const TarItem item = TarItem::next(stream);
    StoredTensor tensor{.name = item.key, .storage = item.second};
    const auto rank = stream.read_number<int32_t>();
    stream.skip(4);
    stream.require(int64_t{rank} * 16);
    for (int32_t i = 0; i < rank; ++i) tensor.sizes.push_back(stream.read_number<int64_t>());
    for (int32_t i = 0; i < rank; ++i) tensor.strides.push_back(stream.read_number<int64_t>());
    tensor.offset = stream.read_number<int64_t>();
    if (const auto view = views.find(tensor.storage); view != views.end()) {
      tensor.storage = view->second.root;
      if (__builtin_add_overflow(tensor.offset, view->second.offset, &tensor.offset))
        throw_corrupt_tensors("a view reaches beyond the end of its numbers");
    }
    const auto type = types.find(tensor.storage);
    if (type == types.end())
      throw_corrupt_tensors(fmt::format("the numbers of tensor {} are missing", item.key));
    tensor.type = type->second;
    tensors.emplace(item.key, std::move(tensor));
  }

  Pickle pickle;
  pickle.parse(entries.pickle, kValues);
  StateDict dict = find_state_dict(pickle, key, tensors);
  std::set<std::string> wanted;
  for (const StoredTensor& t : dict.tensors) wanted.insert(t.storage);
  read_all(wanted, storages);
  for (const StoredTensor& t : dict.tensors) check_place(t, storages);
  return dict;
}

}  // namespace

TorchForm torch_form(const File& file) {
  std::array<std::byte, kContentHeadBytes> bytes{};
  const auto head = std::span(bytes).first(std::min(file.size(), std::ssize(bytes)));
  file.read_at(0, head);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("PK\x03\x04")) return TorchForm::zip;
  if (text.starts_with('\x80') && text.substr(0, 64).find(kMagic) != std::string_view::npos)
    return TorchForm::pickles;
  return content_kind(head) == ContentKind::tar ? TorchForm::tar : TorchForm::none;
}

StateDict read_torch_file(const File& file, const std::string& key, const StorageTarget& target) {
  const TorchForm form = torch_form(file);
  try {
    switch (form) {
      case TorchForm::zip:
        return read_zip_form(file, key, target);
      case TorchForm::pickles:
        return read_pickles_form(file, key, target);
      case TorchForm::tar:
        return read_tar_form(file, key, target);
      case TorchForm::none:
        break;
    }
    refuse_tensors("torch.save() did not write this file");
  } catch (const Error& e) {
    throw e.within({.path = file.path().string()});
  }
}

}  // namespace ffkit
