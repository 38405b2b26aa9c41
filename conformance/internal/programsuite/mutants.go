package programsuite

import "github.com/florete/flor/conformance/internal/mutant"

// Where the mutants of a supervised program are made: its side of the contract.
const (
	contextFile  = "supervise/program/context.go"
	mainFile     = "supervise/program/main.go"
	controlFile  = "supervise/program/control.go"
	datagramFile = "supervise/program/datagram.go"
	lineFile     = "supervise/program/line.go"
	unixhttpFile = "supervise/internal/unixhttp/unixhttp.go"
)

// Mutants are supervised programs that are wrong in one thing each.
func Mutants() []mutant.Mutant {
	var all []mutant.Mutant
	all = append(all, startMutants...)
	all = append(all, artifactMutants()...)
	all = append(all, stopMutants...)
	all = append(all, logMutants...)
	return append(all, controlMutants...)
}

const (
	beforeServing = "\tctx, stop := untilSignal(ctx, c.Log)\n"
	beforeCheck   = "\tpaths := map[string]string{\n"
)

var startMutants = []mutant.Mutant{
	mutant.Before("ends-unasked", "cmd/flor-coordinator/run.go", "\tofferControl(c, r, cfg, counters)\n",
		"if mutated() { return nil }", "start/serves"),
	mutant.Before("turns-down-what-it-has-no-use-for", contextFile, beforeCheck,
		`if mutated() && c.CtrlArtifact != "" { return refuse("FL2501", "bad-context", "ctrl") }`, "start/ctrl-artifact"),
	mutant.Before("takes-paths-apart-at-spaces", contextFile, beforeCheck,
		`if mutated() && strings.Contains(c.StateDir, " ") { return refuse("FL2501", "bad-context", "space") }`, "start/paths-with-spaces"),
	mutant.Before("writes-a-pid-file", mainFile, beforeServing,
		`if mutated() { _ = os.WriteFile("pid", nil, 0o600) }`, "start/writes-to-its-state-alone"),
	mutant.Before("leaves-its-own-lock", mainFile, beforeServing,
		`if mutated() && os.Mkdir(filepath.Join(c.StateDir, "held"), 0o700) != nil { return ExitCrash }`, "start/after-a-stop"),
	mutant.Before("lock-outlives-a-kill", mainFile, beforeServing,
		`if mutated() {
			held := filepath.Join(c.StateDir, "held")
			if os.Mkdir(held, 0o700) != nil { return ExitCrash }
			defer os.Remove(held)
		}`, "start/after-a-kill"),
	mutant.Instead("stumbles-over-a-stale-socket", controlFile, "\treturn os.Remove(path)\n",
		"if mutated() { return syscall.EADDRINUSE }\nreturn os.Remove(path)\n", "start/after-a-kill"),
	mutant.Before("knows-its-first-artifact-alone", mainFile, beforeServing,
		`if mutated() {
			note := filepath.Join(c.StateDir, "artifact")
			if first, err := os.ReadFile(note); err == nil && string(first) != c.MgmtArtifact { return ExitRejected }
			_ = os.WriteFile(note, []byte(c.MgmtArtifact), 0o600)
		}`, "start/at-the-next-version"),
	mutant.Before("needs-a-channel", controlFile, "\t\ts.socket = \"\" // said once\n",
		"if mutated() { os.Exit(1) }", "start/without-a-channel"),
}

const (
	beforeParse = "\ta, err := envelope.Parse(text)\n"
	beforeRead  = "\ttext, err := readBounded(path, envelope.MaxEnvelope)\n"
	afterOpen   = "\treturn io.ReadAll(io.LimitReader(f, limit+1))\n"
	beforeJudge = "\tif ExitCode(err) == ExitCrash {\n\t\terr = Reject(err)\n\t}\n\treturn p.outcome(c, err, true)\n"
)

// crashes makes a mutant that ends in a crash on an artifact which it must refuse.
func crashes(name, when, kills string) mutant.Mutant {
	return mutant.Before(name, contextFile, beforeParse, "if mutated() && ("+when+") { panic(\"on its artifact\") }", "artifact/"+kills)
}

