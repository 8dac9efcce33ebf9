"""Options of a set: two stores with two keys and buckets of one name in one program, what is written with encryption, class and tags, and that no secret stays anywhere."""

import json
import multiprocessing
import os
import pickle
import subprocess
import urllib.request

import sets
from bucket_server import Bucket
from servers import FOLDER, SERVERS, expect, free_ports, start

import ffkit

ADDRESS = "s3://bucket/set"
SECRETS = {"AKIAONE": "secret/of+one", "AKIATWO": "secret/of+two"}


def store(key):
    bucket = Bucket()
    bucket.key = key
    bucket.headers, bucket.bodies = [], []

    def on_write(name, headers, body):
        bucket.headers.append((name, dict(headers)))
        bucket.bodies.append(body)

    bucket.on_write = on_write
    return bucket, {"key": key, "secret": SECRETS[key], "endpoint_url": bucket.url}


def words(option, options):
    return [word for name, value in options.items() for word in (option, f"{name}={value}")]


def run(*arguments, code=0):
    done = subprocess.run([sets.FFCONVERT, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    said = done.stdout + done.stderr
    expect(done.returncode == code, f"status {done.returncode}: {said}")
    expect("secret/of" not in said and "://<" not in said, said)
    return said


def first_id(dataset):
    return dataset[0]["id"], dataset.path


def main():
    sets.use(FFKIT_FFCONVERT=sets.FFCONVERT, FFKIT_FFINSPECT=sets.FFINSPECT)  # spawned processes import this file
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del os.environ[name]
    one, of_one = store("AKIAONE")
    two, of_two = store("AKIATWO")

    # Copies: here to one, one to two by the same address.
    here = sets.demo(FOLDER / "here", "--images", 60, "--val-images", 20, "--size", 32)
    ffkit.convert.copy(here, ADDRESS, storage_options=of_one, progress=False)
    ffkit.convert.copy(ADDRESS, ADDRESS, storage_options=of_two, source_storage_options=of_one, progress=False)
    expect(one.names() and one.bytes_below("") == two.bytes_below(""))
    run("copy", ADDRESS, "s3://bucket/again", *words("--storage", of_two), *words("--source-storage", of_one))
    expect(two.bytes_below("again/") == one.bytes_below("set/"))
    expect("is also the source of the copy" in sets.error_of(lambda: ffkit.convert.copy(ADDRESS, ADDRESS, storage_options=of_one, source_storage_options={**of_one, "retry_seconds": 9})))

    # Reading.
    expect(ffkit.splits(ADDRESS, storage_options=of_two) == ["train", "val"])
    train = ffkit.Dataset(ADDRESS, "train", storage_options={"client_kwargs": {"endpoint_url": one.url}, "key": "AKIAONE", "secret": SECRETS["AKIAONE"]})
    val = ffkit.Dataset(ADDRESS, "val", storage_options=of_two)
    both = ffkit.Dataset.chain([train, val])
    local = ffkit.Dataset.chain([ffkit.Dataset(here, "train"), ffkit.Dataset(here, "val")])
    expect([record["id"] for record in both] == [record["id"] for record in local] and train.path == ADDRESS + "/train")
    expect("secret" not in repr(both) and "://<" not in repr(both))
    copies = [pickle.loads(pickle.dumps(each)) for each in (train, both, both.subset([70, 3]))]
    expect([len(copy) for copy in copies] == [60, 80, 2] and copies[2][0] == local[70])
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.map(first_id, [train, val, both.subset([65])])
        expect(found == [first_id(train), first_id(val), first_id(both.subset([65]))], f"{method}: {found}")
    loader = ffkit.Loader(both, batch_size=16, image=ffkit.Resize((32, 32)))
    expect(sum(len(batch["label"]) for batch in loader) == 80)
    state = pickle.dumps(loader.state_dict())
    expect(b"secret" not in state and b"s3://<" not in state)
    expect(all(" at http" in cached.address for cached in ffkit.cached_sets()))

    # Writing by samples.
    with ffkit.Writer("s3://bucket/written", storage_options=of_two) as writer:
        expect("://<" not in repr(writer))
        writer.write({"label": 7})
    sink = pickle.loads(pickle.dumps(ffkit.convert.ShardSink("s3://bucket/sunk", schema={"label": "i64"}, storage_options=of_one)))
    sink.begin()
    sink.commit([sink.write([{"label": 8}], task=0)])
    expect(ffkit.Dataset("s3://bucket/written", "train", storage_options=of_two)[0] == {"label": 7})
    expect(ffkit.Dataset("s3://bucket/sunk", "train", storage_options=of_one)[0] == {"label": 8})

    # Conversions: one to two, stopped in the middle, and finished with another key.
    for i in range(12):
        one.objects[f"texts/{i:02}.jsonl"] = b"".join(json.dumps({"id": f"{i}-{j}", "text": "word " * 50}).encode() + b"\n" for j in range(50))
    of_writing = {**of_two, "storage_class": "STANDARD_IA"}
    command = ["jsonl", "s3://bucket/texts", "s3://bucket/made", "--quiet", "--num-threads", 1, *words("--source-storage", of_one)]
    two.fail("PUT", r"made/.*manifest\.json", 403)
    said = run(*command, *words("--storage", of_writing), code=1)
    expect("s3://bucket/made" in said, said)
    marker = two.objects["made/.ffkit-unfinished"].decode()
    expect("--storage secret=..." in marker and "s3://bucket/texts" in marker, marker)
    two.heal()
    two.key = of_writing["key"] = "AKIATHREE"
    run(*command, "--resume", *words("--storage", {**of_writing, "secret": "secret/of+three"}))
    of_three = {**of_two, "key": "AKIATHREE", "secret": "secret/of+three"}
    made = ffkit.Dataset("s3://bucket/made", "train", storage_options=of_three)
    expect(len(made) == 600 and made.source["path"] == "s3://bucket/texts")
    summary = ffkit.convert.jsonl("s3://bucket/texts", "s3://bucket/python", storage_options=of_three, source_storage_options=of_one, progress=False)
    expect(summary["train"].fingerprint == made.fingerprint)
    expect(two.bytes_below("made/") == two.bytes_below("python/"), [key for key in two.names() if key.startswith("made/") and two.objects[key] != two.objects.get(key.replace("made", "python"))])
    for part in (1, 2):
        run(*command[:2], "s3://bucket/parts", "--part", f"{part}/2", *words("--source-storage", of_one), *words("--storage", of_three))
    run("merge", "s3://bucket/parts", "--quiet", *words("--storage", of_three))
    expect(len(ffkit.Dataset("s3://bucket/parts", "train", storage_options=of_three)) == 600)
    # With one store, --storage is that one's.
    run("jsonl", "s3://bucket/texts", FOLDER / "made", "--quiet", *words("--storage", of_one))
    inspected = sets.inspect("info", "s3://bucket/made", *words("--storage", of_three))
    expect("600" in inspected and "://<" not in inspected, inspected)
    sets.inspect("verify", "s3://bucket/made", *words("--storage", of_three))
    sets.inspect("verify", "s3a://bucket/made", *words("--storage", of_three))  # another name of the scheme
    for bucket in (one, two):
        for body in bucket.bodies:
            expect(b"secret/of" not in body and b"://<" not in body, body[:2000])

    # Training: a run knows where its data are, and keeps no secret.
    if fftrain := os.environ.get("FFKIT_FFTRAIN"):
        work_dir = FOLDER / "run"
        for options, expected in ((["--data", ADDRESS, "--arch", "mobilenet_v3_small", "--image-size", 32, "--batch-size", 8, "--steps", 2, "--work-dir", work_dir], "step"),
                                  (["--resume", "--steps", 3, "--work-dir", work_dir], "continuing from"),
                                  (["--resume-from", work_dir, "--steps", 4, "--nproc", 2, "--work-dir", FOLDER / "further"], "step"),
                                  (["--evaluate", work_dir], "val ")):
            done = subprocess.run([fftrain, *map(str, options), "--compute-threads", "1", *words("--storage", of_one)], capture_output=True, text=True, timeout=300)
            said = done.stdout + done.stderr
            expect(done.returncode == 0 and expected in said and "secret/of" not in said and "://<" not in said, f"{options}: {said}")
        kept = b"".join(file.read_bytes() for file in work_dir.iterdir())
        expect(ADDRESS.encode() in kept and b"secret/of" not in kept and b"://<" not in kept)

    # Who one is, is said as a whole; the environment holds for the rest.
    os.environ.update(AWS_ACCESS_KEY_ID="AKIAOTHER", AWS_SECRET_ACCESS_KEY="secret/of+other", AWS_SESSION_TOKEN="token-of-other", AWS_ENDPOINT_URL_S3=one.url)
    with ffkit.Writer("s3://bucket/who", storage_options={"key": "AKIAONE", "secret": SECRETS["AKIAONE"]}) as writer:
        writer.write({"label": 1})
    expect(not any("x-amz-security-token" in headers for _, headers in one.headers))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"):
        del os.environ[name]

    # What is refused, and how it is said.
    def refused(*expected, path=ADDRESS, **options):
        said = sets.error_of(lambda: ffkit.Dataset(path, "train", storage_options=options))
        expect(said and all(word in said for word in expected) and "secret/of" not in said, said)

    refused("'secrt'", "aws_secret_access_key", "endpoint_url", secrt="secret/of+typing")
    refused("needs 'aws_secret_access_key' also", key="AKIAONE")
    refused("both are given", key="AKIAONE", aws_access_key_id="AKIAONE", secret="secret/of")
    refused("line break", **{**of_one, "secret": "secret/of\r\nx-amz-acl: public-read"})
    refused("yes or no", **of_one, anon="perhaps")
    refused("auto path virtual", **of_one, addressing_style="paths")
    refused("this place is not in a store", "/local/set", path="/local/set", key="AKIAONE", secret="secret/of+one")
    refused("s3://bucket/set", "the storage options", **{**of_one, "key": "AKIAWRONG"})
    expect("does not know" in sets.error_of(lambda: ffkit.Dataset("s3://<999>bucket/set", "train")))
    expect("expected KEY=VALUE" in run("copy", ADDRESS, FOLDER / "x", "--storage", "secret/of+one".replace("secret/", ""), code=2))
    expect("'endpont_url'" in run("copy", ADDRESS, FOLDER / "x", "--storage", "endpont_url=http://x", code=1))
    expect("this place is not in a store" in run("copy", here, FOLDER / "x", "--storage", "region=eu-west-1", code=1))

    # Strict buckets.
    def strict(name, headers, body):
        if "partNumber" not in name and headers.get("x-amz-server-side-encryption") != "aws:kms":
            return "AccessDenied"
        begins_parts = headers.get("x-amz-checksum-algorithm") == "CRC32C"
        return None if begins_parts or headers.get("x-amz-checksum-crc32c") else "InvalidRequest"

    one.on_write = strict
    locked = {**of_one, "server_side_encryption": "aws:kms", "sse_kms_key_id": "arn:aws:kms:eu-west-1:1:key/2"}
    big = sets.random_set(FOLDER / "big", 200)  # 20 MB in a shard: two parts
    expect("AccessDenied" in sets.error_of(lambda: ffkit.convert.copy(big, "s3://bucket/strict", storage_options=of_one, progress=False)))
    expect("InvalidRequest" in sets.error_of(lambda: ffkit.convert.copy(big, "s3://bucket/strict", storage_options={**locked, "checksum": "none"}, progress=False)))
    ffkit.convert.copy(big, "s3://bucket/strict", storage_options=locked, progress=False)
    expect(len(ffkit.Dataset("s3://bucket/strict", "train", storage_options=of_one)) == 200)
    by_moto(big)


def by_moto(big):
    moto = SERVERS / "bin/moto_server"
    if not moto.exists():
        print(f"{moto} is not there: what it keeps of options was not compared")
        return
    (port,) = free_ports(1)
    start([str(moto), "-p", str(port)], port)
    url = f"http://127.0.0.1:{port}"
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request"}

    def ask(method, path):
        return urllib.request.urlopen(urllib.request.Request(f"{url}/bucket{path}", method=method, headers=signed), timeout=20)

    ask("PUT", "")
    options = {"key": "AKIAMOTO", "secret": "secret/of+moto", "endpoint_url": url, "server_side_encryption": "AES256", "storage_class": "STANDARD_IA", "acl": "public-read", "tagging": "team=vision&cost=7"}
    ffkit.convert.copy(big, "s3://bucket/set", storage_options=options, progress=False)
    for name in ("train/shard-00000.ffr", "train/manifest.json"):
        head = ask("HEAD", f"/set/{name}").headers
        expect(head["x-amz-server-side-encryption"] == "AES256" and head["x-amz-storage-class"] == "STANDARD_IA", f"{name}: {head}")
        tags = ask("GET", f"/set/{name}?tagging").read()
        expect(b"vision" in tags and b"cost" in tags, tags)
        expect(b"AllUsers" in ask("GET", f"/set/{name}?acl").read(), name)
    expect(ffkit.convert.find_leftovers("s3://bucket/set", storage_options=options).found == ())


if __name__ == "__main__":
    main()
