package facade

import "github.com/florete/flor/compiler/diag"

// Value is something that the operator wrote, with its place. A value that
// was not written has no place.
type Value[T any] struct {
	V  T
	At diag.Place
	// Refused says that its form has been reported: it is here so that the rest
	// of its entry can be judged, and how it is spelt needs no second word.
	Refused bool
}

// Given reports whether the operator wrote the value.
func (v Value[T]) Given() bool { return v.At.Known() }

// Text is a name, a path, an address: anything that is written as a string.
// Whether it has the right form is for validation to judge.
type Text = Value[string]

// Source is a rete as it is written: every file united, nothing resolved and
// no default applied. Entries are ordered by file name and place.
//
// An entry whose name was refused is here nevertheless, under the name as it is
// written, and the name has Refused. It has Again when its name stands a second time in one mapping:
// whoever compares names need not report that once more. It has Faulty when a
// part of it is missing here because it was refused.
type Source struct {
	// Texts has the text of every file that was read, by its slash-separated
	// path below the root, for excerpts.
	Texts diag.Sources

	// Rete is nil when no file has the section.
	Rete     *Rete
	Nodes    []*Node
	Services []*Service
	Groups   []*Group
	Roles    []*Role
	Users    []*User

	hidden hidden
}

// Mentions reports whether a word stands in a part of the source that was
// refused. What is missed of that name is then an echo of the refusal and not
// worth a word.
func (s *Source) Mentions(word string) bool { return s.hidden.words[word] }

// Unread reports whether there are files that could not even be read, and that
// may hold anything.
func (s *Source) Unread() bool { return s.hidden.everything }

// Whole reports whether nothing of a section, such as "users", was refused. That
// nobody in it does something is not known of a section that is not whole.
func (s *Source) Whole(section string) bool {
	return !s.hidden.everything && !s.hidden.sections[section]
}

// Rete is the section of that name.
type Rete struct {
	At   diag.Place
	Name Text
	CA   CA

	MgmtSigners            []*Signer
	SignersAt              diag.Place
	SignerValidityDays     Value[int]
	PrincipalsValidityDays Value[int]
	PollInterval           Text

	// Faulty says that a part of the section was refused while it was read.
	Faulty bool
}

// CA is the trust anchor of the rete.
type CA struct {
	Cert         Text
	ValidityDays Value[int]
}

// Signer is a management key.
type Signer struct {
	At         diag.Place
	Name, Cert Text
	Faulty     bool
}

// Node is a machine.
type Node struct {
	Name     Text
	Vertices []*Vertex
	SOCKS5   Text
	Faulty   bool
	Again    bool // see Source
}

// Vertex is a data-plane forwarder of a node.
type Vertex struct {
	At                                diag.Place
	Name, Kind, Type, Address, Listen Text
	Faulty                            bool
}

// Service is a key of services. Key is as it is written, `<name>` or
// `<node>/<name>`.
type Service struct {
	Key                            Text
	Node, Scope, Addr, Via, SOCKS5 Text
	Groups, Roles                  []Text
	Forwards                       []*Forward
	Faulty                         bool
	Again                          bool // see Source
}

// Forward gives a fixed local port to one service.
type Forward struct {
	Listen Text
	Target Text
}

// Group is a set of services that roles allow together.
type Group struct {
	Name  Text
	Again bool // see Source
}

// Role is a set of groups that its bearers may reach.
type Role struct {
	Name   Text
	Allow  []Text
	Faulty bool
	Again  bool // see Source
}

// User is a person.
type User struct {
	Name    Text
	Roles   []Text
	Devices []*Device
	Faulty  bool
	Again   bool // see Source
}

// Device is a node on which a user works.
type Device struct {
	At                diag.Place
	Node, Via, SOCKS5 Text
	Forwards          []*Forward
	Faulty            bool
}
