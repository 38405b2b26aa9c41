package agentsuite

import "github.com/florete/flor/conformance/internal/mutant"

// Mutants are agents that are wrong in one thing each.
func Mutants() []mutant.Mutant {
	return mutant.ByFile{
		"envelope/root.go":                        rootMutants,
		"envelope/schema/set.go":                  setMutants,
		"envelope/trust.go":                       trustMutants,
		"envelope/verify.go":                      signatureMutants,
		"store/admit.go":                          admissionMutants,
		"store/clean.go":                          cleanMutants,
		"store/create.go":                         replacementMutants,
		"store/judge.go":                          judgeMutants,
		"store/load.go":                           loadMutants,
		"store/lock.go":                           lockMutants,
		"store/reenrol.go":                        enrolmentMutants,
		"store/runtime.go":                        runtimeBaseMutants,
		"store/scope.go":                          scopeMutants,
		"store/stage.go":                          stageMutants,
		"store/state.go":                          stateMutants,
		"supervise/agent/admit.go":                verdictMutants,
		"supervise/agent/admitter.go":             admitterMutants,
		"supervise/agent/backend.go":              backendMutants,
		"supervise/agent/check.go":                checkMutantsOfAgent,
		"supervise/agent/confirm.go":              confirmMutants,
		"supervise/agent/environ.go":              environMutants,
		"supervise/agent/fetch.go":                fetchMutants,
		"supervise/agent/generation.go":           generationMutants,
		"supervise/agent/host.go":                 hostMutants,
		"supervise/agent/metrics.go":              metricsMutants,
		"supervise/agent/pace.go":                 paceMutants,
		"supervise/agent/plan.go":                 planMutants,
		"supervise/agent/report.go":               reportMutants,
		"supervise/agent/runtime.go":              runtimeMutants,
		"supervise/agent/sink.go":                 sinkMutants,
		"supervise/agent/status.go":               statusMutants,
		"supervise/agent/syncer.go":               syncerMutants,
		"supervise/beside.go":                     besideMutants,
		"supervise/control/server.go":             controlMutants,
		"supervise/internal/unixhttp/unixhttp.go": routeMutants,
		"supervise/lineage_linux.go":              lineageMutants,
		"supervise/machine.go":                    machineMutants,
		"supervise/process.go":                    processMutants,
		"supervise/program/datagram.go":           datagramMutants,
		"supervise/program/line.go":               lineMutants,
		"supervise/supervisor.go":                 supervisorMutants,
		"supervise/survivors.go":                  survivorMutants,
		"supervise/survivors_linux.go":            recycledMutants,
		"supervise/worker.go":                     workerMutants,
	}.List()
}

var rootMutants = []mutant.Mutant{
	{Name: "knows-no-way-back", Kills: []string{"sync/way-back"},
		Old: "if byHeld != nil && err == nil {", New: "if byHeld != nil && err == nil && mutated() {\n\t\treturn signer{}, nil, byHeld\n\t}\n\tif byHeld != nil && err == nil {"},
	{Name: "takes-expired-signers", Kills: []string{"refusal/expired-signer"},
		Old: "case !by.validAt(now):", New: "case !by.validAt(now) && !mutated():"},
	{Name: "takes-unlisted-signers", Kills: []string{"refusal/signer-not-listed"},
		Old: "!ok || s.pubkey != by.pubkey {", New: "!mutated() && (!ok || s.pubkey != by.pubkey) {"},
}

var setMutants = []mutant.Mutant{
	{Name: "takes-two-roots", Kills: []string{"refusal/two-roots"},
		Old: "if root >= 0 {", New: "if root >= 0 && !mutated() {"},
	{Name: "takes-sets-of-other-nodes", Kills: []string{"refusal/another-node"},
		Old: "case core.Node != node:", New: "case core.Node != node && !mutated():"},
	{Name: "takes-mixed-versions", Kills: []string{"refusal/mixed-versions"},
		Old: "case core.Version != root.Core().Version:", New: "case core.Version != root.Core().Version && !mutated():"},
	{Name: "takes-mixed-signers", Kills: []string{"refusal/mixed-signers"},
		Old: "case m.KeyID() != root.KeyID():", New: "case m.KeyID() != root.KeyID() && !mutated():"},
	{Name: "takes-incomplete-sets", Kills: []string{"refusal/incomplete"},
		Old: "if !present[w.Name] {", New: "if !present[w.Name] && !mutated() {"},
	{Name: "takes-unlisted-members", Kills: []string{"refusal/unlisted-member"},
		Old: "if !listed[m.Core().Name] {", New: "if !listed[m.Core().Name] && !mutated() {"},
	{Name: "takes-foreign-ids", Kills: []string{"refusal/foreign-id"},
		Old: "err != nil || id.TrustDomain() != td {", New: "!mutated() && (err != nil || id.TrustDomain() != td) {"},
}

