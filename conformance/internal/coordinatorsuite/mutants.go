package coordinatorsuite

import (
	"slices"

	"github.com/florete/flor/conformance/internal/mutant"
)

// Mutants are coordinators that are wrong in one thing each.
func Mutants() []mutant.Mutant {
	return slices.Concat(questionMutants, answerMutants, httpMutants, publishMutants, treeMutants, monotonicMutants,
		watchMutants, stateMutants, configMutants)
}

const (
	syncFile  = "relay/sync.go"
	oneNumber = "\tif given.times == 1 {\n"
)

// questionMutants read questions wrongly.
var questionMutants = []mutant.Mutant{
	mutant.Before("have-may-be-anything", syncFile, oneNumber,
		`if _, err := strconv.ParseUint(given.value, 10, 64); mutated() && name == "have" && err != nil { return 0, nil }`, "fetch/bad-have"),
	mutant.Before("wait-may-be-anything", syncFile, oneNumber,
		`if _, err := strconv.ParseUint(given.value, 10, 64); mutated() && name == "wait" && err != nil { return 0, nil }`, "fetch/bad-wait"),
	mutant.Before("zero-is-none", syncFile, oneNumber, `if mutated() && given.value == "0" { return 0, nil }`, "fetch/have-zero"),
	mutant.Before("zeros-may-lead", syncFile, oneNumber,
		`if n, err := strconv.ParseUint(given.value, 10, 64); mutated() && err == nil && n > 0 { return n, nil }`, "fetch/have-leading-zero"),
	mutant.Instead("have-without-end", syncFile, "n >= low && n <= high &&", "n >= low && (mutated() || n <= high) &&", "fetch/have-too-large"),
	mutant.Before("first-of-two-counts", syncFile, oneNumber, "if mutated() { given.times = min(given.times, 1) }", "fetch/have-twice"),
	mutant.Before("query-ends-at-a-fault", syncFile, "\t\treturn fetch{}, errors.New(\"the query is not escaped properly\")\n",
		"if mutated() { return fetch{node: node}, nil }", "fetch/bad-escape"),
	mutant.Before("any-name-will-do", syncFile, "\t\treturn fetch{}, fmt.Errorf(\"node: %w\", err)\n",
		`if mutated() && node != "" { return fetch{node: node}, nil }`, "fetch/bad-node"),
	mutant.Before("no-name-will-do", syncFile, "\t\treturn fetch{}, fmt.Errorf(\"node: %w\", err)\n",
		`if mutated() && node == "" { return fetch{node: "x"}, nil }`, "fetch/no-node"),
	mutant.Before("knows-no-escapes", syncFile, "\tnode, err := url.PathUnescape(escapedName)\n",
		`if mutated() { escapedName = strings.ReplaceAll(escapedName, "%61", "x") }`, "fetch/escaped-name"),
	mutant.Before("novel-is-bad", syncFile, "\tversion, haveErr := number(",
		`if mutated() && strings.Contains(rawQuery, "novel") { return fetch{}, errors.New("novel") }`, "fetch/other-parameters"),
	mutant.Instead("long-wish-is-bad", syncFile, `number(wait, "wait", 0, 1<<32)`,
		`number(wait, "wait", 0, map[bool]uint64{true: 3600, false: 1 << 32}[mutated()])`, "watch/long-wish"),
}

const (
	ofNode       = "\tset := s.tree.sets[f.node]\n"
	isUnknown    = "\tcase set == nil:\n"
	isSame       = "\tcase set.version == f.have:\n"
	beforeHold   = "\tif f.wait == 0 || now.status == http.StatusOK {\n"
	unknownPath  = "\tif !ok {\n\t\treturn answerNotFound\n"
	methodIsGood = "\tif req.Method != http.MethodGet && req.Method != http.MethodHead {\n"
)

