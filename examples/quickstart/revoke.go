package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/conformance/lab"
	"github.com/florete/flor/conformance/lab/traffic"
)

// showRevocation takes bob's role away while both he and alice download, and
// tells when each node had it, when bob was cut, and that alice noticed
// nothing.
func (d *demo) showRevocation(ctx context.Context) error {
	alices, bobs, err := d.startDownloads(ctx)
	if err != nil {
		return err
	}
	before, err := d.operator.Versions()
	if err != nil {
		return err
	}
	if err := d.operator.Write(d.addrs.files("clerk")); err != nil {
		return err
	}
	if err := d.compile(ctx, "bob is no customer any more"); err != nil {
		return err
	}
	after, err := d.operator.Versions()
	if err != nil {
		return err
	}
	if err := d.publishRevocation(ctx, before, after, bobs); err != nil {
		return err
	}
	return d.checkAfterRevocation(ctx, alices)
}

func (d *demo) startDownloads(ctx context.Context) (alices, bobs *traffic.Download, err error) {
	alices, bobs = traffic.StartDownload(ctx, d.as(d.addrs.alice)), traffic.StartDownload(ctx, d.as(d.addrs.bob))
	for _, running := range []*traffic.Download{alices, bobs} {
		select {
		case <-running.Started():
		case <-running.Done():
			return nil, nil, fmt.Errorf("a download of alice or bob did not start: %w", running.Err())
		}
	}
	d.report.step("alice and bob each download the shop's catalogue")
	return alices, bobs, nil
}

// publishRevocation publishes, and waits for the nodes that move and for the
// end of bob's download, each measured from the start of the publish.
func (d *demo) publishRevocation(ctx context.Context, before, after map[string]uint64, bobs *traffic.Download) error {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := d.operator.Retectl(ctx, "publish")
		return err
	})
	for _, n := range d.nodes {
		if after[n.Name] == before[n.Name] {
			continue
		}
		group.Go(func() error {
			_, err := n.Await(ctx, "on the new set", lab.Holds(after[n.Name]))
			d.report.step("%s has set v%d active, %d ms after the publish began", n.Name, after[n.Name], time.Since(began).Milliseconds())
			return err
		})
	}
	group.Go(func() error { return d.awaitCut(ctx, bobs, began) })
	return group.Wait()
}

func (d *demo) awaitCut(ctx context.Context, bobs *traffic.Download, began time.Time) error {
	select {
	case <-bobs.Done():
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(answerTimeout):
		return fmt.Errorf("bob's download still runs %v after the publish", answerTimeout)
	}
	if bobs.Err() == nil {
		return errors.New("bob's download ended as if it were complete")
	}
	d.report.step("revoked: bob's download was cut %d ms after the publish began: %v", bobs.Ended().Sub(began).Milliseconds(), bobs.Err())
	return nil
}

// checkAfterRevocation sees that bob stays out and that alice's download, which
// ran through all of it, is whole.
func (d *demo) checkAfterRevocation(ctx context.Context, alices *traffic.Download) error {
	if _, err := d.as(d.addrs.bob).Dial(ctx, "shop"); !traffic.IsDenied(err) {
		return fmt.Errorf("bob should be denied the shop now, got: %v", err)
	}
	d.shop.FinishDownloads()
	select {
	case <-alices.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if alices.Err() != nil {
		return fmt.Errorf("alice's download should not have noticed, but: %w", alices.Err())
	}
	d.report.step("bob asks again and is denied; alice's download ran through it, whole: %.1f MB, digest fits", float64(alices.Bytes())/1e6)
	return nil
}
