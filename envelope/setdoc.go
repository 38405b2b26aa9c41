package envelope

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseSet splits a set document into its members (ENV-17): the exact bytes of
// each, as sub-slices of doc, which must not be written to afterwards. The
// document is closed, at most [MaxSetPublish] bytes, and has from one to
// [MaxMembers] members; a member is only known to be a JSON object, and is read
// by [Probe], [Parse] or [TrustSet.Verify]. How many members a node may have is
// for those to say who know to which node they belong.
//
// Every error is a [*Refusal].
func ParseSet(doc []byte) ([][]byte, error) {
	text, err := withinLimit(doc, MaxSetPublish)
	if err != nil {
		return nil, err
	}
	s := routingScanner(text)
	if err := s.openArtifacts(); err != nil {
		return nil, err
	}
	members, err := s.artifacts()
	if err != nil {
		return nil, err
	}
	if err := s.closeArtifacts(); err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, refuse(EmptySet, "the set document has no members")
	}
	return members, nil
}

// AppendSet appends a set document of the members to dst, in their order,
// without touching a byte inside a member (ENV-17); white space around a
// member is not part of it. It does not look at what a member is.
func AppendSet(dst []byte, members ...[]byte) []byte {
	dst = append(dst, "{\"artifacts\":[\n"...)
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ",\n"...)
		}
		dst = append(dst, trimSpace(m)...)
	}
	return append(dst, "\n]}\n"...)
}

// openArtifacts walks up to and into the array of members.
func (s *scanner) openArtifacts() error {
	if err := s.expect('{', "a set document must be an object"); err != nil {
		return err
	}
	if s.tokens.PeekKind() == '}' {
		return refuse(MissingMember, `a set document has no member "artifacts"`)
	}
	name, err := s.tokens.ReadToken()
	if err != nil {
		return syntax(err)
	}
	if err := (member{name: name.String()}).among("a set document", []string{"artifacts"}); err != nil {
		return err
	}
	return s.expect('[', `member "artifacts" must be an array`)
}

// artifacts returns the elements up to the end of the array.
func (s *scanner) artifacts() ([][]byte, error) {
	var members [][]byte
	for s.tokens.PeekKind() == '{' {
		value, err := s.tokens.ReadValue()
		if err != nil {
			return nil, syntax(err)
		}
		if len(members) == MaxMembers {
			return nil, refuse(TooLarge, "the set document has more members than the limit of %d", MaxMembers)
		}
		end := s.tokens.InputOffset()
		members = append(members, s.text[end-int64(len(value)):end:end])
	}
	return members, s.expect(']', "a member of a set document must be an object")
}

// closeArtifacts walks to the end of the document, which has no other member.
func (s *scanner) closeArtifacts() error {
	if s.tokens.PeekKind() == '"' {
		name, err := s.tokens.ReadToken()
		if err != nil {
			return syntax(err)
		}
		if name.String() == "artifacts" {
			return refuse(DuplicateName, `a set document has two members "artifacts"`)
		}
		return refuse(UnknownMember, "a set document has no room for member %q", clip(name.String()))
	}
	if err := s.expect('}', "a set document must end here"); err != nil {
		return err
	}
	return s.end()
}

// expect reads one token, which must be of the kind.
func (s *scanner) expect(kind jsontext.Kind, otherwise string) error {
	token, err := s.tokens.ReadToken()
	if err != nil {
		return syntax(err)
	}
	if token.Kind() != kind {
		return refuse(WrongType, "%s, not %s", otherwise, kindName(token.Kind()))
	}
	return nil
}

// trimSpace removes JSON's white space, and no other, from both ends.
func trimSpace(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }
