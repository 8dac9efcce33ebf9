#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/format/dataset.h>

#include "base/file/file.h"
#include "format/content_kind.h"
#include "input/grouped_source.h"
#include "input/input_file.h"
#include "input/source_error.h"
#include "places/place.h"

namespace ffkit {
namespace {

using namespace std::string_view_literals;

// Data of other libraries that another source reads, or Python alone: what they are, and the lines
// that convert them.

constexpr size_t kHeadBytes = 1024;

constexpr const char* kPairs =
    "ffkit.convert.from_iterable(({{'image': x, 'label': int(y)}} for x, y in zip(data['images'], "
    "data['labels'])), DST)";

constexpr const char* kPictures =
    "ffkit.convert.from_iterable(({{'image': x}} for x in data), DST)";

constexpr const char* kHdf5 =
    "ffkit.convert.from_hdf5('{0}', DST, {{'image': 'images', 'label': 'labels'}})";

constexpr const char* kNumpy = "import numpy; data = numpy.load('{0}'); ";

constexpr const char* kZarr = "import zarr; data = zarr.open('{1}'); ";

constexpr const char* kCifar = "ffkit.convert.from_torch(torchvision.datasets.CIFAR10(ROOT), DST)";

constexpr const char* kMnist =
    "ffkit.convert.from_torch(torchvision.datasets.MNIST(ROOT, train=True), DST)";

constexpr const char* kParquet = "ffconvert parquet {0} DST";

struct OtherData {
  // What the file has at `offset`; empty: its name alone tells.
  size_t offset;
  std::string_view bytes;
  std::string_view name;  // what its name begins or ends with; empty: any
  const char* what;
  // The lines that load it, and the one that converts it, perhaps a call of ffconvert; {0}: the
  // file, {1}: its folder.
  const char* load;
  const char* convert;
};

// The first that fits.
constexpr std::array kOthers = {
    OtherData{2, "\x08\x03"sv, "", "an IDX file like those of MNIST", "", kMnist},
    OtherData{2, "\x08\x01"sv, "-ubyte", "an IDX file like those of MNIST", "", kMnist},
    OtherData{0, "\x1F\x8B"sv, "-ubyte.gz", "an IDX file like those of MNIST", "", kMnist},
    OtherData{0, "MATLAB 7.3"sv, "", "a MAT file of version 7.3, which is HDF5", "", kHdf5},
    OtherData{0, "MATLAB 5.0"sv, "", "a MAT file",
              "import scipy.io; data = scipy.io.loadmat('{0}'); ", kPairs},
    OtherData{0, "\x89HDF\r\n\x1A\n"sv, "", "an HDF5 file", "", kHdf5},
    OtherData{0, "\x93NUMPY"sv, "", "a NumPy array", kNumpy, kPictures},
    OtherData{0, "PK\x03\x04"sv, ".npz", "a file of NumPy arrays", kNumpy, kPairs},
    OtherData{0, "PK\x03\x04"sv, ".pt", "a file of torch.save()",
              "import torch; data = torch.load('{0}'); ", "ffkit.convert.from_iterable(data, DST)"},
    OtherData{0, "\x80"sv, "data_batch", "a Python pickle like those of CIFAR-10", "", kCifar},
    OtherData{0, "\x80"sv, "batches.meta", "a Python pickle like those of CIFAR-10", "", kCifar},
    OtherData{0, "\x80"sv, "meta", "a Python pickle like those of CIFAR-100", "",
              "ffkit.convert.from_torch(torchvision.datasets.CIFAR100(ROOT), DST)"},
    OtherData{0, "\x80"sv, "", "a Python pickle",
              "import pickle; data = pickle.load(open('{0}', 'rb')); ",
              "ffkit.convert.from_iterable(data, DST)"},
    OtherData{0, ""sv, "_X.bin", "pixels of STL-10", "",
              "ffkit.convert.from_torch(torchvision.datasets.STL10(ROOT, SPLIT), DST)"},
    OtherData{0, "PAR1"sv, "", "a parquet file", "", kParquet},
    OtherData{0, "ARROW1"sv, "", "an Arrow file", "", kParquet},
    OtherData{0, ""sv, ".arrow", "an Arrow file", "", kParquet},
    OtherData{0, ""sv, "data.mdb", "an LMDB file", "", "ffconvert lmdb {1} DST"},
    OtherData{0, ""sv, ".mds", "a shard of MosaicML Streaming", "", "ffconvert mds {1} DST"},
    OtherData{0, ""sv, ".tfrecord", "a TFRecord file", "", "ffconvert tfrecord {1} DST"},
    OtherData{0, ""sv, ".rec", "a RecordIO file", "", "ffconvert recordio {1} DST"},
    OtherData{0, ""sv, ".beton", "a file of FFCV", "", "ffconvert beton {1} DST"},
    OtherData{0, ""sv, ".zarray", "part of a Zarr array", kZarr, kPictures},
    OtherData{0, ""sv, ".zgroup", "part of a Zarr group", kZarr, kPairs},
    OtherData{0, ""sv, "zarr.json", "part of a Zarr group", kZarr, kPairs},
    OtherData{0, ""sv, ".lance", "part of a data set of Lance",
              "import lance; data = lance.dataset(FOLDER).to_batches(); ",
              "ffkit.convert.from_iterable((row for batch in data for row in batch.to_pylist()), "
              "DST)"},
    OtherData{0, ""sv, ".array_record", "an array_record file", "",
              "ffkit.convert.from_array_record('{0}', DST, to_sample)"}};

bool fits(const OtherData& other, const std::string& name, std::string_view head) {
  if (!name.starts_with(other.name) && !name.ends_with(other.name)) return false;
  if (head.substr(std::min(other.offset, head.size()), other.bytes.size()) != other.bytes) {
    return false;
  }
  if (other.offset == 2) return head.starts_with("\0\0"sv);
  // Of pickles, the number of the protocol.
  return other.bytes != "\x80"sv || (head.size() > 1 && head[1] >= 2 && head[1] <= 5);
}

std::string head_of(const fs::path& path) {
  const InputFile file(path);
  std::string head(static_cast<size_t>(std::min<int64_t>(file.size(), kHeadBytes)), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(head)));
  return head;
}

// Of `kind` itself nothing, which has said what is wrong.
std::string told(const fs::path& file, const std::string& kind) {
  const std::string name = file.filename().string();
  const std::string head = head_of(file);
  for (const OtherData& other : kOthers) {
    const std::string lines = std::string(other.load) + other.convert;
    if (!fits(other, name, head) || lines.starts_with("ffconvert " + kind)) continue;
    return fmt::format(
        "is {}: {} {}", other.what, lines.starts_with("ffconvert") ? "use" : "in Python, use",
        fmt::format(fmt::runtime(lines), file.string(), file.parent_path().string()));
  }
  const ContentKind content = content_kind(std::as_bytes(std::span(head)));
  if (content < ContentKind::gzip || content > ContentKind::tar || kind != "folder") return {};
  return fmt::format("is {}: unpack it, or convert tars of WebDataset with ffconvert webdataset",
                     content_name(content));
}

// Of a file, or of a folder that holds such data, up to two folders below: "is an HDF5 file: in
// Python, use ffkit.convert.from_hdf5('x.h5', DST)". First bytes count before names. Empty
// for everything else, and for what cannot be read.
std::string other_data(const fs::path& path, const std::string& kind) {
  constexpr size_t kMaxFiles = 64;
  try {
    if (!is_folder_at(path)) return exists_at(path) ? told(path, kind) : std::string();
    std::vector<fs::path> folders = {path};
    size_t num_files = 0;
    size_t num_above = 1;  // folders whose own folders are looked into, too: MNIST/raw
    for (size_t i = 0; i < folders.size(); ++i) {
      std::vector<fs::path> files;
      for (const FolderEntry& entry : FolderEntries(folders[i])) {
        if (!entry.is_directory()) {
          files.push_back(entry.path());
        } else if (i < num_above && folders.size() < kMaxFiles) {
          folders.push_back(entry.path());
        }
      }
      std::ranges::sort(files);
      if (i == 0) {
        std::ranges::sort(folders.begin() + 1, folders.end());
        num_above = folders.size();
      }
      for (const fs::path& file : files) {
        if (++num_files > kMaxFiles) return {};
        if (std::string text = told(file, kind); !text.empty()) {
          return fmt::format("contains {}, which {}", file.filename().string(), text);
        }
      }
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): another error says what is wrong
  } catch (const fs::filesystem_error&) {
  }
  return {};
}

// What is there instead of what a source looks for and has not found, or cannot read.
std::string other_data_instead(const fs::path& path, const std::string& kind, const Error& error) {
  if (path.empty() || error.context().subject != ErrorSubject::source) return {};
  const bool is_file = error.code() != ErrorCode::not_found;
  if (is_file && (error.code() == ErrorCode::io || is_folder_at(path))) return {};
  return other_data(path, kind);
}

}  // namespace

KindConversion::KindConversion(const SourceKind& kind) : kind_(kind), own_(kind.options()) {
  own_->describe(table_);
  describe(images_, kind.pictures, kind.takes_exif, table_);
  describe(options_, table_);
  if (!own_->keeps_order()) return;
  // Not offered; still known, since check() says why they are refused.
  for (const char* name : {"order", "bad-samples", "only"}) table_.find(name)->is_offered = false;
}

void KindConversion::check() {
  validate(options_, table_);
  validate(images_, table_);
  if (images_.exif == ExifUse::apply && !kind_.takes_exif) {
    throw argument_error(
        "exif", fmt::format("this converter stores the pictures of '{}' unchanged; leave out {}",
                            kind_.name, option_name("exif")));
  }
  // Pictures that come as pixels may become JPEGs, but no source here has such.
  if (!manifest_options(images_).contains("jpeg_quality")) {
    table_.refuse(
        {"jpeg-quality"},
        fmt::format("works only for pictures that are re-encoded as JPEG; also give {}, {}, {} "
                    "or {}",
                    option_name("max_resolution"), option_name("short_side"), option_on("fix_odd"),
                    option_set("exif", "apply")));
  }
  own_->check(table_);
  if (!own_->keeps_order()) return;
  constexpr const char* kWhy = "the records of this source refer to each other by number";
  if (table_.is_given("order") && options_.order == Order::shuffle) {
    throw argument_error("order", fmt::format("{}: {}, so the order cannot change; leave out this "
                                              "option, because training shuffles the records",
                                              option_set("order", "shuffle"), kWhy));
  }
  if (options_.bad_samples != BadSamples::fail) {
    throw argument_error(
        "bad_samples",
        fmt::format("{}: {}, so no record can be left out{}", option_name("bad_samples"), kWhy,
                    table_.find("allow-partial") == nullptr
                        ? ""
                        : fmt::format("; see {}", option_name("allow_partial"))));
  }
  if (!options_.only.empty() || options_.only_ids) {
    throw argument_error(
        "only", fmt::format("{}: {}, so no record can be left out", option_name("only"), kWhy));
  }
  options_.order = Order::sequential;
}