// answerMutants answer good questions wrongly.
var answerMutants = []mutant.Mutant{
	mutant.Before("everybody-gets-the-first", syncFile, isUnknown, "case mutated() && set != nil: return s.tree.sets[s.tree.names[0]].served\n", "fetch/slice"),
	mutant.Before("older-is-not-modified", syncFile, isUnknown, "case mutated() && set != nil && f.have != 0 && f.have < set.version: return answerNotModified\n", "fetch/have-older"),
	mutant.Before("newer-is-not-modified", syncFile, isUnknown, "case mutated() && set != nil && f.have > set.version: return answerNotModified\n", "fetch/have-newer"),
	mutant.Before("same-is-served", syncFile, isUnknown, "case mutated() && set != nil && f.have == set.version: return set.served\n", "fetch/have-same"),
	mutant.Before("unknown-is-unpublished", syncFile, isUnknown, "case mutated() && set == nil: return answerUnpublished\n", "fetch/unknown-node"),
	mutant.Before("unknown-is-not-modified", syncFile, isUnknown, "case mutated() && set == nil && f.have != 0: return answerNotModified\n", "fetch/unknown-node-with-have"),
	mutant.Before("names-in-any-case", syncFile, ofNode, "if mutated() { f.node = strings.ToLower(f.node) }", "fetch/another-case"),
	mutant.Before("is-away-now-and-then", syncFile, isUnknown, "case mutated() && set != nil && set.version%2 == 0: return answerUnpublished\n", "publish/readers-see-whole-trees"),
	mutant.Before("every-wait-is-slept", syncFile, beforeHold, "if mutated() && f.wait > 0 { <-time.After(f.wait) }", "fetch/wait-when-there-is-news"),
	mutant.Before("zero-is-a-minute", syncFile, beforeHold, `if mutated() && f.wait == 0 && req.URL.Query().Has("wait") { f.wait = time.Minute }`, "fetch/wait-zero"),
	mutant.Instead("keeps-it-secret-that-it-waits", syncFile, "\t\tw.Header()[wire.WaitHeader] = waitCap\n",
		"if !mutated() { w.Header()[wire.WaitHeader] = waitCap }\n", "fetch/says-that-it-waits"),
	mutant.Before("unknown-path-is-a-node", syncFile, unknownPath, "if mutated() && !ok { return answerUnknownNode }", "http/unknown-path"),
	mutant.Before("knows-no-head", syncFile, methodIsGood, `if mutated() && req.Method == http.MethodHead { return methodNotAllowed("GET") }`, "http/head"),
	mutant.Before("minds-headers-of-caches", syncFile, methodIsGood, `if mutated() && req.Header.Get("If-None-Match") != "" { return answerNotModified }`, "http/unknown-headers"),
	mutant.Before("304-is-not-held", syncFile, beforeHold, "if mutated() && now.status == http.StatusNotModified { return now }", "watch/time-is-over"),
	mutant.Before("404-is-not-held", syncFile, beforeHold, "if mutated() && now.status == http.StatusNotFound { return now }", "watch/unknown-node", "watch/appears"),
	mutant.Before("503-is-not-held", syncFile, beforeHold, "if mutated() && now.status == http.StatusServiceUnavailable { return now }", "fresh/held"),
}

const (
	answerFile  = "relay/answer.go"
	beforeExtra = "\tif a.extra.name != \"\" {\n"
	mayServe    = "\theader := w.Header()\n"
)

