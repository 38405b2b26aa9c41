package envelope

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

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
	o, deepest := room[:0], 0
	for at := skipGap(text, 1); text[at] != '}'; {
		nameEnd := skipString(text, at)
		from := skipGap(text, nameEnd)
		end, depth := skipValue(text, from)
		o = append(o, member{memberName(text[at:nameEnd]), text[from:end:end]})
		at, deepest = skipGap(text, end), max(deepest, depth+1)
	}
	if deepest > MaxDepth {
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

// skipGap returns where the next value begins, or the object ends. This and what
// follows take for granted that the text is an object without a fault.
func skipGap(text []byte, at int) int {
	for isGap(text[at]) {
		at++
	}
	return at
}

func isGap(c byte) bool {
	return c == ' ' || c == '\n' || c == ',' || c == ':' || c == '\t' || c == '\r'
}

// skipValue returns where the value that begins here ends, and how deep it is
// nested.
func skipValue(text []byte, at int) (end, depth int) {
	switch text[at] {
	case '"':
		return skipString(text, at), 0
	case '{', '[':
		return skipNested(text, at)
	}
	for !isGap(text[at]) && text[at] != '}' {
		at++
	}
	return at, 0
}

// skipString returns where the string that begins here ends.
func skipString(text []byte, at int) int {
	for {
		at += 1 + bytes.IndexByte(text[at+1:], '"')
		if !isEscaped(text, at) {
			return at + 1
		}
	}
}

// isEscaped tells whether an odd number of backslashes stands before this byte.
func isEscaped(text []byte, at int) bool {
	first := at
	for text[first-1] == '\\' {
		first--
	}
	return (at-first)%2 == 1
}

// skipNested returns where the object or array that begins here ends, and how
// deep it is nested, itself counted.
func skipNested(text []byte, at int) (end, deepest int) {
	for depth := 0; ; {
		switch text[at] {
		case '"':
			at = skipString(text, at)
			continue
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at, deepest
		}
	}
}
