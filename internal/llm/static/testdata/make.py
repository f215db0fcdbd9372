"""Makes the models of this folder and what model2vec makes of some texts.

pip install model2vec, then from the top of the project: python internal/llm/static/testdata/make.py
"""
import glob
import json
import pathlib
import random

import numpy as np
from model2vec import StaticModel
from safetensors.numpy import save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

here = pathlib.Path(__file__).parent
lines = [line.strip() for pattern in ("docs/*.md", "internal/eval/scenarios/*", "test/halfframe/*")
         for name in sorted(glob.glob(pattern)) if pathlib.Path(name).is_file()
         for line in open(name, encoding="utf-8") if line.strip()]
random.seed(7)
texts = random.sample([line for line in lines if len(line) < 160], 60) + [
    "Lin is allergic to peanuts 🥜", "林晓对花生过敏，别点宫保鸡丁！", "CAFÉ naïve Ærø ﬁne ½ Ⅷ", "🥜🥜", "", "   ",
    "こんにちは、世界", "a\tb\u00a0c\u3000d", "x" * 120, "v2.3.1 (C#) -5°",
]


def write(name, tokenizer, trainer, tensors):
    tokenizer.train_from_iterator(lines, trainer)
    folder = here / name
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"normalize": True}))
    save_file(tensors(tokenizer.get_vocab_size()), folder / "model.safetensors")
    model = StaticModel.from_pretrained(str(folder))
    rows = [{"text": t, "tokens": ids, "vector": [round(float(x), 5) for x in v]}
            for t, ids, v in zip(texts, model.tokenize(texts), model.encode(texts))]
    with open(folder / "want.jsonl", "w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


rng = np.random.default_rng(7)

bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
write("wordpiece", bert, trainers.WordPieceTrainer(vocab_size=900, special_tokens=["[PAD]", "[UNK]", "[CLS]"]),
      lambda n: {"embeddings": rng.standard_normal((n, 6)).astype(np.float32)})

sentence = Tokenizer(models.Unigram())
sentence.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
sentence.pre_tokenizer = pre_tokenizers.Metaspace()
write("unigram", sentence, trainers.UnigramTrainer(vocab_size=900, unk_token="<unk>", special_tokens=["<s>", "<unk>"]),
      lambda n: {"embeddings": rng.standard_normal((50, 6)).astype(np.float16),
                 "weights": rng.random(n).astype(np.float64),
                 "mapping": rng.integers(0, 50, n).astype(np.int64)})
