"""Models, with the numbers of their public config.json (Hugging Face) named in source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """Widths of one layer.  kind: decoder, moe, mla (DeepSeek's attention), encoder, mamba2."""

    name: str
    kind: str
    source: str
    hidden: int
    heads: int
    kv_heads: int
    head: int  # elements of one
    inner: int  # of the gated or plain hidden layer; of an expert
    experts: int = 0
    chosen: int = 0
    state: int = 0
    tokens: int = 2048  # concurrent, in a prompt or an image
    batch: int = 1


MODELS = (
    Model("Llama 3 8B", "decoder", "meta-llama/Meta-Llama-3-8B", 4096, 32, 8, 128, 14336),
    Model("Llama 3 70B", "decoder", "meta-llama/Meta-Llama-3-70B", 8192, 64, 8, 128, 28672),
    Model("Qwen2.5 7B", "decoder", "Qwen/Qwen2.5-7B", 3584, 28, 4, 128, 18944),
    Model("Mixtral 8x7B", "moe", "mistralai/Mixtral-8x7B-v0.1", 4096, 32, 8, 128, 14336, experts=8, chosen=2),
    # 256 experts; the 32 on one GPU of eight.  q_lora_rank 1536, kv_lora_rank 512, qk 128 + 64, v 128
    Model("DeepSeek V3", "mla", "deepseek-ai/DeepSeek-V3", 7168, 128, 128, 128, 2048, experts=32, chosen=8),
    Model("ViT-L/16", "encoder", "google/vit-large-patch16-224", 1024, 16, 16, 64, 4096, tokens=197, batch=32),
    # expand 2, ngroups 1, d_conv 4
    Model("Mamba 2 2.7B", "mamba2", "state-spaces/mamba2-2.7b", 2560, 80, 1, 64, 5120, state=128),
    Model("BERT base", "encoder", "google-bert/bert-base-uncased", 768, 12, 12, 64, 3072, tokens=512, batch=16),
)
