"""A tiny Qwen3 and its tokenizer, one token a character, written as plain JSON; weights come from a seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SPECIAL = ("<pad>", "<eos>", "<unk>")
# Printable ASCII, so that a prompt may begin and end with a space.
VOCABULARY = (*SPECIAL, *(chr(code) for code in range(32, 127)))
PAD, EOS = 0, 1

CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": None,
    "eos_token_id": EOS,
    "pad_token_id": PAD,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 32,
    "initializer_range": 0.02,
    "intermediate_size": 64,
    "max_position_embeddings": 512,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "use_cache": False,
    "vocab_size": len(VOCABULARY),
}


def write(folder: Path) -> Path:
    """Write config and tokenizer into `folder` (made where missing) and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    added = [
        {"id": at, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
        for at, name in enumerate(SPECIAL)
    ]  # fmt: skip
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": False},
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "WordLevel",
            "vocab": {word: at for at, word in enumerate(VOCABULARY)},
            "unk_token": SPECIAL[2],
        },
    }
    told = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "eos_token": "<eos>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONFIG["max_position_embeddings"],
        "chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
    }
    generation = {"eos_token_id": EOS, "pad_token_id": PAD}
    for name, content in {
        "config.json": CONFIG,
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": told,
        "generation_config.json": generation,
    }.items():
        (folder / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
    return folder
