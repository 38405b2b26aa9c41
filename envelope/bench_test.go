package envelope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

// filled returns an artifact near size bytes whose payload repeats a piece
// between an opening and a closing text. Each %d of the piece is its number.
func filled(size int, opening, piece, closing string) []byte {
	var payload strings.Builder
	payload.WriteString(opening)
	for i := 0; payload.Len() < size-2*len(plain); i++ {
		if i > 0 {
			payload.WriteByte(',')
		}
		payload.WriteString(strings.ReplaceAll(piece, "%d", fmt.Sprint(i)))
	}
	payload.WriteString(closing)
	return []byte(strings.Replace(plain, `{"schema_version": "1.0", "list": [1, 1.0, 1e2]}`, payload.String(), 1))
}

// BenchmarkParse shows that time and memory are linear (ENV-1): MB/s and
// bytes per operation over size hold from 64 KiB to the limit of 4 MiB, for
// each shape of payload that could be hard.
func BenchmarkParse(b *testing.B) {
	deep := strings.Repeat("[", envelope.MaxDepth-4) + strings.Repeat("]", envelope.MaxDepth-4)
	unsorted := strings.Repeat(`{"b":0,"a":`, 40) + "0" + strings.Repeat("}", 40)
	shapes := map[string][3]string{
		"wide":     {"[", "0", "]"},
		"deep":     {"[", deep, "]"},
		"names":    {"{", `"name%d":0`, "}"},
		"unsorted": {"[", unsorted, "]"},
		"numbers":  {"[", "0.30000000000000004", "]"},
		"escapes":  {"[\"", `\u0061\ud83d\ude00`, "\"]"},
	}
	for name, shape := range shapes {
		for _, size := range []int{64 << 10, envelope.MaxEnvelope} {
			text := filled(size, shape[0], shape[1], shape[2])
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := envelope.Parse(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkProbe reads the route of an artifact with very many names.
func BenchmarkProbe(b *testing.B) {
	var names strings.Builder
	for i := 0; names.Len() < envelope.MaxEnvelope-2*len(plain); i++ {
		fmt.Fprintf(&names, "\"x%d\":0,", i)
	}
	text := []byte(strings.Replace(plain, `"payload":`, names.String()+`"payload":`, 1))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.Probe(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseSet splits a document of many members.
func BenchmarkParseSet(b *testing.B) {
	members := make([][]byte, 20000)
	for i := range members {
		members[i] = []byte(plain)
	}
	doc := envelope.AppendSet(nil, members...)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.ParseSet(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSign and BenchmarkVerify are what a compiler and an agent pay for an
// artifact of common size.
func BenchmarkSign(b *testing.B) {
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	payload := ca.AgentPayload("alpha", envelopetest.Block(primary), "wire", "coordinator")
	b.ReportAllocs()
	for b.Loop() {
		primary.Sign("alpha", envelope.AgentName, 42, payload)
	}
}

func BenchmarkVerify(b *testing.B) {
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	set := trustSet(b, ca, envelopetest.Block(primary))
	text := primary.Sign("alpha", envelope.AgentName, 42, ca.AgentPayload("alpha", envelopetest.Block(primary), "wire"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := set.Verify(text); err != nil {
			b.Fatal(err)
		}
	}
}
