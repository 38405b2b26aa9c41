package envelope

import (
	"bytes"
	"errors"
	"iter"
	"slices"

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
	var members [][]byte
	for m, err := range Members(doc) {
		if err != nil {
			return nil, err
		}
		members = append(members, m.text)
	}
	return members, nil
}

// Member is one member of a set document, which is known to be a JSON object.
type Member struct{ text []byte }

// Text returns the exact bytes of the member, a sub-slice of the document.
func (m Member) Text() []byte { return m.text }

// Probe is [Probe] of the member's text, without reading again what was found to
// be JSON when the document was split.
func (m Member) Probe() (Core, error) {
	if len(m.text) > MaxEnvelope {
		return Probe(m.text)
	}
	var room [fewMembers]member
	o, err := outline(room[:0], m.text)
	if err != nil {
		return Core{}, err
	}
	return o.route()
}

// Members is [ParseSet] member by member, for a document so large that its reader
// wants to do other things in between. A document that is at fault gives an error
// behind the members that stand before the fault, and nothing else after it: only
// who has seen the end without one knows that the document is a set document.
//
// Every error is a [*Refusal].
func Members(doc []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		err := split(doc, func(m Member) bool { return yield(m, nil) })
		if err != nil && err != errEnough {
			yield(Member{}, err)
		}
	}
}

// errEnough says that whoever took the members wanted no more.
var errEnough = errors.New("no more members are wanted")

// split hands over one member after the other until take wants no more.
func split(doc []byte, take func(Member) bool) error {
	text, err := withinLimit(doc, MaxSetPublish)
	if err != nil {
		return err
	}
	s := routingScanner(text)
	if err := s.openArtifacts(); err != nil {
		return err
	}
	count, err := s.artifacts(take)
	if err != nil {
		return err
	}
	if err := s.closeArtifacts(); err != nil {
		return err
	}
	if count == 0 {
		return refuse(EmptySet, "the set document has no members")
	}
	return nil
}

// AppendSet appends a set document of the members to dst, in their order,
// without touching a byte inside a member (ENV-17); white space around a
// member is not part of it. It does not look at what a member is.
func AppendSet(dst []byte, members ...[]byte) []byte {
	const before, between, after = "{\"artifacts\":[\n", ",\n", "\n]}\n"
	size := len(before) + max(len(members)-1, 0)*len(between) + len(after)
	for _, m := range members {
		size += len(trimSpace(m))
	}
	dst = append(slices.Grow(dst, size), before...)
	for i, m := range members {
		if i > 0 {
			dst = append(dst, between...)
		}
		dst = append(dst, trimSpace(m)...)
	}
	return append(dst, after...)
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

// artifacts hands over the elements up to the end of the array and returns how
// many there were.
func (s *scanner) artifacts(take func(Member) bool) (count int, err error) {
	for ; s.tokens.PeekKind() == '{'; count++ {
		value, err := s.tokens.ReadValue()
		if err != nil {
			return count, syntax(err)
		}
		if count == MaxMembers {
			return count, refuse(TooLarge, "the set document has more members than the limit of %d", MaxMembers)
		}
		end := s.tokens.InputOffset()
		if !take(Member{s.text[end-int64(len(value)) : end : end]}) {
			return count, errEnough
		}
	}
	return count, s.expect(']', "a member of a set document must be an object")
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
