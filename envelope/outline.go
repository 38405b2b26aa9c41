package envelope

import "github.com/go-json-experiment/json/jsontext"

// routingObject returns the members of one JSON object whatever they are
// (ENV-16), in room as far as it reaches. There is no white space around the text.
// One that is something else is walked token by token, which tells what is wrong
// with it, and where.
func routingObject(room object, text []byte) (object, error) {
	if !isObject(text) {
		return routingScanner(text).object()
	}
	return outline(room, text)
}

// isObject tells whether the text is one JSON object and nothing else. Like
// routingScanner it does not look for duplicate names.
func isObject(text []byte) bool {
	return len(text) > 0 && text[0] == '{' && jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

// outline returns the members of a text that isObject is true of. It looks for
// the ends of values and not for faults, which is what makes it cheap: a relay
// reads so each artifact of a publish.
func outline(room object, text []byte) (object, error) {
	w := walker{text: text, at: 1}
	o := room[:0]
	for w.gap(); text[w.at] != '}'; w.gap() {
		name := w.value()
		w.gap()
		o = append(o, member{memberName(name), w.value()})
	}
	if w.deepest > MaxDepth {
		return nil, tooDeep()
	}
	return o, nil
}

// memberName unquotes a name, without memory of its own for those of this
// contract.
func memberName(quoted []byte) string {
	for _, name := range artifactNames {
		if string(quoted[1:len(quoted)-1]) == name {
			return name
		}
	}
	return unquote(quoted)
}

// walker walks a text that is known to be a JSON object.
type walker struct {
	text    []byte
	at      int
	deepest int // how deep what was walked is nested, the object counting as one
}

// gap moves to the next value, or to the end of the object.
func (w *walker) gap() {
	for isGap(w.text[w.at]) {
		w.at++
	}
}

func isGap(c byte) bool {
	switch c {
	case ' ', '\n', ',', ':', '\t', '\r':
		return true
	default:
		return false
	}
}

// value moves behind the value that begins here and returns it.
func (w *walker) value() []byte {
	from := w.at
	switch w.text[from] {
	case '"':
		w.quoted()
	case '{', '[':
		w.nested()
	default:
		w.bare()
	}
	return w.text[from:w.at:w.at]
}

// quoted moves behind a string.
func (w *walker) quoted() {
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}

// nested moves behind an object or array.
func (w *walker) nested() {
	for depth := 1; ; {
		switch w.text[w.at] {
		case '"':
			w.quoted()
			continue
		case '{', '[':
			depth++
			w.deepest = max(w.deepest, depth)
		case '}', ']':
			depth--
		}
		w.at++
		if depth == 1 {
			return
		}
	}
}

// bare moves behind a number, true, false or null.
func (w *walker) bare() {
	for !isGap(w.text[w.at]) && w.text[w.at] != '}' {
		w.at++
	}
}
