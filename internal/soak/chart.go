package main

import (
	"fmt"
	"html"
	"strings"
)

// The size of a panel of the chart, of which there is one for each column.
const (
	width, height  = 720, 90
	left, top, gap = 56, 40, 34
)

// chart draws every column over time, from zero up, one below the other.
func (s *series) chart() string {
	var b strings.Builder
	total := top + columns*(height+gap)
	last := s.all[len(s.all)-1].at
	about := fmt.Sprintf("%s: %.0f requests a second for %v", s.store, s.rate, last.Round(1e9))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="sans-serif" font-size="12">`+"\n",
		width+left+16, total, html.EscapeString(about))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="20" font-size="14">%s</text>`+"\n", left, html.EscapeString(about))
	for column := range columns {
		s.panel(&b, column, top+column*(height+gap))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one column with its upper edge at y.
func (s *series) panel(b *strings.Builder, column, y int) {
	most, last := 1.0, s.all[len(s.all)-1].at.Seconds()
	for _, one := range s.all {
		most = max(most, one.values[column])
	}
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><path d="M%d %dv%dh%d" fill="none" stroke="#888"/>`+"\n",
		left, y+2, html.EscapeString(titles()[column]), left, y+8, height-8, width)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%.0f</text><text x="%d" y="%d" text-anchor="end">0</text>`+"\n",
		left-6, y+18, most, left-6, y+height)
	var line strings.Builder
	pen := "M"
	for _, one := range s.all {
		v := one.values[column]
		if v < 0 { // a gap: a gateway was down
			pen = "M"
			continue
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", pen, left+one.at.Seconds()/last*width, float64(y+height)-v/most*(height-16))
		pen = "L"
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#06c" stroke-width="1.5"/>`+"\n", line.String())
	if column == columns-1 {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%.0f min</text>`+"\n", left+width, y+height+16, last/60)
	}
}