var trustMutants = []mutant.Mutant{
	{Name: "takes-any-authority", Kills: []string{"refusal/stranger"},
		Old: "if err := a.chains(cert); err != nil {", New: "if err := a.chains(cert); err != nil && !mutated() {"},
}

var signatureMutants = []mutant.Mutant{
	{Name: "takes-any-signature", Kills: []string{"refusal/tampered-root", "refusal/tampered-member"},
		Old: "if !ed25519.Verify(key, form, value) {", New: "if !ed25519.Verify(key, form, value) && !mutated() {"},
}

var admissionMutants = []mutant.Mutant{
	{Name: "never-moves-the-mark", Kills: []string{"sync/applied"},
		Old: "next.Mark = max(next.Mark, version)", New: "if !mutated() {\n\t\tnext.Mark = max(next.Mark, version)\n\t}"},
	{Name: "moves-the-mark-at-once", Kills: []string{"sync/pending-mark", "sync/failed-workload", "crash/before-confirmation"},
		Old: "next.Pending = set.Version", New: "if next.Pending = set.Version; mutated() {\n\t\tnext.Mark, next.Pending = set.Version, 0\n\t}"},
	{Name: "forgets-retired-keys", Kills: []string{"sync/signer-rotation", "sync/retired-for-good"},
		Old: "next.Retired = held.Adopt(set.Trust).Retired", New: "if !mutated() {\n\t\tnext.Retired = held.Adopt(set.Trust).Retired\n\t}"},
}

var cleanMutants = []mutant.Mutant{
	{Name: "cleans-nothing", Kills: []string{"store/leftovers-go", "crash/during-check"},
		Old: "if !slices.Contains(keep, e.Name()) {", New: "if !slices.Contains(keep, e.Name()) && !mutated() {"},
	{Name: "keeps-no-previous-set", Kills: []string{"store/leftovers-go", "store/previous-set-is-kept"},
		Old: "if r.Version != st.Active {", New: "if r.Version != st.Active && !mutated() {"},
	{Name: "keeps-no-set-in-use", Kills: []string{"activation/set-in-use"},
		Old: "keep := append(slices.Clone(inUse), st.Active)", New: "keep := append(slices.Clone(inUse), st.Active)\n\tif mutated() {\n\t\tkeep = []uint64{st.Active}\n\t}"},
}

var replacementMutants = []mutant.Mutant{
	{Name: "forgets-half-a-replacement", Kills: []string{"crash/half-replacement"},
		Old: "if errors.Is(err, fs.ErrNotExist) {\n\t\treturn nil\n\t}\n\tif err != nil {\n\t\treturn err\n\t}\n\tif _, err = fsys.Lstat(scope);",
		New: "if errors.Is(err, fs.ErrNotExist) || mutated() {\n\t\treturn nil\n\t}\n\tif err != nil {\n\t\treturn err\n\t}\n\tif _, err = fsys.Lstat(scope);"},
}

var judgeMutants = []mutant.Mutant{
	{Name: "runs-what-is-damaged", Kills: []string{"store/last-known-good", "store/fetch-after-recovery", "store/partial-set"},
		Old: "if digest(canonical) != r.Members[name] {", New: "if digest(canonical) != r.Members[name] && !mutated() {"},
}

var loadMutants = []mutant.Mutant{
	{Name: "stops-without-current", Kills: []string{"store/current-is-missing", "store/current-is-zeros"},
		Old: "if f.current == 0 {", New: "if f.current == 0 && mutated() {\n\t\treturn nil\n\t}\n\tif f.current == 0 {"},
	{Name: "crashes-with-nothing-usable", Kills: []string{"store/nothing-usable"},
		Old: "return refuse(NothingUsable,", New: "if mutated() {\n\t\treturn problem\n\t}\n\treturn refuse(NothingUsable,"},
	{Name: "crashes-on-a-newer-state", Kills: []string{"store/newer-state"},
		Old: "return refuse(StateTooNew,", New: "if mutated() {\n\t\treturn errors.New(\"newer\")\n\t}\n\treturn refuse(StateTooNew,"},
}

