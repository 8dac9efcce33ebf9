// A data set of one's own, as a Source: a table of numbers and files.
//
//   custom_source TABLE DST     TABLE has a line "file,weight,x,y" a sample, files relative to it
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/converter/convert.h>
#include <ffkit/format/dataset.h>

namespace {

namespace fs = std::filesystem;

struct Row {
  std::string file;
  double weight = 0;
  float point[2] = {};
};

class Table final : public ffkit::Source {
 public:
  // Lists everything and refuses what cannot be right; reads no file of a sample yet.
  explicit Table(const fs::path& path) : folder_(path.parent_path()) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      Row row;
      char comma[2] = {};
      std::istringstream text(line);
      if (!std::getline(text, row.file, ',') ||
          !(text >> row.weight >> comma[0] >> row.point[0] >> comma[1] >> row.point[1])) {
        throw ffkit::Error(
            ffkit::ErrorCode::invalid_argument,
            "line " + std::to_string(rows_.size() + 1) + " is no \"file,weight,x,y\"",
            {.path = path.string()});
      }
      rows_.push_back(row);
    }
    if (rows_.empty()) {
      throw ffkit::Error(ffkit::ErrorCode::not_found, "there are no rows in it",
                         {.path = path.string()});
    }
    splits_ = {
        {.name = "train", .num_samples = static_cast<int64_t>(rows_.size()), .is_training = true}};
  }

  const std::vector<ffkit::SourceSplit>& splits() const override { return splits_; }

  ffkit::Schema schema() const override {
    return {{{"content", ffkit::FieldType::bytes},
             {"weight", ffkit::FieldType::scalar, ffkit::DType::f64, true},
             {"point", ffkit::FieldType::tensor, ffkit::DType::f32},
             {"id", ffkit::FieldType::string, ffkit::DType::u8, true}}};
  }

  std::string describe(size_t, int64_t index) const override {
    return (folder_ / row(index).file).string();
  }

  // Called from many threads; what the fields point to must live as long as `buffers`, or this.
  void read(size_t split, int64_t index, ffkit::RecordBuilder& record,
            ffkit::SampleBuffers& buffers) const override {
    std::ifstream file(describe(split, index), std::ios::binary);
    if (!file) {
      throw ffkit::Error(ffkit::ErrorCode::not_found, "cannot be opened",
                         {.path = describe(split, index)});
    }
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const Row& from = row(index);
    record.set_bytes(0, std::as_bytes(std::span(buffers.text(content))));
    record.set_scalar(1, from.weight);
    record.set_tensor(2, {ffkit::DType::f32, {2}, std::as_bytes(std::span(from.point))});
    record.set_string(3, from.file);
  }

 private:
  const Row& row(int64_t index) const { return rows_.at(static_cast<size_t>(index)); }

  const fs::path folder_;
  std::vector<Row> rows_;
  std::vector<ffkit::SourceSplit> splits_;
};

void run(const char* table, const char* destination) {
  const ffkit::ConvertSummary summary =
      ffkit::convert(Table(table), destination, {.order = ffkit::Order::sequential});

  const auto dataset = ffkit::Dataset::open(destination, "train");
  double sum = 0;
  for (const double weight : dataset.float_column("weight")) sum += weight;
  std::vector<std::byte> record;
  dataset.read(0, record);
  const ffkit::RecordView view(dataset.schema(), record);
  std::printf("%lld records, weights add up to %.2f, the first is '%s' of %zu bytes\n",
              static_cast<long long>(summary.num_records()), sum,
              std::string(view.string(dataset.schema().require("id"))).c_str(),
              view.bytes(dataset.schema().require("content")).size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: custom_source TABLE DST\n");
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "custom_source: error: %s\n", error.what());
    return 1;
  }
}