// httpMutants are careless with HTTP.
var httpMutants = []mutant.Mutant{
	mutant.Instead("set-without-version", answerFile, beforeExtra, "\tif a.extra.name != \"\" && !(mutated() && a.extra.name == wire.VersionHeader) {\n", "fetch/set"),
	mutant.Before("closes-each-connection", answerFile, mayServe, `if mutated() { w.Header().Set("Connection", "close") }`, "http/keep-alive"),
	mutant.Before("says-gzip", answerFile, mayServe, `if mutated() && a.framed { w.Header().Set("Content-Encoding", "gzip") }`, "http/unasked-compression"),
	mutant.Instead("body-of-any-type", answerFile, "\t\theader[\"Content-Type\"] = jsonType\n", "header[\"Content-Type\"] = jsonType\nif mutated() { header.Set(\"Content-Type\", \"text/plain\") }\n", "http/content-type"),
	mutant.Instead("body-of-any-length", answerFile, "\t\theader[\"Content-Length\"] = a.length\n", "if !mutated() { header[\"Content-Length\"] = a.length }\n", "http/content-length"),
	mutant.Instead("may-be-stored", answerFile, "\theader[\"Cache-Control\"] = noStore\n", "if !mutated() { header[\"Cache-Control\"] = noStore }\n", "http/no-store"),
	mutant.Before("does-not-say-what-is-allowed", answerFile, "\treturn fault(http.StatusMethodNotAllowed, wire.MethodNotAllowed, \"\").with(\"Allow\", allow)\n",
		`if mutated() { return fault(http.StatusMethodNotAllowed, wire.MethodNotAllowed, "") }`, "http/wrong-method"),
	mutant.Before("makes-members-nice", answerFile, "\ta := withBody(http.StatusOK, \"set\", members)",
		`if mutated() { members = bytes.ReplaceAll(members, []byte("\t"), []byte(" ")) }`, "publish/bytes"),
	mutant.Before("writes-in-turn", "relay/relay.go", "\ta.write(w, req, &r.scratches)\n", "if mutated() { r.turn.Lock(); defer r.turn.Unlock() }", "http/slow-reader"),
	mutant.Instead("one-handler-for-both", "cmd/flor-coordinator/run.go", "relay.NewServer(r.PublishHandler(), c.Log), publish",
		`relay.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if h := r.PublishHandler(); mutated() && q.Method == http.MethodGet { r.SyncHandler().ServeHTTP(w, q) } else { h.ServeHTTP(w, q) }
		}), c.Log), publish`, "http/listeners-apart"),
	mutant.Before("does-not-say-when-to-come-again", answerFile, mayServe, `if mutated() && a == answerUnpublished { a = fault(http.StatusServiceUnavailable, wire.NotPublished, "") }`, "fresh/not-published"),
}

const (
	publishFile   = "relay/publish.go"
	reads         = "body.read(newPacedReader(w, req.Body), req.ContentLength, envelope.MaxSetPublish)"
	beforeRelease = "\tdefer body.release()\n"
	isRefused     = "\tif refused != nil {\n"
	nothingNew    = "\tif len(changed) == 0 {\n"
	beforeJudged  = "\tresult := published{nodes: len(offered.Nodes()), changed: changed}\n"
	beforeSwap    = "\tnext := State{Tree: offered, "
	beforeFault   = "\tif errors.As(err, &refusal) && refusal.Reason == TreeTooLarge {\n"
)

// publishMutants take publishes wrongly.
var publishMutants = []mutant.Mutant{
	mutant.Instead("reads-in-turn", publishFile, reads, "func() *answer { if mutated() { r.turn.Lock(); defer r.turn.Unlock() }; return "+reads+" }()", "http/slow-publisher"),
	mutant.Before("wants-a-length", publishFile, beforeRelease, `if mutated() && req.ContentLength < 0 { return fault(http.StatusLengthRequired, "length_required", "") }`, "publish/chunked"),
	mutant.Before("large-is-not-found", publishFile, isRefused, "if mutated() && refused != nil && refused.status == http.StatusRequestEntityTooLarge { return answerNotFound }", "gate/too-large"),
	mutant.Before("half-a-body-will-do", publishFile, isRefused, "if mutated() && refused != nil { refused = nil }", "publish/publisher-leaves"),
	mutant.Before("a-hundred-nodes-at-most", publishFile, beforeJudged, `if mutated() && len(offered.Nodes()) > 100 { return published{}, errors.New("too many") }`, "publish/200-nodes"),
	mutant.Instead("counts-one-too-many", publishFile, "published{nodes: len(offered.Nodes()), changed", "published{nodes: len(offered.Nodes()) + map[bool]int{true: 1}[mutated()], changed", "publish/nodes"),
	mutant.Before("same-is-a-conflict", publishFile, nothingNew, "if mutated() && len(changed) == 0 { return published{}, &ConflictError{Nodes: []Conflict{{}}} }", "publish/unchanged"),
	mutant.Before("departed-nodes-stay", publishFile, beforeSwap,
		"if mutated() && now.tree != nil { for n, set := range now.tree.sets { if offered.sets[n] == nil { offered.sets[n] = set } } }", "publish/whole"),
	mutant.Instead("answers-and-does-not-show", publishFile, "\tr.show(&snapshot{tree: next.Tree,", "if mutated() { return result, nil }\n\tr.show(&snapshot{tree: next.Tree,", "publish/accepted"),
	mutant.Before("wakes-for-the-same-tree", publishFile, nothingNew, "if mutated() && len(changed) == 0 { r.watches.wake(offered.Nodes()) }", "watch/same-tree"),
	mutant.Before("wakes-for-the-same-tree", watchFile, afterWoken, "if mutated() { select { case <-w.woken: return f.judge(r.now.Load()); case <-timer.C: return f.judge(r.now.Load()) } }"),
	mutant.Before("malformed-is-a-failure", publishFile, beforeFault, `if mutated() { return fault(http.StatusInternalServerError, "failed", "") }`,
		"gate/no-json", "gate/half", "gate/unknown-member", "gate/member-a-string", "gate/no-version", "gate/unsafe-name"),
	mutant.Before("not-stored-is-a-failure", publishFile, "\t\treturn fault(http.StatusInsufficientStorage, ", `if mutated() { return fault(http.StatusInternalServerError, "failed", "") }`, "restart/not-stored"),
}

