package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// The fields of a line are read strictly enough never to invent anything, and leniently where a habit of models
// does no harm.

// Scalar reads a string or whole number as a string; null and a missing value are "".
func Scalar(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s), nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f != math.Trunc(f) || math.Abs(f) > 1e15 {
		return "", errors.New("neither a string nor a whole number")
	}
	return strconv.FormatInt(int64(f), 10), nil
}

// Share reads a number from 0 to 1, which may be written as a string.
func Share(raw json.RawMessage) (float64, error) {
	text := string(bytes.TrimSpace(raw))
	var s string
	if json.Unmarshal(raw, &s) == nil {
		text = strings.TrimSpace(s)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f <= 1 {
		return f, nil
	}
	return 0, errors.New("not a number from 0 to 1")
}

// Citations reads a list of citations, {"message":4,"quote":"..."}, a single one,
// or bare message numbers.
func Citations(raw json.RawMessage) ([]reverie.Citation, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	items := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
	}
	var list []reverie.Citation
	for _, item := range items {
		var c citation
		if item = bytes.TrimSpace(item); len(item) == 0 || item[0] != '{' {
			c.Message = item
		} else if err := json.Unmarshal(item, &c); err != nil {
			return nil, err
		}
		message, err := Scalar(c.Message)
		if err != nil {
			return nil, fmt.Errorf("message: %w", err)
		}
		var said struct{ Author string }
		_ = json.Unmarshal(item, &said) // a value that is no text names nobody
		cited := reverie.Citation{Message: message, Author: said.Author}
		if c.Quote != nil {
			cited.Quote = *c.Quote
		}
		list = append(list, cited)
	}
	return list, nil
}

// Pick asks for each element whether it stays: the most confident first, and equally confident ones in order. It
// returns those that stay, in their original order.
func Pick[T any](list []T, confidence func(T) float64, stays func(T) bool) []T {
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(confidence(list[b]), confidence(list[a])) })
	kept := make([]bool, len(list))
	for _, i := range order {
		kept[i] = stays(list[i])
	}
	var picked []T
	for i, v := range list {
		if kept[i] {
			picked = append(picked, v)
		}
	}
	return picked
}

// TooUnsure says by how much a line misses the minimum confidence, with enough digits to distinguish the two.
func TooUnsure(confidence, least float64) string {
	is, counts := strconv.FormatFloat(confidence, 'f', 2, 64), strconv.FormatFloat(least, 'f', 2, 64)
	if is == counts {
		is, counts = strconv.FormatFloat(confidence, 'f', -1, 64), strconv.FormatFloat(least, 'f', -1, 64)
	}
	return fmt.Sprintf("the model is sure of it by %s, at least %s counts", is, counts)
}
