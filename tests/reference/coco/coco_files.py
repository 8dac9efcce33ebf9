"""Annotation files as tools and people write them. Each is (name, bytes, what ffconvert says where it refuses what pycocotools takes)."""
import json

PICTURES = ("a.png", "b.png", "val2017/c.png")


def plain():
    return {
        "info": {"description": "x"},
        "images": [{"id": 1, "file_name": "a.png", "width": 8, "height": 8}, {"id": 2, "file_name": "b.png", "width": 8, "height": 8}],
        "annotations": [
            {"id": 7, "image_id": 2, "category_id": 90, "bbox": [1, 2, 3.5, 4], "area": 14, "iscrowd": 0},
            {"id": 8, "image_id": 1, "category_id": 3, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 1},
            {"id": 9, "image_id": 2, "category_id": 3, "bbox": [0, 1, 2, 3], "area": 6, "iscrowd": 0},
        ],
        "categories": [{"id": 90, "name": "toothbrush"}, {"id": 3, "name": "car"}],
    }


def with_members(**tables):
    return json.dumps({**plain(), **tables})


def without(*names):
    return json.dumps({name: table for name, table in plain().items() if name not in names})


def edited(table, number, **members):
    data = plain()
    row = data[table][number]
    for name, value in members.items():
        if value is DROP:
            row.pop(name)
        else:
            row[name] = value
    return json.dumps(data)


def as_text(data, *keys):
    for table in ("images", "annotations", "categories"):
        for row in data[table]:
            for key in keys:
                if key in row:
                    row[key] = f"n{row[key]}"
    return json.dumps(data)


DROP = object()
TEXT = json.dumps(plain())
ANNOTATIONS = json.dumps(plain()["annotations"])
OBJECT = json.dumps({str(row["id"]): row for row in plain()["annotations"]})


