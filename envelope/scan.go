package envelope

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one member of a JSON object.
type member struct {
	name  string // unescaped
	value []byte // as written, a sub-slice of the text
}

// object is the members of one JSON object in the order of the text.
type object []member

// scanner walks one JSON text once, token by token, without recursion.
type scanner struct {
	text   []byte
	tokens *jsontext.Decoder
	exact  bool // check ENV-7
}

// strictScanner refuses what ENV-1 and ENV-7 refuse, at every depth.
func strictScanner(text []byte) *scanner {
	return &scanner{text: text, tokens: jsontext.NewDecoder(bytes.NewBuffer(text)), exact: true}
}

// routingScanner takes any JSON text; ENV-16 looks at the top level only.
func routingScanner(text []byte) *scanner {
	lax := jsontext.AllowDuplicateNames(true)
	return &scanner{text: text, tokens: jsontext.NewDecoder(bytes.NewBuffer(text), lax)}
}

// withinLimit returns the text without white space around it, or a refusal
// when it is larger than limit.
func withinLimit(text []byte, limit int) ([]byte, error) {
	text = trimSpace(text)
	if len(text) > limit {
		return nil, refuse(TooLarge, "%d bytes are over the limit of %d", len(text), limit)
	}
	return text, nil
}

// whole walks the text, which must be one JSON value and nothing else.
func (s *scanner) whole() error {
	if err := s.value(); err != nil {
		return err
	}
	return s.end()
}

// object walks the text, which must be one JSON object and nothing else, and
// returns its members.
func (s *scanner) object() (object, error) {
	if kind := s.tokens.PeekKind(); kind != '{' {
		if err := s.whole(); err != nil {
			return nil, err
		}
		return nil, refuse(NotObject, "an object is due here, not %s", kindName(kind))
	}
	if _, err := s.tokens.ReadToken(); err != nil {
		return nil, syntax(err)
	}
	var o object
	for s.tokens.PeekKind() == '"' {
		m, err := s.member()
		if err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	if _, err := s.tokens.ReadToken(); err != nil {
		return nil, syntax(err)
	}
	return o, s.end()
}

func (s *scanner) member() (member, error) {
	token, err := s.tokens.ReadToken()
	if err != nil {
		return member{}, syntax(err)
	}
	name := token.String()
	from := s.tokens.InputOffset()
	if err := s.value(); err != nil {
		return member{}, err
	}
	value := bytes.TrimLeft(s.text[from:s.tokens.InputOffset()], ": \t\r\n")
	return member{name, value[:len(value):len(value)]}, nil
}

// value walks the next value to its end.
func (s *scanner) value() error {
	outer := s.tokens.StackDepth()
	for {
		if err := s.token(); err != nil {
			return err
		}
		switch depth := s.tokens.StackDepth(); {
		case depth > MaxDepth:
			return tooDeep()
		case depth == outer:
			return nil
		}
	}
}

func (s *scanner) token() error {
	if !s.exact || s.tokens.PeekKind() != '0' {
		_, err := s.tokens.ReadToken()
		return syntax(err)
	}
	number, err := s.tokens.ReadValue()
	if err != nil {
		return syntax(err)
	}
	if !exactNumber(number) {
		return refuse(InexactNumber, "number %s at %s is not exactly what its canonical form would say; write it as a string",
			clip(string(number)), clip(string(s.tokens.StackPointer())))
	}
	return nil
}

// end refuses whatever follows the value that was walked.
func (s *scanner) end() error {
	if rest := s.text[s.tokens.InputOffset():]; len(rest) > 0 {
		return refuse(NotJSON, "%d bytes follow the end of the JSON text", len(rest))
	}
	return nil
}

func tooDeep() error {
	return refuse(TooDeep, "objects and arrays are nested over the limit of %d", MaxDepth)
}

// syntax turns a decoder's error into a refusal.
func syntax(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refuse(DuplicateName, "%s", clip(err.Error()))
	case errors.Is(err, io.EOF):
		return refuse(NotJSON, "the text is empty")
	default:
		return refuse(NotJSON, "%s", clip(err.Error()))
	}
}

// get returns the value of the first member of that name.
func (o object) get(name string) ([]byte, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// closed refuses members other than those named, and the absence of one of
// them (ENV-2).
func (o object) closed(what string, names []string) error {
	for _, m := range o {
		if err := m.among(what, names); err != nil {
			return err
		}
	}
	return o.has(what, names)
}

// has refuses the absence of a member, and one that is null.
func (o object) has(what string, names []string) error {
	for _, name := range names {
		value, ok := o.get(name)
		if !ok {
			return refuse(MissingMember, "%s has no member %q", what, name)
		}
		if value[0] == 'n' {
			return refuse(NullMember, "member %q of %s is null", name, what)
		}
	}
	return nil
}

func (m member) among(what string, names []string) error {
	for _, name := range names {
		if m.name == name {
			return nil
		}
	}
	if err := m.inAnotherCase(what, names); err != nil {
		return err
	}
	return refuse(UnknownMember, "%s has no room for member %q", what, clip(m.name))
}

// inAnotherCase refuses a member that a case-blind reader would take for one
// of the names (ENV-1).
func (m member) inAnotherCase(what string, names []string) error {
	for _, name := range names {
		if m.name != name && strings.EqualFold(m.name, name) {
			return refuse(NameCase, "member %q of %s must be spelled %q", m.name, what, name)
		}
	}
	return nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}

// clip shortens what came from a hostile text, so that an error stays readable.
func clip(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