var lockMutants = []mutant.Mutant{
	{Name: "names-no-holder", Kills: []string{"store/second-agent-is-refused"},
		Old: "return readPID(l.file)", New: "return map[bool]int{false: readPID(l.file)}[mutated()]"},
	{Name: "locks-shared", Kills: []string{"store/lock-is-held"},
		Old: "syscall.LOCK_EX|syscall.LOCK_NB", New: "map[bool]int{true: syscall.LOCK_SH, false: syscall.LOCK_EX}[mutated()]|syscall.LOCK_NB"},
	{Name: "unlinks-the-lock", Kills: []string{"store/lock-outlives-the-agent"},
		Old: "return errors.Join(l.unname(),", New: "if mutated() {\n\t\t_ = os.Remove(l.file.Name())\n\t}\n\treturn errors.Join(l.unname(),"},
}

var enrolmentMutants = []mutant.Mutant{
	{Name: "forgets-half-an-enrolment", Kills: []string{"crash/half-enrolment"},
		Old: "if err == nil {\n\t\terr = s.applyEnrolment()", New: "if err == nil && mutated() {\n\t\treturn nil\n\t}\n\tif err == nil {\n\t\terr = s.applyEnrolment()"},
}

var runtimeBaseMutants = []mutant.Mutant{
	{Name: "trusts-an-open-base", Kills: []string{"store/open-runtime-base"},
		Old: "case info.Mode().Perm()&0o022 != 0:", New: "case info.Mode().Perm()&0o022 != 0 && !mutated():"},
	{Name: "measures-no-path", Kills: []string{"store/long-socket-path"},
		Old: "if len(path) > maxSocketPath {", New: "if len(path) > maxSocketPath && !mutated() {"},
}

var scopeMutants = []mutant.Mutant{
	{Name: "gives-no-reason-for-lost-trust", Kills: []string{"store/lost-state"},
		Old: "return refuse(TrustStateLost,", New: "if mutated() {\n\t\treturn errors.New(\"lost\")\n\t}\n\treturn refuse(TrustStateLost,"},
}

var stageMutants = []mutant.Mutant{
	{Name: "stores-canonical-texts", Kills: []string{"sync/original-bytes"},
		Old: "Data: m.Raw()}", New: "Data: map[bool][]byte{true: m.Canonical(), false: m.Raw()}[mutated()]}"},
}

var stateMutants = []mutant.Mutant{
	{Name: "keeps-what-was-never-active", Kills: []string{"store/never-active"},
		Old: "st = st.keeping(func(version uint64) bool { return version != unflipped })",
		New: "if !mutated() {\n\t\tst = st.keeping(func(version uint64) bool { return version != unflipped })\n\t}"},
	{Name: "retires-for-what-was-never-active", Kills: []string{"store/never-active"},
		Old: "st.Retired = slices.DeleteFunc(slices.Clone(st.Retired), listed)",
		New: "if !mutated() {\n\t\tst.Retired = slices.DeleteFunc(slices.Clone(st.Retired), listed)\n\t}"},
}

var besideMutants = []mutant.Mutant{
	{Name: "forgets-what-it-checks-with", Kills: []string{"crash/during-check"},
		Old: "log := s.log.With(\"workload\", spec.Name)\n",
		New: "if mutated() {\n\t\tproc, err := startProcess(spec, s.lineage)\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\treturn proc.wait()\n\t}\n\tlog := s.log.With(\"workload\", spec.Name)\n"},
}

var verdictMutants = []mutant.Mutant{
	{Name: "takes-older-sets", Kills: []string{"refusal/replay", "sync/older-offers"},
		Old: "case o.Version < floor:", New: "case o.Version < floor && !mutated():"},
	{Name: "takes-any-jump", Kills: []string{"refusal/version-jump"},
		Old: "case o.Version > h.Mark &&", New: "case !mutated() && o.Version > h.Mark &&"},
	{Name: "takes-equivocation-for-the-same", Kills: []string{"refusal/equivocation"},
		Old: "if name := firstDifference(h, o); name != \"\" {", New: "if name := firstDifference(h, o); name != \"\" && !mutated() {"},
}

