package mint

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/florete/flor/conformance/vectors"
)

// Feature is what an implementer must have built to answer a vector.
func (v Vector) Feature() string {
	group, _, _ := strings.Cut(v.Name, "/")
	switch {
	case v.Files["set.json"] != nil:
		return "set"
	default:
		return group
	}
}

// Tree returns the whole directory of vectors, file by path.
func Tree() map[string][]byte {
	tree := make(map[string][]byte)
	index := vectors.Index{SchemaVersion: vectors.SchemaVersion}
	for _, v := range Vectors() {
		index.Cases = append(index.Cases, v.entry())
		for name, data := range v.Files {
			tree[path.Join(v.Name, name)] = data
		}
	}
	tree[vectors.IndexName] = indexText(index)
	return tree
}

func (v Vector) entry() vectors.Entry {
	e := vectors.Entry{
		Name: v.Name, Feature: v.Feature(), Title: v.Title, Expect: vectors.Accept,
		Output: v.Output, Requirements: v.Requirements,
	}
	if v.Refuse != "" {
		e.Expect, e.Code, e.Reason = vectors.Refuse, v.Code(), v.Reason()
	}
	return e
}

func indexText(index vectors.Index) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(index); err != nil {
		panic(err)
	}
	return out.Bytes()
}
