package relay

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

// PublishHandler serves POST of /publish/mgmt (CRD-1). It is safe for concurrent
// use; publishes are judged one after another.
func (r *Relay) PublishHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		limitBody(w, req)
		body := &upload{all: &r.uploads, breath: newBreather(&r.reads)}
		r.reply(w, req, &r.publishes, r.receive(w, req, body))
		if body.size >= largeBody {
			collect(w)
		}
	})
}

// largeBody is from when on a publish leaves so much behind that waiting for the
// heap to double would be waste, in bytes.
const largeBody = 8 << 20

// collect lets the tree that a large one has replaced go at once, and not when the
// next one comes on top of it. The publisher has its answer before.
func collect(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // one that cannot is answered later
	debug.FreeOSMemory()
}

func (r *Relay) receive(w http.ResponseWriter, req *http.Request, body *upload) *answer {
	if req.URL.EscapedPath() != wire.PublishPath {
		return answerNotFound
	}
	if req.Method != http.MethodPost {
		return methodNotAllowed(http.MethodPost)
	}
	defer body.release()
	refused := body.read(newPacedReader(w, req.Body), req.ContentLength, envelope.MaxSetPublish)
	if refused != nil {
		return refused
	}
	tree, err := takeTree(body.doc, body.breath)
	if err != nil {
		return r.refuseTree(err)
	}
	// Whether the publisher stays to hear it or not: what was begun is finished.
	return r.outcome(r.publish(context.WithoutCancel(req.Context()), tree))
}

// refuseTree puts a structural refusal into words.
func (r *Relay) refuseTree(err error) *answer {
	r.log.Warn("publish refused", "code", errorCode(err), "error", err)
	var refusal *TreeError
	if errors.As(err, &refusal) && refusal.Reason == TreeTooLarge {
		return fault(http.StatusRequestEntityTooLarge, wire.TooLarge, err.Error())
	}
	return fault(http.StatusBadRequest, wire.MalformedTree, err.Error())
}

// published is what became of an accepted publish.
type published struct {
	nodes   int
	changed []string
}

// publish takes its turn, judges the tree against what is stored then, stores it
// and makes it visible, in this order (CRD-4).
func (r *Relay) publish(ctx context.Context, offered *Tree) (published, error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	for {
		result, err := r.attempt(ctx, offered)
		if !errors.Is(err, ErrConflict) {
			return result, err
		}
		if err := r.reload(ctx); err != nil {
			return published{}, err
		}
	}
}

// attempt is one round of compare-and-swap. Whoever calls it has the turn.
func (r *Relay) attempt(ctx context.Context, offered *Tree) (published, error) {
	if err := r.failure(); err != nil {
		return published{}, err
	}
	now := r.now.Load()
	changed, err := Judge(now.tree, now.floors, offered)
	if err != nil {
		return published{}, err
	}
	result := published{nodes: len(offered.Nodes()), changed: changed}
	if len(changed) == 0 {
		return result, nil
	}
	next := State{Tree: offered, Floors: now.floors.Raise(offered)}
	revision, err := r.storage.Swap(ctx, now.revision, next)
	if err != nil {
		return published{}, err
	}
	r.show(&snapshot{tree: next.Tree, floors: next.Floors, revision: revision}, changed)
	return result, nil
}

// outcome puts the end of a publish into words.
func (r *Relay) outcome(result published, err error) *answer {
	var (
		conflict *ConflictError
		unknown  *UnknownOutcome
	)
	switch {
	case errors.As(err, &conflict):
		r.log.Warn("publish refused", "code", conflict.Code(), "error", err)
		return document(http.StatusConflict, wire.VersionConflict,
			wire.Conflicts{Error: wire.VersionConflict, Nodes: conflict.Nodes})
	case errors.As(err, &unknown):
		r.fail(unknown)
		return fault(http.StatusInternalServerError, wire.OutcomeUnknown, err.Error())
	case err != nil:
		r.log.Error("publish not stored", "code", notStored.Code(), "error", err)
		return fault(http.StatusInsufficientStorage, wire.NotStored, notStored.Code()+" "+string(notStored)+": "+err.Error())
	}
	word := wire.Accepted
	if len(result.changed) == 0 {
		word, result.changed = wire.Unchanged, []string{}
	}
	r.log.Info("tree published", "result", word, "nodes", result.nodes, "changed", len(result.changed))
	return document(http.StatusOK, word, wire.Outcome{Result: word, Nodes: result.nodes, Changed: result.changed})
}

func errorCode(err error) string {
	var coded interface{ Code() string }
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return ""
}