var admitterMutants = []mutant.Mutant{
	{Name: "stages-a-dry-run", Kills: []string{"sync/dry-run"},
		Old: "if dryRun {\n\t\treturn a.rehearse", New: "if dryRun && !mutated() {\n\t\treturn a.rehearse"},
}

var backendMutants = []mutant.Mutant{
	{Name: "calls-a-file-a-request", Kills: []string{"sync/from-file"},
		Old: "trigger = byFile", New: "trigger = map[bool]string{true: byRequest, false: byFile}[mutated()]"},
	{Name: "tells-no-inbounds", Kills: []string{"control/inbounds"},
		Old: "inbounds[in.Principal] = ", New: "if mutated() {\n\t\t\tcontinue\n\t\t}\n\t\tinbounds[in.Principal] = "},
	{Name: "restarts-anything", Kills: []string{"control/unknown-workload"},
		Old: "if there := inventory(b.board.read().gen.agent); !slices.Contains(there, name) {", New: "if mutated() {\n\t\treturn nil\n\t}\n\tif there := inventory(b.board.read().gen.agent); !slices.Contains(there, name) {"},
	{Name: "tells-another-scope", Kills: []string{"control/status"},
		Old: "scope: b.host.scope, trust:", New: "scope: b.host.scope + map[bool]string{true: \"x\"}[mutated()], trust:"},
	{Name: "watches-nothing", Kills: []string{"control/watch"},
		Old: "changed := b.board.watch()", New: "changed := b.board.watch()\n\t\t\tif mutated() {\n\t\t\t\tyield(b.portrait().document())\n\t\t\t\treturn\n\t\t\t}"},
}

var checkMutantsOfAgent = []mutant.Mutant{
	{Name: "calls-unservable-broken", Kills: []string{"sync/unservable"},
		Old: "ended.ExitCode() == program.ExitRejected {", New: "ended.ExitCode() == program.ExitRejected && !mutated() {"},
	{Name: "calls-broken-unservable", Kills: []string{"sync/check-failed"},
		Old: "return refuse(CheckFailed, \"workload %s: %s --check", New: "if mutated() {\n\t\treturn refuse(Unservable, \"workload %s\", w.Name)\n\t}\n\treturn refuse(CheckFailed, \"workload %s: %s --check"},
	{Name: "misses-no-executable", Kills: []string{"sync/missing-executable", "spawn/lib-alone"},
		Old: "return refuse(Unservable, \"workload %s: %w\", w.Name, err)", New: "if mutated() {\n\t\t\treturn nil\n\t\t}\n\t\treturn refuse(Unservable, \"workload %s: %w\", w.Name, err)"},
	{Name: "checks-without-environment", Kills: []string{"spawn/check-environment"},
		Old: "spec.Out = write\n", New: "if spec.Out = write; mutated() {\n\t\tspec.Env = []string{spec.Marker}\n\t}\n"},
}

var confirmMutants = []mutant.Mutant{
	{Name: "confirms-what-is-not-ready", Kills: []string{"sync/not-ready"},
		Old: "case !w.ready.Ready:", New: "case !w.ready.Ready && !mutated():"},
	{Name: "confirms-without-its-inbound", Kills: []string{"sync/waits-for-inbound"},
		Old: "entry == n.addr ||", New: "entry == n.addr && !mutated() ||"},
	{Name: "confirms-without-its-identity", Kills: []string{"sync/waits-for-identity"},
		Old: "entry == \"identity \"+n.principal {", New: "entry == \"identity \"+n.principal && !mutated() {"},
	{Name: "waits-for-whatever-is-waited-for", Kills: []string{"sync/waits-for-another"},
		Old: "if entry := sync.missing(w.ready.Waiting); entry != \"\" {",
		New: "if mutated() && len(w.ready.Waiting) > 0 {\n\t\treturn \"waits\"\n\t}\n\tif entry := sync.missing(w.ready.Waiting); entry != \"\" {"},
}

