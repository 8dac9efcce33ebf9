mkdir run
for step in 50 100 150 200; do
  echo "{\"kind\":\"train\",\"step\":$step,\"epoch\":$(((step + 99) / 100)),\"loss\":$((700 - step)).5,\"lr\":0.1,\"images_per_second\":812.5,\"data_wait_share\":0.01}"
  [ $((step % 100)) = 0 ] && echo "{\"kind\":\"validation\",\"step\":$step,\"epoch\":$((step / 100)),\"train_loss\":6.0,\"loss\":5.5,\"top1\":0.$step,\"top5\":0.5,\"images\":50,\"seconds\":9.5}"
done >run/metrics.jsonl
run 0 "$FFINSPECT" plot run --output plot.png --json
no_err
json 'len(d["train"]) == 4 and d["train"][3] == {"step": 200, "epoch": 2, "loss": 500.5, "lr": 0.1, "images_per_second": 812.5, "data_wait_share": 0.01}'
json '[v["top1"] for v in d["validation"]] == [0.1, 0.2] and d["validation"][0]["train_loss"] == 6.0'
json 'd["output"] == "plot.png" and d["width"] == 1000 and d["height"] > 600'
check test "$(head -c 8 plot.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a
# Without --output the picture goes to standard output; a line that is being written is left out.
printf '{"kind":"tra' >>run/metrics.jsonl
run 0 "$FFINSPECT" plot run
check cmp .stdout plot.png

# One line alone, and numbers that were not finite, still make a picture.
mkdir one
echo '{"kind":"train","step":1,"epoch":1,"loss":"nan","lr":0.1,"images_per_second":3.5,"data_wait_share":0.0}' >one/metrics.jsonl
run 0 "$FFINSPECT" plot one -o one.png
check test -s one.png

bad() { # STATUS REGEX ARGUMENTS...
  run "$1" "$FFINSPECT" plot "${@:3}"
  one_line_err "^ffinspect: error: .*$2"
  no_out
}
mkdir empty new wrong
: >new/metrics.jsonl
echo '{"kind":"train","step":1}' >wrong/metrics.jsonl
bad 1 'empty: has no metrics.jsonl; give the --work-dir of a run' empty -o p.png
bad 1 'nowhere: has no metrics.jsonl' nowhere -o p.png
bad 1 'new/metrics.jsonl: has no line yet' new -o p.png
bad 1 'wrong/metrics.jsonl: line 1 was not written by fftrain' wrong -o p.png
bad 2 'with --output' run --json
bad 1 'the file cannot be created' run -o nowhere/p.png
bad 2 'WORKDIR'
check test ! -e p.png

# Of another task: its own metrics, and its own units.
mkdir tokens
cat >tokens/metrics.jsonl <<'LINES'
{"kind":"train","step":10,"epoch":1,"loss":3.5,"lr":0.1,"tokens_per_second":9000.0,"data_wait_share":0.0}
{"kind":"validation","step":10,"epoch":1,"train_loss":3.6,"perplexity":33.1,"tokens":4096,"seconds":2.0}
LINES
run 0 "$FFINSPECT" plot tokens -o tokens.png --json
json 'd["validation"][0]["perplexity"] == 33.1 and d["height"] > 600'
echo '{"kind":"train","step":20,"epoch":1,"loss":3.5,"lr":0.1}' >>tokens/metrics.jsonl
bad 1 'tokens/metrics.jsonl: line 3 was not written by fftrain' tokens -o p.png

# A logarithmic scale is another picture; values that are not finite are marked.
run 0 "$FFINSPECT" plot run --log -o log.png
check test "$(cmp -s plot.png log.png; echo $?)" = 1
mkdir gaps
{ sed -n 1,2p run/metrics.jsonl; echo '{"kind":"train","step":150,"epoch":2,"loss":"inf","lr":0.1,"images_per_second":812.5,"data_wait_share":0.01}'; } >gaps/metrics.jsonl
sed -n 1,2p run/metrics.jsonl >gaps-without.jsonl
run 0 "$FFINSPECT" plot gaps -o marked.png
mv gaps-without.jsonl gaps/metrics.jsonl
run 0 "$FFINSPECT" plot gaps -o unmarked.png
check test "$(cmp -s marked.png unmarked.png; echo $?)" = 1

# Confusion: of many classes the worst pairs are listed below, which makes the picture higher.
python3 -c 'import json; n = 60; print(json.dumps({"classes": [f"class {i}" for i in range(n)], "matrix": [[9 if i == j else int(j == i + 1) for j in range(n)] for i in range(n)]}))' >many.json
run 0 "$FFINSPECT" plot many.json -o many.png --json
json 'd["height"] > d["width"] + 300'
bad 2 'log.*is for training runs' many.json --log -o p.png
