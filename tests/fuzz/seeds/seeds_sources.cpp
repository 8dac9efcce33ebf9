// Seeds of what the sources webdataset, coco and jsonl read, and of texts of transforms.
#include <span>
#include <string>
#include <string_view>

#include <ffkit/base/crc32c.h>

#include "base/fnv.h"
#include "base/little_endian.h"
#include "base/mix64.h"
#include "seeds/seeds.h"
#include "tar_builder.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;
using testing::write_file;

// As NumPy writes them: the header's length is such that the numbers begin at a multiple of 64.
std::string npy(char version, const std::string& descr, const std::string& shape,
                size_t num_bytes) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const size_t before = version == 1 ? 10 : 12;
  header.resize((before + header.size() + 64) / 64 * 64 - before, ' ');
  header.back() = '\n';
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file += static_cast<char>(header.size());
  file.append(version == 1 ? 1 : 3, '\0');
  return file + header + std::string(num_bytes, 'n');
}

void make_npys(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "matrix", npy(1, "<f4", "2, 3", 24));
  write_file(folder / "vector", npy(2, "|u1", "5,", 5));
  write_file(folder / "number", npy(3, "<i8", "", 8));
  write_file(folder / "empty", npy(1, "<f2", "0, 7", 0));
}

constexpr char kInstances[] =
    R"({"info": {"year": 2017}, "licenses": [{"id": 1, "name": "a \"b\""}],
 "images": [{"id": 9, "file_name": "a.jpg", "width": 4, "height": 3}, {"id": 8, "file_name": "b/c.jpg", "width": 1, "height": 2}],
 "annotations": [
  {"id": 1, "image_id": 8, "category_id": 3, "bbox": [0, 0.5, 1, 1e0], "area": 1, "iscrowd": 0, "segmentation": [[0, 0, 1, 0, 1, 1]]},
  {"id": 2, "image_id": 8, "category_id": 3, "bbox": [0, 0, 1, 2], "area": 2.5, "iscrowd": 1, "segmentation": {"counts": [1, 1], "size": [2, 1]}}],
 "categories": [{"id": 3, "name": "dog", "supercategory": "animal"}]})";

constexpr char kKeypoints[] =
    R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 3, "f": [1, 2], "c": [3, 4]}],
 "categories": [{"id": 1, "name": "person", "keypoints": ["nose", "eye"], "skeleton": [[1, 2]]}],
 "annotations": [{"id": 5, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "area": 4, "iscrowd": 0, "num_keypoints": 1,
  "keypoints": [1, 1, 2, 0, 0, 0], "keypoints_cam": [[1, 2, 3], [4, 5, 6]], "keypoints_img": [[1, 2], [3, 4]], "keypoints_vis": [true, false]}]})";

constexpr char kPanoptic[] =
    R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 3}],
 "categories": [{"id": 1, "name": "sky", "isthing": 0}],
 "annotations": [{"image_id": 1, "file_name": "a.png", "segments_info": [
  {"id": 263, "category_id": 1, "iscrowd": 0, "bbox": [1, 1, 2, 2], "area": 4},
  {"id": 7, "category_id": 1, "iscrowd": 1, "bbox": [0, 0, 1, 1], "area": 1}]}]})";

void make_cocos(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "instances", kInstances);
  write_file(folder / "keypoints", kKeypoints);
  write_file(folder / "panoptic", kPanoptic);
}

void make_segmentations(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "polygons", "[[1, 2, 3.5, 4, 1, 4e0], [0, 0, 19, 0, 19, 14, -5, 30.25]]");
  write_file(folder / "runs", R"({"size": [15, 20], "counts": [17, 2, 14, 1, 266]})");
  write_file(folder / "text", R"({"size": [15, 20], "counts": "a02>Ol7"})");
  write_file(folder / "counts", "o1170O1O010O011M031K0550KK05OM03OO010O01O10W2");
}

std::string tokenizer(const std::string& normalizer, const std::string& steps,
                      const std::string& ignores_merges) {
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)"
         R"({"id": 6, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},)"
         R"({"id": 7, "content": "<a>", "single_word": true, "lstrip": true, "rstrip": true, "normalized": true, "special": false}], "normalizer": )" +
         normalizer + R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + steps +
         R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}]}, "post_processor": {"type": "TemplateProcessing", )"
         R"("single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}], )"
         R"("special_tokens": {"</s>": {"id": "</s>", "ids": [6], "tokens": ["</s>"]}}}, "decoder": {"type": "ByteLevel"}, )"
         R"("model": {"type": "BPE", "ignore_merges": )" +
         ignores_merges +
         R"(, "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u00cc": 4, "\u0123": 5}, "merges": [["a", "b"]]}})" +
         "\na ab <a> b\xCC\x81 b\n";
}