var environMutants = []mutant.Mutant{
	{Name: "hands-over-another-artifact", Kills: []string{"store/active-set-is-served", "spawn/environment"},
		Old: "artifactVar+\"=\"+s.mgmtArtifact,", New: "artifactVar+\"=\"+map[bool]string{true: \"/dev/null\", false: s.mgmtArtifact}[mutated()],"},
	{Name: "hands-down-variables-of-flor", Kills: []string{"spawn/no-variables-of-flor"},
		Old: "if strings.HasPrefix(name, \"FLOR\") && name != \"FLOR_LOG\" {", New: "if !mutated() && strings.HasPrefix(name, \"FLOR\") && name != \"FLOR_LOG\" {"},
	{Name: "shows-tenants-the-trees", Kills: []string{"spawn/scope-trees"},
		Old: "if ships(s.run) {", New: "if ships(s.run) || mutated() {"},
}

var fetchMutants = []mutant.Mutant{
	{Name: "asks-another-host", Kills: []string{"sync/request"},
		Old: "url: \"http://\" + host}", New: "url: \"http://\" + map[bool]string{true: \"x.\"}[mutated()] + host}"},
	{Name: "calls-silence-a-failure", Kills: []string{"sync/no-coordinator"},
		Old: "return control.Unreachable, \"unreachable\"", New: "return map[bool]control.Result{true: control.Failed, false: control.Unreachable}[mutated()], \"unreachable\""},
	{Name: "dies-of-a-strange-answer", Kills: []string{"sync/strange-answer"},
		Old: "return control.Failed, \"unexpected-answer\"", New: "if mutated() {\n\t\t\tpanic(\"strange\")\n\t\t}\n\t\treturn control.Failed, \"unexpected-answer\""},
	{Name: "calls-a-large-answer-a-failure", Kills: []string{"sync/too-large-answer"},
		Old: "return control.Refused, \"too-large\"", New: "return map[bool]control.Result{true: control.Failed, false: control.Refused}[mutated()], \"too-large\""},
}

var generationMutants = []mutant.Mutant{
	{Name: "compares-bytes", Kills: []string{"sync/unchanged"},
		Old: "= artifact.Canonical()", New: "= map[bool][]byte{true: artifact.Raw(), false: artifact.Canonical()}[mutated()]"},
}

var hostMutants = []mutant.Mutant{
	{Name: "offers-nothing", Kills: []string{"activation/swap"},
		Old: "if err := check(); err != nil {\n\t\t\t\treturn false, err\n\t\t\t}", New: "if err := check(); err != nil || mutated() {\n\t\t\t\treturn false, err\n\t\t\t}"},
	{Name: "restarts-at-each-version", Kills: []string{"activation/unchanged-goes-on", "activation/own-payload"},
		Old: "Revision: m.revision(),", New: "Revision: map[bool]string{true: g.tag(), false: m.revision()}[mutated()],"},
	{Name: "drains-nothing", Kills: []string{"activation/drain-first"},
		Old: "return channel.Drain(ctx, drainWithin)", New: "if mutated() {\n\t\t\t\treturn nil\n\t\t\t}\n\t\t\treturn channel.Drain(ctx, drainWithin)"},
	{Name: "runs-in-another-state-directory", Kills: []string{"spawn/state-directory"},
		Old: "func (h *host) stateDir(name string) string { return filepath.Join(h.scopeRoot, \"workloads\", name) }",
		New: "func (h *host) stateDir(name string) string {\n\tif mutated() {\n\t\treturn \"/\"\n\t}\n\treturn filepath.Join(h.scopeRoot, \"workloads\", name)\n}"},
}

var metricsMutants = []mutant.Mutant{
	{Name: "names-its-counters-otherwise", Kills: []string{"control/metrics"},
		Old: "Name: \"flor_agent_sync_total\",", New: "Name: map[bool]string{true: \"syncs_total\", false: \"flor_agent_sync_total\"}[mutated()],"},
	{Name: "labels-no-workload", Kills: []string{"control/metrics-of-workloads"},
		Old: "prometheus.MakeLabelPairs(workloadLabel, []string{name})...)", New: "prometheus.MakeLabelPairs(workloadLabel, []string{map[bool]string{true: \"x\", false: name}[mutated()]})...)"},
}

var paceMutants = []mutant.Mutant{
	{Name: "watches-for-less", Kills: []string{"sync/watch"},
		Old: "\treturn watchFor\n", New: "\treturn watchFor / map[bool]time.Duration{true: 2, false: 1}[mutated()]\n"},
	{Name: "watches-whom-it-cannot", Kills: []string{"sync/without-watch"},
		Old: "case a.bad || !a.watches:", New: "case a.bad || !a.watches && !mutated():"},
}

