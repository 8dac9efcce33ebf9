// A reader of small XML documents, such as the answers of object stores. It knows elements, texts,
// CDATA and the five entities; attributes, comments and instructions are passed over, and names
// lose their prefix. A document type is refused: it could define entities that grow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

struct XmlElement {
  std::string name;
  std::string text;  // of the element itself, without spaces at its ends if it has children
  std::vector<XmlElement> children;

  // The first child of that name; null without one.
  const XmlElement* find(std::string_view child) const;
  // Its text; empty without one.
  std::string_view text_of(std::string_view child) const;
};

// The root element of `document`. Throws Error(corrupt) for what is no such document, has elements
// more than 32 deep or more than a million of them.
XmlElement parse_xml(std::string_view document);

}  // namespace ffkit