std::unique_ptr<Source> KindConversion::open(const fs::path& path, const fs::path& destination,
                                             bool is_dry_run) const {
  // What is no address and no path says what it is: "ftp://host/set", "s3:/bucket".
  if (is_local(path) && !fs::exists(path)) require_local(path);
  SourceArguments arguments{.path = Place(path).path(),
                            .conversion = options_,
                            .is_dry_run = is_dry_run,
                            .temporary_folder = destination,
                            .images = images_};
  if (!options_.by_files) {
    try {
      return own_->open(arguments);
    } catch (const Error& error) {
      const std::string other = other_data_instead(path, kind_.name, error);
      if (!other.empty()) throw error.with_remedy("it " + other);
      throw;
    }
  }
  std::optional<FileListing> listing = own_->list_files(arguments);
  if (!listing) {
    throw argument_error(
        "by_files",
        fmt::format("sources of the kind '{}' cannot be converted by groups of files; leave out {}",
                    kind_.name, option_name("by_files")));
  }
  const auto open_group = [this, arguments](const GroupOfFiles& group) {
    SourceArguments of_group = arguments;
    of_group.group = &group;
    std::unique_ptr<Source> source = own_->open(of_group);
    require_as_listed(group.files);
    return source;
  };
  return std::make_unique<GroupedSource>(arguments.path, *std::move(listing), open_group, options_);
}

}  // namespace ffkit