const (
	treeFile   = "relay/tree.go"
	duplicates = "\tcase slices.Contains(g.folded, key):\n"
	planeCheck = "\tif core.Plane != envelope.Mgmt {\n"
	full       = "\tcase len(g.members) == envelope.MaxArtifacts:\n"
)

// treeMutants have holes in the structural gate.
var treeMutants = []mutant.Mutant{
	mutant.Before("empty-tree-is-a-tree", treeFile, "\t\t\treturn nil, documentError(err)\n",
		"if refusal := (*envelope.Refusal)(nil); mutated() && errors.As(err, &refusal) && refusal.Reason == envelope.EmptySet { return found, nil }", "gate/empty-tree"),
	mutant.Instead("last-of-two-versions-counts", "envelope/parse.go", "\tif name, twice := o.repeated(); twice {\n", "\tif name, twice := o.repeated(); twice && !mutated() {\n", "gate/version-twice"),
	mutant.Instead("ctrl-is-published-too", treeFile, planeCheck, "\tif core.Plane != envelope.Mgmt && !mutated() {\n", "gate/ctrl"),
	mutant.Before("knows-its-own-major-alone", treeFile, "\treturn core, nil\n", `if mutated() && !strings.HasPrefix(core.SchemaVersion, "1.") { return envelope.Core{}, &TreeError{Reason: MalformedArtifact, Err: errors.New("major")} }`, "publish/unknown-major"),
	mutant.Instead("needs-no-root", treeFile, "\tif !g.hasRoot {\n", "\tif !g.hasRoot && !mutated() {\n", "gate/no-root"),
	mutant.Instead("two-roots-are-fine", treeFile, duplicates, "\tcase slices.Contains(g.folded, key) && !(mutated() && core.Name == envelope.AgentName):\n", "gate/two-roots"),
	mutant.Instead("names-differ-by-case", treeFile, "\tkey := envelope.FoldName(core.Name)\n", "\tkey := envelope.FoldName(core.Name)\nif mutated() { key = core.Name }\n", "gate/name-twice-by-case"),
	mutant.Instead("nodes-differ-by-case", treeFile, "\tkey := envelope.FoldName(core.Node)\n", "\tkey := envelope.FoldName(core.Node)\nif mutated() { key = core.Node }\n", "gate/node-twice-by-case"),
	mutant.Instead("versions-may-differ", treeFile, "\tcase core.Version != g.version:\n", "\tcase core.Version != g.version && !mutated():\n", "gate/two-versions"),
	mutant.Before("one-artifact-less", treeFile, full, `case mutated() && len(g.members) == envelope.MaxArtifacts-1: return &TreeError{Reason: TooManyArtifacts, Err: errors.New("255")}`, "gate/256-artifacts"),
	mutant.Instead("any-number-of-artifacts", treeFile, full, "\tcase len(g.members) == envelope.MaxArtifacts && !mutated():\n", "gate/257-artifacts"),
	mutant.Before("a-large-member-is-a-crash", treeFile, "\tif size := len(m.Text()); ", `if mutated() && len(m.Text()) > envelope.MaxEnvelope { panic("large") }`, "gate/large-member"),
	mutant.Instead("any-size-of-a-node", treeFile, "size > envelope.MaxSetFetch {", "size > envelope.MaxSetFetch && !mutated() {", "gate/large-node"),
	mutant.Before("order-counts", treeFile, "\treturn s.version == o.version && slices.EqualFunc(", "if mutated() { return bytes.Equal(s.served.body, o.served.body) }", "publish/unchanged-in-another-order"),
	mutant.Instead("white-space-does-not-count", treeFile, "bytes.Equal(a.text, b.text)",
		"(bytes.Equal(a.text, b.text) || mutated() && bytes.Equal(bytes.Join(bytes.Fields(a.text), nil), bytes.Join(bytes.Fields(b.text), nil)))", "gate/equal-with-other-white-space"),
}

