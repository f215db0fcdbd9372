package web

import (
	"strconv"
)

// chart is a picture of adjacent columns, without text: the page adds it around the picture, so that it fits any
// width.
type chart struct {
	ID          string
	Title, Desc string // for those who do not see the picture
	Low         bool   // a low strip
	Width       string
	Axis        string // position of the zero line
	Top, Bottom string // labels of the scale's ends; "" = none
	First, Last string // labels of the leftmost and rightmost column
	Columns     []drawnColumn
}

// drawnColumn is a column with its position.
type drawnColumn struct {
	X, Width string
	Title    string // its tooltip
	URL      string
	Bars     []drawnBar
}

type drawnBar struct{ Class, X, Y, Width, Height string }

// column is the data of one column, such as a night.
type column struct {
	Title, URL string
	Up, Down   []part // stacked from the zero line
}

// part is a part of a column: its CSS class, and its value.
type part struct {
	Class string
	N     float64
}

// Dimensions of a chart, in its own units.
const (
	columnWidth = 10
	columnGap   = 3
	chartHeight = 100
)

// newChart draws columns from left to right, scaled to the highest one. scale formats the values at the ends of the
// scale.
func newChart(id, title, desc string, columns []column, scale func(float64) string) chart {
	up, down := 0.0, 0.0
	for _, c := range columns {
		up, down = max(up, sum(c.Up)), max(down, sum(c.Down))
	}
	unit := chartHeight / max(up+down, 1e-9)
	axis := up * unit
	if up+down == 0 {
		axis = chartHeight
	}
	d := chart{ID: id, Title: title, Desc: desc, Width: strconv.Itoa(len(columns) * columnWidth), Axis: number(axis)}
	if up > 0 {
		d.Top = scale(up)
	}
	if down > 0 {
		d.Bottom = scale(down)
	}
	for i, c := range columns {
		x := float64(i * columnWidth)
		drawn := drawnColumn{X: number(x), Width: number(columnWidth), Title: c.Title, URL: c.URL}
		y := axis
		for _, p := range c.Up {
			y -= p.N * unit
			drawn.add(p, x, y, unit)
		}
		y = axis
		for _, p := range c.Down {
			drawn.add(p, x, y, unit)
			y += p.N * unit
		}
		d.Columns = append(d.Columns, drawn)
	}
	return d
}

func (c *drawnColumn) add(p part, x, y, unit float64) {
	if p.N > 0 {
		c.Bars = append(c.Bars, drawnBar{p.Class, number(x + columnGap/2.0), number(y), number(columnWidth - columnGap),
			number(p.N * unit)})
	}
}

func sum(parts []part) (n float64) {
	for _, p := range parts {
		n += p.N
	}
	return n
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
