package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// The chart's measures, in pixels.
const (
	width      = 1000
	left       = 76
	right      = 24
	top        = 108
	panel      = 150
	gap        = 44
	eventsTall = 78
	plotWidth  = width - left - right
)

// palette is that of Okabe and Ito, which the colour-blind tell apart, one for
// each node.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// dashes tell the programs of a node apart.
var dashes = map[string]string{"agent": "", "flor": "6 3", "coordinator": "2 3"}

const style = `text{font:12px system-ui,sans-serif;fill:#333}` +
	`.title{font-size:17px;font-weight:600}.name{font-weight:600}.note,.tick{fill:#666;font-size:11px}` +
	`.grid{stroke:#e4e4e4}.axis{stroke:#999}.half{fill:#f6f8fa}.line{fill:none;stroke-width:1.4;stroke-linejoin:round}`

// draw renders a recording as SVG: a panel for each measure over one time axis,
// and the events below. It is a function of its argument.
func draw(r *recording) string {
	var b strings.Builder
	height := top + len(measures)*(panel+gap) + eventsTall + gap
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img"><style>%s</style>`+"\n", width, height, style)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="30">A soak of %.3g min: %d nodes, %d processes</text>`+"\n", left, r.lasted.Minutes(), len(r.nodes()), len(r.tracks))
	drawLegend(&b, r)
	for m := range measures {
		drawPanel(&b, r, m, top+m*(panel+gap))
	}
	drawEvents(&b, r, top+len(measures)*(panel+gap))
	b.WriteString("</svg>\n")
	return b.String()
}

// nodes are those of the recording, in order.
func (r *recording) nodes() []string {
	var names []string
	for _, t := range r.tracks {
		if !slices.Contains(names, t.node) {
			names = append(names, t.node)
		}
	}
	return names
}

func (r *recording) colour(node string) string {
	return palette[max(slices.Index(r.nodes(), node), 0)%len(palette)]
}

func drawLegend(b *strings.Builder, r *recording) {
	x := left
	for _, node := range r.nodes() {
		fmt.Fprintf(b, `<rect x="%d" y="44" width="12" height="12" rx="2" fill="%s"/><text x="%d" y="54">%s</text>`+"\n",
			x, r.colour(node), x+18, html.EscapeString(node))
		x += 90
	}
	x += 20
	for _, program := range []string{"agent", "flor", "coordinator"} {
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="50" y2="50" stroke="#333" stroke-width="1.6" stroke-dasharray="%s"/><text x="%d" y="54">%s</text>`+"\n",
			x, x+26, dashes[program], x+32, program)
		x += 100
	}
	fmt.Fprintf(b, `<text class="note" x="%d" y="74">Shaded: the second half, in which nothing is killed and slopes are judged.</text>`+"\n", left)
}

// scale maps values of a panel to pixels.
type scale struct {
	lasted time.Duration
	most   float64
	y      int // of the panel's top
}

func (s scale) x(at time.Duration) float64 {
	return left + plotWidth*at.Seconds()/max(s.lasted.Seconds(), 1)
}

func (s scale) height(value float64) float64 { return float64(s.y+panel) - panel*value/s.most }

func drawPanel(b *strings.Builder, r *recording, m, y int) {
	ticks := niceTicks(largest(r, m), 4)
	s := scale{r.lasted, ticks[len(ticks)-1], y}
	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">%s</text>`+"\n", left, y-8, html.EscapeString(title(measures[m])))
	drawHalf(b, s, panel)
	for _, tick := range ticks {
		h := s.height(tick)
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, width-right, h, h, left-8, h+4, number(tick))
	}
	drawTime(b, s, y+panel)
	for _, t := range r.tracks {
		drawLine(b, s, t.points[m], t, r.colour(t.node))
	}
}

func drawHalf(b *strings.Builder, s scale, tall int) {
	x := s.x(s.lasted / 2)
	fmt.Fprintf(b, `<rect class="half" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", x, s.y, float64(width-right)-x, tall)
}

func drawTime(b *strings.Builder, s scale, y int) {
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", left, width-right, y, y)
	step := timeStep(s.lasted)
	for at := time.Duration(0); at <= s.lasted; at += step {
		label := fmt.Sprintf("%d s", int(at.Seconds()))
		if step >= time.Minute {
			label = fmt.Sprintf("%d min", int(at.Minutes()))
		}
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", s.x(at), y+16, label)
	}
}

// timeStep is a round time that divides a run into ten parts at most.
func timeStep(lasted time.Duration) time.Duration {
	step := 5 * time.Second
	for _, factor := range []time.Duration{2, 3, 2, 5} { // 10 s, 30 s, 1 min, 5 min
		if lasted/step <= 10 {
			return step
		}
		step *= factor
	}
	for lasted/step > 10 {
		step *= 2
	}
	return step
}

// drawLine draws a process, broken where it was not there for long.
func drawLine(b *strings.Builder, s scale, points []point, t *track, colour string) {
	if len(points) == 0 {
		return
	}
	points = thin(points, plotWidth/2)
	var d strings.Builder
	for i, p := range points {
		verb := "L"
		if i == 0 || p.at-points[i-1].at > max(longGap, s.lasted/50) {
			verb = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", verb, s.x(p.at), s.height(p.value))
	}
	fmt.Fprintf(b, `<path class="line" d="%s" stroke="%s" stroke-dasharray="%s"><title>%s</title></path>`+"\n",
		d.String(), colour, dashes[t.program], html.EscapeString(t.name()))
}

// longGap is the time without a measurement that is seen as a break, at least.
const longGap = 10 * time.Second

// drawEvents draws a row of marks for each kind of event.
func drawEvents(b *strings.Builder, r *recording, y int) {
	s := scale{r.lasted, 1, y}
	var kinds []string
	for _, e := range r.events {
		if !slices.Contains(kinds, e.kind) {
			kinds = append(kinds, e.kind)
		}
	}
	slices.Sort(kinds)
	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">what happened</text>`+"\n", left, y-8)
	drawHalf(b, s, eventsTall)
	for i, kind := range kinds {
		row := float64(y) + float64(eventsTall)*(float64(i)+0.5)/float64(len(kinds))
		fmt.Fprintf(b, `<text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, row+4, html.EscapeString(kind))
		for _, e := range r.events {
			if e.kind == kind {
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s" fill-opacity="0.7"><title>%s</title></circle>`+"\n",
					s.x(e.at), row, palette[i%len(palette)], html.EscapeString(e.what))
			}
		}
	}
	drawTime(b, s, y+eventsTall)
}

func largest(r *recording, m int) float64 {
	most := 1.0
	for _, t := range r.tracks {
		for _, p := range t.points[m] {
			most = max(most, p.value)
		}
	}
	return most
}

// niceTicks are round numbers from 0 to at least most, about so many.
func niceTicks(most float64, count int) []float64 {
	rough := max(most, 1e-9) / float64(count)
	magnitude := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * magnitude
	for _, factor := range []float64{1, 2, 5} {
		if factor*magnitude >= rough {
			step = factor * magnitude
			break
		}
	}
	var ticks []float64
	for i := 0; ; i++ {
		tick := float64(i) * step
		ticks = append(ticks, tick)
		if tick >= most {
			return ticks
		}
	}
}

func number(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }
