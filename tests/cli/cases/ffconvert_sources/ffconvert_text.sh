mkdir -p src/en plain
i=0
while [ $i -lt 300 ]; do printf '{"text": "document %d of a corpus", "url": "u"}\n' $i; i=$((i + 1)); done >plain/train.jsonl
# As C4 is published, with two members behind each other as bgzip writes them.
head -150 plain/train.jsonl | gzip >src/en/c4-train.00000-of-00001.json.gz
tail -150 plain/train.jsonl | gzip >>src/en/c4-train.00000-of-00001.json.gz
echo '{"text": "v"}' | gzip >src/en/c4-validation.00000-of-00001.json.gz
echo readme >src/README.md

run 0 "$FFCONVERT" text plain plain.dst --tokenizer bytes
run 0 "$FFCONVERT" text src dst --tokenizer bytes
err '^ffconvert: note: src: 1 file is left out, because of its name: 1 .md$'
err '^ffconvert: note: train: 1 compressed file \(0.0 MB\) became 0.0 MB of text in temporary files in '
err '^train: num_documents 300, '
err '^val: num_documents 1, '
run 0 "$FFINSPECT" cat plain.dst 0 --split train --document 299
cp .stdout expected
run 0 "$FFINSPECT" cat dst 0 --split train --document 299
check cmp .stdout expected

head -c 400 src/en/c4-train.00000-of-00001.json.gz >cut.json.gz
run 1 "$FFCONVERT" text cut.json.gz cut --tokenizer bytes
one_line_err 'cut.json.gz: .*the gzip data are cut short; download or copy the file again'
check test ! -e cut
cp plain/train.jsonl corpus.parquet
printf 'PAR1\025\0\025\0' >corpus.parquet
run 1 "$FFCONVERT" text corpus.parquet cut --tokenizer bytes
err 'corpus.parquet: .*the file is a parquet file, not text in UTF-8'

# One bad document costs itself alone, also when a conversion goes on.
sed '100s/text/t/' plain/train.jsonl >bad.jsonl
run 1 "$FFCONVERT" text bad.jsonl bad --tokenizer bytes
err "bad.jsonl:100: the document has no member 'text'; name the member with the text with --text-field; to leave out such documents, give --bad-samples skip"
run 0 "$FFCONVERT" text bad.jsonl bad --tokenizer bytes --bad-samples skip --resume
err '^ffconvert: note: bad: 1 bad document was left out: see bad/report.jsonl$'
err '^train: num_documents 299, '
check grep -q 'bad.jsonl:100.*"count":1,"action":"document left out"' bad/report.jsonl