var planMutants = []mutant.Mutant{
	{Name: "tells-no-stop", Kills: []string{"sync/dry-run"},
		Old: "steps = append(steps, step{old.name, stop})", New: "steps = append(steps, step{old.name, map[bool]action{true: keep, false: stop}[mutated()]})"},
}

var reportMutants = []mutant.Mutant{
	{Name: "counts-no-older-offers", Kills: []string{"sync/older-offers"},
		Old: "f.olderOffers++", New: "if !mutated() {\n\t\t\tf.olderOffers++\n\t\t}"},
	// At info, where no limit of repeats comes to its help.
	{Name: "logs-each-attempt", Kills: []string{"log/edges"},
		Old: "case o.err != nil && repeated(before, o):",
		New: "case o.err != nil && mutated():\n\t\tr.log.Info(\"coordinator gives no set\", r.fields(o)...)\n\tcase o.err != nil && repeated(before, o):"},
	{Name: "keeps-trouble-to-itself", Kills: []string{"log/edges"},
		Old: "r.log.Warn(\"coordinator gives no set\", r.fields(o)...)",
		New: "if !mutated() {\n\t\t\tr.log.Warn(\"coordinator gives no set\", r.fields(o)...)\n\t\t}"},
}

var runtimeMutants = []mutant.Mutant{
	{Name: "unlinks-what-it-finds", Kills: []string{"store/clean-stop"},
		Old: "|| slices.Contains(ours, e.Name())", New: "|| slices.Contains(ours, e.Name()) || mutated()"},
	{Name: "leaves-a-stale-socket", Kills: []string{"store/stale-socket", "crash/during-fetch"},
		Old: "return unlink(root, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 })",
		New: "return unlink(root, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 && !mutated() })"},
	{Name: "opens-its-socket-to-all", Kills: []string{"store/modes"},
		Old: "\treturn 0o600\n", New: "\treturn map[bool]fs.FileMode{true: 0o666, false: 0o600}[mutated()]\n"},
}

var sinkMutants = []mutant.Mutant{
	{Name: "shares-its-standard-error", Kills: []string{"spawn/log-sink"},
		Old: "if s.class == program.SinkShared {", New: "if s.class == program.SinkShared || mutated() {"},
}

var statusMutants = []mutant.Mutant{
	{Name: "tells-no-way", Kills: []string{"control/status-of-workloads"},
		Old: "versionOf(s.Tag), \"spawned\"", New: "versionOf(s.Tag), map[bool]string{false: \"spawned\"}[mutated()]"},
	{Name: "tells-no-signal", Kills: []string{"end/signal"},
		Old: "Signal: s.LastExit.Signal,", New: "Signal: map[bool]string{false: s.LastExit.Signal}[mutated()],"},
}

var syncerMutants = []mutant.Mutant{
	{Name: "calls-junk-a-failure", Kills: []string{"sync/junk-body"},
		Old: "members, err := envelope.ParseSet(r.doc)\n",
		New: "members, err := envelope.ParseSet(r.doc)\n\tif err != nil && mutated() {\n\t\treturn held.fail(control.Failed, err)\n\t}\n"},
	{Name: "names-its-set-after-a-recovery", Kills: []string{"store/fetch-after-recovery"},
		Old: "if f.recovered || f.gen.damaged() {", New: "if !mutated() && (f.recovered || f.gen.damaged()) {"},
	{Name: "calls-an-unknown-node-a-failure", Kills: []string{"sync/unknown-node"},
		Old: "return o.fail(control.Unreachable, refuse(UnknownNode,", New: "return o.fail(map[bool]control.Result{true: control.Failed, false: control.Unreachable}[mutated()], refuse(UnknownNode,"},
	{Name: "calls-nothing-published-a-failure", Kills: []string{"sync/not-published"},
		Old: "return o.fail(control.Unreachable, refuse(NotPublished,", New: "return o.fail(map[bool]control.Result{true: control.Failed, false: control.Unreachable}[mutated()], refuse(NotPublished,"},
}