def files():
    yield "plain", TEXT, None
    # A table of another type.
    yield "annotations are an object", with_members(annotations={"7": plain()["annotations"][0]}), None
    yield "the same with an escaped key", TEXT.replace('"annotations"', '"annot\\u0061tions"').replace(ANNOTATIONS, OBJECT), None
    yield "an escaped key", TEXT.replace('"annotations"', '"annot\\u0061tions"'), None
    yield "escaped members", TEXT.replace('"bbox"', '"bb\\u006fx"').replace('"file_name"', '"file\\u005fname"'), None
    yield "annotations are an empty object", with_members(annotations={}), None
    yield "annotations are null", with_members(annotations=None), None
    yield "annotations are a number", with_members(annotations=3), None
    yield "annotations are a text", with_members(annotations="none"), None
    yield "annotations hold numbers", with_members(annotations=[1, 2]), None
    yield "annotations hold lists", with_members(annotations=[plain()["annotations"]]), None
    yield "images are an object", with_members(images={"1": plain()["images"][0]}), None
    yield "categories are an object", with_members(categories={"3": "car"}), None
    yield "categories are null", with_members(categories=None), None
    yield "no annotations", without("annotations"), None
    yield "no categories", without("categories"), None
    # Keys that are given twice.
    yield "annotations twice", TEXT[:-1] + ', "annotations": ' + json.dumps(plain()["annotations"][1:]) + "}", None
    yield "annotations twice, first an object", '{"annotations": ' + OBJECT + ", " + TEXT[1:], None
    yield "annotations twice, then an object", TEXT[:-1] + ', "annotations": ' + OBJECT + "}", None
    yield "annotations twice, first wrong ones", '{"annotations": [{"id": 1}, 2], ' + TEXT[1:], None
    yield "categories twice, then one without id", TEXT[:-1] + ', "categories": [{"name": "car"}]}', None
    yield "images twice", TEXT[:-1] + ', "images": ' + json.dumps(plain()["images"]) + "}", None
    yield "a box twice", TEXT.replace('"bbox": [1, 2, 3.5, 4]', '"bbox": [9, 9, 9, 9], "bbox": [1, 2, 3.5, 5]'), None
    yield "a file's name twice", TEXT.replace('"file_name": "a.png"', '"file_name": "none.png", "file_name": "a.png"'), None
    # Ids.
    yield "texts as ids", as_text(plain(), "id", "image_id", "category_id"), None
    yield "texts as pictures' ids", json.dumps({**plain(), "images": [{**row, "id": str(row["id"])} for row in plain()["images"]], "annotations": [
        {**row, "image_id": str(row["image_id"])} for row in plain()["annotations"]]}), None
    yield "a text for a number", edited("annotations", 1, image_id="1"), 'annotation 8 \'image_id\': "1" is a text'
    yield "reals as ids", edited("annotations", 1, id=8.0, image_id=1.0, category_id=3.0), None
    yield "an id that is no real", edited("annotations", 1, id=2**53 + 1), None
    yield "negative ids", edited("annotations", 1, id=-8), None
    yield "true as an id", edited("annotations", 1, id=True), "'id': true is not an integer"
    yield "an id beyond 64 bits", edited("annotations", 1, id=2**70), "annotations\\[1\\] 'id': "
    yield "an annotation without id", edited("annotations", 1, id=DROP), None
    yield "an annotation whose id is null", edited("annotations", 1, id=None), "annotations\\[1\\] has no 'id'"
    yield "an annotation without picture", edited("annotations", 1, image_id=DROP), None
    yield "an annotation without category", edited("annotations", 1, category_id=DROP), None
    yield "two annotations of one id", edited("annotations", 1, id=7), "two annotations have the id 7"
    yield "two pictures of one id", edited("images", 1, id=1), "picture 1 appears twice"
    yield "two categories of one id", edited("categories", 1, id=90), "category 90 appears twice"
    yield "an unknown picture", edited("annotations", 1, image_id=5), "annotation 8 belongs to picture 5"
    yield "an unknown category", edited("annotations", 1, category_id=5), "annotation 8 has category 5"
    yield "category 0", edited("categories", 1, id=0).replace('"category_id": 3', '"category_id": 0'), None
    yield "a category without name", edited("categories", 1, name=DROP), "category 3 has no 'name'"
    # Values.
    yield "crowds are false and true", TEXT.replace('"iscrowd": 0', '"iscrowd": false').replace('"iscrowd": 1', '"iscrowd": true'), None
    yield "a crowd is 1.0", edited("annotations", 1, iscrowd=1.0), None
    yield "no crowd is said", edited("annotations", 0, iscrowd=DROP), None
    yield "a crowd is a text", edited("annotations", 1, iscrowd="0"), "annotation 8 'iscrowd': \"0\" is neither 0 nor 1"
    yield "a width of 8.0", edited("images", 0, width=8.0, height=8.0), None
    yield "no width", edited("images", 0, width=DROP), None
    yield "a width that is null", edited("images", 0, width=None, height=None), None
    yield "a width that is a text", edited("images", 0, width="8"), None
    yield "an empty box", edited("annotations", 1, bbox=[]), None
    yield "no box", edited("annotations", 1, bbox=DROP), None
    yield "no area", edited("annotations", 1, area=DROP), None
    yield "an area that is NaN", edited("annotations", 1, area=float("nan")), None
    yield "NaN and Infinity elsewhere", edited("annotations", 1, score=float("nan"), other=[float("inf"), -float("inf")]), None
    yield "a number of 30 digits elsewhere", edited("annotations", 1, hash=10**29 + 7), None
    yield "a number of 400 digits elsewhere", edited("annotations", 1, hash=10**400), None
    yield "half a surrogate elsewhere", edited("annotations", 1, note="x\ud83d"), None
    yield "an address instead of a name", edited("images", 1, file_name=DROP, coco_url="http://images.cocodataset.org/val2017/c.png"), None
    yield "an address that ends in no name", edited("images", 1, file_name=DROP, coco_url="http://images.cocodataset.org/"), "picture 2 has no 'file_name', and"
    yield "neither name nor address", edited("images", 1, file_name=DROP), "picture 2 has no 'file_name'"
    yield "a name that is a number", edited("images", 1, file_name=7), "picture 2 'file_name': 7 is not text"
    # The file as a whole.
    yield "a byte order mark", "\ufeff" + TEXT, None
    yield "a list", ANNOTATIONS, None
    yield "an empty file", "", None
    yield "half a file", TEXT[: len(TEXT) // 2], None
    yield "text behind the end", TEXT + "x", None
    yield "a comma too many", TEXT.replace("]}", ",]}"), None
    yield "broken elsewhere", TEXT.replace('{"description": "x"}', "{nul}"), None
    yield "a control character", TEXT.replace('"x"', '"\n"'), None
    yield "Python's quotes", TEXT.replace('"', "'"), None
    yield "no UTF-8", TEXT.replace('"x"', '"\xff"').encode("latin-1"), None
