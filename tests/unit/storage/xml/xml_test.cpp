#include "xml/xml.h"

#include <gtest/gtest.h>

#include "expect_error.h"

namespace ffkit {
namespace {

TEST(Xml, ReadsWhatStoresAnswer) {
  const XmlElement root = parse_xml(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- c -->\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
      "  <Name>b</Name> <Contents a='1' b = \">\"><Key>a&amp;b&#x20AC;&#33;<![CDATA[<&>]]></Key>\n"
      "<Size>12</Size></Contents><Contents><Key/></Contents></ListBucketResult>\n");
  EXPECT_EQ(root.name, "ListBucketResult");
  EXPECT_EQ(root.text, "");
  ASSERT_EQ(root.children.size(), 3U);
  EXPECT_EQ(root.text_of("Name"), "b");
  EXPECT_EQ(root.children[1].text_of("Key"), "a&b\xe2\x82\xac!<&>");
  EXPECT_EQ(root.children[1].text_of("Size"), "12");
  EXPECT_EQ(root.children[2].text_of("Key"), "");
  EXPECT_EQ(root.find("Missing"), nullptr);
  EXPECT_EQ(parse_xml("<s3:Error xmlns:s3='x'><s3:Code> A </s3:Code></s3:Error>").text_of("Code"),
            " A ");
}

TEST(Xml, RefusesWhatIsNone) {
  for (const char* text :
       {"", "text", "<a>", "<a></b>", "<a/><b/>", "<a>&nbsp;</a>", "<a>&#xd800;</a>", "<a b></a>",
        "<a b=c></a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "<a><!-- </a>", "< a/>", "<a"}) {
    EXPECT_ERROR(parse_xml(text), corrupt);
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_ERROR(parse_xml(deep), corrupt);
}

}  // namespace
}  // namespace ffkit
