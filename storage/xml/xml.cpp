#include "xml/xml.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"

namespace ffkit {
namespace {

constexpr int kMaxXmlDepth = 32;
constexpr int kMaxXmlElements = 1'000'000;

bool is_xml_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string utf8_of_code_point(uint32_t code) {
  std::string text;
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 63));
    text += static_cast<char>(0x80 | (code & 63));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 63));
    text += static_cast<char>(0x80 | (code >> 6 & 63));
    text += static_cast<char>(0x80 | (code & 63));
  }
  return text;
}

class XmlParser {
 public:
  explicit XmlParser(std::string_view document) : rest_(document), size_(document.size()) {}

  XmlElement parse() {
    skip_misc();
    if (!rest_.starts_with('<')) refuse_xml("has no element");
    XmlElement root = element(1);
    skip_misc();
    if (!rest_.empty()) refuse_xml("has more text after its root element");
    return root;
  }

 private:
  [[noreturn]] void refuse_xml(const std::string& why) const {
    throw Error(ErrorCode::corrupt, "the XML " + why,
                {.offset = static_cast<int64_t>(size_ - rest_.size())});
  }

  void skip_spaces() {
    while (!rest_.empty() && is_xml_space(rest_.front())) rest_.remove_prefix(1);
  }

  // Takes what is before `end`, and `end`.
  std::string_view take_until(std::string_view end) {
    const size_t place = rest_.find(end);
    if (place == std::string_view::npos) refuse_xml(fmt::format("has no '{}'", end));
    const std::string_view taken = rest_.substr(0, place);
    rest_.remove_prefix(place + end.size());
    return taken;
  }

  // Passes over an instruction or a comment that stands here.
  bool skip_one_misc() {
    if (rest_.starts_with("<?")) {
      take_until("?>");
    } else if (rest_.starts_with("<!--")) {
      rest_.remove_prefix(4);
      take_until("-->");
    } else {
      return false;
    }
    return true;
  }

  void skip_misc() {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
    do {
      skip_spaces();
    } while (skip_one_misc());
  }

  std::string name() {
    size_t size = 0;
    while (size < rest_.size() && !is_xml_space(rest_[size]) && rest_[size] != '>' &&
           rest_[size] != '/' && rest_[size] != '=' && rest_[size] != '<') {
      ++size;
    }
    if (size == 0) refuse_xml("has an element without a name");
    std::string_view whole = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (whole.find(':') != std::string_view::npos) whole.remove_prefix(whole.find(':') + 1);
    return std::string(whole);
  }

  void skip_attributes() {
    for (skip_spaces(); !rest_.empty() && rest_.front() != '>' && rest_.front() != '/';
         skip_spaces()) {
      name();
      skip_spaces();
      if (!rest_.starts_with('=')) refuse_xml("has an attribute without a value");
      rest_.remove_prefix(1);
      skip_spaces();
      if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) {
        refuse_xml("has an attribute without quotes");
      }
      const char quote = rest_.front();
      rest_.remove_prefix(1);
      take_until({&quote, 1});
    }
  }

  std::string entity() {
    constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
        {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
    const std::string_view entity_name = take_until(";");
    for (const auto& [known, letter] : kEntities) {
      if (entity_name == known) return {letter};
    }
    const bool is_hex = entity_name.starts_with("#x");
    const std::string_view digits =
        entity_name.substr(std::min<size_t>(is_hex ? 2 : 1, entity_name.size()));
    const auto code = number_of_text<uint32_t>(digits, is_hex ? 16 : 10);
    if (!entity_name.starts_with('#') || !code || *code > 0x10ffff ||
        (*code >= 0xd800 && *code < 0xe000)) {
      refuse_xml(fmt::format("has the unknown entity '{}'", printable(entity_name.substr(0, 20))));
    }
    return utf8_of_code_point(*code);
  }

  // What stands between the element's tags, and its last tag.
  void content(XmlElement& parent, int depth) {
    while (true) {
      const size_t size = std::min(rest_.find_first_of("<&"), rest_.size());
      parent.text += rest_.substr(0, size);
      rest_.remove_prefix(size);
      if (rest_.empty())
        refuse_xml(fmt::format("ends inside the element <{}>", printable(parent.name)));
      if (rest_.starts_with('&')) {
        rest_.remove_prefix(1);
        parent.text += entity();
      } else if (rest_.starts_with("<![CDATA[")) {
        rest_.remove_prefix(9);
        parent.text += take_until("]]>");
      } else if (rest_.starts_with("</")) {
        rest_.remove_prefix(2);
        const std::string closed = name();
        skip_spaces();
        if (closed != parent.name || !rest_.starts_with('>')) {
          refuse_xml(
              fmt::format("closes <{}> with </{}>", printable(parent.name), printable(closed)));
        }
        rest_.remove_prefix(1);
        return;
      } else if (!skip_one_misc()) {
        parent.children.push_back(element(depth + 1));
      }
    }
  }

  XmlElement element(int depth) {
    if (depth > kMaxXmlDepth)
      refuse_xml(fmt::format("is more than {} elements deep", kMaxXmlDepth));
    if (++num_elements_ > kMaxXmlElements) {
      refuse_xml(fmt::format("has more than {} elements", kMaxXmlElements));
    }
    rest_.remove_prefix(1);
    if (rest_.starts_with('!')) refuse_xml("has a document type declaration");
    XmlElement result;
    result.name = name();
    skip_attributes();
    if (rest_.starts_with("/>")) {
      rest_.remove_prefix(2);
      return result;
    }
    if (!rest_.starts_with('>')) refuse_xml(fmt::format("has no '>' after <{}", result.name));
    rest_.remove_prefix(1);
    content(result, depth);
    if (!result.children.empty()) {
      const auto is_text = [](char c) { return !is_xml_space(c); };
      const auto begin = std::ranges::find_if(result.text, is_text);
      result.text.erase(result.text.begin(), begin);
      while (!result.text.empty() && is_xml_space(result.text.back())) result.text.pop_back();
    }
    return result;
  }

  std::string_view rest_;
  size_t size_;
  int num_elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  const auto found = std::ranges::find(children, child, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

std::string_view XmlElement::text_of(std::string_view child) const {
  const XmlElement* found = find(child);
  return found == nullptr ? std::string_view() : found->text;
}

XmlElement parse_xml(std::string_view document) {
  return XmlParser(document).parse();
}

}  // namespace ffkit