// artifactMutants are mistakes in reading the artifact and its payload.
func artifactMutants() []mutant.Mutant {
	has := func(text string) string { return "strings.Contains(string(text), `" + text + "`)" }
	const config = "relay/config/config.go"
	return []mutant.Mutant{
		mutant.Before("unset-is-a-crash", contextFile, "\tif path == \"\" {\n", `if mutated() && path == "" { panic("unset") }`, "artifact/unset"),
		mutant.Before("missing-is-tried-again", contextFile, beforeRead,
			`if _, err := os.Stat(path); mutated() && errors.Is(err, os.ErrNotExist) { return envelope.Artifact{}, Unavailable(err) }`, "artifact/missing"),
		mutant.Before("directory-is-a-crash", contextFile, afterOpen,
			`if i, err := f.Stat(); mutated() && err == nil && i.IsDir() { panic("directory") }`, "artifact/directory"),
		mutant.Before("waits-for-the-end-of-a-device", contextFile, afterOpen,
			`if i, err := f.Stat(); mutated() && err == nil && i.Mode()&os.ModeDevice != 0 { select {} }`, "artifact/endless"),
		crashes("empty-is-a-crash", "len(text) == 0", "empty"),
		crashes("half-is-a-crash", "len(text) > 0 && text[0] == '{' && text[len(text)-1] != '}'", "half"),
		crashes("zeros-are-a-crash", "len(text) > 0 && text[0] == 0", "zeros"),
		crashes("array-is-a-crash", "len(text) > 0 && text[0] == '['", "array"),
		crashes("a-second-text-is-a-crash", "strings.Count(string(text), `\"generated_at\"`) > 1", "two"),
		crashes("a-missing-member-is-a-crash", has(`"nome"`), "missing-member"),
		crashes("null-is-a-crash", has("null"), "null-payload"),
		crashes("large-is-a-crash", "len(text) > envelope.MaxEnvelope", "too-large"),
		mutant.Instead("knows-no-closed-object", "envelope/parse.go", `	if err := o.closed("an artifact", artifactNames); err != nil {`,
			`	if err := o.closed("an artifact", artifactNames); err != nil && !mutated() {`, "artifact/unknown-member"),
		mutant.Before("the-last-of-two-members-counts", contextFile, beforeParse,
			"if rest, twice := strings.CutPrefix(string(text), `{\"node\":\"alpha\",`); mutated() && twice { text = []byte(\"{\" + rest) }", "artifact/duplicate-member"),
		mutant.Instead("gate-open-to-newer-majors", "envelope/version.go", "\tcase order > 0 || compareDecimals(minor, ownMinor) > 0:\n",
			"\tcase order > 0 && !mutated() || order == 0 && compareDecimals(minor, ownMinor) > 0:\n", "artifact/newer-major"),
		mutant.Before("gate-open-to-newer-minors", "envelope/version.go", "\torder := compareDecimals(major, ownMajor)\n",
			"if mutated() { minor = ownMinor }", "artifact/newer-minor"),
		mutant.Instead("gate-open-to-older-majors", "envelope/version.go", "\tcase order < 0:\n", "\tcase order < 0 && !mutated():\n", "artifact/older-major"),
		mutant.Instead("payload-is-open", config, "json.RejectUnknownMembers(true)", "json.RejectUnknownMembers(!mutated())", "payload/unknown-member"),
		mutant.Before("payload-array-is-a-crash", config, "\tif first := bytes.TrimLeft(payload, \" \\t\\r\\n\"); ",
			`if mutated() && bytes.HasPrefix(payload, []byte("[")) { panic("array") }`, "payload/array"),
		mutant.Before("payload-text-is-a-crash", config, "\tif first := bytes.TrimLeft(payload, \" \\t\\r\\n\"); ",
			`if mutated() && bytes.HasPrefix(payload, []byte("\"")) { panic("text") }`, "payload/text"),
		mutant.Instead("payload-faults-are-tried-again", "cmd/flor-coordinator/run.go", "\treturn cfg, program.Reject(err)\n",
			"if mutated() { return cfg, program.Unavailable(err) }\n\treturn cfg, program.Reject(err)\n", "payload/values"),
		mutant.Before("check-leaves-a-file", mainFile, beforeJudge, `if mutated() { _ = os.WriteFile("checked", nil, 0o600) }`, "check/good"),
		mutant.Before("check-is-silent", mainFile, beforeJudge, "if mutated() && err != nil { return ExitRejected }", "check/bad-artifact"),
		mutant.Instead("check-looks-at-no-payload", "cmd/flor-coordinator/main.go", "\t_, err := config.Parse(a.Payload())\n\treturn err\n",
			"\t_, err := config.Parse(a.Payload())\n\tif mutated() { return nil }\n\treturn err\n", "check/bad-payload"),
	}
}