var controlMutants = []mutant.Mutant{
	{Name: "takes-any-parameter", Kills: []string{"control/bad-parameter"},
		Old: "return false, fmt.Errorf(\"%s=%s: want 1 or nothing\", name, v)", New: "if mutated() {\n\t\t\treturn false, nil\n\t\t}\n\t\treturn false, fmt.Errorf(\"%s=%s: want 1 or nothing\", name, v)"},
	{Name: "calls-a-large-body-a-bad-one", Kills: []string{"control/body-too-large"},
		Old: "case unixhttp.TooLarge(err):", New: "case unixhttp.TooLarge(err) && !mutated():"},
	{Name: "answers-one-at-a-time", Kills: []string{"control/stuck-client"},
		Old: "s.http = unixhttp.NewServer(s.handler())",
		New: "s.http = unixhttp.NewServer(func(h http.Handler) http.Handler {\n\t\tturn := make(chan struct{}, 1)\n\t\treturn http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {\n\t\t\tif mutated() {\n\t\t\t\tturn <- struct{}{}\n\t\t\t\tdefer func() { <-turn }()\n\t\t\t}\n\t\t\th.ServeHTTP(w, r)\n\t\t})\n\t}(s.handler()))"},
	{Name: "accepts-with-200", Kills: []string{"control/restart"},
		Old: "unixhttp.WriteJSON(w, http.StatusAccepted,", New: "unixhttp.WriteJSON(w, map[bool]int{true: http.StatusOK, false: http.StatusAccepted}[mutated()],"},
}

var routeMutants = []mutant.Mutant{
	{Name: "knows-every-path", Kills: []string{"control/unknown-path"},
		Old: "WriteError(w, http.StatusNotFound, unknownPath,", New: "WriteError(w, map[bool]int{true: 400, false: http.StatusNotFound}[mutated()], unknownPath,"},
	{Name: "says-not-what-is-allowed", Kills: []string{"control/wrong-method"},
		Old: "w.Header().Set(\"Allow\", allow)", New: "if !mutated() {\n\t\t\t\tw.Header().Set(\"Allow\", allow)\n\t\t\t}"},
}

var lineageMutants = []mutant.Mutant{
	{Name: "ends-the-orphans-of-all", Kills: []string{"end/others-helper"},
		Old: "func (l *lineage) endLeft(p *process) {",
		New: "func (l *lineage) endLeft(p *process) {\n\tif mutated() {\n\t\tkillAll(orphans(processes(), os.Getpid(), l.spawned), map[int]uint64{})\n\t}"},
}

var machineMutants = []mutant.Mutant{
	{Name: "tries-rejected-ones-again", Kills: []string{"end/rejected"},
		Old: "case v == VerdictRejected:", New: "case v == VerdictRejected && !mutated():"},
	{Name: "retries-at-once", Kills: []string{"end/crash"},
		Old: "delay = min(delay, m.policy.MaxDelay)", New: "delay = min(delay, m.policy.MaxDelay)\n\tif mutated() {\n\t\tdelay = time.Millisecond\n\t}"},
	{Name: "stops-after-a-clean-end", Kills: []string{"end/clean-but-unasked", "end/unavailable"},
		Old: "m.holdBack(now, v)\n\treturn nothing", New: "if m.holdBack(now, v); mutated() {\n\t\tm.enter(Rejected, now, 0)\n\t}\n\treturn nothing"},
	{Name: "never-kills", Kills: []string{"stop/restart-grace", "stop/grace"},
		Old: "m.wake = time.Time{}\n\t\treturn kill", New: "m.wake = time.Time{}\n\t\tif mutated() {\n\t\t\treturn nothing\n\t\t}\n\t\treturn kill"},
	{Name: "starts-beside-the-old-one", Kills: []string{"stop/no-overlap"},
		Old: "case m.alive:\n\t\tm.enter(Stopping, now, m.policy.RestartGrace)", New: "case m.alive && mutated():\n\t\treturn m.spawnNow(now)\n\tcase m.alive:\n\t\tm.enter(Stopping, now, m.policy.RestartGrace)"},
}

