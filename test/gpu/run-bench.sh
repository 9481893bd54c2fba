#!/bin/sh
# scripts/bench finds its programs, arguments and tunables, and stores its measurements; on the simulated driver, at
# small sizes. Comparisons with other libraries are reported, also if their process crashes. The page has a picture.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/python.sh
need_python
. test/gpu/fake.sh
make_driver "$dir" || exit 1
LD_LIBRARY_PATH=$dir timeout 300 "$python" scripts/bench --shrink 64 --repeat 1 --top 1 \
	--suite weights,gemm,rows,attention -o "$dir/all.json" >"$dir/out" 2>&1 || {
	echo "FAIL: exit $?"
	cat "$dir/out"
	exit 1
}
"$python" - "$dir/all.json" <<'END' || { cat "$dir/out"; exit 1; }
import json, sys
r = json.load(open(sys.argv[1]))["results"]
names = {e["name"] for e in r}
want = {f"w{b}a16" for b in range(1, 9)} | {"gemm f16", "softmax", "layer norm", "attention", "attention causal"}
assert names == want, names ^ want
assert all(e["us"] > 0 and e["bytes"] > 0 and e["kernels"][0]["gpu"] == "simulated GPU 0" for e in r)
# f16 read twice and written once; a GEMM counts multiplications and additions
e = next(e for e in r if e["name"] == "gemm f16")
assert e["shape"] == "64 x 64 x 64" and e["flops"] == 2 * 64**3 and e["bytes"] == 3 * 2 * 64**2, e
# 8 KiB of 4-bit weights, 128 f16 scales, one row of activations and one of results
e = next(e for e in r if e["name"] == "w4a16")
assert e["bytes"] == 8192 + 2 * (128 + 128 + 128), e
END

# Shapes of models, and a page; a package that ends the importing process affects nothing else.
echo 'import os; os._exit(3)' >"$dir/torch.py"
PYTHONPATH=$dir LD_LIBRARY_PATH=$dir timeout 300 "$python" scripts/bench --shrink 64 --repeat 1 --top 1 --suite models --model deepseek \
	-o "$dir/models.json" --report "$dir/page.html" --markdown "$dir/table.md" >"$dir/out" 2>&1 ||
	fail "FAIL: exit $?: $(cat "$dir/out")"
grep -q '^beside: no peers: their process ended' "$dir/out" || fail "FAIL: what is beside: $(head -1 "$dir/out")"
"$python" - "$dir" <<'END' || bad=1
import json, sys
d = json.load(open(sys.argv[1] + "/models.json"))
assert {r["name"] for r in d["results"]} == {"q_b fp8", "o fp8", "gate fp8", "experts w4", "rms norm"}
assert d["roofs"]["copy_bytes_per_s"] > 0 and d["roofs"]["f8_flop_per_s"] > 0, d["roofs"]
e = next(r for r in d["results"] if r["name"] == "experts w4")
# 16 tokens are routed to 2 of 2 experts, 16 rows each
assert e["flops"] == 2 * 2 * 16 * 128 * 128 and e["peers"] == {}, e
page, table = (open(f"{sys.argv[1]}/{n}").read() for n in ("page.html", "table.md"))
assert "DeepSeek V3" in page and page.count("<svg") == page.count("</svg>") == 2 and "http" not in page.replace("http://www.w3.org", "")
assert table.count("| q_b fp8 |") == 2, table
END
"$python" scripts/bench --list --suite models >"$dir/out"
for model in 'Llama 3 8B' 'Llama 3 70B' Qwen Mixtral DeepSeek ViT Mamba BERT; do
	grep -q "^$model" "$dir/out" || fail "FAIL: no case of $model"
done

# Host measurements: packing compared with memcpy, each width on one thread and on all; launches; compilation
# compared with Triton and nvcc if installed; the simulator. The times themselves are not checked here.
"$python" scripts/bench --host --shrink 64 --repeat 1 -o "$dir/host.json" >"$dir/out" 2>&1 || {
	echo "FAIL: bench --host: exit $?"
	cat "$dir/out"
	exit 1
}
"$python" - "$dir/host.json" <<'END' || { cat "$dir/out"; exit 1; }
import json, sys
file = json.load(open(sys.argv[1]))
results, launches = file["results"], file["launches"]
assert {(e["launch"], e["with"]) for e in launches} == {
    (k, w) for k in ("vector_add", "gemm_roles") for w in ("driver alone", "same arguments", "another address", "another size")
}, launches
assert all(e["ns"] > 0 for e in launches)
kernels = file["compiles"]["kernels"]
beside = {w for w, p in (("triton.compile", "triton"), ("nvcc", "nvcc")) if file["compiles"]["beside"][p] != "not here"}
assert [k["kernel"] for k in kernels] == ["vector_add", "softmax", "gemm_f16"], kernels
for k in kernels:
    assert set(k["times"]) == beside and set(k["seconds"]) == beside | {"hexc_compile", "hexc"}, k
    assert all(s > 0 for s in k["seconds"].values()), k
    assert all(t > 0 for t in k["times"].values()), k # which of two takes longer depends on the machine
assert file["simulator"]["instructions"] > 0 and file["simulator"]["per_second"] > 0
assert {e["weights"] for e in results} == {f"u{b}" for b in range(1, 9)}
assert 1 in {e["threads"] for e in results}
for e in results:
    assert e["bytes"] == 128 * 128 * int(e["weights"][1:]) // 8, e # hexc_pack_bytes of whole blocks
    assert set(e["seconds"]) == {"memcpy", "pack", "unpack"}, e
END

LD_LIBRARY_PATH=$dir "$python" scripts/bench --suite none >"$dir/out" 2>&1
grep -qF "no suite 'none'; there are models, weights, gemm, rows, attention" "$dir/out" || { echo "FAIL:"; cat "$dir/out"; exit 1; }
exit $bad