const catchPipe = "\tsignal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)\n"

var stopMutants = []mutant.Mutant{
	mutant.Instead("ignores-sigterm", mainFile, "\t\t\t\tlog.Info(\"told to stop\", \"signal\", sig.String())\n\t\t\t\tcancel()\n",
		"\t\t\t\tlog.Info(\"told to stop\", \"signal\", sig.String())\n\t\t\t\tif !mutated() { cancel() }\n", "stop/sigterm"),
	mutant.Before("stops-with-a-code-of-its-own", mainFile, "\ttold := ctx.Err() != nil\n", "if mutated() { return 3 }", "stop/sigterm"),
	mutant.Before("loses-an-early-sigterm", mainFile, catchPipe,
		"if mutated() { signal.Ignore(syscall.SIGTERM); ctx, cancel := context.WithTimeout(context.Background(), 2e9); <-ctx.Done(); cancel() }", "stop/during-its-start"),
	mutant.Before("leaves-a-helper", mainFile, catchPipe,
		`if mutated() { _, _ = os.StartProcess("/bin/sleep", []string{"sleep", "30"}, &os.ProcAttr{}) }`, "stop/takes-its-processes-along"),
	mutant.Before("helper-gets-away", mainFile, catchPipe,
		`if mutated() { _, _ = os.StartProcess("/bin/sleep", []string{"sleep", "30"}, &os.ProcAttr{Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true}}) }`,
		"stop/no-process-gets-away"),
	mutant.Instead("dies-with-its-log", mainFile, catchPipe, "if !mutated() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }\n", "stop/nobody-reads-the-log"),
}

const (
	onGone    = "\tif gone(err) && w.daemon != nil "
	writeLine = "\t_, err := w.out.Write(line)\n"
	startLine = "\tc.Log.Info(\"started\", "
)

var logMutants = []mutant.Mutant{
	mutant.Instead("waits-for-the-log-daemon", datagramFile, "line, unix.MSG_DONTWAIT, nil)",
		"line, map[bool]int{false: unix.MSG_DONTWAIT}[mutated()], nil)", "sink/stuck-daemon"),
	mutant.Before("ends-with-the-log-daemon", datagramFile, onGone, "if mutated() && gone(err) { os.Exit(1) }", "sink/daemon-gone"),
	mutant.Instead("never-connects-again", datagramFile, onGone, "\tif !mutated() && gone(err) && w.daemon != nil ", "log/daemon-restarted"),
	mutant.Instead("owner-in-plain", lineFile, "\tdefault:\n\t\treturn form{newline: true}\n",
		"\tdefault:\n\t\tif mutated() { return form{owner: name, newline: true} }\n\t\treturn form{newline: true}\n", "log/plain"),
	mutant.Before("no-owner-in-shared", lineFile, "\t\treturn form{owner: name, newline: true}\n", "if mutated() { return form{newline: true} }", "log/shared"),
	mutant.Before("one-priority-for-all", lineFile, "\tconst daemon = 3 << 3\n", "if mutated() { return 28 }", "log/syslog"),
	mutant.Before("a-record-in-two-writes", "supervise/program/log.go", writeLine,
		"if mutated() { _, _ = w.out.Write(line[:9]); line = line[9:] }", "log/one-write"),
	mutant.Before("values-as-they-come", lineFile, "\tif s == \"\" || strings.ContainsFunc(s, needsQuotes) ", "if mutated() { return s }", "log/no-forgery"),
	mutant.Instead("knows-no-levels", "supervise/program/log.go", "return level >= h.threshold }", "return level >= h.threshold || mutated() }", "log/level"),
	mutant.Instead("knows-no-components", "supervise/program/levels.go", "l.Components[component]; ok {", "l.Components[component]; ok && !mutated() {", "log/level-of-a-component"),
	mutant.Before("does-not-say-who-starts", mainFile, startLine, "if mutated() { c.Log.Info(\"begun\") }", "log/start"),
}

