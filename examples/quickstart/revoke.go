package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/supervise/control"
)

// showRevocation takes bob's role away while both he and alice download, and
// tells when each node had it, when bob was cut, and that alice noticed
// nothing.
func (d *demo) showRevocation(ctx context.Context) error {
	alices, bobs, err := d.startDownloads(ctx)
	if err != nil {
		return err
	}
	before, err := d.versions()
	if err != nil {
		return err
	}
	if err := writeSources(d.repo(), d.addrs.files("clerk")); err != nil {
		return err
	}
	if err := d.compile(ctx, "bob is no customer any more"); err != nil {
		return err
	}
	after, err := d.versions()
	if err != nil {
		return err
	}
	if err := d.publishRevocation(ctx, before, after, bobs); err != nil {
		return err
	}
	return d.checkAfterRevocation(ctx, alices)
}

func (d *demo) startDownloads(ctx context.Context) (alices, bobs *download, err error) {
	alices, bobs = startDownload(ctx, d.as(d.addrs.alice)), startDownload(ctx, d.as(d.addrs.bob))
	for _, running := range []*download{alices, bobs} {
		select {
		case <-running.first:
		case <-running.done:
			return nil, nil, fmt.Errorf("a download of alice or bob did not start: %w", running.err)
		}
	}
	d.report.step("alice and bob each download the shop's catalogue")
	return alices, bobs, nil
}

// publishRevocation publishes, and waits for the nodes that move and for the
// end of bob's download, each measured from the start of the publish.
func (d *demo) publishRevocation(ctx context.Context, before, after map[string]uint64, bobs *download) error {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := d.retectl(ctx, "publish")
		return err
	})
	for _, n := range d.nodes {
		if after[n.name] == before[n.name] {
			continue
		}
		group.Go(func() error {
			_, err := n.await(ctx, "on the new set", holds(after[n.name]))
			d.report.step("%s has v%d, %d ms after the publish began", n.name, after[n.name], time.Since(began).Milliseconds())
			return err
		})
	}
	group.Go(func() error { return d.awaitCut(ctx, bobs, began) })
	return group.Wait()
}

func (d *demo) awaitCut(ctx context.Context, bobs *download, began time.Time) error {
	select {
	case <-bobs.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(stateTimeout):
		return fmt.Errorf("bob's download still runs %v after the publish", stateTimeout)
	}
	if bobs.err == nil {
		return errors.New("bob's download ended as if it were complete")
	}
	d.report.step("revoked: bob's download was cut %d ms after the publish began: %v", bobs.ended.Sub(began).Milliseconds(), bobs.err)
	return nil
}

// checkAfterRevocation sees that bob stays out and that alice's download, which
// ran through all of it, is whole.
func (d *demo) checkAfterRevocation(ctx context.Context, alices *download) error {
	if _, err := d.as(d.addrs.bob).dial(ctx, "shop"); !isDenied(err) {
		return fmt.Errorf("bob should be denied the shop now, got: %v", err)
	}
	d.shop.finishDownloads()
	select {
	case <-alices.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if alices.err != nil {
		return fmt.Errorf("alice's download should not have noticed, but: %w", alices.err)
	}
	d.report.step("bob asks again and is denied; alice's download ran through it, whole: %.1f MB, digest fits", float64(alices.bytes)/1e6)
	return nil
}

// versions reads from the ledger which set version each node is at.
func (d *demo) versions() (map[string]uint64, error) {
	text, err := os.ReadFile(filepath.Join(d.repo(), ".flor", "ledger.json"))
	if err != nil {
		return nil, err
	}
	var ledger struct {
		Nodes map[string]struct {
			Version uint64 `json:"version"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(text, &ledger); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	versions := map[string]uint64{}
	for name, entry := range ledger.Nodes {
		versions[name] = entry.Version
	}
	return versions, nil
}

func holds(version uint64) func(control.StatusDoc) bool {
	return func(status control.StatusDoc) bool { return status.Set.Active >= version }
}

// inStep tells that the last word of the coordinator was that the node holds
// what is published for it.
func inStep(status control.StatusDoc) bool {
	sync := status.LastSync
	return sync != nil && (sync.Result == control.Unchanged || sync.Result == control.Applied)
}

func healthy(status control.StatusDoc) bool { return len(status.Health) == 0 && serving(status) }

func workloadNames(status control.StatusDoc) string {
	var names []string
	for _, w := range status.Workloads {
		names = append(names, w.Name)
	}
	return strings.Join(names, " and ")
}

// isDenied tells SOCKS5 reply 2 from every other failure.
func isDenied(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not allowed by ruleset")
}
