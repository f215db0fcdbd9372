package static

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
)

// maxHeader bounds the header of a safetensors file, in bytes; the format has the same bound.
const maxHeader = 100_000_000

// tensors is an open safetensors file: eight bytes with the length of a JSON header, the header, the numbers.
// Source: the format's description in the repository huggingface/safetensors.
type tensors struct {
	file io.ReaderAt
	size int64
	list map[string]*tensor
}

// tensor is one array of numbers in a file.
type tensor struct {
	name   string
	format numberFormat
	shape  []int
	file   io.ReaderAt
	at     int64
}

// numberFormat is the encoding of a number.
type numberFormat struct {
	size int // bytes
	read func([]byte) float64
}

var numberFormats = map[string]numberFormat{
	"F64": {8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	"F32": {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"F16": {2, func(b []byte) float64 { return half(binary.LittleEndian.Uint16(b)) }},
	"BF16": {2, func(b []byte) float64 {
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}},
	"I64": {8, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }},
	"I32": {4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	"I8":  {1, func(b []byte) float64 { return float64(int8(b[0])) }},
}

// half decodes an IEEE 754 number of 16 bits.
func half(bits uint16) float64 {
	fraction, exponent := float64(bits&0x3ff), int(bits>>10&0x1f)
	value := math.Ldexp(1024+fraction, exponent-25)
	switch exponent {
	case 0:
		value = math.Ldexp(fraction, -24)
	case 31:
		value = math.Inf(1)
		if fraction != 0 {
			value = math.NaN()
		}
	}
	if bits>>15 == 1 {
		return -value
	}
	return value
}

// openTensors opens a file, which stays open for the lifetime of the process.
func openTensors(path string) (*tensors, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := readTensors(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("model.safetensors: %w", err)
	}
	return t, nil
}

func readTensors(file *os.File) (*tensors, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var length [8]byte
	if _, err := file.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("it is cut off: %w", err)
	}
	size := binary.LittleEndian.Uint64(length[:])
	if size > maxHeader || int64(size) > info.Size()-8 {
		return nil, fmt.Errorf("it is not a safetensors file: its header would have %d bytes", size)
	}
	header := make([]byte, size)
	t := &tensors{file: file, size: info.Size(), list: map[string]*tensor{}}
	if _, err := file.ReadAt(header, 8); err != nil {
		return nil, fmt.Errorf("it is cut off: %w", err)
	}
	var parts map[string]struct {
		Kind    string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	if err := decode(header, &parts); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	for name, p := range parts {
		if name == "__metadata__" {
			continue
		}
		format, known := numberFormats[p.Kind]
		if !known {
			return nil, fmt.Errorf("%s has numbers of kind %s, which are not supported", name, p.Kind)
		}
		count := int64(1)
		for _, n := range p.Shape {
			if n < 0 || n > 0 && count > info.Size()/int64(n) {
				count = -1
				break
			}
			count *= int64(n)
		}
		at := 8 + int64(size) + p.Offsets[0]
		if count < 0 || count*int64(format.size) != p.Offsets[1]-p.Offsets[0] || p.Offsets[0] < 0 || at+count*int64(format.size) > info.Size() {
			return nil, fmt.Errorf("%s does not have the numbers that its shape %v tells of: the file is cut off", name, p.Shape)
		}
		t.list[name] = &tensor{name: name, format: format, shape: p.Shape, file: file, at: at}
	}
	return t, nil
}

// table returns the first existing tensor of these names, which must have rows and columns.
func (t *tensors) table(names ...string) (*tensor, error) {
	for _, name := range names {
		table, ok := t.list[name]
		switch {
		case !ok:
		case len(table.shape) != 2 || table.shape[0] == 0 || table.shape[1] == 0:
			return nil, fmt.Errorf("%s has the shape %v instead of rows and columns", name, table.shape)
		default:
			return table, nil
		}
	}
	return nil, fmt.Errorf("model.safetensors has no tensor %q: it is no table of static vectors", names[0])
}

// row reads one row of a table.
func (t *tensor) row(n int64) ([]float64, error) {
	raw := make([]byte, t.shape[1]*t.format.size)
	if _, err := t.file.ReadAt(raw, t.at+n*int64(len(raw))); err != nil {
		return nil, fmt.Errorf("read row %d of %s: %w", n, t.name, err)
	}
	return t.numbers(raw), nil
}

func (t *tensor) numbers(raw []byte) []float64 {
	values := make([]float64, len(raw)/t.format.size)
	for i := range values {
		values[i] = t.format.read(raw[i*t.format.size:])
	}
	return values
}

// floats reads a list of numbers, nil if the file has none of that name.
func (t *tensors) floats(name string) ([]float64, error) {
	list, ok := t.list[name]
	if !ok {
		return nil, nil
	}
	if len(list.shape) != 1 {
		return nil, fmt.Errorf("%s has the shape %v instead of a list", name, list.shape)
	}
	raw := make([]byte, list.shape[0]*list.format.size)
	if _, err := list.file.ReadAt(raw, list.at); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return list.numbers(raw), nil
}

// integers is floats for whole numbers: 2^53 is far beyond any vocabulary.
func (t *tensors) integers(name string) ([]int64, error) {
	values, err := t.floats(name)
	if values == nil || err != nil {
		return nil, err
	}
	list := make([]int64, len(values))
	for i, v := range values {
		list[i] = int64(v)
	}
	return list, nil
}
