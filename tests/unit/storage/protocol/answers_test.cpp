#include "protocol/answers.h"

#include "canned_client.h"
#include "test_prelude.h"
#include "xml/xml.h"

namespace ffkit {
namespace {

using testing::answer_of;

TEST(ListPage, HasKeysAndPrefixes) {
  const ListPage page = parse_list_page(
      "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t=</NextContinuationToken><Contents><Key>a+b%2Bc</Key>"
      "<Size>12</Size><ETag>&quot;e&quot;</ETag></Contents>"
      "<CommonPrefixes><Prefix>d%2Fe/</Prefix></CommonPrefixes></ListBucketResult>");
  ASSERT_EQ(page.keys.size(), 1U);
  EXPECT_EQ(page.keys[0].key, "a b+c");
  EXPECT_EQ(page.keys[0].num_bytes, 12);
  EXPECT_EQ(page.keys[0].version, "\"e\"");
  EXPECT_EQ(page.prefixes, std::vector<std::string>{"d/e/"});
  EXPECT_EQ(page.next, "t=");
  EXPECT_EQ(parse_list_page("<ListBucketResult><Contents><Key>a+b%20</Key><Size>0</Size>"
                            "</Contents></ListBucketResult>")
                .keys[0]
                .key,
            "a+b%20");
}

TEST(ListPage, RefusesWhatIsNone) {
  EXPECT_ERROR(parse_list_page("<html/>"), corrupt);
  EXPECT_ERROR(parse_list_page("no XML"), corrupt);
  EXPECT_ERROR(parse_list_page("<ListBucketResult><IsTruncated>true</IsTruncated>"
                               "</ListBucketResult>"),
               corrupt);
  EXPECT_ERROR(parse_list_page("<ListBucketResult><Contents><Key>a</Key><Size>-1</Size>"
                               "</Contents></ListBucketResult>"),
               corrupt);
  EXPECT_ERROR(parse_upload_id("<InitiateMultipartUploadResult/>"), corrupt);
}

TEST(UploadPage, HasUploads) {
  const UploadPage page = parse_upload_page(
      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
      "<NextKeyMarker>b</NextKeyMarker><NextUploadIdMarker>2</NextUploadIdMarker>"
      "<Upload><Key>a+b</Key><UploadId>1</UploadId><Initiated>2026-11-27</Initiated></Upload>"
      "<Upload><Key>b</Key><UploadId>2</UploadId></Upload></ListMultipartUploadsResult>");
  ASSERT_EQ(page.uploads.size(), 2U);
  EXPECT_EQ(page.uploads[0].key, "a+b");
  EXPECT_EQ(page.uploads[0].id, "1");
  EXPECT_EQ(page.uploads[0].begun, "2026-11-27");
  EXPECT_EQ(page.uploads[1].begun, "");
  EXPECT_EQ(page.next_key, "b");
  EXPECT_EQ(page.next_id, "2");
  EXPECT_EQ(parse_upload_page("<ListMultipartUploadsResult/>").next_key, "");
}

TEST(UploadPage, RefusesWhatIsNone) {
  EXPECT_ERROR(parse_upload_page("<ListBucketResult/>"), corrupt);
  EXPECT_ERROR(parse_upload_page("<ListMultipartUploadsResult><Upload><Key>a</Key></Upload>"
                                 "</ListMultipartUploadsResult>"),
               corrupt);
  EXPECT_ERROR(parse_upload_page("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                                 "</ListMultipartUploadsResult>"),
               corrupt);
}

// What users see of each refusal.
TEST(Failure, SaysWhatToDo) {
  const auto refused = [](int status, const std::string& code, const std::string& message) {
    return answer_of(
        status, fmt::format("<Error><Code>{}</Code><Message>{}</Message></Error>", code, message));
  };
  const auto fail = [](const HttpResponse& response, const AskedOf& asked) {
    throw error_of_failure(failure_of(response, asked), "s3://bucket/key", "read");
  };
  const AskedOf asked{"profile 'dev'", "bucket", "bucket.s3.amazonaws.com", "AWS"};
  EXPECT_ERROR(fail(refused(404, "NoSuchKey", "x"), asked), not_found, .path = "s3://bucket/key");
  EXPECT_ERROR(fail(refused(404, "NoSuchBucket", "x"), asked), not_found);
  EXPECT_ERROR(fail(refused(403, "AccessDenied", "Access Denied"), asked), invalid_argument);
  EXPECT_ERROR(fail(refused(403, "AccessDenied", "Access Denied"), {"", "bucket", "host", "GS"}),
               invalid_argument);
  EXPECT_ERROR(fail(refused(403, "InvalidAccessKeyId", "no such key"), asked), invalid_argument);
  EXPECT_ERROR(fail(refused(403, "SignatureDoesNotMatch", "other"), asked), invalid_argument);
  EXPECT_ERROR(fail(refused(400, "ExpiredToken", "The token has expired"), asked),
               invalid_argument);
  EXPECT_ERROR(fail(refused(403, "RequestTimeTooSkewed", "too large"), asked), invalid_argument);
  EXPECT_ERROR(fail(refused(403, "InvalidObjectState", "in Glacier"), asked), invalid_argument);
  EXPECT_ERROR(fail(refused(403, "SecondLevelDomainForbidden", "no path style"), asked),
               invalid_argument);
  HttpResponse moved = answer_of(301, "", {{"location", "https://store/bucket/key?signed=yes"}});
  EXPECT_ERROR(fail(moved, {"keys", "bucket", "store", "AWS", false}), invalid_argument);
  EXPECT_ERROR(fail(refused(301, "PermanentRedirect", "elsewhere"), asked), invalid_argument);
  EXPECT_ERROR(fail(refused(503, "SlowDown", "Reduce your request rate"), asked), io);
  EXPECT_ERROR(fail(refused(501, "NotImplemented", "A header is not implemented"), asked),
               unsupported);
  EXPECT_ERROR(fail(answer_of(412), asked), corrupt);
  EXPECT_ERROR(fail(answer_of(416), asked), corrupt);
  EXPECT_ERROR(fail(answer_of(400, "<html>a proxy's page</html>"), asked), invalid_argument);
  EXPECT_ERROR(fail(answer_of(0), asked), io);
}

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
