package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Pick asks of each of a list whether it stays, the surest first and of two that
// are as sure the earlier, and returns those that do in their order.
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

// TooUnsure says by how much a line is not sure enough, with as many digits as it
// takes to tell the two apart.
func TooUnsure(confidence, least float64) string {
	is, counts := strconv.FormatFloat(confidence, 'f', 2, 64), strconv.FormatFloat(least, 'f', 2, 64)
	if is == counts {
		is, counts = strconv.FormatFloat(confidence, 'f', -1, 64), strconv.FormatFloat(least, 'f', -1, 64)
	}
	return fmt.Sprintf("the model is sure of it by %s, at least %s counts", is, counts)
}
