package static

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// TestBesideModel2vec: tokens and vectors are those of model2vec, of which testdata/make.py has written some down.
func TestBesideModel2vec(t *testing.T) {
	for _, name := range []string{"wordpiece", "unigram"} {
		t.Run(name, func(t *testing.T) {
			m, err := Open(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(filepath.Join("testdata", name, "want.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			count := 0
			for lines := bufio.NewScanner(file); lines.Scan(); count++ {
				var want struct {
					Text   string
					Tokens []int
					Vector []float64
				}
				if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
					t.Fatal(err)
				}
				if got := m.tokens.encode(want.Text); !slices.Equal(got, want.Tokens) {
					t.Errorf("tokens of %q: %v, model2vec has %v", want.Text, got, want.Tokens)
					continue
				}
				got, _, err := m.Embed(t.Context(), []string{want.Text})
				if err != nil {
					t.Fatal(err)
				}
				if len(want.Tokens) == 0 {
					want.Vector = []float64{1, 0, 0, 0, 0, 0}
				}
				for i, v := range got[0] {
					if math.Abs(float64(v)-want.Vector[i]) > 2e-3 {
						t.Errorf("vector of %q: %v, model2vec has %v", want.Text, got[0], want.Vector)
						break
					}
				}
			}
			if count < 60 {
				t.Errorf("only %d texts were compared", count)
			}
		})
	}
}

// TestNames: two tables have two names, so that their vectors are never compared.
func TestNames(t *testing.T) {
	first, err := Open("testdata/wordpiece")
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open("testdata/unigram")
	if err != nil {
		t.Fatal(err)
	}
	changed := t.TempDir()
	if err := os.CopyFS(changed, os.DirFS("testdata/wordpiece")); err != nil {
		t.Fatal(err)
	}
	same, err := Open(changed)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(changed, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	table[len(table)-2] ^= 1
	if err := os.WriteFile(filepath.Join(changed, "model.safetensors"), table, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(changed)
	if err != nil {
		t.Fatal(err)
	}
	print := func(m *Model) string { return m.Name[strings.LastIndex(m.Name, "-"):] }
	if print(same) != print(first) || print(other) == print(first) {
		t.Errorf("%s; a copy is %s, and with another weight %s", first.Name, same.Name, other.Name)
	}
	if first.Name == second.Name || !strings.HasPrefix(first.Name, "wordpiece-") || first.Dims != 6 {
		t.Errorf("%s with %d, %s with %d", first.Name, first.Dims, second.Name, second.Dims)
	}
}

// TestBrokenModels: what is no model is a configuration error that says which file, and why.
func TestBrokenModels(t *testing.T) {
	spec, err := os.ReadFile("testdata/wordpiece/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("testdata/wordpiece/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec, table, want string
	}{
		"no table":        {string(spec), "", "cut off"},
		"cut off":         {string(spec), string(table[:len(table)-100]), "cut off"},
		"no tensors":      {string(spec), "\x02\x00\x00\x00\x00\x00\x00\x00{}", `no tensor "embeddings"`},
		"less than none":  {string(spec), "\x43\x00\x00\x00\x00\x00\x00\x00" + `{"embeddings":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}` + "four", "shape [-1 -1]"},
		"another file":    {string(spec), "PK\x03\x04 this is a zip file", "not a safetensors file"},
		"no tokenizer":    {"", string(table), "tokenizer.json"},
		"bytes":           {strings.Replace(string(spec), `"BertPreTokenizer"`, `"ByteLevel"`, 1), string(table), `"ByteLevel" is not supported`},
		"pairs":           {strings.Replace(string(spec), `"WordPiece"`, `"BPE"`, 1), string(table), `"BPE"; WordPiece and Unigram are supported`},
		"other tokenizer": {strings.Replace(string(spec), `"[PAD]": 0`, `"[PAD]": 77777`, 1), string(table), "77777"},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"tokenizer.json": c.spec, "model.safetensors": c.table} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(dir); !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, reverie.ErrConfiguration) {
		t.Errorf("no directory: %v", err)
	}
}

// TestMarksInChats: what a tokenizer uses as a mark means nothing where somebody writes it.
func TestMarksInChats(t *testing.T) {
	m, err := Open("testdata/wordpiece")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.tokens.encode("[CLS]"); slices.Contains(got, 2) || len(got) == 0 {
		t.Errorf("[CLS] is %v", got)
	}
}

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 1: 5.960464477539063e-08, 0x7bff: 65504, 0x7c00: math.Inf(1)} {
		if got := half(bits); got != want {
			t.Errorf("%#x: %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(half(0x7e00)) {
		t.Error("0x7e00 is a number")
	}
}

// FuzzTokens: no text makes a tokenizer fail, or gives a number that the table does not have.
func FuzzTokens(f *testing.F) {
	var all []*Model
	for _, name := range []string{"wordpiece", "unigram"} {
		m, err := Open(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, m)
	}
	f.Add("Lin 对花生 allergic\xff\x00▁▁ 🥜")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range all {
			for _, token := range m.tokens.encode(text) {
				if token < 0 || token > m.tokens.last {
					t.Fatalf("token %d of %q", token, text)
				}
			}
			if _, _, err := m.Embed(t.Context(), []string{text}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
