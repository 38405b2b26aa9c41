package build

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatWasRecordedIsTold(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	cases := map[string]struct {
		recorded debug.BuildInfo
		want     Info
	}{
		"a release": {
			debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-29T22:54:20Z"}, {Key: "vcs.modified", Value: "false"},
			}},
			Info{Version: "v1.2.3", Revision: "abc", Time: "2026-11-29T22:54:20Z", Platform: platform, Go: runtime.Version()},
		},
		"a tree that was changed": {
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}},
			Info{Version: "(devel)", Modified: true, Platform: platform, Go: runtime.Version()},
		},
		"nothing": {debug.BuildInfo{}, Info{Version: Unknown, Platform: platform, Go: runtime.Version()}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, of(&c.recorded)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