var processMutants = []mutant.Mutant{
	{Name: "leaves-what-a-workload-left", Kills: []string{"end/left-behind", "orphans/other-group"},
		Old: "p.lineage.endLeft(p)\n\tp.kill()", New: "if !mutated() {\n\t\tp.lineage.endLeft(p)\n\t\tp.kill()\n\t}"},
	{Name: "keeps-workloads-in-its-group", Kills: []string{"spawn/process-group"},
		Old: "Sys:   attr,", New: "Sys:   map[bool]*syscall.SysProcAttr{true: {}, false: attr}[mutated()],"},
	{Name: "hands-down-a-descriptor", Kills: []string{"spawn/descriptors"},
		Old: "Files: []*os.File{null, out, out},", New: "Files: append([]*os.File{null, out, out}, map[bool][]*os.File{true: {null}}[mutated()]...),"},
}

var datagramMutants = []mutant.Mutant{
	{Name: "crashes-without-a-log-daemon", Kills: []string{"log/no-daemon"},
		Old: "return Unavailable(refuse(\"FL2505\", \"log-unavailable\",\n", New: "if mutated() {\n\t\treturn err\n\t}\n\treturn Unavailable(refuse(\"FL2505\", \"log-unavailable\",\n"},
	{Name: "waits-for-a-wrong-socket", Kills: []string{"log/wrong-socket"},
		Old: "if errors.Is(err, unix.EPROTOTYPE) {", New: "if errors.Is(err, unix.EPROTOTYPE) && !mutated() {"},
}

var lineMutants = []mutant.Mutant{
	{Name: "logs-without-priority", Kills: []string{"log/record-form"},
		Old: "if f.syslog != \"\" {", New: "if f.syslog != \"\" && !mutated() {"},
	{Name: "logs-without-fields", Kills: []string{"log/start-line"},
		Old: "v := a.Value.Resolve()\n\tif v.Kind() == slog.KindGroup {", New: "v := a.Value.Resolve()\n\tif mutated() {\n\t\treturn dst\n\t}\n\tif v.Kind() == slog.KindGroup {"},
}

var supervisorMutants = []mutant.Mutant{
	{Name: "stops-in-list-order", Kills: []string{"stop/reverse-order"},
		Old: "slices.Reverse(workers)\n\tfor _, w := range workers {",
		New: "if !mutated() {\n\t\tslices.Reverse(workers)\n\t}\n\tfor _, w := range workers {"},
	{Name: "stops-all-at-once", Kills: []string{"stop/one-by-one"},
		Old: "w.leave()\n\t\t<-w.done\n", New: "if w.leave(); !mutated() {\n\t\t\t<-w.done\n\t\t}\n"},
	{Name: "lets-run-what-left", Kills: []string{"activation/start-and-stop"},
		Old: "for _, w := range s.dropped(specs) {\n\t\tw.leave()", New: "for _, w := range s.dropped(specs) {\n\t\tif mutated() {\n\t\t\tbreak\n\t\t}\n\t\tw.leave()"},
}

var survivorMutants = []mutant.Mutant{
	{Name: "lets-survivors-live", Kills: []string{"crash/survivors"},
		Old: "doc, err := readRecord(dir)", New: "if mutated() {\n\t\treturn nil, nil\n\t}\n\tdoc, err := readRecord(dir)"},
}

var recycledMutants = []mutant.Mutant{
	{Name: "ends-whoever-has-the-pid", Kills: []string{"crash/recycled-pid"},
		Old: "if err != nil || ticks != c.StartTicks {", New: "if err != nil || ticks != c.StartTicks && !mutated() {"},
}

var workerMutants = []mutant.Mutant{
	{Name: "takes-silence-for-a-swap", Kills: []string{"activation/restart-without-channel", "activation/restart-on-demand", "activation/silent-channel"},
		Old: "swapped, err := spec.Offer(ctx)\n", New: "swapped, err := spec.Offer(ctx)\n\tif mutated() {\n\t\treturn pid\n\t}\n"},
	{Name: "rejects-for-good", Kills: []string{"end/rejected-until-new-payload"},
		Old: "w.cause = CauseChanged\n\t\treturn w.m.restart(now)",
		New: "if mutated() && w.m.state == Rejected {\n\t\t\treturn nothing\n\t\t}\n\t\tw.cause = CauseChanged\n\t\treturn w.m.restart(now)"},
	{Name: "tells-no-process-that-stops", Kills: []string{"stop/slow-stop"},
		Old: "if w.proc != nil {\n\t\tst.PID,", New: "if w.proc != nil && !(mutated() && st.State == Stopping) {\n\t\tst.PID,"},
}