void make_tokenizers(const fs::path& folder) {
  fs::create_directories(folder);
  const std::string replace =
      R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"String": "\n"}, "content": ""}]})";
  write_file(folder / "plain", tokenizer("null", "", "false"));
  write_file(
      folder / "split",
      tokenizer(
          replace,
          R"({"type": "Split", "pattern": {"Regex": "(?i:'s|b)?[^\\s\\p{L}a-c]+|\\p{N}{1,3}|\\s+(?!\\S)|a++$"}, "behavior": "MergedWithNext", "invert": true},)",
          "true"));
  write_file(folder / "digits",
             tokenizer(R"({"type": "NFKD"})", R"({"type": "Digits", "individual_digits": true},)",
                       "true"));
}

void make_json_lines(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "tokens",
             "{\"id\": \"a\", \"tokens\": [1, 65535, 0], \"weight\": 0.5}\n"
             "{\"id\": \"b\", \"tokens\": [], \"weight\": null}\n");
  write_file(folder / "kinds",
             "{\"text\": \"a\\u00e9\\n\", \"flag\": true, \"count\": -7, \"grid\": [[1, 2], [3, "
             "4]], \"reals\": [0.5, 1], "
             "\"names\": [\"x\", \"\"], \"other\": {\"a\": [1, \"b\"]}}\n\n"
             "{\"other\": [1, [2]], \"names\": [], \"reals\": [1], \"grid\": [[5]], \"count\": "
             "9223372036854775807, "
             "\"flag\": false, \"text\": \"\"}");
}

void make_json_documents(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "array", "[{\"text\": \"a\"}, {\"n\": NaN,\n\"b\": [1, {}]} ,\n5, \"x\"]\n");
  write_file(folder / "values", "{\n\"a\": \"\\ud83d\\ude00\\ud800\"\n}\n{\n}\n");
  write_file(folder / "object",
             "{\"a\": [1, -0.5e3, true, null], \"b\": {\"c\": \"\\\\\\u00e9\"}, \"a\": "
             "12345678901234567890123}");
}

// Three lines of text, by Python's gzip, bz2 and lzma; of zstd a raw block.
void make_compressed(const fs::path& folder) {
  using namespace std::string_literals;
  fs::create_directories(folder);
  const std::string gzip =
      "\037\213\010\000\000\000\000\000\002\003\253\126\052\111\255\050\121\262\122\120\112\122\252\345\252\306\303\003\000\206\213\315\016\052\000\000\000"s;
  write_file(folder / "gzip", gzip);
  write_file(folder / "two_members", gzip + gzip);
  write_file(
      folder / "bzip2",
      "\102\132\150\071\061\101\131\046\123\131\312\274\134\172\000\000\023\131\200\000\020\120\000\000\020\022\000\004\112\040\000\042\277\325\103\106\236\241\000\060\212\132\221\153\302\221\244\106\237\027\162\105\070\120\220\312\274\134\172"s);
  write_file(
      folder / "xz",
      "\375\067\172\130\132\000\000\001\151\042\336\066\002\000\041\001\026\000\000\000\164\057\345\243\340\000\051\000\025\135\000\075\210\212\206\224\210\023\340\363\207\044\262\253\142\146\255\322\132\217\240\000\000\000\000\000\206\213\315\016\000\001\055\052\022\046\027\333\220\102\231\015\001\000\000\000\000\001\131\132"s);
  write_file(
      folder / "zstd",
      "\050\265\057\375\040\052\121\001\000\173\042\164\145\170\164\042\072\040\042\142\042\175\012\173\042\164\145\170\164\042\072\040\042\142\042\175\012\173\042\164\145\170\164\042\072\040\042\142\042\175\012"s);
}

void make_transform_texts(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "views",
             "RandomResizedCrop(224, scale=(0.4, 1), ratio=(3/4, 4/3)), ColorJitter(0.4, hue=0.1), "
             "Apply(0.1, GaussianBlur((0.1, 2.0))), RandomErasing(value='random')");
  write_file(folder / "detection",
             "RandomShortestSize(range(480, 801, 32), max_size=None), RandomIoUCrop(overlaps=[1]), "
             "Compose([FixedSizeCrop((8, 9), fill=(1, 2, 3))]), OneOf([Invert(), Apply(.5, "
             "[Solarize(-1e1)])], weights=(1, 2))");
}

void make_http_requests(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "two",
             "GET /the-token-of-the-fuzzer/api/rows?split=val&where=label+%3D%3D+1&count=3 "
             "HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n\r\n"
             "HEAD /the-token-of-the-fuzzer/a%2Fb HTTP/1.0\r\nHost: localhost\r\nOrigin: "
             "http://localhost\r\nSec-Fetch-Site: same-origin\r\n\r\n");
}

