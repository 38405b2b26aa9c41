package envelope

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Members of the closed objects of an artifact, in the order of ENV-9.
var (
	artifactNames  = []string{"schema_version", "plane", "version", "node", "name", "generated_at", "payload", "signature"}
	routingNames   = []string{"schema_version", "plane", "version", "node", "name"}
	signatureNames = []string{"alg", "key_id", "value"}
	planeNames     = []string{"ctrl"}
	ctrlNames      = []string{"obeys_mgmt_version"}
)

// timeLayout is the only spelling of generated_at (ENV-3).
const timeLayout = "2006-01-02T15:04:05Z"

// Parse reads one artifact strictly (ENV-1 … ENV-5, ENV-7) and holds its
// schema_version against the gate (ENV-14). It does not verify the signature:
// a workload parses like this the artifact that its agent has verified.
// White space around the text is not part of the artifact. The result refers
// to text, which must not be written to afterwards.
//
// Every error is a [*Refusal]; it names the artifact when the text routes.
func Parse(text []byte) (Artifact, error) {
	text, err := withinLimit(text, MaxEnvelope)
	if err != nil {
		return Artifact{}, err
	}
	a, err := parseStrict(text)
	if err != nil {
		version, _ := PeekSchemaVersions(text)
		return Artifact{}, locate(text, OrVersion(err, "the artifact", version, SchemaVersion))
	}
	if err := CheckSchemaVersion("the artifact", a.SchemaVersion, SchemaVersion); err != nil {
		return Artifact{}, about(a.Ref(), err)
	}
	return a, nil
}

func parseStrict(text []byte) (Artifact, error) {
	o, err := strictScanner(text).object()
	if err != nil {
		return Artifact{}, err
	}
	if err := o.closed("an artifact", artifactNames); err != nil {
		return Artifact{}, err
	}
	r := reader{object: o}
	a := Artifact{raw: text, GeneratedAt: r.time("generated_at"), Signature: r.signature()}
	a.Core = r.core()
	a.ObeysMgmtVersion = r.obeys()
	a.payload, _ = o.get("payload")
	if r.err != nil {
		return Artifact{}, r.err
	}
	a.canonicalPayload, err = canonicalValue(a.payload)
	return a, err
}

// Probe reads the routing core of an artifact and ignores everything else,
// whatever it is, unknown majors included (ENV-16). It refuses what would let
// two readers disagree: what is not one JSON object, duplicate top-level names,
// a routing name in another case, a routing member that is absent or malformed.
// Where [Parse] accepts a text, Probe accepts it too and says the same.
//
// Every error is a [*Refusal].
func Probe(text []byte) (Core, error) {
	text, err := withinLimit(text, MaxEnvelope)
	if err != nil {
		return Core{}, err
	}
	var room [fewMembers]member
	o, err := routingObject(room[:0], text)
	if err != nil {
		return Core{}, err
	}
	return o.route()
}

// route reads the routing core out of the members of an artifact.
func (o object) route() (Core, error) {
	if err := o.routes(); err != nil {
		return Core{}, err
	}
	r := reader{object: o}
	core := r.core()
	if r.err != nil {
		return Core{}, r.err
	}
	return core, nil
}

// routes refuses names by which two readers could disagree about the route.
func (o object) routes() error {
	if name, twice := o.repeated(); twice {
		return refuse(DuplicateName, "two members are named %q", clip(name))
	}
	for _, m := range o {
		if err := m.inAnotherCase("an artifact", routingNames); err != nil {
			return err
		}
	}
	return o.has("an artifact", routingNames)
}

// fewMembers is up to where comparing each name with each other is cheaper than
// a map of them.
const fewMembers = 16

// repeated finds the first name that stands there for the second time.
func (o object) repeated() (name string, twice bool) {
	if len(o) > fewMembers {
		return o.repeatedOfMany()
	}
	for i, m := range o {
		if _, before := o[:i].get(m.name); before {
			return m.name, true
		}
	}
	return "", false
}

// repeatedOfMany is repeated in linear time.
func (o object) repeatedOfMany() (name string, twice bool) {
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		if seen[m.name] {
			return m.name, true
		}
		seen[m.name] = true
	}
	return "", false
}

// locate names the artifact in a refusal of its text, when the text routes.
func locate(text []byte, err error) error {
	core, probe := Probe(text)
	if probe != nil {
		return err
	}
	return about(core.Ref(), err)
}

// reader reads the members of an object whose presence was checked. It keeps
// the first error; what it returns after one means nothing.
type reader struct {
	object object
	err    error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) core() Core {
	core := Core{SchemaVersion: r.text("schema_version"), Plane: r.plane(), Version: r.version("version")}
	core.Node = r.safeName("node")
	core.Name = r.safeName("name")
	if _, _, ok := splitVersion(core.SchemaVersion); !ok {
		r.fail(refuse(BadSchemaVersion, "schema_version %q is not MAJOR.MINOR", clip(core.SchemaVersion)))
	}
	if SameName(core.Name, ReservedName) {
		r.fail(refuse(UnsafeName, "name %q is reserved", core.Name))
	}
	return core
}

func (r *reader) text(name string) string {
	value, _ := r.object.get(name)
	if len(value) == 0 || value[0] != '"' {
		r.fail(refuse(WrongType, "member %q must be a string", name))
		return ""
	}
	return unquote(value)
}

func (r *reader) safeName(name string) string {
	s := r.text(name)
	if err := SafeName(s); err != nil {
		r.fail(err)
	}
	return s
}

// version reads an integer from 1 to MaxVersion written as digits alone (ENV-3).
func (r *reader) version(name string) uint64 {
	value, _ := r.object.get(name)
	if kind := jsontext.Value(value).Kind(); kind != '0' {
		r.fail(refuse(WrongType, "member %q must be an integer, not %s", name, kindName(kind)))
		return 0
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil || n < 1 || n > MaxVersion {
		r.fail(refuse(BadVersion, "member %q must be an integer from 1 to %d, without fraction or exponent, not %s",
			name, uint64(MaxVersion), clip(string(value))))
	}
	return n
}

func (r *reader) time(name string) time.Time {
	s := r.text(name)
	t, err := time.Parse(timeLayout, s)
	if err != nil || t.Format(timeLayout) != s {
		r.fail(refuse(BadTime, "member %q must be a date written YYYY-MM-DDTHH:MM:SSZ, not %q", name, clip(s)))
	}
	return t
}

// plane reads the discriminator alone, which is all that Probe may look at.
func (r *reader) plane() PlaneKind {
	value, _ := r.object.get("plane")
	switch jsontext.Value(value).Kind() {
	case '"':
		if unquote(value) == string(Mgmt) {
			return Mgmt
		}
	case '{':
		o, err := routingScanner(value).object()
		if err == nil && len(o) == 1 && o[0].name == string(Ctrl) {
			return Ctrl
		}
	}
	r.fail(refuse(BadPlane, `member "plane" must be "mgmt" or {"ctrl":{…}}, not %s`, clip(string(value))))
	return ""
}

// obeys reads obeys_mgmt_version out of a ctrl artifact's plane.
func (r *reader) obeys() uint64 {
	value, _ := r.object.get("plane")
	if jsontext.Value(value).Kind() != '{' {
		return 0
	}
	plane := r.inner("plane", value, planeNames)
	value, _ = plane.object.get("ctrl")
	ctrl := plane.inner("ctrl", value, ctrlNames)
	n := ctrl.version("obeys_mgmt_version")
	r.fail(ctrl.err)
	return n
}

func (r *reader) signature() Signature {
	value, _ := r.object.get("signature")
	o := r.inner("signature", value, signatureNames)
	s := Signature{Alg: o.text("alg"), KeyID: o.text("key_id"), Value: o.text("value")}
	r.fail(o.err)
	return s
}

// inner returns a reader of a closed object within the object. It starts from
// r's first error; the caller hands its own first error back to r.
func (r *reader) inner(what string, value []byte, names []string) *reader {
	if len(value) == 0 || value[0] != '{' {
		r.fail(refuse(WrongType, "member %q must be an object", what))
		return &reader{err: r.err}
	}
	o, err := strictScanner(value).object()
	if err == nil {
		err = o.closed(what, names)
	}
	if err != nil {
		r.fail(err)
	}
	return &reader{object: o, err: r.err}
}

// unquote reads a JSON string that is known to be one.
func unquote(value []byte) string {
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	s, _ := jsontext.AppendUnquote(nil, value)
	return string(s)
}
