# SPDX-License-Identifier: Apache-2.0
"""`octet tokenize` and `octet train vocabulary` as a user calls them: ids equal to Hugging Face's, errors in one line
with exit code 2, and a trained folder that Hugging Face opens with the same result."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
LINES = ["The film was good.", "", "Ünïcödé 中文 don't", "a\tb", "a tab\tand more \U0001f600"]
CORPUS = ["the film was good, the film was long", "unable to like the unlikely film", "Été à l'été, naïve café"] * 5


def octet(*arguments, code=0):
    done = subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    if code:
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("octet"), done.stderr
    return done.stderr if code else done.stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "corpus.txt").write_text("\n".join(CORPUS), encoding="utf-8")
        (folder / "lines.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
        (folder / "pairs.txt").write_text("\n".join(LINES[3:]), encoding="utf-8")
        for number, options in enumerate([[], ["--cased"], ["--likelihood", "--min-frequency", "1"]]):
            trained = folder / f"trained{number}"
            octet("train", "vocabulary", "--text", folder / "corpus.txt", "--size", 90, "-o", trained, *options)
            peer = Tokenizer.from_file(str(trained / "tokenizer.json"))
            assert peer.get_vocab_size() == len((trained / "vocab.txt").read_text(encoding="utf-8").splitlines())
            expected = "".join(" ".join(map(str, peer.encode(line).ids)) + "\n" for line in LINES)
            for vocabulary in [trained, trained / "tokenizer.json", trained / "vocab.txt"]:
                assert octet("tokenize", "--vocab", vocabulary, folder / "lines.txt") == expected, vocabulary
            pairs = [peer.encode(*line.split("\t")) for line in LINES[3:]]
            for line, encoding in zip(
                    octet("tokenize", "--vocab", trained, "--pairs", "--json", folder / "pairs.txt").splitlines(),
                    pairs, strict=True):
                result = json.loads(line)
                assert result["ids"] == encoding.ids and result["type_ids"] == encoding.type_ids
                assert result["tokens"] == encoding.tokens
                assert [tuple(pair) for pair in result["offsets"]] == encoding.offsets
                assert result["special_tokens_mask"] == encoding.special_tokens_mask
        again = ["train", "vocabulary", "--text", folder / "corpus.txt", "--size", 90, "-o", folder / "trained0"]
        assert "exists" in octet(*again, code=2)
        assert octet("train", "vocabulary", "--text", folder / "none.txt", "-o", folder / "x", code=2)
        assert "no tab" in octet("tokenize", "--vocab", folder / "trained0", "--pairs", folder / "lines.txt", code=2)
        (folder / "bpe.json").write_text('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
        assert "BPE" in octet("tokenize", "--vocab", folder / "bpe.json", folder / "lines.txt", code=2)
        print("commands agree")


if __name__ == "__main__":
    sys.exit(main())
