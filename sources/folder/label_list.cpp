#include "folder/label_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include <ffkit/base/option_names.h>

#include "base/file/user_text.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "files/text_files.h"
#include "folder/folder_layout.h"
#include "format/content_kind.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

using Cells = std::vector<std::string>;

// What columns are called, in small letters and without what is neither letter nor digit.
constexpr std::string_view kFileColumns[] = {
    "filename", "imageid", "image",   "imagename", "imageindex", "file",  "filepath", "imagepath",
    "path",     "img",     "imgname", "imgpath",   "imagefile",  "fname", "name",     "id"};
constexpr std::string_view kLabels[] = {
    "label",    "labels",     "labelname", "class", "classname", "classes",      "classid",
    "category", "categoryid", "target",    "breed", "species",   "variety",      "variant",
    "cls",      "tag",        "tags",      "y",     "diagnosis", "findinglabels"};

std::string plain(std::string_view text) {
  std::string found;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) found += lower_letter(c);
  }
  return found;
}

class LabelReader {
 public:
  LabelReader(const fs::path& file, const LabelColumns& columns, std::vector<std::string>& notes)
      : file_(file), columns_(columns), notes_(notes) {}

  LabelList read() {
    constexpr int64_t kMaxBytes = 4LL << 30;
    text_ = read_source_text(file_, kMaxBytes);
    if (text_.find('\n') == text_.npos) std::ranges::replace(text_, '\r', '\n');  // of old Macs
    const std::string_view text = without_byte_order_mark(text_);
    const ContentKind kind = content_kind(std::as_bytes(std::span(text_)));
    if (!simdjson::validate_utf8(text) || kind == ContentKind::zip) {
      refuse(fmt::format(
          "the file is {}, not UTF-8 text with names and labels; save the list as UTF-8 text",
          content_name(kind)));
    }
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) refuse("the list has no lines");
    if (text[first] == '{' || text[first] == '[') {
      read_json_lines(text);
    } else {
      read_table(text.substr(first));
    }
    if (found_.empty()) refuse("the list has no names");
    if (num_denied_ > 0) {
      add_note(notes_, shown_place(file_),
               "{} rows have confidence 0, so their pictures do not get these labels", num_denied_);
    }
    return {.lines = std::move(found_), .classes = std::move(classes_)};
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw source_error(file_, ErrorCode::invalid_argument, "{}", why);
  }

  void read_json_lines(std::string_view text) {
    std::string name = columns_.name;
    std::string label = columns_.label;
    simdjson::dom::parser parser;
    for_each_line(text, [&](std::string_view line, int64_t number) {
      if (trimmed(line).empty()) return;
      const std::string padded = std::string(line) + std::string(simdjson::SIMDJSON_PADDING, ' ');
      simdjson::dom::element value;
      simdjson::dom::object object;
      if (parse_as_python(parser, std::span(padded).first(line.size()), value) !=
              simdjson::SUCCESS ||
          value.get_object().get(object) != simdjson::SUCCESS) {
        refuse(
            fmt::format("line {} is not a JSON object; write one line for each picture: "
                        "{{\"file_name\": \"a.jpg\", \"label\": \"cat\"}}",
                        number));
      }
      if (name.empty() || label.empty()) {
        Cells keys;
        for (const auto& [key, _] : object) keys.emplace_back(key);
        const auto [name_at, label_at] = choose(keys);
        name = keys[name_at];
        label = keys[label_at];
      }
      simdjson::dom::element at;
      if (!find_member(object, name, at)) {
        refuse(fmt::format("line {} has no '{}'", number, name));
      }
      std::vector<std::string> labels;
      if (simdjson::dom::element of; find_member(object, label, of)) {
        simdjson::dom::array array;
        if (of.get_array().get(array) == simdjson::SUCCESS) {
          for (const simdjson::dom::element item : array) labels.push_back(text_of(item));
        } else {
          labels.push_back(text_of(of));
        }
      }
      add(text_of(at), std::move(labels), number);
    });
  }

  static std::string text_of(simdjson::dom::element value) {
    std::string_view text;
    return value.get_string().get(text) == simdjson::SUCCESS ? std::string(text)
                                                             : simdjson::minify(value);
  }

  void read_table(std::string_view text) {
    const std::string_view first = text.substr(0, text.find('\n'));
    char delimiter = ' ';
    const bool has_space = trimmed(first).find(' ') != std::string_view::npos;
    for (const char c : {'\t', ',', ';', '|'}) {
      if (c == '|' && has_space) break;  // between several labels
      if (delimiter == ' ' && first.find(c) != std::string_view::npos) delimiter = c;
    }
    std::vector<Cells> rows;
    if (delimiter == ' ') {
      for_each_line(text, [&](std::string_view line, int64_t) {
        const std::string row(trimmed(line));
        const size_t space = std::min(row.find_first_of(" \t"), row.size());
        if (!row.empty())
          rows.push_back(
              {row.substr(0, space), std::string(trimmed(std::string_view(row).substr(space)))});
      });
    } else {
      while (!text.empty()) {
        Cells row = next_row(text, delimiter);
        if (row.size() > 1 || !trimmed(row.front()).empty()) rows.push_back(std::move(row));
      }
    }
    for (size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].size() == rows.front().size()) continue;
      refuse(fmt::format("row {} has {} cells, but the first row has {}", i + 1, rows[i].size(),
                         rows.front().size()));
    }
    const bool has_header = is_header(rows.front());
    if (has_header && read_class_columns(rows)) return;
    const auto [name, label] = has_header ? choose(rows.front()) : without_header(rows.front());
    const std::string separators = separators_of(rows, has_header, label);
    const std::optional<size_t> confidence = has_header ? confidences(rows.front()) : std::nullopt;
    for (size_t i = has_header ? 1 : 0; i < rows.size(); ++i) {
      const auto number = static_cast<int64_t>(i) + 1;
      std::vector<std::string> labels;
      // A person has said that the label is none of the picture's.
      const bool is_denied = confidence && trimmed(rows[i][*confidence]) == "0";
      if (is_denied) {
        ++num_denied_;
      } else if (columns_.is_multi || trimmed(rows[i][label]).starts_with('[')) {
        for_parts(trimmed(rows[i][label]), separators, labels);
      } else if (std::string text_of_label(trimmed(rows[i][label])); !text_of_label.empty()) {
        labels.push_back(std::move(text_of_label));
      }
      add(std::string(trimmed(rows[i][name])), std::move(labels), number);
    }
  }

  // Nothing for what is no number; pandas writes bool as True, Excel as TRUE.
  static std::optional<double> number_of(std::string_view cell) {
    cell = trimmed(cell);
    if (plain(cell) == "true" || plain(cell) == "false") return plain(cell) == "true" ? 1 : 0;
    return number_of_text<double>(cell);
  }

  // Whether all cells of the column are 0 or 1. Refuses one that is nearly so, such as CheXpert's,
  // where blank and -1 say that nobody knows, and probabilities.
  bool is_class(const std::vector<Cells>& rows, size_t column) const {
    const auto is_flag = [column](const Cells& row) {
      const std::optional<double> value = number_of(row[column]);
      return value == 0 || value == 1;
    };
    const auto is_near = [column](const Cells& row) {
      return std::abs(number_of(row[column]).value_or(trimmed(row[column]).empty() ? 0 : 2)) <= 1;
    };
    const std::span<const Cells> cells = std::span(rows).subspan(1);
    const auto other = std::ranges::find_if_not(cells, is_flag);
    if (other == cells.end()) return true;
    if (std::ranges::any_of(cells, is_flag) && std::ranges::all_of(cells, is_near)) {
      refuse(
          fmt::format("row {} has '{}' in the column '{}', but the other rows have only 0 and 1 "
                      "there, so ffkit cannot see if the column is a class; write 0 or 1, or name "
                      "the column with the labels with {}",
                      other - cells.begin() + 2, printable((*other)[column]),
                      printable(rows.front()[column]), option_name("label_column")));
    }
    return false;
  }

  // Where no column is called as labels are, those behind the names that hold only 0 and 1 are the
  // classes, and a row's labels are its ones. Returns false for other lists.
  bool read_class_columns(const std::vector<Cells>& rows) {
    const Cells& header = rows.front();
    const std::optional<size_t> name =
        column(header, columns_.name, "name_column", std::span(kFileColumns), std::nullopt);
    if (!name || !columns_.label.empty() || header.size() == 2 || rows.size() == 1 ||
        column(header, "", "label_column", std::span(kLabels), name)) {
      return false;
    }
    std::vector<size_t> columns;
    std::vector<std::string> others;
    for (size_t i = *name + 1; i < header.size(); ++i) {
      is_class(rows, i) ? columns.push_back(i) : others.push_back(header[i]);
    }
    if (columns.size() < 2) return false;
    for (const size_t i : columns) {
      classes_.emplace_back(trimmed(header[i]));
      if (classes_.back().empty() || std::ranges::count(classes_, classes_.back()) > 1) {
        refuse(
            fmt::format("column {} has the class name '{}', which is empty or appears twice; give "
                        "each class its own name",
                        i + 1, printable(classes_.back())));
      }
    }
    for (size_t i = 1; i < rows.size(); ++i) {
      std::vector<std::string> labels;
      for (size_t k = 0; k < columns.size(); ++k) {
        if (number_of(rows[i][columns[k]]) == 1) labels.push_back(classes_[k]);
      }
      add(std::string(trimmed(rows[i][*name])), std::move(labels), static_cast<int64_t>(i) + 1);
    }
    add_note(notes_, shown_place(file_), "its {} columns of 0 and 1 are the classes{}{}",
             columns.size(), others.empty() ? "" : "; not read: ", some_names(others));
    return true;
  }

  // RFC 4180: quotes around a cell may have delimiters and line ends inside; two stand for one.
  Cells next_row(std::string_view& text, char delimiter) const {
    Cells row(1);
    bool is_quoted = false;
    size_t at = 0;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (is_quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
        row.back() += text[++at];
      } else if (c == '"' && (is_quoted || trimmed(row.back()).empty())) {
        if (!is_quoted) row.back().clear();
        is_quoted = !is_quoted;
      } else if (!is_quoted && c == delimiter) {
        row.emplace_back();
      } else if (!is_quoted && c == '\n') {
        ++at;
        break;
      } else if (is_quoted || c != '\r') {
        row.back() += c;
      }
    }
    if (is_quoted)
      refuse(
          fmt::format("the quotation mark before '{:.20}' has no closing quotation mark; add the "
                      "closing quotation mark",
                      printable(row.back())));
    text.remove_prefix(at);
    return row;
  }

  bool is_header(const Cells& row) const {
    if (!columns_.name.empty() || !columns_.label.empty()) return true;
    return std::ranges::any_of(
               row, [](const std::string& cell) { return is_called(cell, kFileColumns); }) &&
           std::ranges::none_of(
               row, [](const std::string& cell) { return cell.find('.') != cell.npos; });
  }
  // Of OpenImages: 1 where a label is the picture's, 0 where it is not.
  static std::optional<size_t> confidences(const Cells& header) {
    const auto place = [&](std::string_view word) {
      return static_cast<size_t>(std::ranges::find(header, word, plain) - header.begin());
    };
    const size_t found = place("confidence");
    const bool are_both = std::max(found, place("labelname")) < header.size();
    return are_both ? std::optional(found) : std::nullopt;
  }
  static bool is_called(const std::string& cell, std::span<const std::string_view> words) {
    return std::ranges::find(words, plain(cell)) != words.end();
  }

  std::pair<size_t, size_t> without_header(const Cells& row) const {
    const size_t num_cells = row.size();
    if (num_cells == 2 && has_image_name(row[1]) && !has_image_name(row[0])) return {1, 0};
    // tiny-imagenet's have a box behind the class.
    const bool has_box =
        num_cells > 2 && !number_of(row[1]) && std::all_of(row.begin() + 2, row.end(), number_of);
    if (num_cells == 2 || has_box) return {0, 1};
    refuse(
        fmt::format("the list has {} columns, but no header with the names of the columns; write a "
                    "first line such as file_name,label",
                    num_cells));
  }

  // The numbers of the columns of names and labels.
  std::pair<size_t, size_t> choose(const Cells& header) const {
    if (!columns_.has_split && std::ranges::find(header, "split", plain) != header.end()) {
      refuse(
          fmt::format("the list has a column 'split', but all rows of a list must belong to one "
                      "split; write a list for each split, or name one split for all rows with {}",
                      option_set("labels", "train=FILE")));
    }
    const std::optional<size_t> name =
        column(header, columns_.name, "name_column", std::span(kFileColumns), std::nullopt);
    if (!name) unknown(header, "names", "name_column");
    std::optional<size_t> label =
        column(header, columns_.label, "label_column", std::span(kLabels), name);
    if (!label && header.size() == 2) label = 1 - *name;
    if (!label) unknown(header, "labels", "label_column");
    return {*name, *label};
  }

  std::optional<size_t> column(const Cells& header, const std::string& given, const char* option,
                               std::span<const std::string_view> words,
                               std::optional<size_t> other) const {
    if (!given.empty()) {
      const auto found = std::ranges::find(header, given);
      if (found == header.end()) {
        refuse(fmt::format("{}: there is no column '{}'; the columns are '{}'", option_name(option),
                           given, fmt::join(header, "', '")));
      }
      return static_cast<size_t>(found - header.begin());
    }
    for (const std::string_view word : words) {
      for (size_t i = 0; i < header.size(); ++i) {
        if (i != other && plain(header[i]) == word) return i;
      }
    }
    return std::nullopt;
  }

  [[noreturn]] void unknown(const Cells& header, const char* what, const char* option) const {
    refuse(fmt::format(
        "ffkit does not know which column has the {}; choose one of the columns '{}' with {}", what,
        fmt::join(header, "', '"), option_name(option)));
  }

  // What stands between the labels of a cell: the first of these that any cell has.
  static std::string separators_of(const std::vector<Cells>& rows, bool has_header, size_t label) {
    for (const char* separator : {"|", ";", ","}) {
      for (size_t i = has_header ? 1 : 0; i < rows.size(); ++i) {
        if (label < rows[i].size() && rows[i][label].find(separator) != std::string::npos) {
          return separator;
        }
      }
    }
    return " \t";
  }

  static void for_parts(std::string_view cell, std::string separators,
                        std::vector<std::string>& labels) {
    // A list, as Python and JSON write it.
    const bool is_list = cell.starts_with('[') && cell.ends_with(']');
    if (is_list) separators = "[],";
    while (!cell.empty()) {
      const size_t end = std::min(cell.find_first_of(separators), cell.size());
      std::string_view part = trimmed(cell.substr(0, end));
      if (is_list && part.size() > 1 && (part[0] == '"' || part[0] == '\'')) {
        part = part.substr(1, part.size() - 2);
      }
      if (!part.empty()) labels.emplace_back(part);
      cell.remove_prefix(std::min(end + 1, cell.size()));
    }
  }

  void add(std::string name, std::vector<std::string> given, int64_t number) {
    if (name.empty()) refuse(fmt::format("row {} has no name", number));
    std::vector<std::string> labels;
    for (std::string& label : given) {
      if (label == "nan" || label == "NaN") continue;  // pandas' null
      // A column of whole numbers with nulls has 3.0 for 3.
      const bool is_whole =
          label.ends_with(".0") && whole_number_of(label.substr(0, label.size() - 2));
      if (is_whole && classes_.empty()) label.resize(label.size() - 2);
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(std::move(label));
    }
    if (!columns_.is_multi && classes_.empty() && labels.size() > 1) {
      refuse(fmt::format(
          "in row {}, the picture '{}' has {} labels; give {} if pictures have several labels",
          number, printable(name), labels.size(), option_name("multi_label")));
    }
    const auto [known, is_new] = position_.try_emplace(name, found_.size());
    if (is_new) {
      found_.push_back({std::move(name), std::move(labels)});
      return;
    }
    std::vector<std::string>& before = found_[known->second].labels;
    if (before == labels) return;
    if (!columns_.is_multi) {
      refuse(
          fmt::format("in row {}, the picture '{}' appears again, with another label; give {} if "
                      "pictures have several labels",
                      number, printable(name), option_name("multi_label")));
    }
    for (std::string& label : labels) {
      if (std::ranges::find(before, label) == before.end()) before.push_back(std::move(label));
    }
  }

  const fs::path& file_;
  const LabelColumns& columns_;
  std::vector<std::string>& notes_;
  std::string text_;
  int64_t num_denied_ = 0;
  std::vector<NamedLabels> found_;
  std::vector<std::string> classes_;                  // that columns are
  std::unordered_map<std::string, size_t> position_;  // of a name in found_
};

}  // namespace

std::optional<int64_t> whole_number_of(const std::string& text) {
  return number_of_text<int64_t>(text);
}

LabelList read_label_list(const fs::path& file, const LabelColumns& columns,
                          std::vector<std::string>& notes) {
  return LabelReader(file, columns, notes).read();
}

std::vector<std::string> classes_of_labels(const std::vector<NamedLabels>& lists) {
  std::set<std::string> names;
  for (const NamedLabels& line : lists) names.insert(line.labels.begin(), line.labels.end());
  std::vector<std::string> classes(names.begin(), names.end());
  const bool are_numbers = std::ranges::all_of(
      classes, [](const std::string& name) { return whole_number_of(name).has_value(); });
  if (are_numbers) std::ranges::sort(classes, {}, whole_number_of);
  return classes;
}

}  // namespace ffkit
