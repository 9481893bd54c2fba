#!/bin/sh
# make gpu-kit: it compiles the listed kernels, each again only if its program or the compiler changed. Rejected
# kernels are reported. The kit runs from another directory with only Python and NumPy. It gives the driver cubins,
# and PTX only if no cubin matches.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/python.sh
need_python
new_python
. test/gpu/fake.sh
make_driver "$dir" || exit 1
here=$PWD
# Cubins in the format of the simulated driver.
cat >"$dir/ptxas" <<'END'
#!/bin/sh
{ printf '\177ELFsm_90\n'; cat "$2"; } >"$4"
END
chmod +x "$dir/ptxas"
mkdir -p "$dir/static/rehearsal"
for file in hexc llama libhexc.so.0; do
	ln -s "$here/$B/$file" "$dir/static/$file"
done
ln -s "$dir/libcuda.so.1" "$dir/static/rehearsal/libcuda.so.1"
kit() {
	PTXAS=$dir/ptxas S=$dir/static B=$B PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts/python "$python" -m hexc_bench.kit --folder \
		--only 'example vector_add,example convert/narrow,operator map line 1,example gemm_roles' "$dir/kit" >"$dir/log" 2>&1 ||
		fail "the kit: $(tail -3 "$dir/log")"
}
kit
# Two kernels with two more candidates each, one of which has only two; a third likewise; an
# operator with all entries.
grep -q '10 files of kernels, 10 of them made' "$dir/log" || fail "made at first: $(cat "$dir/log")"
kit
grep -q '10 files of kernels, 0 of them made' "$dir/log" || fail "made again: $(cat "$dir/log")"
PTXAS=none
rm "$dir/static/gpu-kernels/$(cd "$dir/static/gpu-kernels" && ls | grep '^narrow' | head -n 1)"
kit
grep -q ' 1 of them made' "$dir/log" || fail "what is not there any more: $(cat "$dir/log")"

# On another machine with nothing else installed.
mkdir "$dir/bare" "$dir/away"
cat >"$dir/bare/python3" <<END
#!/bin/sh
exec $(command -v "$python" | sed "s|^[^/]|$PWD/&|") "\$@"
END
chmod +x "$dir/bare/python3"
chmod -R a-w "$dir/kit"
cd "$dir/away" || exit 1
env -i PATH="$dir/bare" LD_LIBRARY_PATH="$dir" FAKE_CUDA_LOADS="$dir/loads" TMPDIR="$dir" "$dir/bare/python3" -B "$dir/kit/scripts/gpu-day" --rehearse \
	--minutes 30 --only machine,right --match 'here,kernel,vector_add,convert/narrow,map line 1,explicit' >"$dir/log" 2>&1 ||
	fail "the rehearsal: exit $?: $(tail -5 "$dir/log")"
cd "$here" || exit 1
chmod -R u+w "$dir/kit"
"$python" - "$dir/away/gpu-day/summary.json" <<'END' || fail "the rehearsal: $(tail -5 "$dir/log")"
import json, sys
by = {i["key"]: i for i in json.load(open(sys.argv[1]))["items"]}
loads = by["all kernels loaded"]["loaded"]
# 4 selected kernels, 4 next candidates of two of them, 4 entries of the operator
assert loads["ptx"] == 0 and loads["cubin"] >= 10, loads
for key in ("example vector_add, small", "example convert/narrow, small", "operator map line 1, small", "feature explicit roles",
            "example vector_add, hexc run --check", "example vector_add, small, candidate 1"):
    assert by[key]["state"] == "ok", by.get(key)
assert "cc" in by["here"]["absent"], by["here"]
END
# hexc run --from, the process with the GPU: all cubins, except what `hexc run` compiles itself
[ "$(grep -c cubin "$dir/loads")" -gt 10 ] || fail "loaded: $(sort "$dir/loads" | uniq -c)"
# another GPU generation: PTX, compiled by the driver
FAKE_CUDA_SM=100 LD_LIBRARY_PATH=$dir PYTHONPATH=scripts/python HEXC_LIBRARY_DIR=$B "$python" - "$dir/kit/kernels" <<'END' >"$dir/log" 2>&1 || fail "elsewhere: $(tail -3 "$dir/log")"
import sys
from pathlib import Path
from hexc_bench import device
k = device.Keeper()
found = k.run({"do": "load", "files": [str(p) for p in Path(sys.argv[1]).glob("*.hxb")]}, 60)
k.end()
assert found["loaded"]["cubin"] == 0 and found["refused"], found  # sm_90a code runs on sm_90 only
END
exit $bad
