package supervise

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStatLineIsReadWhateverTheProcessIsCalled(t *testing.T) {
	t.Parallel()
	const rest = " S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 0 0"
	for _, name := range []string{"sh", "a b", "x) R 7 7 7", "(((", "\n"} {
		got, err := parseStat("42 (" + name + ")" + rest)
		want := procStat{state: "S", group: 42, start: 98765}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(procStat{})); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestTheOwnStatLineIsReadable(t *testing.T) {
	t.Parallel()
	stat, err := readStat(os.Getpid())
	if err != nil || stat.start == 0 {
		t.Errorf("%+v, %v", stat, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9 0 0")
	f.Add(")")
	f.Fuzz(func(t *testing.T, text string) {
		if stat, err := parseStat(text); err == nil && stat.state == "" {
			t.Errorf("%q has no state", text)
		}
	})
}