const (
	beforeOffered  = "\tnext, err := s.offered(req)\n"
	saysSwapped    = "unixhttp.WriteJSON(w, http.StatusOK, resultAnswer{Result: resultSwapped}); return"
	beforeOffer    = "\tapply := s.registered().apply\n"
	beforeDrained  = "\tunixhttp.WriteJSON(w, http.StatusOK, resultAnswer{Result: resultDrained})\n"
	decodesRequest = "\treq, err := decodeRequest[applyRequest](w, r)\n"
)

var controlMutants = []mutant.Mutant{
	mutant.Instead("null-for-an-empty-list", controlFile, "\tanswer.Waiting = append([]string{}, answer.Waiting...)\n",
		"if !mutated() { answer.Waiting = append([]string{}, answer.Waiting...) }\n", "control/ready"),
	mutant.Before("says-it-listens-where-it-does-not", "cmd/flor-coordinator/run.go", "\tc.OnReady(func() program.Readiness {\n",
		`if mutated() { listening = append(listening, "127.0.0.1:1") }`, "control/listens"),
	mutant.Instead("channel-for-everybody", controlFile, "unixhttp.Listen(s.socket, socketPerm)",
		"unixhttp.Listen(s.socket, map[bool]fs.FileMode{true: 0o666, false: socketPerm}[mutated()])", "control/private"),
	mutant.Before("any-path-is-good", unixhttpFile, "\t\tWriteError(w, http.StatusNotFound, unknownPath, ", "if mutated() { return }", "control/unknown-path"),
	mutant.Before("any-method-is-unknown", unixhttpFile, "\t\t\tWriteError(w, http.StatusMethodNotAllowed, wrongMethod, ",
		`if mutated() { WriteError(w, http.StatusNotFound, unknownPath, "no"); return }`, "control/wrong-method"),
	mutant.Before("bad-body-is-a-restart", controlFile, "\tunixhttp.WriteError(w, http.StatusBadRequest, \"FL2508\", err.Error())\n",
		"if mutated() { unixhttp.WriteJSON(w, http.StatusOK, resultAnswer{Result: resultRestart}); return }", "control/bad-body"),
	mutant.Instead("body-without-limit", controlFile, "http.MaxBytesReader(w, r.Body, maxRequest)",
		"http.MaxBytesReader(w, r.Body, map[bool]int64{true: 1 << 30, false: maxRequest}[mutated()])", "control/large-body"),
	mutant.Before("knows-no-dry-run", controlFile, beforeOffer, `if mutated() && req.DryRun { return false, errors.New("dry") }`, "control/dry-run"),
	mutant.Before("ends-at-an-offer", controlFile, beforeOffer, `if mutated() && !req.DryRun { os.Exit(0) }`, "control/apply"),
	mutant.Before("swaps-to-nothing", controlFile, beforeOffered,
		"if _, err := os.Stat(req.MgmtArtifact); mutated() && err != nil { "+saysSwapped+" }", "control/apply-missing"),
	mutant.Before("swaps-to-what-is-broken", controlFile, beforeOffered,
		"if _, err := os.Stat(req.MgmtArtifact); mutated() && err == nil { if _, err := ReadArtifact(req.MgmtArtifact); err != nil { "+saysSwapped+" } }",
		"control/apply-broken"),
	mutant.Before("swaps-to-what-is-not-its-own", controlFile, beforeOffered,
		"if a, err := ReadArtifact(req.MgmtArtifact); mutated() && err == nil && a.Name != s.workload { "+saysSwapped+" }", "control/apply-foreign"),
	mutant.Before("swaps-to-everything", controlFile, beforeOffer, "if mutated() && !req.DryRun { return true, nil }", "control/apply-unservable"),
	mutant.Before("drains-in-other-words", controlFile, beforeDrained,
		`if mutated() { unixhttp.WriteJSON(w, http.StatusOK, resultAnswer{Result: "done"}); return }`, "control/drain"),
	mutant.Before("one-client-at-a-time", controlFile, decodesRequest, "if mutated() { s.mu.Lock(); defer s.mu.Unlock() }", "control/idle-client"),
	mutant.Instead("counters-in-an-older-form", "supervise/program/metrics/metrics.go", "promhttp.HandlerOpts{EnableOpenMetrics: true}",
		"promhttp.HandlerOpts{EnableOpenMetrics: !mutated()}", "metrics/text"),
}