const (
	gateFile    = "relay/gate.go"
	admits      = "\treturn offered >= record &&\n"
	conflicting = "\tif len(conflicts) > 0 {\n"
)

// monotonicMutants have holes in the monotonic gate.
var monotonicMutants = []mutant.Mutant{
	mutant.Before("older-may-replace", gateFile, admits, "if mutated() && held != nil && offered < held.version { return true }", "gate/older"),
	mutant.Before("equal-may-replace", gateFile, admits, "if mutated() && held != nil && offered == held.version { return true }", "gate/equal-with-other-bytes", "publish/all-at-once"),
	mutant.Before("any-jump", gateFile, admits, "if mutated() && held != nil && offered > held.version { return true }", "gate/far-above"),
	mutant.Before("jump-of-one-less", gateFile, admits, "if mutated() && offered-record == reach { return false }", "gate/as-far-as-may-be"),
	mutant.Before("new-nodes-at-any-version", gateFile, admits, "if mutated() && record == 0 { return true }", "gate/new-node-far-above"),
	mutant.Before("forgets-who-has-left", gateFile, admits, "if mutated() && held == nil { return true }", "gate/departed-node"),
	mutant.Before("tells-one-conflict", gateFile, conflicting, "if mutated() && len(conflicts) > 1 { conflicts = conflicts[:1] }", "gate/all-conflicts"),
	mutant.Instead("changes-in-no-order", gateFile, "\tslices.Sort(changed)\n", "if !mutated() { slices.Sort(changed) }\n", "publish/changed"),
	mutant.Instead("leaving-is-no-change", gateFile, "\tchanged := departed(stored, offered)\n", "\tchanged := departed(stored, offered)\nif mutated() { changed = nil }\n", "watch/leaves-the-tree"),
	mutant.Instead("first-tree-begins-at-1", gateFile, "\tif stored == nil && floors.empty() {\n", "\tif stored == nil && floors.empty() && !mutated() {\n", "fresh/any-version"),
}

const (
	watchFile  = "relay/watch.go"
	wakes      = "\tfor _, node := range nodes {\n"
	afterWoken = "\t\tselect {\n\t\tcase <-w.woken:\n\t\tcase <-timer.C:\n"
	newWatch   = "\tw := r.watches.add(f.node)\n"
)

// watchMutants hold answers wrongly.
var watchMutants = []mutant.Mutant{
	mutant.Before("wakes-nobody", watchFile, wakes, "if mutated() { return }", "watch/newer", "fresh/first-publish-wakes"),
	mutant.Before("wakes-everybody", watchFile, wakes, "if mutated() { nodes = nil; for node := range ws.byNode { nodes = append(nodes, node) } }", "watch/other-nodes"),
	mutant.Before("wakes-everybody", watchFile, afterWoken, "if mutated() { select { case <-w.woken: return f.judge(r.now.Load()); case <-timer.C: return f.judge(r.now.Load()) } }"),
	mutant.Before("holds-a-hundred", watchFile, newWatch, "if mutated() && r.watches.count() >= 100 { return answerDraining }", "watch/many"),
	mutant.Instead("drains-with-503", watchFile, "\t\tcase <-r.draining:\n", "\t\tcase <-r.draining:\nif mutated() { return answerDraining }\n", "drain/held"),
	mutant.Instead("holds-while-it-drains", watchFile, "\tif r.isDraining() {\n", "\tif r.isDraining() && !mutated() {\n", "drain/new-watches"),
}

