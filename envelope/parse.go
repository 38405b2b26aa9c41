package envelope

import "errors"

func Parse(text []byte) (Artifact, error)   { return Artifact{}, errors.ErrUnsupported }
func Probe(text []byte) (Core, error)       { return Core{}, errors.ErrUnsupported }
func ParseSet(doc []byte) ([][]byte, error) { return nil, errors.ErrUnsupported }
func Canonical(text []byte) ([]byte, error) { return nil, errors.ErrUnsupported }
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
