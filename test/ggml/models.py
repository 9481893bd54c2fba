"""models.py - writes small random models of several architectures as GGUF files, for models.c.

PYTHONPATH=LLAMA_CPP/gguf-py models.py DIR LIBGGML_BASE NAME-TYPE...
    writes DIR/NAME-TYPE.gguf, and DIR/NAME-TYPE.exact.gguf with the same values of weights as f32

NAME is a function of this file, with a number for as many blocks, as in llama8. TYPE is F16, Q8_0, Q4_0, Q4_K_M
(some weights are Q6_K, as llama.cpp mixes them) or MXFP4 (the experts' weights; the others are Q8_0). ggml
quantizes the weights, gguf-py dequantizes them.
"""
import ctypes
import re
import sys
import zlib

import gguf
import numpy as np

VOCABULARY = 300


class Model:
    """Keys and tensors of a model. Shapes are those of numpy: rows, then elements of a row."""

    def __init__(self, arch, width, blocks, **keys):
        self.arch, self.width, self.blocks = arch, width, blocks
        self.keys = {
            "context_length": 512, "embedding_length": width, "block_count": blocks, "vocab_size": VOCABULARY,
            "attention.layer_norm_rms_epsilon": 1e-5, **{k.replace("__", "."): v for k, v in keys.items()}}
        self.tensors = {}
        self.add(token_embd=(VOCABULARY, width), output_norm=width, output=(VOCABULARY, width))

    def add(self, **shapes):
        for name, shape in shapes.items():
            self.tensors[name + ".weight"] = shape if isinstance(shape, tuple) else (shape,)

    def block(self, i, **shapes):
        self.add(**{f"blk.{i}.{name}": shape for name, shape in shapes.items()})

    def biases(self, i, **lengths):
        for name, shape in lengths.items():
            self.tensors[f"blk.{i}.{name}.bias"] = shape if isinstance(shape, tuple) else (shape,)

    def attention(self, i, heads, kv_heads, head):
        self.block(i, attn_norm=self.width, attn_q=(heads * head, self.width), attn_k=(kv_heads * head, self.width),
                   attn_v=(kv_heads * head, self.width), attn_output=(self.width, heads * head))

    def feed_forward(self, i, inner):
        self.block(i, ffn_norm=self.width, ffn_gate=(inner, self.width), ffn_up=(inner, self.width),
                   ffn_down=(self.width, inner))

    def experts(self, i, count, inner):
        self.block(i, ffn_norm=self.width, ffn_gate_inp=(count, self.width), ffn_gate_exps=(count, inner, self.width),
                   ffn_up_exps=(count, inner, self.width), ffn_down_exps=(count, self.width, inner))

    def mamba2(self, i, heads, state, groups):
        inner = 2 * self.width
        conv = inner + 2 * groups * state
        self.block(i, attn_norm=self.width, ssm_in=(inner + conv + heads, self.width), ssm_conv1d=(conv, 4),
                   ssm_norm=(groups, inner // groups), ssm_out=(self.width, inner))
        self.biases(i, ssm_conv1d=conv, ssm_dt=heads)
        self.tensors[f"blk.{i}.ssm_a"] = self.tensors[f"blk.{i}.ssm_d"] = (heads, 1)


def head_keys(heads, kv_heads, head):
    return {"attention__head_count": heads, "attention__head_count_kv": kv_heads, "attention__key_length": head,
            "attention__value_length": head, "rope__dimension_count": head}


def llama(blocks=2):
    m = Model("llama", 256, blocks, feed_forward_length=512, **head_keys(4, 2, 64))
    for i in range(blocks):
        m.attention(i, 4, 2, 64)
        m.feed_forward(i, 512)
    m.tensors["rope_freqs.weight"] = (32,)
    return m


def mixtral(blocks=2):
    m = Model("llama", 256, blocks, feed_forward_length=512, expert_count=8, expert_used_count=2,
              **head_keys(2, 1, 128))
    for i in range(blocks):
        m.attention(i, 2, 1, 128)
        m.experts(i, 8, 512)
    return m


def qwen2(blocks=2):
    m = Model("qwen2", 256, blocks, feed_forward_length=768, rope__freq_base=1e6, **head_keys(4, 2, 64))
    for i in range(blocks):
        m.attention(i, 4, 2, 64)
        m.biases(i, attn_q=256, attn_k=128, attn_v=128)
        m.feed_forward(i, 768)
    del m.tensors["output.weight"]
    return m


def qwen3(blocks=2):
    m = Model("qwen3", 256, blocks, feed_forward_length=768, rope__freq_base=1e6, **head_keys(4, 2, 128))
    for i in range(blocks):
        m.attention(i, 4, 2, 128)
        m.block(i, attn_q_norm=128, attn_k_norm=128)
        m.feed_forward(i, 768)
    return m


def qwen3moe(blocks=2):
    m = Model("qwen3moe", 256, blocks, feed_forward_length=768, expert_feed_forward_length=256, expert_count=16,
              expert_used_count=4, rope__freq_base=1e6, **head_keys(4, 1, 128))
    for i in range(blocks):
        m.attention(i, 4, 1, 128)
        m.block(i, attn_q_norm=128, attn_k_norm=128)
        m.experts(i, 16, 256)
    return m


def gemma3(blocks=3):
    m = Model("gemma3", 256, blocks, feed_forward_length=512, attention__sliding_window=16,
              attention__sliding_window_pattern=2, final_logit_softcapping=30.0, rope__freq_base=1e6,
              **head_keys(2, 1, 256))
    for i in range(blocks):
        m.attention(i, 2, 1, 256)
        m.block(i, attn_q_norm=256, attn_k_norm=256, post_attention_norm=256, post_ffw_norm=256)
        m.feed_forward(i, 512)
    del m.tensors["output.weight"]
    return m


def phi3(blocks=2):
    m = Model("phi3", 768, blocks, feed_forward_length=512, **head_keys(8, 8, 96))
    m.keys["rope.scaling.original_context_length"] = 256
    for i in range(blocks):
        m.block(i, attn_norm=768, attn_qkv=(3 * 768, 768), attn_output=(768, 768), ffn_norm=768, ffn_up=(1024, 768),
                ffn_down=(768, 512))
    m.add(rope_factors_long=48, rope_factors_short=48)
    return m


def gpt_oss(blocks=2):
    m = Model("gpt-oss", 256, blocks, feed_forward_length=256, expert_feed_forward_length=256, expert_count=8,
              expert_used_count=4, attention__sliding_window=16, rope__freq_base=150000.0, rope__scaling__type="yarn",
              rope__scaling__factor=32.0, rope__scaling__original_context_length=128, **head_keys(8, 1, 64))
    for i in range(blocks):
        m.attention(i, 8, 1, 64)
        m.biases(i, attn_q=512, attn_k=64, attn_v=64, attn_output=256)
        m.block(i, attn_sinks=8)
        m.experts(i, 8, 256)
        m.biases(i, ffn_gate_inp=8, ffn_gate_exps=(8, 256), ffn_up_exps=(8, 256), ffn_down_exps=(8, 256))
        m.tensors[f"blk.{i}.post_attention_norm.weight"] = m.tensors.pop(f"blk.{i}.ffn_norm.weight")
    return m


def deepseek2(blocks=2):
    """Latent attention, a dense block, then experts in groups with a shared one."""
    m = Model("deepseek2", 256, blocks, feed_forward_length=512, expert_feed_forward_length=256, expert_count=8,
              expert_used_count=2, expert_group_count=4, expert_group_used_count=2, expert_shared_count=1,
              expert_weights_scale=2.5, expert_weights_norm=True, expert_gating_func=2, leading_dense_block_count=1,
              attention__head_count=2, attention__head_count_kv=1, attention__key_length=576,
              attention__value_length=512, attention__key_length_mla=192, attention__value_length_mla=128,
              attention__q_lora_rank=256, attention__kv_lora_rank=512, rope__dimension_count=64)
    for i in range(blocks):
        m.block(i, attn_norm=256, attn_q_a=(256, 256), attn_q_a_norm=256, attn_q_b=(2 * 192, 256),
                attn_kv_a_mqa=(576, 256), attn_kv_a_norm=512, attn_k_b=(2, 512, 128), attn_v_b=(2, 128, 512),
                attn_output=(256, 2 * 128))
        if i < 1:
            m.feed_forward(i, 512)
        else:
            m.experts(i, 8, 256)
            m.biases(i, exp_probs_b=8)
            m.block(i, ffn_gate_shexp=(256, 256), ffn_up_shexp=(256, 256), ffn_down_shexp=(256, 256))
    return m


def mamba2(blocks=2):
    m = Model("mamba2", 256, blocks, feed_forward_length=0, attention__head_count=0, ssm__conv_kernel=4,
              ssm__inner_size=512, ssm__state_size=128, ssm__time_step_rank=8, ssm__group_count=1)
    for i in range(blocks):
        m.mamba2(i, 8, 128, 1)
    return m


def granite(blocks=2):
    """The last block has attention, those before it a recurrence."""
    kv = [0] * (blocks - 1) + [2]
    m = Model("granitehybrid", 256, blocks, feed_forward_length=512, attention__head_count_kv=kv,
              attention__head_count=4, logit_scale=6.0, residual_scale=0.25, embedding_scale=12.0,
              attention__scale=0.125, ssm__conv_kernel=4, ssm__inner_size=512, ssm__state_size=128,
              ssm__time_step_rank=8, ssm__group_count=1)
    for i in range(blocks):
        m.attention(i, 4, 2, 64) if kv[i] else m.mamba2(i, 8, 128, 1)
        m.feed_forward(i, 512)
    return m


def bert(blocks=2):
    m = Model("bert", 384, blocks, feed_forward_length=1536, attention__head_count=12, attention__causal=False,
              attention__layer_norm_epsilon=1e-12, pooling_type=0)
    m.tensors = {}
    m.add(token_embd=(VOCABULARY, 384), token_types=(2, 384), position_embd=(512, 384), token_embd_norm=384)
    m.tensors["token_embd_norm.bias"] = (384,)
    for i in range(blocks):
        m.attention(i, 12, 12, 32)
        del m.tensors[f"blk.{i}.attn_norm.weight"]
        m.block(i, attn_output_norm=384, ffn_up=(1536, 384), ffn_down=(384, 1536), layer_output_norm=384)
        m.biases(i, attn_q=384, attn_k=384, attn_v=384, attn_output=384, attn_output_norm=384, ffn_up=1536,
                 ffn_down=384, layer_output_norm=384)
    return m


F32, F16 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16


def type_of(name, shape, wanted):
    """The type of a tensor in a file of type `wanted`: f32 for what llama.cpp does not quantize either."""
    if len(shape) < 2 or re.search(r"norm|bias|ffn_gate_inp|ssm_(a|d|conv1d)|position|token_types", name):
        return F32
    if wanted == "Q4_K_M":
        wanted = "Q6_K" if re.search(r"^output|attn_v\.|ffn_down", name) else "Q4_K"
    elif wanted == "MXFP4" and "_exps" not in name:
        wanted = "Q8_0"
    for kind in (gguf.GGMLQuantizationType[wanted], gguf.GGMLQuantizationType.Q8_0):
        if shape[-1] % gguf.GGML_QUANT_SIZES[kind][0] == 0:
            return kind
    return F16


def values(random, name, shape):
    """Random weights whose products keep the size of what they multiply, and choose experts clearly."""
    x = random.standard_normal(shape).astype(np.float32)
    if "rope_" in name:
        return 1 + np.abs(x)
    if "norm.weight" in name or "ssm_d" in name:
        return 1 + x / 10
    if "ssm_a" in name:
        return -1 - np.abs(x)
    if name.startswith(("token_embd", "position", "token_types")) or "sinks" in name:
        return x
    if "bias" in name:
        return x / 10
    return x * (8 if "ffn_gate_inp" in name else 1) / np.sqrt(np.float32(shape[-1]))


def quantize(ggml, x, kind):
    """The bytes of x's rows, by ggml."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]))
    out = np.empty((len(rows), x.shape[-1] // block * size), np.uint8)
    done = ggml.ggml_quantize_chunk(ctypes.c_int(kind), rows.ctypes.data_as(ctypes.c_void_p),
                                    out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(0), ctypes.c_int64(len(rows)),
                                    ctypes.c_int64(x.shape[-1]), None)
    assert done == out.nbytes, (kind, done, out.nbytes)
    return out.reshape(*x.shape[:-1], -1)


def writer(path, model):
    out = gguf.GGUFWriter(path, model.arch)
    for key, value in model.keys.items():
        add = (out.add_bool if isinstance(value, bool) else out.add_uint32 if isinstance(value, int) else
               out.add_float32 if isinstance(value, float) else out.add_string if isinstance(value, str) else
               out.add_array)
        add(f"{model.arch}.{key}", value)
    out.add_string("tokenizer.ggml.model", "none")
    if model.arch == "bert":
        out.add_token_type_count(2)
    return out


def finish(out):
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def write(directory, ggml, name, kind):
    parts = re.fullmatch(r"(\w+?)(\d*)", name) if name not in globals() else None
    model = globals()[parts[1]](int(parts[2])) if parts else globals()[name]()
    random = np.random.default_rng(zlib.crc32(name.encode()))
    path = f"{directory}/{name}-{kind}"
    packed, exact = writer(path + ".gguf", model), writer(path + ".exact.gguf", model)
    for tensor, shape in model.tensors.items():
        x = values(random, tensor, shape)
        t = type_of(tensor, shape, kind)
        if t == F32:
            packed.add_tensor(tensor, x)
        else:
            data = x.astype(np.float16) if t == F16 else quantize(ggml, x, t)
            packed.add_tensor(tensor, data, raw_dtype=t)
            x = data.astype(np.float32) if t == F16 else gguf.dequantize(data, t).reshape(shape)
        exact.add_tensor(tensor, x)
    finish(packed)
    finish(exact)


def main(directory, library, *names):
    ggml = ctypes.CDLL(library)
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    for name in names:
        write(directory, ggml, *name.split("-", 1))


main(*sys.argv[1:])