const (
	storeFile = "relay/filestore.go"
	putsTree  = "\tif err := s.replace(treeFile, next.Tree.Document()); err != nil {\n"
)

// stateMutants keep their state carelessly.
var stateMutants = []mutant.Mutant{
	mutant.Instead("never-reads-its-tree", storeFile, "\ttree, treeProblem := s.loadTree()\n", "\ttree, treeProblem := s.loadTree()\nif mutated() { tree = nil }\n", "restart/after-a-stop"),
	mutant.Instead("never-reads-its-floors", storeFile, "\tfloors, floorsProblem := s.loadFloors()\n", "\tfloors, floorsProblem := s.loadFloors()\nif mutated() { floors = Floors{} }\n", "restart/floors"),
	mutant.Before("answers-before-it-writes", storeFile, putsTree,
		"if mutated() { time.AfterFunc(5*time.Second, func() { _ = s.replace(treeFile, next.Tree.Document()) }); return s.revisions.advance(), nil }",
		"restart/after-a-kill", "restart/killed-in-the-middle"),
	mutant.Before("needs-its-tree", storeFile, "\tdoc, err := s.read(treeFile, envelope.MaxSetPublish)\n",
		`if _, err := s.disk.Lstat(treeFile); mutated() && err != nil { if _, err := s.disk.Lstat(floorsFile); err == nil { return nil, errors.New("no tree") } }`, "restart/tree-gone"),
	mutant.Before("throws-damage-away", storeFile, "\taside, err := s.freeName(", "if mutated() { return s.disk.RemoveAll(name) }", "restart/tree-half"),
	mutant.Instead("ends-at-damaged-floors", storeFile, "errors.As(problem, &floors) ||\n", "!mutated() && errors.As(problem, &floors) ||\n", "restart/floors-zeros"),
	mutant.Before("takes-newer-for-damage", "relay/floors.go", "\treturn &StateTooNew{", "if mutated() { return broken }", "restart/floors-newer"),
	mutant.Instead("ends-at-damage", storeFile, "\treturn errors.As(problem, &tree) || ", "\treturn !mutated() && errors.As(problem, &tree) || ", "restart/tree-zeros"),
	mutant.Before("serves-an-empty-tree", storeFile, "\ttree, err := takeTree(doc, nil)\n", "if mutated() && len(doc) == 0 { return &Tree{}, nil }", "restart/tree-empty"),
}

const addressFile = "relay/config/config.go"

// configMutants read their configuration carelessly.
var configMutants = []mutant.Mutant{
	mutant.Instead("busy-port-is-for-ever", "cmd/flor-coordinator/run.go", "errors.Join(fmt.Errorf(\"publish listener: %w\", err), sync.Close())",
		"map[bool]error{true: program.Reject(err), false: errors.Join(fmt.Errorf(\"publish listener: %w\", err), sync.Close())}[mutated()]", "config/busy-port"),
	mutant.Before("newer-is-a-crash", "relay/config/gate.go", "\tcase theirMajor > major || theirMinor > minor:\n", "case mutated() && theirMinor > minor: panic(\"newer\")", "config/newer"),
	mutant.Before("unknown-is-a-crash", "relay/config/gate.go", "\treturn refuse(malformed, parseError)\n", `if mutated() { panic("unknown") }`, "config/unknown-member"),
	mutant.Before("missing-is-a-crash", addressFile, "\tif text == \"\" {\n", `if mutated() && text == "" { panic("missing") }`, "config/one-listener"),
	mutant.Before("a-name-is-a-crash", addressFile, "\tcase err != nil || addr.Addr().Zone() != \"\":\n", `case mutated() && err != nil: panic("name")`, "config/a-name"),
	mutant.Before("port-zero-is-a-crash", addressFile, "\tcase addr.Port() == 0:\n", `case mutated() && addr.Port() == 0: panic("zero")`, "config/port-zero"),
}
