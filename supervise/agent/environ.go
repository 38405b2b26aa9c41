package agent

import (
	"strings"

	"github.com/florete/flor/supervise/program"
)

// stateDirVar is the variable by which what a workload leaves behind is known
// for its own (SUP-5): no other workload has the same value.
const stateDirVar = "FLORWL_STATE_DIR"

// artifactVar is the variable that holds the path of the artifact.
const artifactVar = "FLORWL_MGMT_ARTIFACT"

// spawn is what the environment of one child is made of (SUP-1). All paths are
// absolute.
type spawn struct {
	scope, name  string
	run          string
	mgmtArtifact string
	stateDir     string
	logSink      program.Sink // empty: plain standard error
	socket       string
	scopeRoot    string
	runtimeRoot  string
}

// environ gives a child's environment: the agent's own without FLOR*, FLOR_LOG
// excepted, then the contract's variables (SUP-1). No ctrl plane is delivered
// yet, so FLORWL_CTRL_ARTIFACT stays unset.
func environ(own []string, s spawn) []string {
	env := inherited(own)
	env = append(env,
		"FLORWL_SCOPE="+s.scope,
		"FLORWL_NAME="+s.name,
		artifactVar+"="+s.mgmtArtifact,
		stateDirVar+"="+s.stateDir,
		"FLORWL_CONTROL_SOCKET="+s.socket,
	)
	if s.logSink != program.SinkPlain {
		env = append(env, "FLORWL_LOG_SINK="+string(s.logSink))
	}
	if ships(s.run) {
		env = append(env, "FLORWL_SCOPE_ROOT="+s.scopeRoot, "FLORWL_RUNTIME_ROOT="+s.runtimeRoot)
	}
	return env
}

func inherited(own []string) []string {
	env := make([]string, 0, len(own)+8)
	for _, entry := range own {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "FLOR") && name != "FLOR_LOG" {
			continue
		}
		env = append(env, entry)
	}
	return env
}