// The first byte says as what the rest is read (fuzz_store_answers.cpp).
// By the format in inspect/duplicates/hash_file.h: 600 records, with the second piece or
// without.
void make_hash_files(const fs::path& folder) {
  fs::create_directories(folder);
  const auto put = [](std::string& at, size_t offset, auto value) {
    store_le(reinterpret_cast<std::byte*>(&at[offset]), value);
  };
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  std::string file =
      "FFKHASH1" + std::string(16, '\0') + "0123456789abcdef" + std::string(24, '\0');
  put(file, 8, uint32_t{2});
  put(file, 12, uint32_t{1});
  put(file, 16, int64_t{600});
  put(file, 40, fnv1a64(bytes("image")));
  put(file, 48, uint32_t{512});
  const uint32_t first_crc = crc32c(bytes(file).first(60));
  put(file, 60, first_crc);
  for (uint32_t number = 0; number < 2; ++number) {
    std::string piece(size_t{512} * 32 + 8, '\0');
    for (size_t i = 0; i < (number == 0 ? 512 : 88); ++i) {
      put(piece, i * 32, mix64(i));
      put(piece, i * 32 + 8, mix64(i / 2));
      piece[i * 32 + 24] = static_cast<char>(1 + i % 5);
      piece[i * 32 + 25] = static_cast<char>(i % 3);
    }
    put(piece, piece.size() - 8, number);
    put(piece, piece.size() - 4, crc32c(bytes(piece).first(piece.size() - 4), first_crc));
    file += piece;
    write_file(folder / (number == 0 ? "begun" : "whole"), file);
  }
}

void make_store_answers(const fs::path& folder) {
  fs::create_directories(folder);
  const std::string listing =
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><EncodingType>url</EncodingType>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents>"
      "<Key>a+b%2B&amp;&#x20;<![CDATA[c]]></Key><Size>12</Size><ETag>&quot;e&quot;</ETag></"
      "Contents>"
      "<CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes><!-- - --></ListBucketResult>";
  write_file(folder / "xml", "0" + listing);
  write_file(folder / "listing", "1" + listing);
  write_file(folder / "blobs",
             "A<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Etag>0x8</Etag>"
             "<Content-Length>3</Content-Length></Properties></Blob><BlobPrefix><Name>b/</Name>"
             "</BlobPrefix></Blobs><NextMarker>c</NextMarker></EnumerationResults>");
  write_file(folder / "connection",
             ";AccountName=a;AccountKey=YQ==;BlobEndpoint=http://h:1/a/?b=c");
  write_file(folder / "az", "4abfss://box@a.dfs.core.windows.net/b");
  write_file(folder / "refusal",
             "2<Error><Code>AccessDenied</Code><Message>no</Message><Region>r</Region></Error>");
  write_file(folder / "profiles",
             "3[profile dev]\ns3 =\n  addressing_style = path\nregion = r # x\n[sso-session a]\n");
  write_file(folder / "s3", "4s3://bucket/a b/c%20");
  write_file(folder / "hf", "4hf://datasets/o/n@refs/pr/1/x");
  write_file(folder / "https", "4https://h:1/a%20b?c=d#e");
  write_file(folder / "file", "4file://localhost/a");
  write_file(folder / "url", "5http://[::1]:80/a b?c");
  write_file(folder / "json", "6{\"a\": {\"b\": \"c\"}}");
  write_file(folder / "moment", "62026-11-26T22:00:00.5+01:30");
  write_file(folder / "query", "7a=b&c=%20+d&e");
}

void make_picture_labels(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "data",
             "path: ../x\ntrain: [a, 'b']\nnames:\n  0: \"c\"  # one\nkpt_shape: [2, 3]\n");
  write_file(folder / "boxes", "0 0.5 0.5 0.25 1\n1 0 0 1 0 1 1.0\n0 .5 .5 .1 .1 .1 .2 2 0 0 0\n");
  write_file(
      folder / "voc",
      "<annotation><size><width>9</width><height>8</height></size><object><name>a&amp;b</name>"
      "<pose>Left</pose><difficult>1</difficult><bndbox><xmin>1</xmin><ymin>2</ymin>"
      "<xmax>3.5</xmax><ymax>4</ymax></bndbox><part/></object></annotation>");
}

}  // namespace

void make_source_seeds(const fs::path& folder) {
  make_npys(folder / "fuzz_npy");
  make_cocos(folder / "fuzz_coco");
  make_segmentations(folder / "fuzz_coco_masks");
  make_picture_labels(folder / "fuzz_picture_labels");
  make_json_lines(folder / "fuzz_json_fields");
  make_tokenizers(folder / "fuzz_tokenizer");
  make_json_documents(folder / "fuzz_json_documents");
  make_compressed(folder / "fuzz_compressed");
  make_transform_texts(folder / "fuzz_transform_text");
  make_http_requests(folder / "fuzz_http_request");
  make_store_answers(folder / "fuzz_store_answers");
  make_hash_files(folder / "fuzz_hash_file");
}

}  // namespace ffkit::fuzzing
